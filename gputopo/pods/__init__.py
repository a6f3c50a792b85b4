"""Who holds what: what sources say (holdings.py) joined with each other and with the node."""
