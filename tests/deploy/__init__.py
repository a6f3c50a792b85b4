"""What deploy/ holds does what it says."""
