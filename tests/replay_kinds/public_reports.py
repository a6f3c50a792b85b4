"""`public-reports`: what people asked in public, and what a right answer holds.

A case is one ask of one row: `gputopo ARGV` is run twice, as text and as JSON, in this process. An
ask that needs a format, an option or a verb this version does not have is listed as waiting, with
what it waits for; an ask of WAITS that passes after all is a mismatch, so the table cannot go stale.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

COMPARED = frozenset({"argv", "exit", "json", "says", "silent"})
IGNORED: dict[str, str] = {}

# (report, number of its ask) → what it waits for. Formats that `gputopo formats` does not list and
# options that do not exist yet are found without being listed here.
WAITS: dict[tuple[str, int], str] = {
    # lspci cannot tell NVLinks, and the level of a GPU pair whose NVLinks are unknown is null; its pcie is PHB.
    ("ncclt-256", 0): "a word that says NVLinks are absent: lspci does not",
}

waiting: dict[str, str] = {}


class Case(NamedTuple):
    name: str
    expected: dict[str, Any]
    argv: tuple[str, ...]
    key: tuple[str, int]
    verbs: frozenset[str]  # of all asks of the report


def cases(path: Path) -> Iterator[Case]:
    """One case an ask of every row of index.jsonl."""
    folder = str(path.resolve().parent)
    waiting.clear()
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        asks = row.get("asks", [])
        verbs = frozenset(ask["argv"][0] for ask in asks)
        for number, ask in enumerate(asks):
            argv = tuple(word.replace("{dir}", folder) for word in ask["argv"])
            yield Case(f"{row['id']}[{number}]", ask, argv, (row["id"], number), verbs)


def uses(case: Case, verbs: frozenset[str]) -> bool:
    """Only asks of these verbs; one that waits for a format or an option is noted and left out."""
    if case.argv[0] not in verbs:
        return False
    reason = _waits(case.argv)
    if reason is not None:
        waiting[case.name] = reason
    return reason is None


def notes() -> list[str]:
    """What was not asked, and what it waits for; printed after the counts."""
    return [f"waits: {name}: {reason}" for name, reason in sorted(waiting.items())]


def answer(case: Case) -> dict[str, Any]:
    code, text, errors = run(list(case.argv))
    _, document, _ = run([*case.argv, "-o", "json"])
    parsed = json.loads(document) if document.strip() else None
    return {"exit": code, "text": text + errors, "document": parsed, "key": case.key}


def compare(expected: dict[str, Any], got: dict[str, Any]) -> list[str]:
    differences = _differences(expected, got)
    reason = WAITS.get(got["key"])
    if reason is None:
        return differences
    if not differences:
        return [f"listed as waiting for {reason}, but it is right: take it off the list"]
    waiting[f"{got['key'][0]}[{got['key'][1]}]"] = reason
    return []


def _differences(expected: dict[str, Any], got: dict[str, Any]) -> list[str]:
    found = []
    if got["exit"] not in expected["exit"]:
        found.append(f"exit {got['exit']}, not {expected['exit']}: {got['text'][-200:]!r}")
    squeezed = " ".join(got["text"].split())
    for alternatives in expected.get("says", []):
        if not any(re.search(pattern, squeezed, re.IGNORECASE) for pattern in alternatives):
            found.append(f"does not say {alternatives}")
    for pattern in expected.get("silent", []):
        match = re.search(pattern, got["text"], re.IGNORECASE)
        if match:
            found.append(f"says {match[0]!r}")
    for path, op, value in expected.get("json", []):
        if got["document"] is None:
            found.append(f"no JSON for {path}")
        elif not holds(got["document"], path, op, value):
            seen = "findings" if op == "finding" else _short(get(got["document"], path))
            found.append(f"{path} {op} {_short(value)}: got {seen}")
    return found


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) < 160 else text[:160] + "…"


def run(argv: list[str]) -> tuple[int, str, str]:
    """The command line in this process: exit code, standard output, standard error."""
    from gputopo import cli

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.run(argv)
    return code, out.getvalue(), err.getvalue()


def _waits(argv: tuple[str, ...]) -> str | None:
    """An option, a mechanism or a format that this version does not have."""
    from gputopo.parsers import recognise

    if argv[0] == "allocate":  # reads files of its own: Kubernetes objects, configurations, state files
        from gputopo.commands.allocate import present

        return None if argv[1] in present() else f"allocate {argv[1]}"
    for word in argv[1:]:
        if word.startswith("-") and argv[0] == "inspect" and word not in ("--each", "--merge", "--assume"):
            return f"option {word}"
        path = Path(word)
        if not path.is_file() or word.endswith((".xz", ".gz")):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        if recognise.recognise(text):
            continue
        miss = recognise.nearest_miss(text)
        if miss is not None and "does not read yet" in miss:
            return f"format: {miss}"
    return None


# The path language of the reports' README: `gpus[id=GPU0].numaNodes`, `gpus[*].cpus`, `pair(A,B).level`.


def get(document: Any, path: str) -> Any:
    """The value at a path; a list where `[*]` is in it; `None` where nothing is there."""
    value: Any = document
    spread = False
    for step in re.findall(r"pair\([^)]*\)|[^.\[]+(?:\[[^\]]*\])?", path):
        if spread:
            value = [item for one in value for item in _flat(_step(one, step), step)]
        else:
            value = _step(value, step)
        spread = spread or "[*]" in step
    return value


def _flat(value: Any, step: str) -> list[Any]:
    return value if "[*]" in step and isinstance(value, list) else [value]


def _step(value: Any, step: str) -> Any:
    if value is None:
        return None
    if step.startswith("pair("):
        names = {name.strip() for name in step[5:-1].split(",")}
        return next((pair for pair in value.get("pairs", []) if {pair["a"], pair["b"]} == names), None)
    name, _, pick = step.partition("[")
    value = value.get(name) if isinstance(value, dict) else None
    pick = pick.rstrip("]")
    if not pick or pick == "*" or value is None:
        return value if value is not None or pick != "*" else []
    if "=" in pick:
        key, _, wanted = pick.partition("=")
        return next((item for item in value if str(item.get(key)) == wanted), None)
    return value[int(pick)] if int(pick) < len(value) else None


def holds(document: Any, path: str, op: str, value: Any) -> bool:
    if op == "finding":
        return _has_finding(document, *value)
    got = get(document, path)
    if op == "null":
        return got is None
    if op == "notnull":
        return got is not None
    if op == "==":
        return bool(got == value)
    if op == "!=":
        return bool(got != value)
    if op == "in":
        return got in value
    if op == "has":
        return got is not None and value in got
    if op == "hasnot":
        return got is None or value not in got
    if op == "set==":
        return got is not None and {_key(item) for item in got} == {_key(item) for item in value}
    if op in ("sets==", "sets<=", "sets>="):
        have = {frozenset(item) for item in got or []}
        want = {frozenset(item) for item in value}
        return {"sets==": have == want, "sets<=": have <= want, "sets>=": have >= want}[op]
    if op in ("count==", "count>="):
        count = len(got) if got is not None else 0
        return count == value if op == "count==" else count >= value
    if op in ("<=", ">="):
        return got is not None and (got <= value if op == "<=" else got >= value)
    raise ValueError(f"no such operation: {op}")


def _key(item: Any) -> Any:
    return tuple(item) if isinstance(item, list) else item


def _has_finding(document: Any, severity: str, subjects: list[str], pattern: str) -> bool:
    documents = document.get("items", [document])
    return any(
        (severity in ("*", finding["severity"]))
        and set(subjects) <= set(finding["subjects"])
        and re.search(pattern, " ".join((finding["message"], finding["matters"] or "", finding["remedy"] or "")), re.I)
        for one in documents
        for finding in one["findings"]
    )
