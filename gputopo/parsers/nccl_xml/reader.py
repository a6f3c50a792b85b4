"""How NCCL's own reader takes a file: where it stops, what it passes over, every element with its places.

NCCL's XML is less than XML. Read at NVIDIA/nccl v2.30.7-1, src/graph/xml.cc (xmlGetNode, xmlGetToken, xmlGetValue,
xmlLoadSub, the handlers below them), xml.h, topo.h; 2.18 and 2.23 have the same rules for blanks.

    >>> found = read('<system version="1">\\n\\t<cpu numaid="0"/>\\n</system>\\n', 0)
    >>> [(one.text, one.offset) for one in found.stops]
    [('a tab between elements', 21)]
    >>> [(one.tag, one.values) for one in found.elements]
    [('system', {'version': '1'}), ('cpu', {'numaid': '0'})]

The text must be well-formed XML (xml_guard.py). What NCCL stops at is noted, and what follows is read as XML, so that
the later faults are found too.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from gputopo.terms.placed import Span

LONGEST = 253  # characters of a value or tag: MAX_STR_LEN is 255, with the terminator and the closing quote
MOST_ATTRIBUTES, MOST_CHILDREN = 16, 640
MOST_ELEMENTS = {"system": 256, "graphs": 65_536}  # NCCL_TOPO_XML_MAX_NODES, NCCL_GRAPH_XML_MAX_NODES
KEPT = 4096  # elements that are listed
GRAMMAR: dict[str, dict[str, tuple[str, ...]]] = {
    "system": {"system": ("cpu",), "cpu": ("pci", "nic"), "pci": ("pci", "gpu", "nic", "pcilink"),
               "gpu": ("nvlink", "c2c"), "nic": ("net",)},
    "graphs": {"graphs": ("graph",), "graph": ("channel",), "channel": ("net", "gpu")},
}  # fmt: skip
_TOKEN = re.compile(
    r"<!--.*?-->|<\?.*?\?>|<!\[CDATA\[.*?\]\]>|<(?:[^<>\"']|\"[^\"]*\"|'[^']*')*>", re.DOTALL
)  # fmt: skip
_TAG = re.compile(r"</?([^\s/>]*)")
_ATTRIBUTE = re.compile(r"([^\s=/>]+)(\s*)=(\s*)([\"'])(.*?)\4", re.DOTALL)
_MARKUP = re.compile(r"<(?:!--|\?|!)")
_BLANKS = " \n\r"


class Note(NamedTuple):
    text: str
    offset: int
    remedy: str = ""


class Seen(NamedTuple):
    """An element; `above` is the place of its parent in the list, -1 of the root."""

    tag: str
    offset: int
    above: int
    attributes: tuple[tuple[Span, Span], ...]
    known: bool  # NCCL reads it

    @property
    def values(self) -> dict[str, str]:
        return {key.value: value.value for key, value in reversed(self.attributes)}  # NCCL takes the first


class Found(NamedTuple):
    elements: tuple[Seen, ...]
    stops: tuple[Note, ...]
    misread: tuple[Note, ...]
    end: int  # behind the root


def read(text: str, start: int) -> Found:
    """The document whose root begins at `start`."""
    reader = _Reader(text)
    end = reader.run(start)
    return Found(tuple(reader.elements), tuple(reader.stops.values()), tuple(reader.misread.values()), end)


def before(text: str, start: int, end: int) -> tuple[Note, ...]:
    """What NCCL stops at in front of the root."""
    reader = _Reader(text)
    at = start
    while at < end:
        if text[at] != "<":
            opening = text.find("<", at, end)
            reader.gap(at, opening if opening >= 0 else end)
            if opening < 0:
                break
            at = opening
        token = _TOKEN.match(text, at, end)
        if token is None:
            break
        if _MARKUP.match(token[0]):
            reader.markup(token[0], at)
        at = token.end()
    return tuple(reader.stops.values())


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.elements: list[Seen] = []
        self.stops: dict[str, Note] = {}  # one of a kind
        self.misread: dict[str, Note] = {}
        self.open: list[tuple[int, str, bool]] = []  # place in the list, tag, whether NCCL reads it
        self.children: dict[int, int] = {}
        self.counted = 0
        self.document = ""

    def run(self, start: int) -> int:
        at = start
        for token in _TOKEN.finditer(self.text, start):
            self.gap(at, token.start())
            at = token.end()
            if _MARKUP.match(token[0]):
                self.markup(token[0], token.start())
                continue
            self._limit(token.start())
            if token[0].startswith("</"):
                self._close(token[0], token.start())
            else:
                self._element(token[0], token.start())
            if not self.open:
                break
        return at

    def stop(self, kind: str, text: str, offset: int, remedy: str = "") -> None:
        self.stops.setdefault(kind, Note(text, offset, remedy))

    def gap(self, start: int, end: int) -> None:
        """What stands between two tags: blanks and line ends."""
        part = self.text[start:end]
        if part.strip(_BLANKS):
            offset = start + len(part) - len(part.lstrip(_BLANKS))
            if self.text[offset] == "\t":
                self.stop("tab", "a tab between elements", offset, "blanks instead of tabs")
            if part.strip(_BLANKS + "\t"):
                offset = start + len(part) - len(part.lstrip(_BLANKS + "\t"))
                self.stop("text", "text between elements", offset, "a comment, <!-- -->")

    def markup(self, token: str, offset: int) -> None:
        if not token.startswith("<!--"):
            what = "an XML declaration" if token.startswith("<?xml") else token[:9].rstrip()
            self.stop("markup", f"{what}: it is no element to NCCL", offset, "delete it")
            return
        word = re.split(r"[ >/\n\r]", token[1:], maxsplit=1)[0]
        if "=" in word:
            self.stop("comment", "a comment whose first word has a =", offset, "a blank behind <!--")
        elif len(word) > LONGEST:
            self.stop("long", f"a word of {len(word)} characters in a comment", offset, f"{LONGEST} at most")

    def _limit(self, offset: int) -> None:
        most = MOST_ELEMENTS.get(self.document, 0)
        if most and self.counted >= most:
            remedy = "leave out what NCCL finds by itself"
            self.stop("limit", f"the {most}th element: NCCL takes {most - 1}", offset, remedy)

    def _close(self, token: str, offset: int) -> None:
        known = self.open.pop()[2] if self.open else True
        blank = re.search(r"\s" if known else r"[ \n\r]", token)
        if blank:
            self.stop("closing", "a blank in a closing tag", offset + blank.start(), "</name>")

    def _element(self, token: str, offset: int) -> None:
        tag = _TAG.match(token)
        name = tag[1] if tag else ""
        above, parent, read = self.open[-1] if self.open else (-1, "", True)
        if not self.open:
            self.document = name
        allowed = GRAMMAR.get(self.document, {}).get(parent, ()) if parent else (name,)
        known = read and name in allowed
        attributes = self._attributes(token, offset, 1 + len(name))
        self.counted += known
        place = len(self.elements)
        if place < KEPT:
            self.elements.append(Seen(name, offset, above, attributes, known))
        if known:
            self._of_parent(above, offset)
        if len(name) > LONGEST:
            self.stop("long", f"a tag of {len(name)} characters", offset, f"{LONGEST} at most")
        if not token.endswith("/>"):
            self.open.append((place if place < KEPT else above, name, known))

    def _of_parent(self, above: int, offset: int) -> None:
        self.children[above] = self.children.get(above, 0) + 1
        if self.children[above] > MOST_CHILDREN and above >= 0:
            said = f"child {MOST_CHILDREN + 1} of <{self.elements[above].tag}>"
            self.stop("children", said, offset, f"{MOST_CHILDREN} at most")

    def _attributes(self, token: str, offset: int, at: int) -> tuple[tuple[Span, Span], ...]:
        """Those that NCCL reads under their names."""
        found: list[tuple[Span, Span]] = []
        slots = 0
        for match in _ATTRIBUTE.finditer(token, at):
            blanks, renamed = self._blanks(token[at : match.start()], offset + at, slots > 0)
            slots += blanks + 1
            at = match.end()
            if self._attribute(match, offset, slots) and not renamed:
                start = offset + match.start(5)
                key = Span(match[1], offset + match.start(1), offset + match.end(1))
                found.append((key, Span(match[5], start, start + len(match[5]))))
        end = len(token) - (2 if token.endswith("/>") else 1)
        self._trailing(token[at:end], offset + at, slots > 0)
        return tuple(found)

    def _blanks(self, part: str, offset: int, behind_value: bool) -> tuple[int, bool]:
        """White space before an attribute: how many nameless attributes it makes, and whether it spoils the name."""
        if not behind_value and part[:1] == "\t" and " " in part:
            self._renamed(offset)
            skipped = part.index(" ")
            part, offset, behind_value = part[skipped:], offset + skipped, True
        for place, letter in enumerate(part):
            if letter in "\n\r":
                self.stop("line", "a line end inside a tag", offset + place, "the whole tag in one line")
            elif letter == "\t" and (place == 0 or "\t" in part[:place]):
                self.stop("tag", "a tab inside a tag", offset + place, "blanks instead of tabs")
            elif letter == "\t":
                said = "a tab before an attribute: NCCL takes it as a part of the name"
                self.misread.setdefault("tab", Note(said, offset + place, "blanks instead of tabs"))
        return max(len(part) - 1, 0), part[-1:] == "\t"

    def _trailing(self, part: str, offset: int, behind_value: bool) -> None:
        """White space before the end of a tag."""
        for place, letter in enumerate(part):
            if letter in "\n\r":
                self.stop("line", "a line end inside a tag", offset + place, "the whole tag in one line")
        if part[:1] == "\t" and behind_value:
            self.stop("tag", "a tab inside a tag", offset, "blanks instead of tabs")
        elif part[:1] == "\t":
            self._renamed(offset)

    def _renamed(self, offset: int) -> None:
        said = "a tab behind the name of an element: NCCL takes it as a part of the name, and passes over the element"
        self.misread.setdefault("name", Note(said, offset, "blanks instead of tabs"))

    def _attribute(self, match: re.Match[str], offset: int, slots: int) -> bool:
        """Whether NCCL has it under its name."""
        if "\n" in match[2] or "\r" in match[2]:
            self.stop("line", "a line end inside a tag", offset + match.start(2), "the whole tag in one line")
        elif match[2]:
            said = "a blank before =: NCCL reads no value"
            self.misread.setdefault("blank", Note(said, offset + match.start(2), f'{match[1]}="…"'))
        if match[3]:
            self.stop("quote", "a blank behind =, where a quote must stand", offset + match.start(3), f'{match[1]}="…"')
        if len(match[5]) > LONGEST:
            said = f"a value of {len(match[5])} characters"
            self.stop("long", said, offset + match.start(5), f"{LONGEST} at most")
        if "&" in match[5]:
            said = f"{match[1]} has an entity, which NCCL does not know: it takes the letters as they stand"
            self.misread.setdefault("entity", Note(said, offset + match.start(5) + match[5].index("&")))
        if slots > MOST_ATTRIBUTES:
            said = f"attribute {match[1]}: NCCL passes over those behind the {MOST_ATTRIBUTES}th"
            self.misread.setdefault("attributes", Note(said, offset + match.start(1)))
        return not match[2] and slots <= MOST_ATTRIBUTES
