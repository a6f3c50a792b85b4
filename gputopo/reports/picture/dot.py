r"""A picture as a graph for Graphviz: sockets, NUMA nodes and groups as clusters, bridges and devices as nodes.

Names in it are numbers, labels are strings: what Graphviz would read in a label (`\N`, `&lt;`) is escaped.

    >>> quoted('a "b" \\N &lt; <i>')
    '"a \\"b\\" \\\\N &amp;lt; <i>"'
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.reports.picture.palette import LEVELS, LIGHT
from gputopo.reports.picture.parts import Box, Card, Picture
from gputopo.reports.picture.shown_as import brief, colour_of, letters, link_label, number, short
from gputopo.reports.sanitise import clean

_INDENT = "  "


def render(picture: Picture) -> str:
    return "\n".join(_Graph(picture).lines()) + "\n"


def quoted(*lines: str) -> str:
    """A label of these lines."""
    safe = [clean(line).replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;") for line in lines if line]
    return '"' + "\\n".join(safe) + '"'


class _Graph:
    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.node_of: dict[str, str] = {}  # device → node
        self.anchor: dict[str, str] = {}  # room → the point in it where it is connected
        self.count = 0

    def lines(self) -> Iterator[str]:
        picture = self.picture
        yield "graph gputopo {"
        yield f"  graph [label={quoted(short(picture.title), picture.subtitle)}, labelloc=t, labeljust=l, " \
              'fontname="Helvetica", nodesep=0.15, ranksep=0.4];'
        yield '  node [shape=box, style="filled,rounded", fontname="Helvetica", fontsize=10, margin="0.08,0.04"];'
        yield '  edge [fontname="Helvetica", fontsize=10];'
        for room in picture.rooms:
            yield from self.part(room, None, _INDENT)
        yield from self.between()
        yield from self.links()
        yield "}"

    def new(self) -> str:
        self.count += 1
        return f"n{self.count}"

    def part(self, part: Box | Card, above: str | None, indent: str) -> Iterator[str]:
        """above: the bridge it hangs below."""
        if isinstance(part, Card):
            node = self.new()
            for id in part.ids:
                self.node_of[id] = node
            look = LIGHT[colour_of(self.picture, part)]
            label = quoted(*map(brief, part.lines))
            tip = quoted(short(part.about))
            yield f'{indent}{node} [label={label}, tooltip={tip}, fillcolor="{look.fill}", color="{look.stroke}"];'
        elif part.bridges:
            node = self.new()
            label = quoted(part.title, *(short(line) for line in part.details), letters(part))
            fill = LEVELS.get(part.levels[0].lower(), "#eef1f4") if len(part.levels) == 1 else "#eef1f4"
            yield f'{indent}{node} [label={label}, shape=box, style=filled, fillcolor="{fill}", fontsize=9];'
            for one in part.inside:
                yield from self.part(one, node, indent)
        else:
            yield from self.cluster(part, indent)
            return
        if above is not None:
            yield f"{indent}{above} -- {node};"

    def cluster(self, box: Box, indent: str) -> Iterator[str]:
        self.count += 1
        yield f"{indent}subgraph cluster_{self.count} {{"
        style = "rounded" if box.seen else '"rounded,dashed"'
        label = quoted(" ".join(part for part in (short(box.title), letters(box)) if part), *map(short, box.details))
        yield f'{indent}{_INDENT}label={label}; labelloc=t; style={style}; color="{LIGHT["box-numa"].stroke}";'
        if box in self.picture.rooms or not box.inside:
            self.anchor[box.id] = node = self.new()
            yield f"{indent}{_INDENT}{node} [shape=point, width=0.07];"
        for one in box.inside:
            yield from self.part(one, None, indent + _INDENT)
        yield f"{indent}}}"

    def between(self) -> Iterator[str]:
        between = self.picture.between
        if between is None:
            return
        node = self.new()
        label = quoted(" ".join((between.title, *(f"[{level}]" for level in between.levels))))
        yield f'  {node} [label={label}, fillcolor="{LIGHT["between"].fill}"];'
        style = "bold" if between.seen else "dashed"
        for room in between.rooms:
            yield f"  {node} -- {self.anchor[room]} [style={style}];"

    def links(self) -> Iterator[str]:
        blue, purple = LIGHT["nvlink"].stroke, LIGHT["xgmi"].stroke
        for bundle in self.picture.bundles:
            a, b = self.node_of.get(bundle.a), self.node_of.get(bundle.b)
            if a and b:
                style = "solid" if bundle.seen else "dashed"
                colour = purple if bundle.kind == "xgmi" else blue
                yield f'  {a} -- {b} [xlabel="{link_label(bundle)}", color="{colour}", constraint=false, ' \
                      f"penwidth={_pen(bundle.times)}, style={style}];"
        for fabric in self.picture.fabrics:
            node = self.new()
            look = LIGHT["fabric"]
            style = '"filled,rounded"' if fabric.seen else '"filled,rounded,dashed"'
            yield f'  {node} [label={quoted(fabric.title)}, style={style}, fillcolor="{look.fill}", ' \
                  f'color="{look.stroke}"];'
            for id, count in fabric.links:
                if id in self.node_of:
                    dashed = "" if fabric.seen else ", style=dashed"
                    yield f'  {self.node_of[id]} -- {node} [xlabel="{number(count)}", color="{blue}", ' \
                          f"penwidth={_pen(count)}{dashed}];"


def _pen(count: int | None) -> float:
    return 1.0 if count is None else round(min(6.0, 1 + 0.28 * count), 2)
