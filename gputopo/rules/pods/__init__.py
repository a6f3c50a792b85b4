"""Rules over what pods hold, GT4xx: one rule a file, listed in rules/codes.py."""
