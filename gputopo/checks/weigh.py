"""An expectation against what a node has: what is not as wanted, and what nobody knows.

    >>> has = [Has(f"gpus[{n}].nvlinks.active", (f"GPU{n}",), 17 if n == 5 else 18) for n in range(8)]
    >>> [one] = weigh("gpus.nvlinks", Expect((18,)), has)[0]
    >>> one.field, one.want, one.found, one.code
    ('gpus[5].nvlinks.active', '18', '17', 'GT111')
    >>> [one] = weigh("gpus.nvlinks", Expect(shares=((18, 4), (17, 4))), has)[0]
    >>> one.field, one.want, one.found
    ('gpus[].nvlinks.active', '4 of 18 and 4 of 17', '7 of 18 and 1 of 17')
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gputopo.checks.expect import Expect, met, said
from gputopo.checks.result import NOT_AS_WANTED, Mismatch, Open
from gputopo.checks.values import CODES, SETTLED_BY, Has

_PLACE = re.compile(r"\[[^\]]*\]")


def weigh(key: str, expect: Expect, has: Sequence[Has]) -> tuple[list[Mismatch], list[Open]]:
    code = CODES.get(key, NOT_AS_WANTED)
    missing = [one for one in has if one.value is None]
    undecided = [_open(key, missing)] if missing else []
    if not expect.shares:
        wrong = [one for one in has if one.value is not None and not any(met(o, one.value) for o in expect.options)]
        return [_mismatch(one, expect, code) for one in wrong], undecided
    return _shared(expect, has, code, undecided)


def _shared(
    expect: Expect, has: Sequence[Has], code: str, undecided: list[Open]
) -> tuple[list[Mismatch], list[Open]]:  # fmt: skip
    """Devices whose value no share has are named; else the numbers are told."""
    counts = [0] * len(expect.shares)
    strange: list[Has] = []
    for one in has:
        if one.value is None:
            continue
        place = next((at for at, (option, _) in enumerate(expect.shares) if met(option, one.value)), None)
        if place is None:
            strange.append(one)
        else:
            counts[place] += 1
    if strange:
        return [_mismatch(one, expect, code) for one in strange], undecided
    unknown = len(has) - sum(counts)
    wanted = [count for _, count in expect.shares]
    too_many = any(count > most for count, most in zip(counts, wanted))
    too_few = sum(max(0, most - count) for count, most in zip(counts, wanted)) > unknown
    if not (too_many or too_few):
        return [], undecided
    found = " and ".join(f"{count} of {said(option)}" for count, (option, _) in zip(counts, expect.shares))
    field = _PLACE.sub("[]", has[0].field) if has else ""
    return [Mismatch(field, (), expect.wanted(), found, code)], undecided


def _mismatch(one: Has, expect: Expect, code: str) -> Mismatch:
    return Mismatch(one.field, one.subjects, expect.wanted(), said(one.value), code)


def _open(key: str, missing: Sequence[Has]) -> Open:
    subjects = tuple(dict.fromkeys(id for one in missing for id in one.subjects))
    field = missing[0].field if len(missing) == 1 else _PLACE.sub("[]", missing[0].field)
    settle = SETTLED_BY.get(key, "nvidia-smi topo -mp, or gputopo collect")
    return Open(field, subjects, "is not in this evidence", settle)
