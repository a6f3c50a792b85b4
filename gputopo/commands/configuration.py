"""`gputopo.toml`: what a site does not want to see, each with a reason, and thresholds of rules.

    [[ignore]]
    rule = "GT112"                 # a code, a prefix of codes or a rule's name
    subjects = ["GPU3", "mlx5_*"]  # optional: devices, or files for `lint`; all subjects of a finding must be named
    reason = "riser with x8, ordered so"

    [thresholds]
    slower_than_expected = 0.6

The file is --config's, else the nearest gputopo.toml in this folder or above it. What it suppresses is counted in the
last line of a report, so that it is never silent; a word in it that means nothing is an error with its place.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from gputopo.commands import output
from gputopo.errors import GputopoError
from gputopo.rules.settings import NO_SETTINGS, THRESHOLDS, Settings, Suppressed, Suppression, counted

NAME = "gputopo.toml"
_MOST = 1 << 20  # bytes
_LONGEST = 500  # characters of a reason or subject
_TABLES = ("ignore", "thresholds")
_OF_IGNORE = ("rule", "subjects", "reason")


def settings(config: str | None) -> Settings:
    """Raises GputopoError: no such file, no TOML, or a word in it that means nothing."""
    file = config or _nearest()
    if file is None:
        return NO_SETTINGS
    text = _read(file)
    try:
        table: dict[str, Any] = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli").loads(text)
    except ImportError as error:
        raise GputopoError("on Python 3.10 it is read by tomli, which is missing", file, "pip install tomli") from error
    except ValueError as error:  # both call it TOMLDecodeError
        raise _at(file, str(error)) from error
    except RecursionError as error:
        raise GputopoError("it nests too deep", file) from error
    return _Reader(file, text).settings(table)


def report(text: str, form: str, suppressed: Sequence[Suppressed], used: Settings, quiet: bool) -> str:
    """The text with a last line of what was suppressed; beside a document it is said on stderr."""
    if not suppressed or quiet:
        return text
    from gputopo.reports.sanitise import clean

    line = clean(counted(suppressed, used.source))
    if form == "text":
        return f"{text}suppressed  {line}\n"
    output.say(f"suppressed {line}")
    return text


def _nearest() -> str | None:
    try:
        folder = os.getcwd()
    except OSError:
        return None  # the folder is gone
    while True:
        file = os.path.join(folder, NAME)
        if os.path.isfile(file):
            return os.path.relpath(file)
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def _read(file: str) -> str:
    from gputopo.evidence.reading import read_path

    try:
        data = read_path(file, file, 10.0)
        if len(data) > _MOST:
            raise GputopoError("too large for a configuration", file, f"{NAME} has at most 1 MiB")
        return data.decode()
    except UnicodeDecodeError as error:
        raise GputopoError("not UTF-8", f"{file}:{error.object[: error.start].count(10) + 1}") from error


def _at(file: str, said: str) -> GputopoError:
    """`Expected '=' after a key (at line 3, column 5)` as what and where."""
    match = re.search(r"^(.*) \(at line (\d+), column (\d+)\)$", said)
    if match is None:
        return GputopoError(f"no TOML: {said[:200]}", file)
    return GputopoError(f"no TOML: {match[1][:200]}", f"{file}:{match[2]}:{match[3]}")


class _Reader:
    def __init__(self, file: str, text: str) -> None:
        self._file = file
        self._lines = text.splitlines()

    def settings(self, table: dict[str, Any]) -> Settings:
        for key in table:
            if key not in _TABLES:
                raise self._unknown(key, _TABLES, None, 0)
        given = table.get("ignore", [])
        if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
            raise self._error("ignore is a list of tables: [[ignore]]", "ignore", None, 0)
        thresholds = table.get("thresholds", {})
        if not isinstance(thresholds, dict):
            raise self._error("thresholds is a table: [thresholds]", "thresholds", None, 0)
        for key, value in thresholds.items():
            self._check_threshold(key, value)
        suppressions = tuple(self._suppression(one, number) for number, one in enumerate(given))
        return Settings(suppressions, {key: float(value) for key, value in thresholds.items()}, self._file)

    def _check_threshold(self, key: str, value: Any) -> None:
        row = THRESHOLDS.get(key)
        if row is None:
            raise self._unknown(key, tuple(THRESHOLDS), "thresholds", 0)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not row.least <= value <= row.most:
            raise self._error(f"{key} is a number from {row.least:g} to {row.most:g}", key, "thresholds", 0)

    def _suppression(self, table: dict[str, Any], number: int) -> Suppression:
        for key in table:
            if key not in _OF_IGNORE:
                raise self._unknown(key, _OF_IGNORE, "ignore", number)
        rule, subjects, reason = table.get("rule"), table.get("subjects", []), table.get("reason")
        if not isinstance(rule, str):
            raise self._error("[[ignore]] names no rule", "rule", "ignore", number, 'rule = "GT112"')
        if not isinstance(reason, str) or not reason.strip() or len(reason) > _LONGEST:
            raise self._error(
                f"[[ignore]] of {rule[:40]} gives no reason", "reason", "ignore", number, 'reason = "why it may be so"'
            )
        texts = subjects if isinstance(subjects, list) else [None]
        if not all(isinstance(one, str) and 0 < len(one) <= _LONGEST for one in texts):
            raise self._error("subjects is a list of texts", "subjects", "ignore", number, 'subjects = ["GPU3"]')
        from gputopo.rules.codes import matching

        try:
            codes = matching(rule)
        except GputopoError as error:
            raise self._error(error.what, "rule", "ignore", number, error.hint) from error
        return Suppression(codes, tuple(subjects), " ".join(reason.split()))

    def _unknown(self, key: str, known: tuple[str, ...], table: str | None, number: int) -> GputopoError:
        from difflib import get_close_matches

        near = get_close_matches(key, known, 1)
        hint = f"did you mean {near[0]}?" if near else f"it takes {', '.join(known)}"
        return self._error(f"no such key: {key[:60]}", key, table, number, hint)

    def _error(self, what: str, key: str, table: str | None, number: int, hint: str = "") -> GputopoError:
        line, column = self._place(key, table, number)
        return GputopoError(what, f"{self._file}:{line}:{column}", hint)

    def _place(self, key: str, table: str | None, number: int) -> tuple[int, int]:
        """Line and column of a key, of its table's header where the key is not written, else of the beginning."""
        inside, seen, header = table is None, -1, (1, 1)
        for at, line in enumerate(self._lines, 1):
            head = re.match(r"\s*(\[{1,2})\s*([^\]]*?)\s*\]", line)
            if head is not None:
                seen += head[2] == table
                inside = table is not None and head[2] == table and (seen == number or head[1] == "[")
                header = (at, line.index("[") + 1) if inside else header
                if table is None and head[2].split(".")[0].strip("\"' ") == key:
                    return at, line.index(head[2]) + 1
                continue
            found = re.match(rf"""\s*["']?{re.escape(key)}["']?\s*[=.]""", line)
            if inside and found is not None:
                return at, len(line) - len(line.lstrip()) + 1
        return header
