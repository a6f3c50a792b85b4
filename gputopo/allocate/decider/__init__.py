"""Who decides which GPUs a pod gets: read from the objects, said first in every answer."""

from gputopo.allocate.decider.decide import asks_for_gpus, decide
from gputopo.allocate.decider.decision import Decision

__all__ = ["Decision", "asks_for_gpus", "decide"]
