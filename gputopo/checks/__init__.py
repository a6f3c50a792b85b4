"""Has a node the shape it should have, and how do two nodes differ: alignment, differences, expectations."""
