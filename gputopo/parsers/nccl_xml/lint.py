"""What NCCL's own reader would trip over, and what no machine can be: observations, no verdicts.

Sources: NCCL v2.30.7 src/graph/xml.cc (the grammar and its limits), xml.h, topo.cc (speed strings).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gputopo.parsers.nccl_xml import nvlink_rows
from gputopo.parsers.nccl_xml.tree import Host, Place, generation, number
from gputopo.parsers.xml_guard import Element
from gputopo.records import Observation

MAX_STRING, MAX_ATTRIBUTES, MAX_CHILDREN, MAX_NODES = 255, 16, 640, 256  # src/graph/xml.h
# One rank's dump, with its own <gpu> only: up to 2.30.7 those of all local ranks are fused into one buffer of 256
# (nccl#2160). A file with several <gpu> was fused already, and fitted.
MANY_NODES = 120

# NCCL compares with strncmp over the length of its own entry, so a longer text matches too.
_SPEEDS = ("2.5 GT/s", "5 GT/s", "8 GT/s", "16 GT/s", "32 GT/s")
_SPEEDS_PCIE = ("5.0 GT/s PCIe", "8.0 GT/s PCIe", "16.0 GT/s PCIe", "32.0 GT/s PCIe", "64.0 GT/s PCIe")
KNOWN_SPEEDS = _SPEEDS + _SPEEDS_PCIE

# Highest PCIe generation of the chips of an SM version (NVIDIA's data sheets). Tegra is left out.
_HIGHEST_GENERATION = {60: 3, 61: 3, 70: 3, 75: 3, 80: 4, 86: 4, 89: 4, 90: 5, 100: 6, 103: 6, 120: 5}
# NCCL ≤ 2.30.7 adds the extended family wrongly (nccl#2441): what it writes, and what is right.
_WRONG_AMD_FAMILIES = {"143": "23", "175": "25", "191": "26"}

_GEN3 = 3  # what NCCL takes for a text that it does not know; then it is right

_TAB_IN_TAG = re.compile(r"<[A-Za-z][^<>]*\t")


def of_text(text: str) -> Iterator[Observation]:
    """What only the text shows: expat has swallowed it."""
    at = text.find("<?xml")
    if at >= 0:
        yield Observation("nccl-xml-declaration", (), "<?xml", _line(text, at))
    tab = _TAB_IN_TAG.search(text)
    if tab:
        yield Observation("nccl-tab-in-tag", (), tab[0].split()[0], _line(text, tab.end()))
    at = text.find("='")
    if at >= 0:
        reason = "NCCL before 2.30 reads double quotes only"
        yield Observation("nccl-single-quotes", (), reason, _line(text, at))


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def of_system(root: Element) -> Iterator[Observation]:
    """The whole document against NCCL's grammar."""
    version = root.get("version")
    if version != "1":
        text = "no version" if version is None else f'version="{version}"'
        yield Observation("nccl-version-not-1", (), text, root.line)
    total = 0
    for element in root.walk():
        total += 1
        yield from _limits(element)
    if total > MAX_NODES:
        yield Observation("nccl-limit", (), f"{total} elements, NCCL takes {MAX_NODES}", root.line)
    elif total > MANY_NODES and version == "1" and sum(element.tag == "gpu" for element in root.walk()) == 1:
        text = f"{total} elements in one rank's file, NCCL takes {MAX_NODES} of all local ranks"
        yield Observation("many-elements", (), text, root.line)


def _limits(element: Element) -> Iterator[Observation]:
    if len(element.attributes) > MAX_ATTRIBUTES:
        text = f"<{element.tag}> has {len(element.attributes)} attributes, NCCL takes {MAX_ATTRIBUTES}"
        yield Observation("nccl-limit", (), text, element.line)
    if len(element.children) > MAX_CHILDREN:
        text = f"<{element.tag}> has {len(element.children)} children, NCCL takes {MAX_CHILDREN}"
        yield Observation("nccl-limit", (), text, element.line)
    strings = (element.tag, *element.attributes, *element.attributes.values())
    longest = max(map(len, strings))
    if longest > MAX_STRING:
        text = f"<{element.tag}> has a text of {longest} characters, NCCL takes {MAX_STRING}"
        yield Observation("nccl-limit", (), text, element.line)


