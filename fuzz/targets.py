"""What is fuzzed: each parser, the document reader and the archive reader, each with its seeds.

A case goes through the parser; a part of them also through topology, rules, the text report and the
JSON document, which must read back as it was written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from fuzz import archives, kubelet, seeds, trees
from fuzz.mutate import mutate
from gputopo.errors import GputopoError
from gputopo.evidence.piece import Piece
from gputopo.evidence.text import NotText, decode
from gputopo.parsers.unreadable import Unreadable
from gputopo.topology.build import NotOneNode

_LOGS = ("nccl_log", "nccl_tests", "job_log")
REFUSALS = (GputopoError, Unreadable, NotOneNode)
PARSERS = Path(seeds.ROOT / "gputopo" / "parsers")


class Target(NamedTuple):
    """`run(case, further)`: whether it was read; a refusal is raised. `further`: beyond the parser."""

    name: str
    seeds: Callable[[], Sequence[Any]]
    mutate: Callable[[Any, Random, Sequence[Any]], Any]
    run: Callable[[Any, bool], None]
    pack: Callable[[Any], bytes] = bytes
    unpack: Callable[[bytes], Any] = bytes


def names() -> tuple[str, ...]:
    """Every target: one a parser, found by looking at the folder, and those that read no one text."""
    found = []
    for path in PARSERS.iterdir():
        file = path / "__init__.py" if path.is_dir() else path
        if file.suffix == ".py" and file.is_file():
            source = file.read_text(encoding="utf-8")
            if "\ndef parse(" in source and ("\ndef sniff(" in source or path.name == "sysfs_root"):
                found.append(path.stem)
    return (*sorted(found), "documents", "archives", *_MORE)


# Name → seeds, what one is run through.
_MORE: dict[str, tuple[Callable[[], Sequence[bytes]], Callable[[bytes, bool], None]]] = {
    "podresources_bytes": (kubelet.messages, kubelet.run_message),
    "allocate_answer": (kubelet.answers, kubelet.run_answer),
    "gpu_processes": (kubelet.process_files, kubelet.run_process),
}


def target(name: str) -> Target:
    if name in _MORE:
        return Target(name, _MORE[name][0], mutate, _MORE[name][1])
    if name == "sysfs_root":
        return Target(
            name, trees.seeds, lambda case, random, _: trees.change(case, random), _run_tree, trees.pack, trees.unpack
        )
    if name == "documents":
        return Target(name, seeds.documents, mutate, _run_document)
    if name == "archives":
        return Target(name, archives.seeds, mutate, archives.run)
    runner = _log_runner if name in _LOGS else _text_runner
    return Target(name, lambda: seeds.texts(name), mutate, runner(name))


def _text(data: bytes) -> str:
    """As evidence/open.py hands it on: what UTF-8 has."""
    try:
        return decode(data)[0].encode("utf-8", "replace").decode()
    except NotText:
        raise Unreadable("binary") from None


def _text_runner(name: str) -> Callable[[bytes, bool], None]:
    module = import_module(f"gputopo.parsers.{name}")
    format = _format_id(name)

    def run(data: bytes, further: bool) -> None:
        text = _text(data)
        if not further or format is None:  # None: no evidence of a node, a configuration
            sniffed = module.sniff(text)
            records = module.parse(text)
            assert sniffed in (True, False)
            # A configuration may say nothing; a text that is evidence says something, or is refused.
            assert records or (format is None and records is not None), "neither records nor a refusal"
            return
        piece = Piece("input", data=text.encode())
        _inspect(piece, None if module.sniff(text) else format)

    return run


def _log_runner(name: str) -> Callable[[bytes, bool], None]:
    """A parser that takes the lines of a log, which refuses nothing: what is no print of its programs is skipped."""
    from gputopo.parsers.recognise_job import read

    module = import_module(f"gputopo.parsers.{name}")

    def run(data: bytes, further: bool) -> None:
        text = _text(data)
        assert module.sniff(text) in (True, False)
        lines = text.split("\n")
        module.parse(lines)
        if further:
            log = read(lines)
            assert log.lines == len(lines)
            for job in log.nccl:
                assert all(gap.reason.isprintable() for gap in job.gaps)
                assert job.whole or job.gaps

    return run


def _format_id(name: str) -> str | None:
    from gputopo.parsers.recognise import FORMATS

    return next((row.id for row in FORMATS if row.module == name), None)


def _run_tree(members: trees.Members, further: bool) -> None:
    from gputopo.parsers import sysfs_root

    if further:
        _inspect(Piece("input", tree=trees.tree(members)), None)
    else:
        sysfs_root.parse(trees.tree(members))


def _run_document(data: bytes, further: bool) -> None:
    from gputopo.documents.load import loads
    from gputopo.inspection import Inspection
    from gputopo.rules.run import run

    for node in loads(_text(data), "input"):
        if further:
            _show(Inspection(node, *run(node)))


def _inspect(piece: Piece, as_format: str | None) -> None:
    from gputopo.inspection import inspect

    for one in inspect((piece,), as_format=as_format):
        _show(one)


def _show(one: Any) -> None:
    """Print it as text and as JSON; what is printed is printable, and the JSON reads back."""
    from gputopo.documents.layout import dumps
    from gputopo.documents.load import loads
    from gputopo.documents.node import encode
    from gputopo.reports.style import Style
    from gputopo.reports.text import render
    from gputopo.reports.views.inspect import blocks

    text = render(blocks(one, matrix="full", verbose=True), Style(100, False, True))
    for line in text.split("\n"):
        assert line.isprintable(), f"unprintable line in the report: {line!a}"
    document = encode(one.node, one.findings, one.not_checked, provenance=True)
    printed = dumps(document)
    [again] = loads(printed, "what was printed")
    assert dumps(encode(again, one.findings, one.not_checked, provenance=True)) == printed, "JSON does not read back"
