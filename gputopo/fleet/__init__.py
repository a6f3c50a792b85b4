"""Many nodes: what makes two of them alike, and an answer once for all that are."""
