"""RE2 matching in linear time: a pattern as a program of threads (Pike's machine), leftmost first like Go's regexp.

Python's own `re` would need exponential time for some patterns that RE2 accepts; a selector comes from strangers.

    >>> pattern = compile_pattern("(?i)h100|h200")
    >>> search(pattern, "NVIDIA H200"), search(compile_pattern("[0-9]+GB"), "H100 80GB")
    ((7, 11), (5, 9))
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from gputopo.cel.pattern_characters import Assert, BadPattern, Choice, One, Pattern, Repeat, Sequence
from gputopo.cel.pattern_syntax import parse_pattern
from gputopo.cel.values import Refused

# Go's own bound on what repetitions expand to is in bytes of its nodes; this one is in instructions.
MOST_INSTRUCTIONS = 60_000
# Threads over characters: what a small pattern with large counts costs is not in Kubernetes' price of it.
MOST_WORK = 2_000_000


class Step(NamedTuple):
    """`one`: a character then `next`; `split`: try each of `ways` in order; `assert`; `match`."""

    kind: str
    ways: tuple[int, ...] = ()
    item: One | Assert | None = None


@lru_cache(maxsize=256)
def compile_pattern(text: str) -> tuple[Step, ...]:
    """Raises BadPattern."""
    steps: list[Step] = [Step("match")]
    entry = _compiled(parse_pattern(text), 0, steps, text)
    steps.append(Step("split", (entry,)))
    return tuple(steps)


def _compiled(pattern: Pattern, following: int, steps: list[Step], text: str) -> int:
    """Adds the steps of a pattern that goes on at `following`; the place of its first step."""
    if len(steps) > MOST_INSTRUCTIONS:
        raise BadPattern("expression too large", text)
    if isinstance(pattern, (One, Assert)):
        steps.append(Step("one" if isinstance(pattern, One) else "assert", (following,), pattern))
        return len(steps) - 1
    if isinstance(pattern, Sequence):
        for item in reversed(pattern.items):
            following = _compiled(item, following, steps, text)
        return following
    if isinstance(pattern, Choice):
        ways = tuple(_compiled(item, following, steps, text) for item in pattern.items)
        steps.append(Step("split", ways))
        return len(steps) - 1
    return _repeated(pattern, following, steps, text)


def _repeated(pattern: Repeat, following: int, steps: list[Step], text: str) -> int:
    def split(inside: int, outside: int) -> int:
        steps.append(Step("split", (inside, outside) if pattern.greedy else (outside, inside)))
        return len(steps) - 1

    entry, least = following, pattern.least
    if pattern.most is None:
        loop = len(steps)
        steps.append(Step("split"))
        entry = inside = _compiled(pattern.item, loop, steps, text)
        steps[loop] = Step("split", (inside, following) if pattern.greedy else (following, inside))
        if least:
            least -= 1
        else:
            # Go writes x* as (x+)? where x can be empty, or the empty round would come before the others (golang/go
            # issue 46123, regexp/syntax/compile.go star).
            entry = split(inside, following) if _can_be_empty(pattern.item) else loop
    else:
        for _ in range(pattern.most - least):
            entry = split(_compiled(pattern.item, entry, steps, text), following)
    for _ in range(least):
        entry = _compiled(pattern.item, entry, steps, text)
    return entry


def _can_be_empty(pattern: Pattern) -> bool:
    if isinstance(pattern, Sequence):
        return all(map(_can_be_empty, pattern.items))
    if isinstance(pattern, Choice):
        return any(map(_can_be_empty, pattern.items))
    if isinstance(pattern, Repeat):
        return pattern.least == 0 or _can_be_empty(pattern.item)
    return isinstance(pattern, Assert)


def search(steps: tuple[Step, ...], text: str, start: int = 0) -> tuple[int, int] | None:
    """The leftmost match, of those the first that a backtracking reader would find."""
    threads: list[tuple[int, int]] = []
    best: tuple[int, int] | None = None
    work = 0
    for place in range(start, len(text) + 1):
        if best is None:
            threads.append((len(steps) - 1, place))
        elif not threads:
            break
        ready = _followed(steps, threads, text, place)
        work += len(ready)
        if work > MOST_WORK:
            raise Refused(f"a search of more than {MOST_WORK} steps is not made here")
        threads = []
        for at, begun in ready:
            step = steps[at]
            if step.kind == "match":
                best = (begun, place)
                break
            if place < len(text) and isinstance(step.item, One) and _fits(step.item, text[place]):
                threads.append((step.ways[0], begun))
    return best


def _followed(steps: tuple[Step, ...], threads: list[tuple[int, int]], text: str, place: int) -> list[tuple[int, int]]:
    """Every step that waits for a character or is the end, in order of preference, each place once."""
    seen: set[int] = set()
    ready: list[tuple[int, int]] = []
    stack = list(reversed(threads))
    while stack:
        at, begun = stack.pop()
        if at in seen:
            continue
        seen.add(at)
        step = steps[at]
        if step.kind == "split":
            stack.extend((way, begun) for way in reversed(step.ways))
        elif isinstance(step.item, Assert):
            if _holds(step.item.kind, text, place):
                stack.append((step.ways[0], begun))
        else:
            ready.append((at, begun))
    return ready


def _holds(kind: str, text: str, place: int) -> bool:
    if kind == "\\A":
        return place == 0
    if kind == "\\z":
        return place == len(text)
    if kind == "(?m)^":
        return place == 0 or text[place - 1] == "\n"
    if kind == "(?m)$":
        return place == len(text) or text[place] == "\n"
    edge = _word(text, place - 1) != _word(text, place)
    return edge == (kind == "\\b")


def _word(text: str, place: int) -> bool:
    return 0 <= place < len(text) and text[place].isascii() and (text[place].isalnum() or text[place] == "_")


@lru_cache(maxsize=4096)
def _fits(item: One, character: str) -> bool:
    if _within(item.ranges, character):
        return not item.negated
    if item.fold and any(_within(item.ranges, other) for other in _folds(character)):
        return not item.negated
    return item.negated


def _within(ranges: tuple[tuple[int, int], ...], character: str) -> bool:
    point = ord(character)
    return any(low <= point <= high for low, high in ranges)


def _folds(character: str) -> set[str]:
    """What simple case folding holds for the same letter: k, K and the Kelvin sign."""
    lower, upper = character.lower(), character.upper()
    found = {lower, upper, lower.upper(), upper.lower()}
    found |= {"K", "\u212a", "k"} if lower == "k" else {"S", "\u017f", "s"} if lower in ("s", "\u017f") else set()
    return {one for one in found if len(one) == 1}


def matches(text: str, pattern: str) -> bool:
    return search(compile_pattern(pattern), text) is not None


def find(text: str, pattern: str) -> str:
    found = search(compile_pattern(pattern), text)
    return text[found[0] : found[1]] if found else ""


def find_all(text: str, pattern: str, count: int = -1) -> list[str]:
    """The matches that do not overlap, at most `count` where that is not below 0; an empty one right behind another
    match is none."""
    steps = compile_pattern(pattern)
    found: list[str] = []
    place, last_end = 0, -1
    while place <= len(text) and (count < 0 or len(found) < count):
        one = search(steps, text, place)
        if one is None:
            break
        if one[0] != one[1] or one[0] != last_end:
            found.append(text[one[0] : one[1]])
        last_end = one[1]
        place = one[1] + 1 if one[0] == one[1] else one[1]
    return found
