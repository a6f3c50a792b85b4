"""Mends what the rules found, again and again until nothing is left that can be mended, and checks the result.

A mend that uncovers another is followed by it. The result must be read as the same objects, no value may differ
outside the fields that were at fault, and no rule may say what it did not say before: else the mend is taken back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from gputopo.rules.finding import SEVERITIES
from gputopo.rules.manifests.problem import Context, Problem, written
from gputopo.rules.manifests.run import run
from gputopo.terms.edits import Edit, apply, fits
from gputopo.terms.manifest import Manifest, Path

# None: the text is no manifest.
Read = Callable[[str], "tuple[Manifest, ...] | None"]
_MOST_ROUNDS, _MOST_TRIES = 10, 20
_FIRST = ("GT302",)  # what the others read is certain only when it can be read
_ELSEWHERE_IN_V1BETA1 = ("exactly", "basic")


class Where(NamedTuple):
    """Of a finding, the same before and after a mend: file, number of the object in it, rule, and field."""

    file: str
    object: int
    rule: str
    field: str


class Said(NamedTuple):
    where: Where
    problem: Problem


class Mended(NamedTuple):
    """The texts of the files before and after, what the selected rules said and say now; `why_not`: of mends that
    were taken back, by where the fault is."""

    old: Mapping[str, str]
    texts: Mapping[str, str]
    before: tuple[Said, ...]
    left: tuple[Said, ...]
    why_not: Mapping[Where, str]

    def count(self, file: str) -> int:
        """How many findings of a file are gone, or milder."""
        before, left = (
            Counter((one.where, one.problem.severity) for one in said if one.where.file == file)
            for said in (self.before, self.left)
        )
        return sum((before - left).values())


def mended(
    objects: Mapping[str, tuple[Manifest, ...]], read: Read, context: Context,
    select: Collection[str] = (), ignore: Collection[str] = (), fixed: Collection[str] = (),
) -> Mended:  # fmt: skip
    """`objects` by file, at least one in each. Only what the selected rules say is mended; none selected: all.
    `fixed`: the files that stay as they are, since they are no text that `read` reads."""
    whole = _Whole(objects, read, context, select, ignore, fixed)
    before = whole.said(whole.texts)
    refused: dict[Where, str] = {}
    now = dict(whole.texts)
    for _ in range(_MOST_TRIES if any(one.problem.edits for one in whole.wanted(before)) else 0):
        now, applied = whole.to_the_end(refused)
        new = _new(before, whole.said(now))
        if not new:
            break
        refused |= _to_take_back(new, applied)
    else:
        now = dict(whole.texts)
    return Mended(whole.texts, now, whole.wanted(before), whole.wanted(whole.said(now)), refused)


class _Whole:
    """The files of one run, and which rules count."""

    def __init__(
        self, objects: Mapping[str, tuple[Manifest, ...]], read: Read, context: Context,
        select: Collection[str], ignore: Collection[str], fixed: Collection[str],
    ) -> None:  # fmt: skip
        self.texts = {file: manifests[0].of_file.text for file, manifests in objects.items()}
        self.context, self.select, self.ignore = context, select, ignore
        self._read = read
        self._fixed = {file: objects[file] for file in fixed}
        self._objects: dict[str, tuple[Manifest, ...] | None] = {
            manifests[0].of_file.text: manifests for file, manifests in objects.items() if file not in fixed
        }
        self._said: dict[tuple[str, ...], tuple[Said, ...]] = {}

    def read(self, text: str) -> tuple[Manifest, ...] | None:
        """Each text is read once, as long as it is wanted."""
        if text not in self._objects:
            if len(self._objects) > 2 * len(self.texts) + 2:
                self._objects.clear()
            self._objects[text] = self._read(text)
        return self._objects[text]

    def wanted(self, said: Iterable[Said]) -> tuple[Said, ...]:
        return tuple(
            one
            for one in said
            if (not self.select or one.where.rule in self.select) and one.where.rule not in self.ignore
        )

    def said(self, texts: Mapping[str, str]) -> tuple[Said, ...]:
        """What all rules say."""
        key = tuple(texts.values())
        if key not in self._said:
            objects = {file: self._fixed.get(file) or self.read(text) or () for file, text in texts.items()}
            context = self.context._replace(together=tuple(one for each in objects.values() for one in each))
            self._said[key] = tuple(
                Said(Where(file, place, found.rule, field(found.path)), self._editable(file, found))
                for file, manifests in objects.items()
                for place, one in enumerate(manifests)
                for found in run((one,), context)
            )
        return self._said[key]

    def _editable(self, file: str, found: Problem) -> Problem:
        return found._replace(edits=(), spots=()) if file in self._fixed else found

    def to_the_end(self, refused: dict[Where, str]) -> tuple[dict[str, str], set[Where]]:
        """Rounds of mends without those that are refused, and what was mended."""
        now = dict(self.texts)
        applied: set[Where] = set()
        for _ in range(_MOST_ROUNDS):
            said = [one for one in self.wanted(self.said(now)) if one.problem.edits and one.where not in refused]
            changed = False
            for file in now:
                chosen = _chosen(one for one in said if one.where.file == file)
                text, done = self._changed(now[file], chosen, refused)
                changed = changed or text != now[file]
                now[file] = text
                applied |= done
            if not changed:
                break
        return now, applied

    def _changed(self, text: str, chosen: list[Said], refused: dict[Where, str]) -> tuple[str, set[Where]]:
        """All at once where that is fine; else each that is fine by itself."""
        if not chosen or self._is_fine(text, chosen):
            return _applied(text, chosen), {one.where for one in chosen}
        fine = []
        for one in chosen:
            if self._is_fine(text, [one]):
                fine.append(one)
            else:
                refused[one.where] = "the file would not be read as the same objects"
        if fine and not self._is_fine(text, fine):
            refused |= {one.where: "it does not go together with the other changes" for one in fine[1:]}
            fine = fine[:1]
        return _applied(text, fine), {one.where for one in fine}

    def _is_fine(self, text: str, chosen: list[Said]) -> bool:
        before, now = self.read(text), self.read(_applied(text, chosen))
        if before is None or now is None or [one.kind for one in before] != [one.kind for one in now]:
            return False
        for place, (old, new) in enumerate(zip(before, now)):
            touched = [one.where.field for one in chosen if one.where.object == place]
            was, stands = facts(old.object.body), facts(new.object.body)
            differ = {path for path in was.keys() | stands.keys() if was.get(path) != stands.get(path)}
            if not all(_allowed(path, touched, stands) for path in differ):
                return False
        return True


def _applied(text: str, chosen: Iterable[Said]) -> str:
    return apply(text, dict.fromkeys(edit for one in chosen for edit in one.problem.edits))


def _chosen(said: Iterable[Said]) -> list[Said]:
    """Those that go together; findings that one change mends are all there."""
    by_object: dict[int, list[Said]] = {}
    for one in sorted(said, key=lambda one: (one.where.rule not in _FIRST, one.problem.place)):
        by_object.setdefault(one.where.object, []).append(one)
    found: list[Said] = []
    for group in by_object.values():
        taken: tuple[Edit, ...] = ()
        sets: set[tuple[Edit, ...]] = set()
        for one in group:
            edits = one.problem.edits
            if edits not in sets and not fits(taken, edits):
                continue
            taken += () if edits in sets else edits
            sets.add(edits)
            found.append(one)
    return found


def _new(before: Iterable[Said], now: Iterable[Said]) -> list[Said]:
    """Findings where that rule had none, or fewer, or milder ones."""
    known: dict[Where, list[int]] = {}
    for one in before:
        known.setdefault(one.where, []).append(SEVERITIES.index(one.problem.severity))
    for levels in known.values():
        levels.sort(reverse=True)
    found = []
    for one in sorted(now, key=lambda one: SEVERITIES.index(one.problem.severity)):
        left = known.get(one.where, [])
        if left and left[-1] <= SEVERITIES.index(one.problem.severity):
            left.pop()
        else:
            found.append(one)
    return found


def _to_take_back(new: list[Said], applied: set[Where]) -> dict[Where, str]:
    """The mends that a new finding must come from: of its field, else of its object, of its file, or any."""
    found: dict[Where, str] = {}
    for one in new:
        near = [other for other in applied if other[:2] == one.where[:2]]
        field_alike = [other for other in near if other.field == one.where.field]
        of_file = [other for other in applied if other.file == one.where.file]
        why = f"{one.where.rule} would then say: {one.problem.message}"
        found |= dict.fromkeys(field_alike or near or of_file or applied, why)
    return found


def field(path: str) -> str:
    """A path without what v1beta1 has elsewhere.

    >>> field("spec.devices.requests[0].exactly.count"), field("spec.devices[1].basic.attributes")
    ('spec.devices.requests[0].count', 'spec.devices[1].attributes')
    """
    for word in _ELSEWHERE_IN_V1BETA1:
        path = path.replace(f"].{word}.", "].").removesuffix(f".{word}")
    return path


def facts(body: object, path: Path = ()) -> dict[str, object]:
    """The single values of an object by their fields."""
    found: dict[str, object] = {}
    waiting: list[tuple[Path, object]] = [(path, body)]
    while waiting:
        own, value = waiting.pop()
        if isinstance(value, dict) and value:
            waiting += [((*own, key), one) for key, one in value.items()]
        elif isinstance(value, list) and value:
            waiting += [((*own, place), one) for place, one in enumerate(value)]
        else:
            found[field(written(own))] = value
    return found


def _allowed(path: str, touched: list[str], stands: Mapping[str, object]) -> bool:
    """Whether a value may differ: it is in a field at fault, or beside one that has another name now."""
    for one in touched:
        gone = one not in stands and not any(_within(other, one) for other in stands)
        above = one.rpartition(".")[0]
        if _within(path, one) or (gone and (not above or _within(path, above))):
            return True
    return False


def _within(path: str, above: str) -> bool:
    return path == above or (path.startswith(above) and path[len(above) : len(above) + 1] in (".", "["))
