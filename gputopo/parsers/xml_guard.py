"""XML of strangers → a small tree of elements that know their lines. Refuses what XML can do to a reader.

    >>> [system] = documents('<system version="1">\\n  <cpu numaid="0"/>\\n</system>', ("system",))
    >>> system.tag, system.attributes, system.children[0].line
    ('system', {'version': '1'}, 2)

Entity declarations (billion laughs, external files) are refused before they can be used. A plain
`<!DOCTYPE topology SYSTEM "hwloc2.dtd">`, as lstopo writes it, is let through: expat never opens it.
Size, depth and number of elements are limited, so a hostile file costs bounded memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gputopo.parsers.unreadable import Unreadable

if TYPE_CHECKING:
    from xml.parsers.expat import ExpatError, XMLParserType

# lstopo --whole-io of a 2,048-CPU machine with 2,000 virtual functions has about 40,000 elements in 12 MB.
MAX_BYTES = 64 << 20
MAX_ELEMENTS = 200_000  # of all documents of a text
MAX_TAG = 1 << 20  # bytes of one tag or comment: a tag is kept whole, with all its attributes
MAX_DEPTH = 200
MAX_DOCUMENTS = 100
MAX_PROLOG = 64 << 10  # licence comments before the root are a few kilobytes

_PROLOG = {b"<?xml": b"?>", b"<!--": b"-->", b"<!DOCTYPE": b">"}
_ENDS_EARLY = ("no element found", "unclosed token", "partial character")  # expat's own words
_AFTER_TAG = (b" ", b">", b"/", b"\n", b"\r", b"\t")


class Element:
    """One element: its tag, attributes in file order, children, the line of its start, its text."""

    __slots__ = ("attributes", "children", "line", "tag", "text")

    def __init__(self, tag: str, attributes: dict[str, str], line: int) -> None:
        self.tag = tag
        self.attributes = attributes
        self.line = line
        self.children: list[Element] = []
        self.text = ""

    def __repr__(self) -> str:
        return f"<{self.tag} line {self.line}>"

    def get(self, name: str) -> str | None:
        return self.attributes.get(name)

    def named(self, *tags: str) -> list[Element]:
        """Its children with one of these tags."""
        return [child for child in self.children if child.tag in tags]

    def walk(self) -> Iterator[Element]:
        """Itself and everything below, in file order."""
        waiting = [self]
        while waiting:
            element = waiting.pop()
            yield element
            waiting.extend(reversed(element.children))


def documents(text: str, roots: tuple[str, ...]) -> tuple[Element, ...]:
    """Every document in a text whose root is one of these tags; what stands between them is passed over.

    A text pasted from a terminal or a report holds other lines before, between and after. Raises
    `Unreadable` when a document that has begun cannot be read to its end, or when there is none.
    """
    data = text.encode("utf-8", "replace")
    if len(data) > MAX_BYTES:
        raise Unreadable(f"XML of {len(data)} bytes is larger than {MAX_BYTES}")
    found: list[Element] = []
    end = lines = counted = elements = 0
    while (begin := _opening(data, end, roots)) is not None:
        if len(found) == MAX_DOCUMENTS:
            raise Unreadable(f"more than {MAX_DOCUMENTS} XML documents in one text")
        lines += data.count(b"\n", counted, begin)
        counted = begin
        root, length, elements = _read(memoryview(data)[begin:], lines, elements)
        found.append(root)
        end = begin + length
    if not found:
        raise Unreadable(f"no <{'> or <'.join(roots)}> element", hint="is this the whole file?")
    return tuple(found)


def _opening(data: bytes, start: int, roots: tuple[str, ...]) -> int | None:
    """Where the next document begins: at its declaration, comments or doctype, else at its root."""
    firsts = [at for tag in roots if (at := _tag(data, b"<" + tag.encode(), start)) >= 0]
    if not firsts:
        return None
    root = min(firsts)
    start = max(start, root - MAX_PROLOG)
    begins = [at for opening in _PROLOG if (at := data.find(opening, start, root)) >= 0]
    return min((at for at in begins if _is_prolog(data[at:root])), default=root)


def _tag(data: bytes, tag: bytes, start: int) -> int:
    """The first start tag of this name outside of comments, or -1. One pass, whatever the bytes are."""
    at = data.find(tag, start)
    while at >= 0:
        comment = data.find(b"<!--", start, at)
        if comment >= 0:
            start = data.find(b"-->", comment) + 3
            if start < 3:
                return -1
            at = at if at >= start else data.find(tag, start)
        elif data[at + len(tag) : at + len(tag) + 1] in _AFTER_TAG:
            return at
        else:
            start = at + len(tag)
            at = data.find(tag, start)
    return -1


def _is_prolog(data: bytes) -> bool:
    """Whether this is nothing but white space, a declaration, comments and a doctype."""
    position = 0
    while position < len(data):
        if data[position : position + 1].isspace():
            position += 1
            continue
        opening = next((opening for opening in _PROLOG if data.startswith(opening, position)), None)
        if opening is None:
            return False
        closing = _PROLOG[opening]
        if opening == b"<!DOCTYPE" and b"[" in data[position : data.find(b">", position)]:
            closing = b"]>"  # an internal subset: _Builder refuses it by name
        position = data.find(closing, position)
        if position < 0:
            return False
        position += len(closing)
    return True


class _Builder:
    """The expat callbacks; holds the root once it is closed."""

    def __init__(self, parser: XMLParserType, lines_before: int, elements: int) -> None:
        self.parser = parser
        self.lines_before = lines_before
        self.open: list[Element] = []
        self.root: Element | None = None
        self.closed = False
        self.elements = elements
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.text
        parser.StartDoctypeDeclHandler = self.doctype
        parser.EntityDeclHandler = self.entity

    @property
    def line(self) -> int:
        return self.parser.CurrentLineNumber + self.lines_before

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.elements += 1
        if self.elements > MAX_ELEMENTS:
            raise Unreadable(f"XML with more than {MAX_ELEMENTS} elements", self.line)
        if len(self.open) >= MAX_DEPTH:
            raise Unreadable(f"XML nested deeper than {MAX_DEPTH} elements", self.line)
        element = Element(tag, attributes, self.line)
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)

    def end(self, tag: str) -> None:
        self.open.pop()
        self.closed = not self.open

    def text(self, data: str) -> None:
        if self.open and not data.isspace():
            self.open[-1].text += data

    def doctype(self, name: str, system: str | None, public: str | None, has_internal_subset: int) -> None:
        if has_internal_subset:
            raise Unreadable("XML that declares entities or its own DTD is not read", self.line)

    def entity(self, *declaration: object) -> None:
        raise Unreadable("XML that declares entities is not read", self.line)


def _read(data: memoryview, lines_before: int, elements: int) -> tuple[Element, int, int]:
    """The first document of the bytes, how many bytes it takes, and how many elements there are by now."""
    from xml.parsers import expat

    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    builder = _Builder(parser, lines_before, elements)
    length = len(data)
    try:
        for at in range(0, length, MAX_TAG):
            parser.Parse(data[at : at + MAX_TAG], at + MAX_TAG >= length)
            if at - parser.CurrentByteIndex > MAX_TAG:
                raise Unreadable(f"XML with a tag or comment of more than {MAX_TAG} bytes", builder.line)
    except expat.ExpatError as error:
        # After the root's end only what follows it can be wrong, and that is not ours.
        if not builder.closed:
            raise _broken(error, builder) from None
        length = max(parser.ErrorByteIndex, 1)
    if builder.root is None:
        raise Unreadable("XML without a root element", lines_before + 1)
    return builder.root, length, builder.elements


def _broken(error: ExpatError, builder: _Builder) -> Unreadable:
    from xml.parsers.expat.errors import codes, messages

    what = f"broken XML: {messages.get(error.code, 'not well-formed')}"
    if builder.open:
        what += f"; <{builder.open[-1].tag}> of line {builder.open[-1].line} is not closed"
    cut = error.code in (codes[text] for text in _ENDS_EARLY)
    hint = "the file was cut: save it again" if cut else ""
    return Unreadable(what, error.lineno + builder.lines_before, hint)
