"""What `gputopo check` says of a node that is not as its specification wants."""
