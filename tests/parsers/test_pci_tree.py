"""Trees drawn by ourselves: whole, every function is read back; cut, none is read wrong."""

from __future__ import annotations

import random
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from gputopo.parsers.pci_tree import trees


class Truth(NamedTuple):
    lines: list[str]
    chains: dict[str, tuple[str, ...]]


class _Drawer:
    """Draws a tree as pciutils does, and keeps the chain of every function."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.chains: dict[str, tuple[str, ...]] = {}
        self.next_bus = 0

    def draw(self) -> Truth:
        roots = self.random.randint(1, 3)
        for number in range(roots):
            last = number == roots - 1
            self.next_bus = 0x40 * number
            root = f"{number % 2:04x}:{self.next_bus:02x}"
            branch = "-" if roots == 1 else "-+-" if number == 0 else " \\-" if last else " +-"
            below = "" if roots == 1 else "   " if last else " | "
            self._bus(root, (f"pci{root}",), f"{branch}[{root}]-", below + " " * (len(root) + 3 + (roots == 1)), 0)
        return Truth(self.lines, self.chains)

    def _bus(self, bus: str, chain: tuple[str, ...], before: str, below: str, depth: int) -> None:
        count = self.random.randint(1, 3)
        places = sorted(self.random.sample([f"{d:02x}.{f}" for d in range(4) for f in range(2)], count))
        for number, place in enumerate(places):
            if count == 1:
                head, rest = f"{before}--", " " * (len(before) + 2 - len(below))
            elif number == 0:
                head, rest = f"{before}+-", "| "
            else:
                head, rest = below + ("\\-" if number == count - 1 else "+-"), "  " if number == count - 1 else "| "
            self._function(bus, place, chain, head, below + rest, depth)

    def _function(self, bus: str, place: str, chain: tuple[str, ...], head: str, below: str, depth: int) -> None:
        label = f"{bus}:{place}"
        self.chains[label] = chain
        if depth > 3 or self.random.random() < 0.45:
            self.lines.append(f"{head}{place}  Maker {label}")
            return
        self.next_bus += 1
        number = self.next_bus
        at = len(self.lines)
        behind = f"{bus[:4]}:{number:02x}"
        inner = f"{head}{place}-[{number:02x}-@@]--"
        self._bus(behind, (*chain, label), inner, below + " " * (len(inner) - len(below)), depth + 1)
        # the range is known only now; both spellings have one width, as every range here is printed in full
        self.lines[at:] = [line.replace(f"[{number:02x}-@@]", f"[{number:02x}-{self.next_bus:02x}]")
                           for line in self.lines[at:]]  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_every_drawn_tree_is_read_back(seed: int) -> None:
    truth = _Drawer(seed).draw()
    [tree] = trees("\n".join(truth.lines))
    assert {function.label: function.chain for function in tree.functions} == truth.chains
    assert tree.whole


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10_000), st.data())
def test_a_tree_cut_at_both_ends_is_never_read_wrong(seed: int, data: st.DataObject) -> None:
    truth = _Drawer(seed).draw()
    start = data.draw(st.integers(0, len(truth.lines) - 1))
    end = data.draw(st.integers(start + 1, len(truth.lines)))
    for tree in trees("\n".join(truth.lines[start:end])):
        for function in tree.functions:
            if function.chain is not None:
                assert truth.chains[function.label] == function.chain
        if (start, end) != (0, len(truth.lines)):
            assert not tree.whole
