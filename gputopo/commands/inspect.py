"""`gputopo inspect [SOURCE]...`: what is on this node, how is it wired, what is odd."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gputopo.commands import options, output
from gputopo.errors import GputopoError

if TYPE_CHECKING:
    from gputopo.evidence.piece import Piece
    from gputopo.inspection import Inspection
    from gputopo.reports.style import Style


def command(
    sources: options.Sources = None,
    as_format: options.As = None,
    form: options.Output = "text",
    output_file: options.OutputFile = None,
    color: options.Color = "auto",
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
    fail_on: options.FailOn = "never",
    select: options.Select = None,
    ignore: options.Ignore = None,
    assume: options.Assume = None,
    matrix: options.MatrixOption = "auto",
    merge: options.Merge = False,
    each: options.Each = False,
    root: options.Root = None,
    timeout: options.Timeout = 10.0,
) -> int:
    """What is on this node, how is it wired, what is odd; from this node or from anything saved."""
    from gputopo.inspection import inspect

    if merge and each:
        raise GputopoError("--merge and --each exclude one another")
    # Every option is checked before anything is read: a typo should not wait for a slow pipe.
    as_format = options.checked_format(as_format)
    assumed = options.pairs(assume, "--assume")
    selected, ignored = options.codes(select), options.codes(ignore)
    pieces = _pieces(sources or (), root, options.checked_timeout(timeout), quiet)
    inspections = inspect(
        pieces, as_format=as_format, merge=merge, each=each,
        assume=assumed, select=selected, ignore=ignored,
    )  # fmt: skip
    if form == "text":
        from gputopo.reports.style import Style

        style = Style(*output.place(color, output_file))
        text = _text(inspections, style, matrix, verbose=verbose, quiet=quiet)
    else:
        text = _document(inspections, form, provenance=verbose)
    output.write(text, output_file)
    return int(_fails(inspections, fail_on))


def _pieces(specs: Sequence[str], root: str | None, timeout: float, quiet: bool) -> tuple[Piece, ...]:
    if specs and root is not None:
        raise GputopoError("--root is for the live node; give the folder as a source instead")
    if not specs:
        return _live(root or "/")
    import sys

    from gputopo.evidence.open import open_sources
    from gputopo.parsers.recognise import why_unreadable

    return open_sources(
        specs,
        stdin=sys.stdin.fileno() if "-" in specs and sys.stdin is not None else None,
        timeout=timeout,
        warn=(lambda message: None) if quiet else output.say,
        why_not=why_unreadable,
    )


def _live(root: str) -> tuple[Piece, ...]:
    from gputopo.evidence.piece import Piece
    from gputopo.evidence.tree import FolderTree

    tree = FolderTree(root)
    if tree.names("sys") is None:
        raise GputopoError("no sys/ in this root folder", root, "--root /host in a container")
    return (Piece(root, tree=tree, where="live"),)


def _text(inspections: Sequence[Inspection], style: Style, matrix: str, *, verbose: bool, quiet: bool) -> str:
    from gputopo.reports.text import render
    from gputopo.reports.views.inspect import blocks

    return "\n".join(render(blocks(one, matrix=matrix, verbose=verbose, quiet=quiet), style) for one in inspections)


def _document(inspections: Sequence[Inspection], form: str, *, provenance: bool) -> str:
    from gputopo.documents.node import encode, encode_list

    items = [encode(one.node, one.findings, one.not_checked, provenance=provenance) for one in inspections]
    document = items[0] if len(items) == 1 else encode_list(items)
    if form == "json":
        from gputopo.reports.json import render
    else:
        from gputopo.reports.yaml import render
    return render(document)


def _fails(inspections: Sequence[Inspection], fail_on: str) -> bool:
    """Whether a finding is as severe as `--fail-on` says, or more."""
    if fail_on == "never":
        return False
    from gputopo.rules.finding import SEVERITIES

    worst = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    return any(finding.severity in worst for one in inspections for finding in one.findings)
