"""`gputopo lint --fix [--write]`: what can be mended with certainty, as a diff, or written into the files."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from gputopo.commands import lint, output
from gputopo.commands.lint_reading import Reading
from gputopo.documents import lint as document
from gputopo.errors import GputopoError
from gputopo.evidence.reading import read_path
from gputopo.parsers.manifests import read as read_manifests
from gputopo.parsers.unreadable import Unreadable
from gputopo.reports import lint_diff, lint_lines
from gputopo.rules.finding import SEVERITIES
from gputopo.rules.manifests.fixes.needs import Needs, needs
from gputopo.rules.manifests.mending import Mended, Said, mended
from gputopo.rules.manifests.problem import Context
from gputopo.terms.manifest import Manifest

_TIMEOUT = 10.0
_BOM = b"\xef\xbb\xbf"


class Printing(NamedTuple):
    form: str
    output_file: str | None
    quiet: bool
    fail_on: str


class Source(NamedTuple):
    """A file as it was read."""

    file: str
    data: bytes
    text: str  # without the byte order mark


def checked(files: Sequence[str], fix: bool, write: bool, form: str) -> tuple[str, ...]:
    """The files, each once. Raises GputopoError for options that do not go together."""
    names = tuple(dict.fromkeys(files))
    if write and not fix:
        raise GputopoError("--write goes with --fix", "", "gputopo lint --fix --write FILE")
    if write and "-" in names and (len(names) > 1 or form != "text"):
        raise GputopoError("`-` with --write prints the text: no other file and no other output goes with it", "-")
    return names


def mend(reading: Reading, context: Context, select: Sequence[str], ignore: Sequence[str]) -> Mended:
    """What the rules say of files, and how the files are when all is mended that can be; nothing is written."""
    fixed = [file for file, _ in reading.files if file not in reading.data]
    return mended(dict(reading.files), _read, context, select, ignore, fixed)


def found(said: Sequence[Said], made: Mended) -> list[document.Found]:
    """By file and place, the worse first where several are at one; with why a mend was taken back."""
    rank = {file: place for place, file in enumerate(made.texts)}
    listed = []
    for one in said:
        why_not = made.why_not.get(one.where, one.problem.why_not)
        kept = one.problem if not why_not else one.problem._replace(edits=(), spots=(), why_not=why_not)
        listed.append(document.found(one.where.file, kept))
    return sorted(
        listed,
        key=lambda one: (
            rank[one.file], one.line, one.column, SEVERITIES.index(one.severity), one.rule, one.message
        ),
    )  # fmt: skip


def run(
    files: Sequence[str], context: Context, select: Sequence[str], ignore: Sequence[str], write: bool,
    printing: Printing,
) -> int:  # fmt: skip
    reading = lint.read(files, printing.quiet)
    sources = [_source(file, reading.data[file]) for file, _ in reading.files if file in reading.data]
    unknown = lint.unknown_in(reading)
    made = mend(reading, context._replace(node=reading.node), select, ignore)
    changed = [one for one in sources if made.texts[one.file] != one.text]
    if write:
        for one in changed:
            _check_writable(one)
        for one in changed:
            if one.file != "-":
                output.write_bytes(_bytes(one, made), one.file)
    parts = [_mended(one, made, write) for one in changed]
    before, after = (
        document.encode(files, context, found(said, made), unknown, parts) for said in (made.before, made.left)
    )
    _print(before, after, made.texts.get("-") if write else None, write, printing)
    return int(lint.fails(after if write else before, printing.fail_on))


def _source(file: str, data: bytes) -> Source:
    try:
        return Source(file, data, data.removeprefix(_BOM).decode())
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise GputopoError("not UTF-8, so that it cannot be rewritten", f"{file}:{line}") from None


def _bytes(source: Source, made: Mended) -> bytes:
    mark = _BOM if source.data.startswith(_BOM) else b""
    return mark + made.texts[source.file].encode()


def _read(text: str) -> tuple[Manifest, ...] | None:
    try:
        return read_manifests(text)
    except Unreadable:
        return None


def _check_writable(source: Source) -> None:
    """Before the first file is written: nothing but a regular file, and one that nobody changed meanwhile."""
    if source.file == "-":
        return
    try:
        regular = stat.S_ISREG(os.stat(source.file).st_mode)
    except OSError as error:
        raise GputopoError((error.strerror or str(error)).lower(), source.file) from error
    if not regular:
        raise GputopoError("no regular file, so that it cannot be written back", source.file, "--fix prints the diff")
    if not os.access(source.file, os.W_OK):
        raise GputopoError("cannot write: the file is read-only", source.file)
    if read_path(source.file, source.file, _TIMEOUT) != source.data:
        raise GputopoError("changed while it was read: nothing is written", source.file, "once more")


def _mended(source: Source, made: Mended, write: bool) -> document.Mended:
    text = made.texts[source.file]
    of = _needs(source.text, text)
    first, last = (None if minor is None else f"1.{minor}" for minor in of.kubernetes)
    left = sum(one.where.file == source.file for one in made.left)
    diff = lint_diff.unified(source.file, source.text, text)
    return document.Mended(
        source.file, made.count(source.file), left, write, first, last, of.driver, of.words, diff
    )  # fmt: skip


def _needs(before: str, after: str) -> Needs:
    """Of the objects that changed."""
    pairs = zip(_read(before) or (), _read(after) or ())
    return needs(new for old, new in pairs if old.object.body != new.object.body)


def _print(
    before: dict[str, Any], after: dict[str, Any], text: str | None, write: bool, printing: Printing
) -> None:  # fmt: skip
    form, file, quiet = printing.form, printing.output_file, printing.quiet
    if form != "text":
        output.write(lint.text_of(after if write else before, form, file, quiet), file)
    elif text is not None:
        output.write(text, file)
        _say(lint_lines.text(after, True), quiet)  # standard output is the text
    elif write:
        output.write(lint.text_of(after, form, file, quiet), file)
    else:
        output.write(lint_diff.diffs(before, quiet, output.on_terminal(file)), file)
        _say(_left(after, len(before["findings"]), sum(one["findings"] for one in before["mended"])), quiet)


def _left(after: dict[str, Any], before: int, mended: int) -> str:
    """What the result still has, by its lines."""
    text = lint_lines.text({**after, "mended": []}, True)
    if not before:
        return text
    count = f"{before} finding{'s' if before != 1 else ''}, --fix --write mends {mended}"
    return f"{count}; the result has, by its lines:\n{text}" if after["findings"] else f"{count}\n"


def _say(text: str, quiet: bool) -> None:
    if not quiet and sys.stderr is not None:
        print(text, end="", file=sys.stderr)
