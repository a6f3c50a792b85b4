"""Verdicts on one job: one rule a file."""
