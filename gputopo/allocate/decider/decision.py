"""Who decides, as a value: a system, why, and whether the objects at hand leave another one possible."""

from __future__ import annotations

from typing import NamedTuple

DEVICE_PLUGIN, DRA, HAMI, VOLCANO, KOORDINATOR, ACK, NOBODY = (
    "device plugin", "DRA", "HAMi", "Volcano", "Koordinator", "ACK", "nobody",
)  # fmt: skip
# Mechanism of ours → the system it imitates. The kubelet admits what its device plugin prefers: they decide together.
IMITATES = {
    "device-plugin": DEVICE_PLUGIN, "kubelet": DEVICE_PLUGIN, "dra": DRA, "koordinator": KOORDINATOR, "hami": HAMI,
}  # fmt: skip


class Decision(NamedTuple):
    """`sure` False: the objects at hand leave another one possible; `settled_by` says what would tell."""

    who: str
    reason: str
    sure: bool = True
    settled_by: str = ""
    simulated: bool = True  # whether gputopo has a mechanism for it

    @property
    def line(self) -> str:
        """One line for the head of an answer.

        >>> Decision("DRA", "the pod has resourceClaims").line
        'DRA: the pod has resourceClaims'
        """
        return f"{self.who}{'' if self.sure else ', probably'}: {self.reason}"

    def is_other(self, mechanism: str) -> bool:
        """Whether another system decides than the one this mechanism imitates: its answer is a hypothetical one.

        >>> Decision("HAMi", "the node is registered with HAMi").is_other("kubelet")
        True
        """
        return IMITATES.get(mechanism, self.who) != self.who
