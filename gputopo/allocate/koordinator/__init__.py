"""Koordinator (koord-scheduler's deviceshare plugin): which GPUs and NICs a pod would get.

The index-based cores: `partitions.pick` (table, used and total minors as bits), `scopes.from_tree` and
`scopes.default`, `allocator.allocate` for a whole pod. `Koordinator` puts them behind the protocol;
from_objects.py and from_node.py make its devices of a Device object or of a node.
"""

from gputopo.allocate.koordinator.allocator import Rules, allocate
from gputopo.allocate.koordinator.mechanism import Koordinator, table_for
from gputopo.allocate.koordinator.partitions import HOPPER, Partition, index, pick

__all__ = ["HOPPER", "Koordinator", "Partition", "Rules", "allocate", "index", "pick", "table_for"]
