"""CPU and node numbers as the kernel prints them: lists and 32-bit masks (our own, for rendering).

>>> split("0-2,8"), join([8, 0, 1, 2])
([0, 1, 2, 8], '0-2,8')
>>> kernel_mask("0-3,32"), hwloc_mask("0-3,64-65")
('00000001,0000000f', '0x00000003,,0x0000000f')
"""

from __future__ import annotations

from collections.abc import Iterable


def split(text: str) -> list[int]:
    numbers: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        numbers.extend(range(int(first), int(last or first) + 1))
    return numbers


def runs(numbers: Iterable[int]) -> list[str]:
    """`[0, 1, 2, 8]` → `["0-2", "8"]`."""
    found: list[list[int]] = []
    for number in sorted(set(numbers)):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return [str(first) if first == last else f"{first}-{last}" for first, last in found]


def join(numbers: Iterable[int]) -> str:
    return ",".join(runs(numbers))


def words(numbers: Iterable[int], bits: int, at_least: int = 1) -> list[int]:
    """The mask in words of `bits`, least significant first."""
    mask = sum(1 << number for number in set(numbers))
    count = max(at_least, -(-mask.bit_length() // bits))
    return [mask >> (bits * place) & ((1 << bits) - 1) for place in range(count)]


def kernel_mask(text: str, cpus: int = 1) -> str:
    """cpumap, local_cpus: 32-bit words, most significant first; as many as `cpus` CPUs need."""
    return ",".join(f"{word:08x}" for word in reversed(words(split(text), 32, -(-cpus // 32))))


def hwloc_mask(text: str) -> str:
    """hwloc's: the same with 0x, a zero word below the first is empty."""
    first, *rest = reversed(words(split(text), 32))
    return ",".join([f"0x{first:08x}", *(f"0x{word:08x}" if word else "" for word in rest[:-1]),
                     *(f"0x{word:08x}" if word else "0x0" for word in rest[-1:])])  # fmt: skip
