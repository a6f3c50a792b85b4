"""Who decides which GPUs a pod gets: read from the objects, said first in every answer."""

from gputopo.allocate.decider.decide import Decision, decide

__all__ = ["Decision", "decide"]
