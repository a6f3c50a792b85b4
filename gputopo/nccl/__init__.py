"""What NCCL makes of a node."""
