"""`gputopo draw [SOURCE]...`: a node as a picture."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal, Optional

import typer

from gputopo.commands import allocate_options as shared
from gputopo.commands import options, output
from gputopo.errors import GputopoError

if TYPE_CHECKING:
    from gputopo.reports.picture.parts import Picture
    from gputopo.rules.pods.audit import Audit
    from gputopo.topology.node import NodeTopology

Form = Annotated[
    Optional[Literal["svg", "html", "dot", "mermaid", "ascii", "png"]],  # noqa: UP045
    typer.Option("-o", "--output", help="How to draw it; default: as --output-file ends, else ascii.",
                 show_default=False),
]  # fmt: skip
Text = Optional[str]  # noqa: UP045  (Typer reads it at run time)
Highlight = Annotated[
    Text, typer.Option("--highlight", metavar="SET", help="These GPUs, their weakest pair, and what they cross.")
]
Against = Annotated[
    Text, typer.Option("--against", metavar="SET", help="A second set beside it; `best`: the best of that size.")
]
Pods = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option("--pods", metavar="FILE", help="Who holds what: a kubelet's checkpoint, podresources, Pods."),
]
Only = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option("--only", metavar="KINDS", help="Only these devices: gpus, nics, nvme; by commas."),
]
_ENDINGS = {".svg": "svg", ".html": "html", ".htm": "html", ".png": "png", ".dot": "dot", ".gv": "dot",
            ".mmd": "mermaid", ".mermaid": "mermaid"}  # fmt: skip


def command(
    sources: options.Sources = None,
    form: Form = None,
    highlight: Highlight = None,
    against: Against = None,
    pods: Pods = None,
    only: Only = None,
    as_format: options.As = None,
    output_file: options.OutputFile = None,
    color: options.Color = "auto",
    quiet: options.Quiet = False,
    assume: options.Assume = None,
    merge: options.Merge = False,
    root: options.Root = None,
    driver_root: options.DriverRoot = None,
    timeout: options.Timeout = 10.0,
) -> int:
    """A node as a picture: sockets, NUMA nodes, switches, GPUs, NICs and drives, and the NVLinks between them."""
    as_format = options.checked_format(as_format)
    assumed = options.pairs(assume, "--assume")
    kinds = _kinds(only)
    shared.check_live(sources, root, driver_root)
    if against is not None and highlight is None:
        raise GputopoError("--against needs a set to stand beside", "--against", "--highlight SET --against SET")
    drawn: str = form or _by_ending(output_file)
    if drawn == "png" and output.on_terminal(output_file):
        raise GputopoError("a PNG is no text for a terminal", "-o png", "--output-file FILE.png")
    nodes = _nodes(sources, root, driver_root, options.checked_timeout(timeout), quiet, as_format, assumed, merge)
    if len(nodes) != 1 and drawn != "ascii":
        named = ", ".join(node.name or "a node without a name" for node in nodes[:3])
        raise GputopoError(f"{len(nodes)} nodes in the sources: this picture is of one", named, "-o ascii, or --merge")
    if drawn == "html":
        output.write(_page(nodes[0], kinds, highlight, against, pods, timeout, quiet), output_file)
        return 0
    pictures = [_picture(node, kinds, highlight, against, pods, timeout, quiet) for node in nodes]
    if drawn == "png":
        _write_png(pictures[0], output_file)
    else:
        output.write(_text(pictures, drawn, color, output_file), output_file)
    return 0


def _kinds(only: Sequence[str] | None) -> tuple[str, ...]:
    from gputopo.reports.picture.nest import KINDS

    wanted = options.words(only)
    for word in wanted:
        if word not in KINDS:
            raise GputopoError(f"--only takes {', '.join(KINDS)}, not {word}", "--only")
    return tuple(kind for kind in KINDS if kind in wanted) if wanted else KINDS


def _by_ending(file: str | None) -> str:
    name = (file or "").lower()
    return next((form for ending, form in _ENDINGS.items() if name.endswith(ending)), "ascii")


def _nodes(
    sources: Sequence[str] | None, root: str | None, driver_root: str | None, timeout: float, quiet: bool,
    as_format: str | None, assumed: dict[str, str], merge: bool,
) -> tuple[NodeTopology, ...]:  # fmt: skip
    from gputopo import inspection

    if sources:
        found = shared.pieces(sources, timeout, quiet)
        return inspection.nodes(found, as_format=as_format, merge=merge, assume=assumed)
    from gputopo.commands.inspect import read_live

    return (inspection.live_node(read_live(root, driver_root, timeout, as_format, quiet), assumed),)


def _picture(
    node: NodeTopology, kinds: tuple[str, ...], highlight: str | None, against: str | None,
    pods: Sequence[str] | None, timeout: float, quiet: bool,
) -> Picture:  # fmt: skip
    from gputopo.reports.picture.compose import compose

    first, second = _sets(node, highlight, against)
    audit = _audit(node, pods, timeout, quiet) if pods else None
    return compose(node, only=kinds, highlight=first, against=second, audit=audit)


def _page(
    node: NodeTopology, kinds: tuple[str, ...], highlight: str | None, against: str | None,
    pods: Sequence[str] | None, timeout: float, quiet: bool,
) -> str:  # fmt: skip
    from gputopo.reports import forms
    from gputopo.reports.views.inspect_head import head
    from gputopo.reports.views.words import title_of

    first, second = _sets(node, highlight, against)
    audit = _audit(node, pods, timeout, quiet) if pods else None
    picture = forms.Picture(node, first, second, audit, kinds)
    return forms.render("html", "gputopo draw", [forms.Shown(title_of(node), head(node, verbose=False), picture)])


def _sets(node: NodeTopology, highlight: str | None, against: str | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    first = _set(node, highlight, "--highlight")
    if against == "best":
        from gputopo.reports.picture.marks import best_set

        return first, best_set(node, len(first))
    return first, _set(node, against, "--against")


def _set(node: NodeTopology, text: str | None, option: str) -> tuple[str, ...]:
    """The GPUs of a set, in the node's order. Raises GputopoError where it names none."""
    if text is None:
        return ()
    from gputopo.allocate.gpu_set import resolve

    named = resolve(node, text, option)
    if not named:
        raise GputopoError("an empty set", option, f"{option} 0,1,4,5")
    return tuple(gpu.id for gpu in node.gpus if gpu.id in named)


