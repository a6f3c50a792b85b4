"""A picture as a Mermaid flowchart, which GitHub, GitLab and many wikis draw where it stands in a text.

    >>> quoted('<script>"#;`%%')
    '"#lt;script#gt;#quot;#35;#59;#96;#37;#37;"'
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.reports.picture.palette import LIGHT
from gputopo.reports.picture.parts import Box, Card, Picture
from gputopo.reports.picture.shown_as import brief, colour_of, letters, link_label, number, short
from gputopo.reports.sanitise import clean

# Mermaid's own entity codes: `#` and `;` around a name or a number.
_ESCAPES = {"<": "#lt;", ">": "#gt;", "&": "#amp;", '"': "#quot;"}
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ,.:+-_/=?|'()[]·…")


def render(picture: Picture) -> str:
    return "\n".join(_Chart(picture).lines()) + "\n"


def quoted(*lines: str) -> str:
    """A label of these lines; every character that Mermaid could read is a code."""
    return '"' + "<br/>".join(_escaped(line) for line in lines if line) + '"'


def _escaped(text: str) -> str:
    return "".join(
        one if one in _PLAIN or not one.isascii() else _ESCAPES.get(one, f"#{ord(one)};") for one in clean(text)
    )


class _Chart:
    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.node_of: dict[str, str] = {}
        self.room: dict[str, str] = {}
        self.roles: dict[str, list[str]] = {}
        self.count = 0
        self.edges = 0
        self.styles: list[str] = []

    def lines(self) -> Iterator[str]:
        picture = self.picture
        yield "---"
        yield f"title: {quoted(short(picture.title), picture.subtitle).replace('<br/>', ' ')}"
        yield "---"
        yield "flowchart TB"
        edges: list[str] = []
        for room in picture.rooms:
            yield from self.part(room, None, "  ", edges)
        yield from edges
        yield from self.between()
        yield from self.links()
        for role, nodes in self.roles.items():
            look = LIGHT[role]
            yield f"  classDef {role} fill:{look.fill},stroke:{look.stroke},color:#000000"
            yield f"  class {','.join(nodes)} {role}"
        yield from self.styles

    def new(self, prefix: str = "n") -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def part(self, part: Box | Card, above: str | None, indent: str, edges: list[str]) -> Iterator[str]:
        if isinstance(part, Card):
            node = self.new()
            for id in part.ids:
                self.node_of[id] = node
            self.roles.setdefault(colour_of(self.picture, part), []).append(node)
            yield f"{indent}{node}[{quoted(*map(brief, part.lines))}]"
        elif part.bridges:
            node = self.new()
            yield f"{indent}{node}([{quoted(part.title, *map(short, part.details), letters(part))}])"
            for one in part.inside:
                yield from self.part(one, node, indent, edges)
        else:
            node = self.new("s")
            self.room.setdefault(part.id, node)
            title = " ".join(word for word in (short(part.title), letters(part)) if word)
            yield f"{indent}subgraph {node}[{quoted(title, *map(short, part.details))}]"
            for one in part.inside:
                yield from self.part(one, None, indent + "  ", edges)
            if not part.inside:
                yield f"{indent}  {self.new()}[{quoted('no listed device')}]"
            yield f"{indent}end"
            if not part.seen:
                self.styles.append(f"  style {node} stroke-dasharray:5 3")
            return
        if above is not None:
            edges.append(self.edge(above, node))

    def edge(self, a: str, b: str, label: str = "", style: str = "") -> str:
        if style:
            self.styles.append(f"  linkStyle {self.edges} {style}")
        self.edges += 1
        return f"  {a} ---{f'|{quoted(label)}|' if label else ''} {b}"

    def between(self) -> Iterator[str]:
        between = self.picture.between
        if between is None:
            return
        node = self.new()
        yield f"  {node}[{quoted(' '.join((between.title, *(f'[{level}]' for level in between.levels))))}]"
        for room in between.rooms:
            if room in self.room:
                yield self.edge(node, self.room[room], "", "" if between.seen else "stroke-dasharray:4 3")

    def links(self) -> Iterator[str]:
        for bundle in self.picture.bundles:
            a, b = self.node_of.get(bundle.a), self.node_of.get(bundle.b)
            if a and b:
                yield self.edge(a, b, link_label(bundle), _stroke(bundle.kind, bundle.times, bundle.seen))
        for fabric in self.picture.fabrics:
            node = self.new()
            self.roles.setdefault("fabric", []).append(node)
            yield f"  {node}[{quoted(fabric.title)}]"
            for id, count in fabric.links:
                if id in self.node_of:
                    yield self.edge(self.node_of[id], node, number(count), _stroke("nvlink", count, fabric.seen))


def _stroke(kind: str, count: int | None, seen: bool) -> str:
    width = 1.5 if count is None else round(min(8.0, 1.2 + 0.38 * count), 1)
    return f"stroke:{LIGHT[kind].stroke},stroke-width:{width:g}px{'' if seen else ',stroke-dasharray:4 3'}"
