"""Reports in the forms that people pass on: Markdown, CSV, a page. All are made of the blocks of the text report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gputopo.reports.blocks import Block, KeyValue

if TYPE_CHECKING:
    from gputopo.reports.html.page import Drawn
    from gputopo.rules.pods.audit import Audit
    from gputopo.topology.node import NodeTopology

_MOST_PICTURES = 24
Expired = Callable[[], bool]


class Picture(NamedTuple):
    """What the page of a report draws. `asked`: GPUs that the report is about; `against`: a better set."""

    node: NodeTopology
    asked: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    audit: Audit | None = None
    only: tuple[str, ...] = ()  # kinds of devices; none: all


class Shown(NamedTuple):
    """A report on one node."""

    title: str
    blocks: Sequence[Block]
    picture: Picture | None = None


def render(form: str, verb: str, reports: Sequence[Shown], model: Expired | None = None) -> str:
    """verb: `gputopo inspect`; model: NCCL's model is asked for the GB/s of sets, until the time is up."""
    reports = [one._replace(blocks=[block for block in one.blocks if not _is_for_the_prompt(block)]) for one in reports]
    if form == "csv":
        from gputopo.reports import csv

        return csv.render([one.blocks for one in reports])
    from gputopo.reports.markdown import render as markdown

    text = "\n".join(markdown(one.blocks) for one in reports)
    if form == "markdown":
        return text
    from gputopo.reports.html import page

    made = [
        page.Report(one.title, tuple(one.blocks), _drawn(one.picture, model) if number < _MOST_PICTURES else None)
        for number, one in enumerate(reports)
    ]
    return page.render(verb, made, text)


def _is_for_the_prompt(block: Block) -> bool:
    """What to type next and the exit code."""
    return isinstance(block, KeyValue) and block.role == "dim" and (block.title == "more" or block.title[:5] == "exit ")


def _drawn(picture: Picture | None, model: Expired | None) -> Drawn | None:
    if picture is None or not (picture.node.gpus or picture.node.nics):
        return None
    from gputopo.allocate.best import Judge
    from gputopo.reports.html.explorer import explorer
    from gputopo.reports.html.page import Drawn
    from gputopo.reports.picture.compose import KINDS, compose
    from gputopo.reports.picture.layout import layout

    node, asked = picture.node, picture.asked
    against = picture.against if asked and Judge(node).better(picture.against, asked) is not False else ()
    only = picture.only or KINDS
    scene = layout(compose(node, only=only, highlight=asked, against=against, audit=picture.audit))
    return Drawn(scene, explorer(node, asked=asked, model=model))
