"""How findings name things in one line: runs of devices, pairs, counts.

    >>> names(["GPU0", "GPU1", "GPU2", "GPU3", "GPU5", "mlx5_0"])
    'GPU0-GPU3, GPU5 and mlx5_0'
    >>> names(["mlx5_0", "mlx5_2", "mlx5_1"])
    'mlx5_0-mlx5_2'
    >>> names(["0000:0f:00.0", "0000:0f:00.1", "0000:0f:00.2"])      # an address is not a number
    '0000:0f:00.0, 0000:0f:00.1 and 0000:0f:00.2'
    >>> names([f"GPU-5c1d8a3e-0000-4000-8000-00000000000{at}" for at in (0, 1, 2)])      # nor is a UUID
    'GPU-5c1d8a3e-0000-4000-8000-000000000000, GPU-5c1d8a3e-0000-4000-8000-000000000001 and \
GPU-5c1d8a3e-0000-4000-8000-000000000002'
    >>> names(["GPU0", "GPU2", "GPU4", "GPU6", "GPU8", "GPU10"], most=3)
    'GPU0, GPU2, GPU4 and 3 more'
    >>> pairs([("GPU0", "GPU1"), ("GPU0", "GPU2")])
    'GPU0-GPU1 and GPU0-GPU2'
    >>> counted(1, "pair"), counted(2, "pair")
    ('1 pair', '2 pairs')
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_MOST_DIGITS = 9  # of a number; longer ones, from strangers, are names
_UUID = re.compile(r"(?:GPU|MIG)-[0-9a-f]{8}-")


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def one_line(text: str) -> str:
    """A text of a source, fit for a message: no line breaks, no runs of blanks."""
    return " ".join(text.split())


def listed(parts: Sequence[str], most: int = 8, total: int | None = None) -> str:
    """`a, b and c`; beyond `most` parts the number of the things left out (`total` - shown)."""
    if len(parts) > most:
        return f"{', '.join(parts[:most])} and {(total or len(parts)) - most} more"
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)


def names(ids: Iterable[str], most: int = 8) -> str:
    """Devices of one kind together, by number; three or more consecutive numbers become a run."""
    kinds: dict[str, list[tuple[int, str]]] = {}
    for id in ids:
        stem = id.rstrip("0123456789")
        numbered = stem != "" and 0 < len(id) - len(stem) <= _MOST_DIGITS and ":" not in id and not _UUID.match(id)
        kinds.setdefault(stem if numbered else id, []).append((int(id[len(stem) :]) if numbered else -1, id))
    runs: list[list[str]] = []
    for members in kinds.values():
        before: int | None = None
        for number, id in sorted(members):
            if number >= 0 and before == number - 1:
                runs[-1].append(id)
            else:
                runs.append([id])
            before = number if number >= 0 else None
    parts: list[str] = []
    sizes: list[int] = []
    for run in runs:
        if len(run) > 2:
            parts.append(f"{run[0]}-{run[-1]}")
            sizes.append(len(run))
        else:
            parts.extend(run)
            sizes.extend(1 for _ in run)
    return listed(parts, most, most + sum(sizes[most:]))


def pairs(couples: Sequence[tuple[str, str]], most: int = 4) -> str:
    return listed([f"{a}-{b}" for a, b in couples], most)
