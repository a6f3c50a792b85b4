"""NCCL's XML files with the place of each attribute, and what NCCL's reader makes of them: what lint reads.

    >>> [one] = read('<system version="1">\\n <cpu numaid="0"><pci busid="0000:0F:00.0"/></cpu>\\n</system>\\n')
    >>> one.kind, [element["path"] for element in one.object.body["elements"]]
    ('NCCL topology file', ['system', 'system/cpu', 'system/cpu/pci'])
    >>> one.at(("elements", 2, "attributes", "busid"))
    Place(line=2, column=30)
"""

from __future__ import annotations

import re
from typing import Any

from gputopo.parsers.nccl_xml import parse
from gputopo.parsers.nccl_xml.reader import Found, Note, Seen, before
from gputopo.parsers.nccl_xml.reader import read as read_as_nccl
from gputopo.parsers.unreadable import Unreadable
from gputopo.records import Observation
from gputopo.terms.kube_object import KubeObject
from gputopo.terms.manifest import Manifest, SourceText
from gputopo.terms.placed import Span, node, plain

KINDS = {"system": "NCCL topology file", "graphs": "NCCL graph file"}
_MOST = 500  # observations of a file
LARGEST = 4 << 20  # characters; a dump of 72 GPUs has 200 KB
_ROOT = re.compile(r"<(system|graphs)(?=[\s/>])|<!--")
# Observations of the reader for `inspect` → the element they are of, and its attribute. Those that read() finds with
# their exact place (what NCCL stops at) are not here.
_OF: dict[str, tuple[str, str]] = {
    "nccl-amd-family": ("cpu", "familyid"),
    "nccl-gpus-on-one-busid": ("gpu", ""),
    "nccl-pci-with-nic-and-children": ("pci", "busid"),
    "nccl-self-nvlink": ("nvlink", "target"),
    "nccl-slow-switch": ("pci", "link_width"),
    "nccl-speed-above-hardware": ("pci", "link_speed"),
    "nccl-too-many-nvlinks": ("nvlink", "count"),
    "nccl-unknown-speed": ("pci", "link_speed"),
    "nccl-width-zero": ("pci", "link_width"),
    "duplicate-busid": ("pci", "busid"),
}


def read(text: str) -> tuple[Manifest, ...]:
    """A manifest a document. Raises Unreadable: no XML of NCCL's, broken, or larger than any."""
    if len(text) > LARGEST:
        raise Unreadable(f"XML of {len(text)} characters: more than {LARGEST} are not read")
    observations = [one for records in parse(text) for one in records.observations]
    source = SourceText(text)
    found: list[Manifest] = []
    whole = text.lstrip()[:1] == "<"
    at = 0
    while (root := _next_root(text, at)) is not None:
        made = read_as_nccl(text, root)
        ahead = before(text, 0, root) if whole and not found else ()
        found.append(_manifest(made, ahead, observations, source, root))
        at = max(made.end, root + 1)
    if not found:
        raise Unreadable("no <system> or <graphs> element")
    return tuple(found)


def _next_root(text: str, at: int) -> int | None:
    while (match := _ROOT.search(text, at)) is not None:
        if match[1]:
            return match.start()
        at = text.find("-->", match.end())
        if at < 0:
            return None
    return None


def _manifest(
    found: Found, ahead: tuple[Note, ...], observations: list[Observation], source: SourceText, root: int
) -> Manifest:  # fmt: skip
    line = source.place(root).line
    last = source.place(max(found.end - 1, root)).line
    own = [one for one in observations if one.line is not None and line <= one.line <= last]
    body = {
        "kind": KINDS[found.elements[0].tag],
        "elements": _elements(found.elements),
        "stops": [_note(one) for one in sorted((*ahead, *found.stops), key=lambda one: one.offset)],
        "misread": [_note(one) for one in found.misread],
        "observed": _observed(own, found.elements, source),
    }
    return Manifest(KubeObject(plain(body), f"line {line}"), source, node(body, source, root), line)


def _note(one: Note) -> dict[str, Any]:
    return {"": Span("", one.offset, one.offset), "text": one.text, "remedy": one.remedy}


def _elements(seen: tuple[Seen, ...]) -> list[dict[str, Any]]:
    """With a path as XPath has it: numbers from 1 where a parent has several of a tag."""
    names: list[str] = []
    counts: dict[tuple[int, str], int] = {}
    totals: dict[tuple[int, str], int] = {}
    for one in seen:
        totals[one.above, one.tag] = totals.get((one.above, one.tag), 0) + 1
    made = []
    for one in seen:
        key = (one.above, one.tag)
        counts[key] = counts.get(key, 0) + 1
        name = f"{one.tag}[{counts[key]}]" if totals[key] > 1 else one.tag
        names.append((f"{names[one.above]}/{name}" if one.above >= 0 else name)[:200])
        here = Span("", one.offset, one.offset)
        attributes = {key.value: value for key, value in reversed(one.attributes) if key.value}
        made.append(
            {"": here, "tag": one.tag, "path": names[-1], "above": one.above, "known": one.known,
             "attributes": {"": here, **attributes}}
        )  # fmt: skip
    return made


def _observed(observations: list[Observation], seen: tuple[Seen, ...], source: SourceText) -> list[dict[str, Any]]:
    by_line: dict[tuple[str, int], list[Seen]] = {}
    for element in seen:
        by_line.setdefault((element.tag, source.place(element.offset).line), []).append(element)
    made = []
    for one in observations[:_MOST]:
        tag, attribute = _OF.get(one.kind, ("", ""))
        on_line = by_line.get((tag, one.line or 0), [])[:_MOST]
        own = [element for element in on_line if _busid(element, seen) in one.subjects] or on_line
        if own:
            element = own[-1] if one.kind == "duplicate-busid" else own[0]
            place = next((value for key, value in element.attributes if key.value == attribute), None)
            start = place.start if place is not None else element.offset
            subjects = list(one.subjects)
            made.append({"": Span("", start, start), "kind": one.kind, "subjects": subjects, "text": one.text})
    return made


def _busid(element: Seen, seen: tuple[Seen, ...]) -> str | None:
    """Of the <pci> that it is, or that it is below."""
    while element.tag != "pci" and element.above >= 0:
        element = seen[element.above]
    return element.values.get("busid", "").strip().lower()