def _audit(node: NodeTopology, files: Sequence[str], timeout: float, quiet: bool) -> Audit:
    from gputopo.commands.pods import pieces
    from gputopo.inspection_pods import audits

    found = audits(pieces(files, timeout, quiet), live=node)
    if len(found) != 1:
        raise GputopoError(f"these are of {len(found)} nodes", f"--pods {', '.join(files)}", "give those of one node")
    return found[0]


def _text(pictures: Sequence[Picture], form: str, color: str, file: str | None) -> str:
    if form == "ascii":
        from gputopo.reports.picture.terminal import render
        from gputopo.reports.style import Style

        style = Style(*output.place(color, file))
        return "\n".join(render(picture, style) for picture in pictures)
    if form == "dot":
        from gputopo.reports.picture import dot

        return dot.render(pictures[0])
    if form == "mermaid":
        from gputopo.reports.picture import mermaid

        return mermaid.render(pictures[0])
    from gputopo.reports.picture import layout, svg

    return svg.render(layout.layout(pictures[0]))


def _write_png(picture: Picture, file: str | None) -> None:
    from gputopo.reports.picture import layout, png, svg

    scene = layout.layout(picture)
    data = png.render(svg.render(scene, theme="light"), scene.width, scene.height)
    if file is not None:
        output.write_bytes(data, file)
    elif sys.stdout is None:
        raise GputopoError("cannot write: standard output is closed")
    else:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
