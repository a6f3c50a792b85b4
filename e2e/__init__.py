"""gputopo against a real API server: `python -m e2e.run`, README.md."""
