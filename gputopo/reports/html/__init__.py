"""A report as one page: the same blocks, the picture, and what can be asked of it. Nothing of it is fetched."""
