"""Why the Topology Manager refused, in a sentence, and what each provider had offered, line by line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gputopo.allocate.kubelet.admission import Refusal
from gputopo.allocate.kubelet.hints import Hint, ProviderHints
from gputopo.allocate.kubelet.merge import SINGLE_NUMA_NODE
from gputopo.allocate.kubelet.numa_mask import bits

_PROVIDERS = ("device manager", "CPU manager", "Memory manager")
_MOST = 6  # masks of a line


class Offer(NamedTuple):
    """One resource's hints. `hints` None: no preference."""

    resource: str
    hints: tuple[Hint, ...] | None
    wanted: int | None = None

    @property
    def asked(self) -> str:
        return self.resource if self.wanted is None else f"{self.resource}: {self.wanted}"


def offers(providers: Iterable[ProviderHints], counts: Mapping[str, int]) -> list[Offer]:
    return [
        Offer(name, hints, counts.get(name)) for one in providers for name, hints in (one or {}).items()
    ]  # fmt: skip


def refusal(policy: str, refused: Refusal, counts: Mapping[str, int]) -> str:
    """Which hint was missing."""
    given = [one for one in offers(refused.providers, counts) if one.hints is not None]
    for one in given:
        if not one.hints:
            return f"{one.asked}: fewer are free, on all NUMA nodes together"
    usable = {one: _usable(policy, one.hints or ()) for one in given}
    for one, masks in usable.items():
        if not masks:
            return _nothing_usable(policy, one)
    parts = "; ".join(f"{one.asked} on {_masks(masks)}" for one, masks in usable.items())
    what = "one NUMA node" if policy == SINGLE_NUMA_NODE else "one set of NUMA nodes"
    return f"no {what} is preferred for all: {parts}"


def _usable(policy: str, hints: Iterable[Hint]) -> list[int]:
    masks = [hint.mask for hint in hints if hint.preferred and hint.mask is not None]
    return [mask for mask in masks if policy != SINGLE_NUMA_NODE or mask.bit_count() == 1]


def _nothing_usable(policy: str, offer: Offer) -> str:
    narrowest = min((hint.mask or 0).bit_count() for hint in offer.hints or ())
    wanted = f"{offer.asked} has no hint narrower than {narrowest} NUMA nodes"
    if any(hint.preferred for hint in offer.hints or ()):
        return f"{wanted}, not even on an empty node, and {policy} takes one node only"
    return f"{wanted}: fewer would do on an empty node, so wider ones are not preferred, but not enough is free"


def lines(providers: Iterable[ProviderHints], counts: Mapping[str, int]) -> list[str]:
    """`device manager: nvidia.com/gpu: 4   preferred {0} {1}   also {0,1}`."""
    found = []
    for name, provider in zip(_PROVIDERS, providers):
        if not provider:
            found.append(f"{name}: no preference")
        for resource, hints in (provider or {}).items():
            asked = Offer(resource, hints, counts.get(resource)).asked
            found.append(f"{name}: {asked}: {_said(hints)}")
    return found


def _said(hints: Sequence[Hint] | None) -> str:
    if hints is None:
        return "no preference (no device reports a NUMA node)"
    if not hints:
        return "impossible"
    parts = []
    for word, wanted in (("preferred", True), ("also", False)):
        masks = [hint.mask for hint in hints if hint.preferred is wanted and hint.mask is not None]
        if masks:
            parts.append(f"{word} {_masks(masks)}")
    return ", ".join(parts)


def _masks(masks: Sequence[int]) -> str:
    shown = " ".join(mask_text(mask) for mask in masks[:_MOST])
    return shown if len(masks) <= _MOST else f"{shown} and {len(masks) - _MOST} more"


def mask_text(mask: int | None) -> str:
    """`{0,1}`; any NUMA node: `any`."""
    return "any" if mask is None else "{" + ",".join(map(str, bits(mask))) + "}"
