"""`gputopo diff A B`: what differs between two nodes, or between two times of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gputopo.commands import options, output
from gputopo.errors import GputopoError

if TYPE_CHECKING:
    from gputopo.topology.node import NodeTopology

A = Annotated[str, typer.Argument(metavar="A", help="File, folder, archive, `-` or sample:NAME.", show_default=False)]
B = Annotated[str, typer.Argument(metavar="B", help="What it is compared with.", show_default=False)]
By = Annotated[
    Literal["auto", "uuid", "pci", "shape", "id"],
    typer.Option("--by", help="How to tell which device is which; auto: UUID, PCI address, else shape."),
]


def command(
    a: A,
    b: B,
    by: By = "auto",
    as_format: options.As = None,
    form: options.ReportOutput = "text",
    output_file: options.OutputFile = None,
    color: options.Color = "auto",
    quiet: options.Quiet = False,
    assume: options.Assume = None,
    timeout: options.Timeout = 10.0,
) -> int:
    """What differs between two nodes, or between two times of one.

    The order of GPUs and NICs and the speed of idle links are no differences. Devices are the same by UUID, else by PCI
    address, else by how they are wired.

    Exit 0: no difference. 1: differences. 3: the two have nothing in common that could be compared.
    """
    as_format = options.checked_format(as_format)
    assumed = options.pairs(assume, "--assume")
    seconds = options.checked_timeout(timeout)
    if a == b == "-":
        raise GputopoError("standard input can be read once", "-")
    one, other = (_node(each, as_format, assumed, seconds, quiet) for each in (a, b))
    from gputopo.checks.align import align
    from gputopo.checks.differences import compare
    from gputopo.documents.diff import encode

    alignment = align(one, other, "" if by == "auto" else by)
    compared = compare(one, other, alignment)
    code = 1 if compared.differences else 0 if compared.fields else 3
    note = _NOTES[code] if output.on_terminal(output_file) and not quiet else None
    document = encode(one, other, alignment, compared)
    if form in output.FORMS:
        output.write(_passed_on(document, (one, other), form, quiet), output_file)
    else:
        output.write(_text(document, form, output_file, color, quiet, note), output_file)
    return code


_NOTES = {
    0: "0 (no difference)",
    1: "1 (there are differences)",
    3: "3 (nothing is known of both that could be compared)",
}


def _node(
    spec: str, as_format: str | None, assumed: dict[str, str], timeout: float, quiet: bool
) -> NodeTopology:  # fmt: skip
    from gputopo.commands.inspect import open_pieces
    from gputopo.inspection import nodes

    found = nodes(open_pieces([spec], timeout, quiet), as_format=as_format, assume=assumed)
    if len(found) != 1:
        raise GputopoError(f"{len(found)} nodes in one source: diff compares one with one", spec)
    return found[0]


def _passed_on(
    document: dict[str, Any], nodes: tuple[NodeTopology, NodeTopology], form: str, quiet: bool
) -> str:  # fmt: skip
    """A page has both nodes, drawn, under the differences."""
    from gputopo.reports.forms import Picture, Shown, render
    from gputopo.reports.views.diff import blocks
    from gputopo.reports.views.inspect_head import head
    from gputopo.reports.views.words import title_of

    titles = [f"{side}: {title_of(node)}" for side, node in zip("AB", nodes)]
    made = [Shown(", ".join(titles), blocks(document, quiet=quiet))]
    if form == "html":
        made += [Shown(title, head(node, verbose=False), Picture(node)) for title, node in zip(titles, nodes)]
    return render(form, "gputopo diff", made)


def _text(
    document: dict[str, Any], form: str, file: str | None, color: str, quiet: bool, note: str | None
) -> str:  # fmt: skip
    if form == "json":
        from gputopo.reports.json import render as render_json

        return render_json(document)
    if form == "yaml":
        from gputopo.reports.yaml import render as render_yaml

        return render_yaml(document)
    if form == "github":
        from gputopo.reports.diff_annotations import github

        return github(document)
    from gputopo.reports.style import Style
    from gputopo.reports.text import render
    from gputopo.reports.views.diff import blocks

    return render(blocks(document, quiet=quiet, exit_note=note), Style(*output.place(color, file)))
