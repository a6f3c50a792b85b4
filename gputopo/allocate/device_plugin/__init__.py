"""NVIDIA/k8s-device-plugin: which GPUs, replicas or MIG devices it prefers for a request.

Index based, knowing no node: `best_effort` (one order of the available devices) and
`best_effort_outcomes` (every order). `plugin.py` asks them on behalf of a node.
"""

from gputopo.allocate.device_plugin.every_order import best_effort_outcomes
from gputopo.allocate.device_plugin.one_order import best_effort

__all__ = ["best_effort", "best_effort_outcomes"]
