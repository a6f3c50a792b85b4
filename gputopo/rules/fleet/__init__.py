"""Rules about many nodes beside one another (`gputopo fleet`)."""
