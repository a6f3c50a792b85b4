"""`check` and `diff`: twins pass, mutants are named."""
