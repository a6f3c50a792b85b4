"""The same object in one of the many ways in which people and programs write YAML: what a mend must not disturb."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from hypothesis import strategies as st

Draw = Callable[[st.SearchStrategy[Any]], Any]
_COMMENT = st.sampled_from(["# why", "# a: b", "#", "# 80Gi, model == 'H100' # twice", "# größer 🙂"])


class Layout(NamedTuple):
    indent: int
    dash: int  # columns of the dash of a list below its key
    ends: str
    final: bool  # the last line has an end
    comments: bool


@st.composite
def layouts(draw: Draw) -> Layout:
    return Layout(
        draw(st.sampled_from([2, 2, 4, 3])), draw(st.sampled_from([0, 2])), draw(st.sampled_from(["\n", "\n", "\r\n"])),
        draw(st.booleans()), draw(st.booleans()),
    )  # fmt: skip


class _Writer:
    def __init__(self, draw: Draw, layout: Layout) -> None:
        self.draw, self.layout = draw, layout
        self.lines: list[str] = []
        self.comments: list[str] = []

    def some(self, options: list[Any]) -> Any:
        return self.draw(st.sampled_from(options))

    def comment(self) -> str:
        if not self.layout.comments or self.some([True, False, False]):
            return ""
        text = f"{self.draw(_COMMENT)} {len(self.comments)}"
        self.comments.append(text)
        return text

    def add(self, line: str, trailing: bool = True) -> None:
        comment = self.comment() if trailing and self.some([True, False, False]) else ""
        self.lines.append(f"{line} {comment}".rstrip() if comment else line)

    def between(self, column: int) -> None:
        """A comment line or a blank one."""
        if self.some([False, False, False, True]):
            comment = self.comment()
            self.lines.append(" " * self.some([column, column, 0]) + comment if comment else "")

    def mapping(self, body: dict[str, Any], column: int, first: str | None = None) -> None:
        """`first`: what stands before the first key, a dash."""
        for place, key in enumerate(self.draw(st.permutations(list(body)))):
            head = " " * column
            if place == 0 and first is not None:
                head = first
            elif place or first is None:
                self.between(column)
            self.value(f"{head}{self.key(key)}:", body[key], column)

    def key(self, key: str) -> str:
        return self.some([key, key, key, f'"{key}"', f"'{key}'"])

    def value(self, head: str, value: Any, column: int) -> None:
        if isinstance(value, (dict, list)) and value and self.some([False, False, False, True]):
            self.add(f"{head} {self.flow(value)}")
        elif isinstance(value, dict):
            self.add(head)
            self.mapping(value, column + self.layout.indent)
        elif isinstance(value, list):
            self.add(head)
            self.listed(value, column + self.layout.dash)
        else:
            self.scalar(head, value, column)

    def listed(self, items: list[Any], column: int) -> None:
        for item in items:
            self.between(column)
            if isinstance(item, dict) and self.some([True, True, True, False]):
                self.mapping(item, column + 2, " " * column + "- ")
            elif isinstance(item, dict):
                self.add(f"{' ' * column}- {self.flow(item)}")
            else:
                self.scalar(f"{' ' * column}-", item, column)

    def flow(self, value: Any) -> str:
        apart = self.some([", ", ","])
        if isinstance(value, dict):
            keys = self.draw(st.permutations(list(value)))
            return "{" + apart.join(f'"{key}": {self.flow(value[key])}' for key in keys) + "}"
        if isinstance(value, list):
            return "[" + apart.join(self.flow(one) for one in value) + "]"
        if not isinstance(value, str) or ("'" in value and self.some([True, False])):
            return json.dumps(value, ensure_ascii=False)
        return "'" + value.replace("'", "''") + "'"

    def scalar(self, head: str, value: Any, column: int) -> None:
        if not isinstance(value, str):
            self.add(f"{head} {value}")
            return
        style = self.some(["plain", "folded plain", "'", '"', "|", "|-", ">-", "|+", ">2-"])
        inner = " " * (column + self.layout.indent)
        words = value.split(" ")
        if style[0] in "|>" and len(words) > 1:
            self.block(head, style, words, column)
        elif style == "folded plain" and len(words) > 1:
            cut = self.some(list(range(1, len(words))))
            self.add(f"{head} {' '.join(words[:cut])}", False)
            self.add(inner + " ".join(words[cut:]))
        elif style in ("'", '"') and len(words) > 1:
            cut = self.some(list(range(1, len(words))))
            text = value.replace("'", "''") if style == "'" else json.dumps(value, ensure_ascii=False)[1:-1]
            folded = text.split(" ")
            self.add(f"{head} {style}{' '.join(folded[:cut])}", False)
            self.add(f"{inner}{' '.join(folded[cut:])}{style}")
        else:
            self.add(f"{head} {value}")

    def block(self, head: str, style: str, words: list[str], column: int) -> None:
        """With `|` the blanks become line ends, which mean the same to CEL."""
        by = 2 if "2" in style else self.layout.indent
        # The indentation that a header names counts from the mapping, whose column is that of the key.
        inner = " " * (column + by)
        self.add(f"{head} {style}", False)
        cuts = sorted({self.some(list(range(1, len(words)))) for _ in range(2)})
        parts = [words[start:end] for start, end in zip([0, *cuts], [*cuts, len(words)])]
        for part in parts:
            self.lines.append(inner + " ".join(part))
        if style == "|+" and self.some([True, False]):
            self.lines.append("")


def written(draw: Draw, body: dict[str, Any], layout: Layout) -> tuple[str, list[str]]:
    """The text and its comments."""
    writer = _Writer(draw, layout)
    writer.mapping(body, 0)
    text = layout.ends.join(writer.lines)
    return text + (layout.ends if layout.final else ""), writer.comments
