"""Which shared counter keeps devices, each of which would do alone, from being had together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gputopo.allocate.dra.amount import Number, canonical
from gputopo.allocate.dra.candidates import Candidate
from gputopo.allocate.dra.counters import Ledger


class Short(NamedTuple):
    """A counter that lets only `most` of `devices` be had at once; `left` as a quantity."""

    pool: str
    counter_set: str
    counter: str
    left: str
    devices: int
    most: int


def counters_short(ledger: Ledger, fitting: Sequence[Candidate], number: int) -> tuple[Short, ...]:
    """Empty where counters alone would allow `number` of these devices. `ledger`: what the requests before hold."""
    wants: dict[tuple[str, str, str], list[Number]] = {}
    seen: dict[tuple[str, str, str], tuple[str, str, Number]] = {}
    tightest: dict[str, int] = {}
    of_pool: dict[str, int] = {}
    for one in fitting:
        name = ledger.name(one.slice)
        of_pool[name] = of_pool.get(name, 0) + 1
        left = ledger.left(one.slice, one.pool)
        for consumed in one.device.consumes:
            for counter, amount in consumed.counters.items():
                key = (name, consumed.name, counter)
                if key[1:] in left:
                    wants.setdefault(key, []).append(amount.number)
                    number_left = left[key[1:]]
                    seen[key] = (str(one.pool), canonical(number_left, amount.form), number_left)
    found = []
    for key, amounts in wants.items():
        pool, text, left_number = seen[key]
        most = _most(amounts, left_number)
        if most < len(amounts):
            found.append(Short(pool, key[1], key[2], text, len(amounts), most))
            free_of_it = of_pool[key[0]] - len(amounts)
            tightest[key[0]] = min(tightest.get(key[0], of_pool[key[0]]), most + free_of_it)
    possible = sum(min(count, tightest.get(name, count)) for name, count in of_pool.items())
    return tuple(found) if possible < number else ()


def _most(amounts: Sequence[Number], left: Number) -> int:
    """Of devices that consume these amounts, how many at most."""
    taken = 0
    for one in sorted(amounts):
        if one > left:
            break
        left -= one
        taken += 1
    return taken
