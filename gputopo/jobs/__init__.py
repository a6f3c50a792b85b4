"""Jobs on a node: what a parsed log says, in a word, and which GPUs its ranks have."""
