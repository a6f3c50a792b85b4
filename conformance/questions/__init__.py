"""Fresh questions for the real code, drawn from a seeded generator; no answers and nothing of ours in them."""
