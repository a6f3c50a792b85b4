"""A source and what it says of who holds what; which source is believed first.

The kubelet's own answer comes before its files, those before the API object that it fills, and what a runtime or a
process was told comes last (facts: kubelet.md §3; NVIDIA_VISIBLE_DEVICES may be `void`, doubled, or from the image).
"""

from __future__ import annotations

from typing import NamedTuple

from gputopo.holdings import ContainerHolding, HoldingRecords
from gputopo.topology.node import Source

_ORDER = (
    "podresources", "kubelet-checkpoint", "cpu-manager-state", "memory-manager-state", "dra-manager-state",
    "kube-objects", "crictl-inspect", "docker-inspect", "cdi-spec", "slurm-job", "gres-conf", "gpu-processes",
    "process", "dcgm-metrics", "kubelet-log",
)  # fmt: skip
# Of one source, what says so: "" is its own word.
BY = ("", "cdi", "annotation", "mount", "env", "node", "process", "open", "used")
# A device file that is open gives nobody anything; a node's sum of what is used does not say by whom.
NOT_GIVEN = ("open", "used")


class Spoken(NamedTuple):
    source: Source
    records: HoldingRecords


class Said(NamedTuple):
    """What one source says of one container."""

    source: Source
    holding: ContainerHolding

    @property
    def place(self) -> int:
        return order(self.source.format)


def order(format: str) -> int:
    return _ORDER.index(format) if format in _ORDER else len(_ORDER)
