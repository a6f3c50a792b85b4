"""Asks the real upstream code fresh questions and replays its answers through our simulators: see README.md."""