def of_node(host: Host) -> Iterator[Observation]:
    for cpu in host.cpus:
        yield from _cpu(cpu)
    yield from _duplicates(host)
    yield from _virtual_nics(host)
    for place in host.places:
        yield from _link_texts(place)
        yield from _slow_switch(place)
        children = place.element.named("pci")
        if place.element.named("nic") and children:
            below = ", ".join(child.get("busid") or "?" for child in children)
            text = f"{place.busid} holds <nic> and <pci>: NCCL takes it as a NIC and never sees {below}"
            yield Observation("nccl-pci-with-nic-and-children", (place.busid,), text, place.element.line)
        gpus = place.element.named("gpu")
        if len(gpus) > 1:
            text = f"{len(gpus)} <gpu> elements on {place.busid}: one is read"
            yield Observation("nccl-gpus-on-one-busid", (place.busid,), text, gpus[1].line)
        if place.is_gpu and (device := place.element.get("device")):
            yield Observation("gpu-device-id", (place.busid,), device, place.element.line)
        for gpu in gpus:
            yield from _speed_above_hardware(place, gpu)
    yield from nvlink_rows.of_host(host)
    silent = tuple(place.busid for place in host.places if place.is_gpu and not place.element.named("gpu"))
    if silent:
        text = "GPUs by PCI class only: NVLink not in the file"
        yield Observation("no-gpu-element", silent, text, host.line)


def _cpu(cpu: Element) -> Iterator[Observation]:
    subject = (f"cpu:{cpu.get('numaid')}",)
    names = ("arch", "vendor", "familyid", "modelid")
    said = " ".join(f"{name}={value}" for name in names if (value := cpu.get(name)))
    if said:
        yield Observation("cpu-model", subject, said, cpu.line)
    if cpu.get("vendor") == "AuthenticAMD" and cpu.get("familyid") in _WRONG_AMD_FAMILIES:
        wrong = cpu.get("familyid") or ""
        text = f"AMD's familyid {wrong} is really {_WRONG_AMD_FAMILIES[wrong]}: NCCL up to 2.30.7 writes it wrong"
        yield Observation("nccl-amd-family", subject, text, cpu.line)


def _duplicates(host: Host) -> Iterator[Observation]:
    lines: dict[str, list[int]] = {}
    for place in host.places:
        lines.setdefault(place.busid, []).append(place.element.line)
    for busid, found in lines.items():
        if len(found) > 1:
            text = f"{busid} stands in lines {', '.join(map(str, found))}"
            yield Observation("duplicate-busid", (busid,), text, found[1])


def _virtual_nics(host: Host) -> Iterator[Observation]:
    lines: dict[str, list[int]] = {}
    for cpu in host.cpus:
        for nic in cpu.named("nic"):
            for name in {net.get("name") or "?": None for net in nic.named("net")}:
                lines.setdefault(name, []).append(nic.line)
    for name, found in lines.items():
        if len(found) > 1:
            text = f"{name} stands below {len(found)} <cpu> elements; it joins none of them"
            yield Observation("virtual-nic-repeated", (name,), text, found[1])


def _link_texts(place: Place) -> Iterator[Observation]:
    speed, width = place.element.get("link_speed"), place.element.get("link_width")
    if speed == "":
        text = 'link_speed="": NCCL goes on with 8 GT/s'
        yield Observation("nccl-speed-unsaid", (place.busid,), text, place.element.line)
    elif speed is not None and not speed.startswith(KNOWN_SPEEDS) and generation(speed) != _GEN3:
        text = f'link_speed="{speed[:40]}": NCCL does not know it and goes on with 8 GT/s'
        yield Observation("nccl-unknown-speed", (place.busid,), text, place.element.line)
    if width is not None and number(place.element, "link_width") == 0:
        text = f'link_width="{width}": NCCL goes on with 16 lanes'
        yield Observation("nccl-width-zero", (place.busid,), text, place.element.line)


def _slow_switch(place: Place) -> Iterator[Observation]:
    """A switch of one lane above wider devices, as QEMU's emulated xio3130 (104c:8232) says of itself."""
    if not place.is_switch or number(place.element, "link_width") != 1:
        return
    below = [element for element in place.element.walk() if element is not place.element]
    if any((number(element, "link_width") or 0) > 1 for element in below):
        name = f"{place.element.get('vendor')}:{place.element.get('device')}"
        text = f"{place.busid} ({name}): {place.element.get('link_speed')} x1 above wider devices"
        yield Observation("nccl-slow-switch", (place.busid,), text, place.element.line)


def _speed_above_hardware(place: Place, gpu: Element) -> Iterator[Observation]:
    """Only where the chips of an SM version have one certain limit. RCCL's `sm` counts compute units."""
    if place.element.get("vendor") != "0x10de":
        return
    sm, said = number(gpu, "sm"), generation(place.element.get("link_speed") or "")
    highest = _HIGHEST_GENERATION.get(sm or 0)
    if said is not None and highest is not None and said > highest:
        text = f'link_speed="{place.element.get("link_speed")}" is PCIe {said}; sm {sm} has PCIe {highest}'
        yield Observation("nccl-speed-above-hardware", (place.busid,), text, place.element.line)
