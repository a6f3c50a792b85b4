"""gputopo: how a GPU node is wired, from any evidence."""
