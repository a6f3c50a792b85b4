"""Verdicts: one rule a file, named for the bad pattern; codes.py is the one list."""
