"""Topology hints, and how the Topology Manager lines up those of several providers.

Upstream: topologymanager/policy.go (filterProvidersHints), policy_single_numa_node.go.
A provider answers with a mapping of resources; a resource's value is None ("no preference"), an empty
list ("impossible") or its hints.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple


class Hint(NamedTuple):
    """`mask` None: any NUMA node."""

    mask: int | None
    preferred: bool


ResourceHints = tuple[Hint, ...] | None
ProviderHints = Mapping[str, ResourceHints] | None

ANY = Hint(None, True)
IMPOSSIBLE = Hint(None, False)


def prefer_smallest(masks: Iterable[int], smallest: int) -> tuple[Hint, ...]:
    """Hints of some masks: those of the smallest size that an idle node allows are preferred."""
    return tuple(Hint(mask, mask.bit_count() == smallest) for mask in masks)


def flatten(providers: Iterable[ProviderHints]) -> list[tuple[Hint, ...]]:
    """One list a resource, and one for a provider that has nothing to say."""
    lists: list[tuple[Hint, ...]] = []
    for resources in providers:
        if not resources:
            lists.append((ANY,))
            continue
        for hints in resources.values():
            if hints is None:
                lists.append((ANY,))
            else:
                lists.append(hints or (IMPOSSIBLE,))
    return lists


def single_node_only(lists: Sequence[Sequence[Hint]]) -> list[tuple[Hint, ...]]:
    """What single-numa-node leaves: no preference, and preferred hints of one node."""
    return [
        tuple(hint for hint in hints if hint.preferred and (hint.mask is None or hint.mask.bit_count() == 1))
        for hints in lists
    ]
