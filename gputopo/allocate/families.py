"""Many sets as few families: {forced, choose k, of}. Exact: the families hold these sets and no others.

Members that can be swapped without changing the collection form a class. A set is then how many it
takes of each class, and all sets of one such count are in the collection, or none.

    >>> compress([("A", "B"), ("A", "C"), ("B", "C")])
    (Family(forced=(), choose=2, of=('A', 'B', 'C'), times=1),)
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from math import comb

from gputopo.allocate.outcome import Family


def compress(sets: Sequence[Sequence[str]]) -> tuple[Family, ...]:
    """Families of these sets, each in the order of the members' first appearance."""
    members = list(dict.fromkeys(one for members in sets for one in members))
    bit = {one: 1 << at for at, one in enumerate(members)}
    masks = {sum(bit[one] for one in set(chosen)) for chosen in sets}
    classes = _classes(members, bit, masks)
    counts = {tuple(sum(bool(mask & bit[one]) for one in group) for group in classes) for mask in masks}
    found: list[Family] = []
    for count in sorted(counts, reverse=True):
        found += _of_count(classes, count)
    return tuple(found)


def _classes(members: Sequence[str], bit: dict[str, int], masks: set[int]) -> list[tuple[str, ...]]:
    groups: list[list[str]] = []
    for one in members:
        for group in groups:
            if _can_swap(bit[group[0]], bit[one], masks):
                group.append(one)
                break
        else:
            groups.append([one])
    return [tuple(group) for group in groups]


def _can_swap(first: int, second: int, masks: set[int]) -> bool:
    both = first | second
    return all((mask ^ both) in masks for mask in masks if mask & both not in (0, both))


def _of_count(classes: Sequence[tuple[str, ...]], count: Sequence[int]) -> list[Family]:
    """The class with the most choices is left open; of the others every choice is a family."""
    widest = max(range(len(classes)), key=lambda at: comb(len(classes[at]), count[at]))
    others = [
        combinations(group, many)
        for at, (group, many) in enumerate(zip(classes, count))
        if at != widest and many
    ]  # fmt: skip
    group, many = classes[widest], count[widest]
    whole = group if many == len(group) else ()
    return [
        Family(tuple(one for part in chosen for one in part) + whole, 0 if whole else many, () if whole else group)
        for chosen in product(*others)
    ]
