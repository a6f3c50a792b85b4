"""The elements NCCL reads of a topology file, strings and order untouched: what nccl/ builds its graph from."""

from __future__ import annotations

from gputopo.parsers.nccl_xml.reader import GRAMMAR
from gputopo.parsers.xml_guard import Element
from gputopo.records import NcclElement

_GRAMMAR = GRAMMAR["system"]


def element_of(root: Element, cpus: list[Element]) -> NcclElement:
    """The `<system>` with the `<cpu>` elements of one host; what NCCL passes over is left out with all inside it."""
    return NcclElement("system", dict(root.attributes), tuple(_read(cpu) for cpu in cpus), root.line)


def _read(element: Element) -> NcclElement:
    inside = _GRAMMAR.get(element.tag, ())
    children = tuple(_read(child) for child in element.children if child.tag in inside)
    return NcclElement(element.tag, dict(element.attributes), children, element.line)
