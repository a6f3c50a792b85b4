"""Shapes with places, in pixels: what a vector renderer writes down, in the order of painting.

A shape has a *role*, never a colour: the palette gives each role its look, on light and on dark ground.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Union

from gputopo.reports.picture.glyphs import text_width

Op = tuple[Union[str, float], ...]  # noqa: UP007  ("M", x, y), ("L", x, y), ("C", x1, y1, x2, y2, x, y)


class Text(NamedTuple):
    x: float
    y: float  # of the base line
    text: str
    size: float
    role: str = "text"
    bold: bool = False
    anchor: str = "start"  # "start" | "middle" | "end"

    @property
    def area(self) -> tuple[float, float, float, float]:
        """Left, top, right, bottom of what it takes at most."""
        width = text_width(self.text, self.size, self.bold)
        left = self.x - {"start": 0.0, "middle": width / 2, "end": width}[self.anchor]
        return left, self.y - 0.78 * self.size, left + width, self.y + 0.24 * self.size


class Rect(NamedTuple):
    x: float
    y: float
    width: float
    height: float
    role: str
    radius: float = 4
    dashed: bool = False

    @property
    def area(self) -> tuple[float, float, float, float]:
        return self.x, self.y, self.x + self.width, self.y + self.height


class Path(NamedTuple):
    ops: tuple[Op, ...]
    role: str
    width: float = 1.5
    dash: str = ""  # an SVG dash array

    @property
    def ends(self) -> tuple[tuple[float, float], tuple[float, float]]:
        (_, *first), (_, *last) = self.ops[0], self.ops[-1]
        return (float(first[-2]), float(first[-1])), (float(last[-2]), float(last[-1]))

    @property
    def points(self) -> list[tuple[float, float]]:
        """Corners, and of a curve its deepest point: both control points are at one depth."""
        found: list[tuple[float, float]] = []
        for _, *numbers in self.ops:
            xs, ys = [float(one) for one in numbers[::2]], [float(one) for one in numbers[1::2]]
            if len(xs) == 3:
                found.append(((xs[0] + xs[1]) / 2, found[-1][1] + 0.75 * (ys[0] - found[-1][1])))
            found.append((xs[-1], ys[-1]))
        return found


Shape = Union[Text, Rect, Path]  # noqa: UP007


class Group(NamedTuple):
    """Shapes that are one thing: a device, a box, a link. `ids`: what it stands for."""

    kind: str  # "device" | "box" | "link" | "mark" | "words"
    ids: tuple[str, ...]
    about: str
    shapes: tuple[Shape, ...]


class Scene(NamedTuple):
    width: float
    height: float
    title: str
    summary: str
    groups: tuple[Group, ...]

    def shapes(self) -> Iterator[Shape]:
        for group in self.groups:
            yield from group.shapes


def line(*points: tuple[float, float]) -> tuple[Op, ...]:
    return tuple(("L" if at else "M", x, y) for at, (x, y) in enumerate(points))
