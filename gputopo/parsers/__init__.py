"""One source format a file: bytes or a guarded tree → records. Pure; opens nothing."""
