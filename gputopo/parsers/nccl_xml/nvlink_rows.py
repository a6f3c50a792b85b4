"""`<nvlink>` rows that no machine can have: more links than a chip, to itself, differing ends, a GPU called a switch.

Link maxima of the chips: NVIDIA's architecture white papers (P100 4, V100 6, A100 12, GA102 4, H100 and Blackwell 18).
A dump that is trimmed to one rank lacks the others: what a row names that is not in the file is not judged.
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.parsers.nccl_xml.tree import Host, Place, class_of, number
from gputopo.parsers.xml_guard import Element
from gputopo.records import Observation
from gputopo.terms.pci_address import PciAddress

MAX_NVLINKS = 18  # of one GPU: Hopper and Blackwell (nvml.h, NVML_NVLINK_MAX_LINKS)
_MAX_OF_SM = {60: 4, 70: 6, 80: 12, 86: 4}
_NVSWITCH = "068000"


def of_host(host: Host) -> Iterator[Observation]:
    gpus = {}
    for place in host.places:
        elements = place.element.named("gpu")
        if elements:
            gpus[place.busid] = elements[0]  # NCCL 2.30 writes parts of one GPU as several below one <pci>
    for place in host.places:
        if place.busid in gpus and gpus[place.busid] in place.element.children:
            yield from _of_gpu(place, gpus[place.busid], gpus)
    yield from _ends(gpus)


def _of_gpu(place: Place, gpu: Element, gpus: dict[str, Element]) -> Iterator[Observation]:
    rows = gpu.named("nvlink")
    total = sum(_count(row) for row in rows)
    most = _MAX_OF_SM.get(number(gpu, "sm") or 0, MAX_NVLINKS)
    if total > most:
        whose = "no GPU has" if most == MAX_NVLINKS else f"a GPU of sm {gpu.get('sm')} does not have"
        text = f"{len(rows)} <nvlink> rows with {total} links; {whose} more than {most}"
        yield Observation("nccl-too-many-nvlinks", (place.busid,), text, rows[0].line)
    own = [row for row in rows if place.pci and PciAddress.parse(row.get("target") or "") == place.pci]
    if own:
        text = f"{place.busid} has an NVLink to itself: NCCL finds no peer"
        yield Observation("nccl-self-nvlink", (place.busid,), text, own[0].line)
    for row in rows:
        target = _target(row)
        if target in gpus and target != place.busid and class_of(row, "tclass") == _NVSWITCH:
            text = f"{target} is a GPU of this file, and the row calls it an NVSwitch (tclass 0x{_NVSWITCH})"
            yield Observation("nccl-nvlink-class", (place.busid,), text, row.line)


def _ends(gpus: dict[str, Element]) -> Iterator[Observation]:
    """Pairs whose two GPUs both stand in the file and count different numbers of links."""
    rows = {
        (busid, target): (sum(_count(one) for one in gpu.named("nvlink") if _target(one) == target), row.line)
        for busid, gpu in gpus.items()
        for row in gpu.named("nvlink")
        if (target := _target(row)) in gpus and target != busid
    }
    for (a, b), (count, line) in rows.items():
        back = rows.get((b, a), (0, 0))[0]
        if count != back and (a < b or (b, a) not in rows):
            text = f"{a} has {count} links to {b}, which has {back} back"
            yield Observation("nccl-nvlink-counts-differ", (a, b), text, line)


def _target(row: Element) -> str:
    text = (row.get("target") or "").strip().lower()
    address = PciAddress.parse(text)
    return str(address) if address is not None else text


def _count(row: Element) -> int:
    return max(number(row, "count") or 0, 0)
