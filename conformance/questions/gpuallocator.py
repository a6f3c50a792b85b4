"""Questions for go-gpuallocator: made-up nodes, and what is asked of each.

Link types are links.P2PLinkType: 1 SYS … 6 same board, 6+k is k NVLinks.
"""

from __future__ import annotations

from random import Random
from typing import Any

SYS, NODE, PHB, PXB, PIX, BOARD = 1, 2, 3, 4, 5, 6
CASES_A_NODE = 20
Question = dict[str, Any]


def policies(rng: Random, count: int) -> list[Question]:
    """Nodes with up to CASES_A_NODE cases; a few of 13 GPUs, where upstream overwrites its best partition."""
    questions: list[Question] = []
    drawn = 0
    while drawn < count:
        if rng.random() < 0.02:
            questions.append(_many_pairs(rng, len(questions)))
        else:
            node = _node(rng, rng.choice((1, 2, 3, 4, 4, 5, 6, 7, 8, 8, 8, 9, 10)), len(questions))
            questions.append({**node, "cases": [_case(rng, node["n"]) for _ in range(CASES_A_NODE)]})
        drawn += len(questions[-1]["cases"])
    return questions


def outcomes(rng: Random, count: int) -> list[Question]:
    """Few enough GPUs available that upstream can be asked for every order of them."""
    questions = []
    for number in range(count):
        node = _node(rng, rng.choice((2, 3, 4, 4, 5, 6, 8, 8)), number)
        left = rng.randint(1, min(node["n"], rng.choice((3, 4, 5, 5, 6, 6, 7))))
        available = sorted(rng.sample(range(node["n"]), left))
        size = rng.randint(1, len(available) + (rng.random() < 0.05))
        most = min(size, len(available)) if rng.random() < 0.3 else 0
        required = sorted(rng.sample(available, rng.randint(0, most)))
        questions.append({**node, "available": available, "required": required, "size": size, "orders": True})
    return questions


def _many_pairs(rng: Random, number: int) -> Question:
    """Size 2 of 13 GPUs: seven sets in a partition."""
    node = _node(rng, 13, number)
    available = list(range(13))
    if rng.random() < 0.5:
        rng.shuffle(available)
    return {**node, "cases": [[available, [], 2, "besteffort"]]}


def _case(rng: Random, n: int) -> list[Any]:
    available = rng.sample(range(n), n if rng.random() < 0.4 else rng.randint(0, n))
    if rng.random() < 0.5:
        available.sort()
    size = rng.choice((-1, 0, n + 1)) if rng.random() < 0.05 else rng.randint(1, max(1, len(available)))
    policy = rng.choices(("besteffort", "simple", "staticdgx1p", "staticdgx1v"), (85, 9, 3, 3))[0]
    if policy.startswith("staticdgx") and n < 8:
        policy = "simple"  # the tables name GPUs up to 7
    return [available, _required(rng, n, available, size, policy), size, policy]


def _required(rng: Random, n: int, available: list[int], size: int, policy: str) -> list[int]:
    if rng.random() < 0.6 or not available:
        return []
    required = rng.sample(available, rng.randint(0, min(max(size, 0), len(available))))
    if policy == "besteffort" and rng.random() < 0.08:
        required = [*required, rng.choice(range(n))]  # perhaps not available, perhaps twice
    return required


def _node(rng: Random, n: int, number: int) -> Question:
    shape = rng.choice((_tree, _tree, _tree, _flat, _any))
    table = shape(rng, n)
    _add_nvlinks(rng, n, table)
    links = [[a, b, types] for (a, b), types in sorted(table.items()) if types]
    return {"name": f"{shape.__name__.strip('_')}-{number}", "n": n, "note": "", "links": links}


def _pairs(n: int) -> list[tuple[int, int]]:
    return [(a, b) for a in range(n) for b in range(a + 1, n)]


def _tree(rng: Random, n: int) -> dict[tuple[int, int], list[int]]:
    """Sockets of NUMA nodes of switches, in equal or unequal shares."""
    socket, numa, switch = (rng.choice((1, 2, 4, 8)) for _ in range(3))
    where = [(i * socket // max(n, 1), i * numa // max(n, 1), i * switch // max(n, 1)) for i in range(n)]
    if rng.random() < 0.5:
        where = [(rng.randrange(socket), rng.randrange(numa), rng.randrange(switch)) for _ in range(n)]
    near, middle = rng.choice(((PIX, PXB), (PIX, PHB), (PXB, NODE), (BOARD, PIX), (PIX, NODE)))
    table = {}
    for a, b in _pairs(n):
        alike = sum(1 for one, other in zip(where[a], where[b]) if one == other)
        table[a, b] = [near if where[a] == where[b] else middle if alike == 2 and where[a][0] == where[b][0] else
                       NODE if where[a][0] == where[b][0] else SYS]  # fmt: skip
    return table


def _flat(rng: Random, n: int) -> dict[tuple[int, int], list[int]]:
    level = rng.choice((SYS, NODE, PHB, PXB, PIX))
    return {pair: [level] for pair in _pairs(n)}


def _any(rng: Random, n: int) -> dict[tuple[int, int], list[int]]:
    """No tree at all: what the algorithm does is defined for any table."""
    return {pair: [rng.choice((SYS, NODE, PHB, PXB, PIX, BOARD))] if rng.random() < 0.95 else [] for pair in _pairs(n)}


def _add_nvlinks(rng: Random, n: int, table: dict[tuple[int, int], list[int]]) -> None:
    kind = rng.choice(("none", "none", "bridges", "mesh", "some"))
    for a, b in table:
        count = 0
        if kind == "bridges" and b == a + 1 and a % 2 == 0 and rng.random() < 0.8:
            count = rng.choice((2, 4, 12))
        elif kind == "mesh":
            count = rng.choice((1, 2, 2, 4, 6))
        elif kind == "some" and rng.random() < 0.25:
            count = rng.randint(1, 18)
        if count:
            table[a, b] = [*table[a, b], 6 + count] if rng.random() < 0.7 else [6 + count, *table[a, b]]
