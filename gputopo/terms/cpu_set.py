"""Sets of CPU (or NUMA node) numbers, as the kernel and the tools print them.

    >>> CpuSet.parse_list("0-3,8,10-11")
    CpuSet('0-3,8,10-11')
    >>> len(CpuSet.parse_list("0-15:2/4"))               # the kernel's stride form: 2 of every 4
    8
    >>> CpuSet.parse_list("0-0,2-2")                     # nvidia-smi 418
    CpuSet('0,2')
    >>> CpuSet.parse_mask("0x00000003,,0x0000000f")      # 32-bit words, a zero word may be empty
    CpuSet('0-3,64-65')
    >>> CpuSet.parse_list("") == CpuSet()                # empty is a fact; unknown is None
    True
    >>> CpuSet.parse_list("0-") is None
    True
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

# CONFIG_NR_CPUS ends at 8192 on every architecture; a larger number is damage, not a machine,
# and must not make us allocate.
HIGHEST_CPU = 65_535

_PART = re.compile(r"(\d{1,5})(?:-(\d{1,5})(?::(\d{1,5})/(\d{1,5}))?)?\Z")


class CpuSet:
    """An immutable set of numbers; hashable, ordered by its bits, printed as the kernel does."""

    __slots__ = ("mask",)
    mask: int

    def __init__(self, mask: int = 0) -> None:
        object.__setattr__(self, "mask", mask)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"CpuSet is immutable: {name}")

    def __reduce__(self) -> tuple[type[CpuSet], tuple[int]]:
        return CpuSet, (self.mask,)

    @classmethod
    def of(cls, numbers: Iterable[int]) -> CpuSet:
        mask = 0
        for number in numbers:
            mask |= 1 << number
        return cls(mask)

    @classmethod
    def parse_list(cls, text: str) -> CpuSet | None:
        """`0-3,8` → the set; `""` → the empty set; anything else → `None`."""
        mask = 0
        text = text.strip()
        if not text:
            return cls()
        for part in text.split(","):
            match = _PART.match(part.strip())
            if match is None:
                return None
            first = int(match[1])
            last = int(match[2]) if match[2] else first
            if last < first or last > HIGHEST_CPU:
                return None
            if match[3]:
                used, group = int(match[3]), int(match[4])
                if not 0 < used <= group:
                    return None
                for start in range(first, last + 1, group):
                    for number in range(start, min(start + used, last + 1)):
                        mask |= 1 << number
            else:
                mask |= ((1 << (last - first + 1)) - 1) << first
        return cls(mask)

    @classmethod
    def parse_mask(cls, text: str) -> CpuSet | None:
        """A bit mask in 32-bit words, most significant first (`ff,00000000`), or one long word."""
        text = text.strip().lower()
        if not text:
            return None
        words = text.split(",")
        mask = 0
        for word in words:
            word = word.strip().removeprefix("0x")
            if (len(words) > 1 and len(word) > 8) or len(word) > HIGHEST_CPU // 4:
                return None
            if word:
                if any(character not in "0123456789abcdef" for character in word):
                    return None
                mask = mask << 32 | int(word, 16)
            else:
                mask <<= 32
        return cls(mask)

    def __str__(self) -> str:
        parts = []
        mask, position = self.mask, 0
        while mask:
            skipped = (mask & -mask).bit_length() - 1
            mask >>= skipped
            position += skipped
            run = ((mask + 1) & ~mask).bit_length() - 1
            parts.append(str(position) if run == 1 else f"{position}-{position + run - 1}")
            mask >>= run
            position += run
        return ",".join(parts)

    def __repr__(self) -> str:
        return f"CpuSet({str(self)!r})"

    def __len__(self) -> int:
        return self.mask.bit_count()

    def __bool__(self) -> bool:
        return self.mask != 0

    def __iter__(self) -> Iterator[int]:
        mask = self.mask
        while mask:
            low = mask & -mask
            yield low.bit_length() - 1
            mask ^= low

    def __contains__(self, number: int) -> bool:
        return bool(self.mask >> number & 1)

    def __and__(self, other: CpuSet) -> CpuSet:
        return CpuSet(self.mask & other.mask)

    def __or__(self, other: CpuSet) -> CpuSet:
        return CpuSet(self.mask | other.mask)

    def __sub__(self, other: CpuSet) -> CpuSet:
        return CpuSet(self.mask & ~other.mask)

    def __le__(self, other: CpuSet) -> bool:
        """Whether every number is in `other` too."""
        return not self.mask & ~other.mask

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CpuSet) and self.mask == other.mask

    def __hash__(self) -> int:
        return hash(self.mask)
