"""GT392 nccl-xml-faults

What it says
    A topology file (NCCL_TOPO_FILE) or graph file (NCCL_GRAPH_FILE) at which NCCL stops, which it reads differently
    than it looks, or which disagrees with the node beside it.

Why it matters
    NCCL trusts the file above the machine: a job does not start, or runs over paths that are not the fastest.

What to do
    As the message says, or dump a fresh file on the machine with `NCCL_TOPO_DUMP_FILE=topo.xml` and compare.

When it is silent
    NCCL fills in what a file leaves out, so a short file is right. A file of RCCL (version 2) is another program's.
    Speed and width of a link are compared only with what cannot be: more than the device can, less than it has now.

Example
    >>> from gputopo.parsers.nccl_xml.placed import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [own] = read('''<system version="1">
    ... <cpu numaid="0">
    ...   <pci busid="0000:0F:00.0"
    ...        class="0x030200"/>
    ... </cpu>
    ... </system>''')
    >>> for found in check(own, Context()):
    ...     print(found.place.line, found.place.column, found.severity, found.message)
    3 28 error NCCL stops at a line end inside a tag
    3 15 warning NCCL looks for 0000:0f:00.0, letter by letter, and takes nothing from this <pci>

Source: NVIDIA/nccl v2.30.7-1, src/graph/xml.cc, topo.cc, search.cc; what GT015 says of a file holds here, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gputopo.rules.manifests import nccl_xml_node
from gputopo.rules.manifests.nccl_xml_elements import GRAPHS, TOPOLOGY, Element, Fault, elements, text_of
from gputopo.rules.manifests.problem import Context, Problem
from gputopo.rules.nccl_xml_that_nccl_misreads import TRAPS
from gputopo.terms.manifest import Manifest
from gputopo.terms.pci_address import PciAddress

CODE = "GT392"
SEVERITY = "error"
KINDS = (TOPOLOGY, GRAPHS)
_DUMP = "dump the file again with NCCL itself: NCCL_TOPO_DUMP_FILE=topo.xml"
# Asked for by xmlGetAttrInt or xmlGetAttrStr, and filled in by nobody (topo.cc, search.cc).
_REQUIRED = {
    "cpu": ("numaid",), "pci": ("busid",), "nvlink": ("target", "count"), "c2c": ("count", "bw"),
    "pcilink": ("target",),
}  # fmt: skip
_REQUIRED_OF_GRAPHS = {
    "graph": ("id", "crossnic", "pattern", "nchannels", "speedintra", "speedinter", "typeintra", "typeinter",
              "samechannels"),
    "net": ("dev",), "gpu": ("dev",),
}  # fmt: skip
_ONCE = ("nccl-amd-family",)  # the same of every <cpu>
_OF_A_LINK = ("class", "busid", "link_width", "link_speed")


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    for fault in _faults(manifest, context):
        yield fault.problem(CODE, manifest)


def _faults(manifest: Manifest, context: Context) -> Iterator[Fault]:
    found = elements(manifest)
    root = found[0]
    if root.tag == "system" and root.get("version") == "2":
        yield root.fault("info", "version", "version 2 is RCCL's: NCCL refuses the file")
        return
    yield from _version(root)
    yield from _notes(manifest)
    if root.tag == "graphs":
        yield from _missing(found, _REQUIRED_OF_GRAPHS)
        yield from _channels(found)
        return
    yield from _missing(found, _REQUIRED)
    yield from _passed_over(found)
    yield from _nets(found)
    yield from _spelling(found)
    yield from _traps(manifest, found)
    if context.node is not None:
        yield from nccl_xml_node.faults(found, context.node)


def _version(root: Element) -> Iterator[Fault]:
    version = root.get("version")
    if version is None:
        yield root.fault(SEVERITY, "", f"NCCL stops: <{root.tag}> has no version", "", 'version="1"')
    elif _strtol(version) != 1:
        yield root.fault(SEVERITY, "version", f"NCCL stops: version is {version[:20]}, 1 is needed", "", _DUMP)


def _strtol(text: str) -> int | None:
    """As C reads a number with base 0: what follows it is passed over."""
    body = text.strip().lower().removeprefix("+")
    base, digits, body = (16, "0123456789abcdef", body[2:]) if body.startswith("0x") else (10, "0123456789", body)
    length = next((at for at, letter in enumerate(body) if letter not in digits), len(body))
    return int(body[:length], base) if 0 < length < 10 else None


def _notes(manifest: Manifest) -> Iterator[Fault]:
    """What the reader itself found, at its place."""
    for name, severity, start in (("stops", SEVERITY, "NCCL stops at "), ("misread", "warning", "")):
        for place, note in enumerate(manifest.object.body[name]):
            yield Fault(severity, (name, place), "", start + note["text"], "", note["remedy"])


def _missing(found: tuple[Element, ...], required: dict[str, tuple[str, ...]]) -> Iterator[Fault]:
    for one in found:
        for name in required.get(one.tag, ()) if one.known else ():
            if one.get(name) is None:
                said = f"NCCL stops where it uses this <{one.tag}>: it has no {name}"
                yield one.fault(SEVERITY, "", said, f"Attribute {name} of node {one.tag} not found")


def _passed_over(found: tuple[Element, ...]) -> Iterator[Fault]:
    for one in found:
        above = found[one.above] if one.above >= 0 else None
        if not one.known and above is not None and above.known:
            said = f"NCCL passes over <{text_of(one.tag)}> below <{text_of(above.tag)}>, with all that is in it"
            yield one.fault("warning", "", said)


def _nets(found: tuple[Element, ...]) -> Iterator[Fault]:
    """NCCL does not look up what is above a <net> that the file names (xml.cc, ncclTopoFillNet)."""
    said: set[int] = set()
    for net in found:
        at = net.above if net.tag == "net" and net.known and net.get("name") is not None else -1
        while at >= 0:
            one = found[at]
            lacks = [name for name in _needs(one) if one.get(name) is None]
            if lacks and at not in said:
                said.add(at)
                message = f"NCCL stops where it uses {text_of(net.get('name') or '')}: <{one.tag}> has no {lacks[0]}"
                because = "of what stands above a <net> of the file NCCL fills in nothing"
                yield one.fault(SEVERITY, "", message, because, f"write {', '.join(lacks)}, or leave the <nic> out")
            at = one.above


def _needs(one: Element) -> tuple[str, ...]:
    if one.tag == "pci":
        return _OF_A_LINK
    if one.tag != "cpu":
        return ()
    if not (one.get("arch") or "").startswith("x86_64"):
        return ("arch",)
    intel = (one.get("vendor") or "").startswith(("GenuineIntel", "CentaurHauls", "  Shanghai  "))
    return ("arch", "vendor", "familyid", "modelid") if intel else ("arch", "vendor")


def _spelling(found: tuple[Element, ...]) -> Iterator[Fault]:
    """The bus id of a device is compared as text, in lower case with four digits of domain."""
    for one in found:
        said = one.get("busid")
        address = PciAddress.parse(said) if said is not None and (one.is_gpu or one.is_nic) else None
        if address is not None and str(address) != said and one.known:
            message = f"NCCL looks for {address}, letter by letter, and takes nothing from this <pci>"
            yield one.fault("warning", "busid", message, "", f'busid="{address}"')


def _traps(manifest: Manifest, found: tuple[Element, ...]) -> Iterator[Fault]:
    """What `gputopo inspect` says of such a file, here with its place."""
    seen: set[str] = set()
    for place, one in enumerate(manifest.object.body["observed"]):
        if one["kind"] in _ONCE and one["kind"] in seen:
            continue
        seen.add(one["kind"])
        if one["kind"] == "duplicate-busid":
            message = f"two <pci> have busid {text_of(_subject(one))}: NCCL finds the first only"
            yield Fault("warning", ("observed", place), "busid", message, "", "one <pci> for each device")
        elif one["kind"] in TRAPS:
            severity, message, matters, remedy = TRAPS[one["kind"]]
            named = message.format(text_of(_subject(one)) or "a device", text=text_of(str(one.get("text", ""))))
            yield Fault(severity, ("observed", place), "", named, matters, remedy)


def _subject(one: dict[str, Any]) -> str:
    return str(one["subjects"][0]) if one["subjects"] else ""


def _channels(found: tuple[Element, ...]) -> Iterator[Fault]:
    counts: dict[int, int] = {}
    for one in found:
        if one.tag == "channel" and one.known:
            counts[one.above] = counts.get(one.above, 0) + 1
    for place, one in enumerate(found):
        said = _strtol(one.get("nchannels") or "") if one.tag == "graph" and one.known else None
        if said is not None and said != counts.get(place, 0) and len(found) < 4096:
            message = f"nchannels is {said}, the graph has {counts.get(place, 0)} <channel>"
            remedy = f'nchannels="{counts.get(place, 0)}"'
            yield one.fault("warning", "nchannels", message, "NCCL goes by nchannels, whatever is there", remedy)
