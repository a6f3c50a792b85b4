"""What NCCL keeps of a file: the GPUs of the communicator, every NIC, and what stands above them.

Source: src/graph/xml.cc (ncclTopoTrimXmlRec, ncclTopoFillGpu). What NCCL would ask the machine for and the file does
not say is supposed here, and named.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from gputopo.nccl.file_values import RefusalError, device_kind, whole
from gputopo.records import NcclElement

DEFAULT_SM = 80
_REMOVED = ("pci", "cpu", "nic")  # where nothing inside is kept
_MOST_ELEMENTS = 256  # NCCL_TOPO_XML_MAX_NODES


class Kept(NamedTuple):
    """The file with a whole `<gpu>` for every GPU; `busids` in its order, doubles included."""

    system: NcclElement
    busids: tuple[str, ...]
    assumptions: tuple[str, ...]


def check(system: NcclElement) -> None:
    """What NCCL looks at before it reads on; its room has to hold a closing tag too. Raises `RefusalError`."""
    version = system.get("version")
    if version is None:
        raise RefusalError("Attribute version of node system not found", system.line)
    if whole(version) != 1:
        raise RefusalError(f"XML Topology has wrong version {whole(version)}, 1 needed", system.line, 5)
    if sum(1 for _ in _walk(system)) >= _MOST_ELEMENTS:
        raise RefusalError(f"XML parser is limited to {_MOST_ELEMENTS} nodes", system.line)


def every_gpu(system: NcclElement, sm: int | None) -> Kept:
    """`sm`: the compute capability of GPUs without one (90 is Hopper); `None` supposes 80."""
    fill = _Fill(sm, any(element.tag == "gpu" for element in _walk(system)))
    return Kept(fill.element(system, ""), tuple(fill.busids), tuple(fill.assumptions))


def _walk(element: NcclElement) -> Iterator[NcclElement]:
    yield element
    for child in element.children:
        yield from _walk(child)


class _Fill:
    def __init__(self, sm: int | None, has_gpus: bool) -> None:
        self.sm = sm
        self.has_gpus = has_gpus
        self.busids: list[str] = []
        self.assumptions: dict[str, None] = {}
        if not has_gpus:
            self._suppose("the file names no <gpu>: every <pci> of class 0x03 is taken for one, without NVLink")

    def _suppose(self, text: str) -> None:
        self.assumptions.setdefault(text)

    def element(self, element: NcclElement, busid: str) -> NcclElement:
        busid = element.get("busid") or busid
        if element.tag == "gpu":
            return self._gpu(element, busid)
        children = tuple(self.element(child, busid) for child in element.children)
        if not self.has_gpus and _is_bare_gpu(element):
            children = (*children, self._gpu(NcclElement("gpu", {}, (), element.line), busid))
        return element._replace(children=children)

    def _gpu(self, gpu: NcclElement, busid: str) -> NcclElement:
        position = len(self.busids)
        self.busids.append(busid)
        says = dict(gpu.attributes)
        if "sm" not in says:
            says["sm"] = str(self.sm or DEFAULT_SM)
            self._suppose(f"compute capability of the GPUs: {int(says['sm']) / 10} (the file says none)")
        if "dev" not in says:
            says["dev"] = str(position)
            if self.has_gpus:
                self._suppose("GPUs without dev are numbered in the order of the file")
        if "gdr" not in says:
            says["gdr"] = "1"
            self._suppose("GPUs take GPUDirect RDMA (the file does not say)")
        return gpu._replace(attributes=says)


def _is_bare_gpu(element: NcclElement) -> bool:
    is_gpu = element.tag == "pci" and device_kind(element.get("class") or "") == "gpu"
    return is_gpu and not element.named("pci") and not element.named("nic")


def trimmed(system: NcclElement, busids: Collection[str]) -> NcclElement:
    """Without the other GPUs, and without what then holds neither GPU nor NIC."""
    return system._replace(children=_below(system, "", busids)[0])


def _below(element: NcclElement, busid: str, busids: Collection[str]) -> tuple[tuple[NcclElement, ...], bool]:
    """Its children that stay, and whether one of them must."""
    found: list[NcclElement] = []
    wanted = False
    for child in element.children:
        if child.tag == "gpu":
            must = busid in busids
            stays = child if must else None
        elif child.tag == "net":
            must, stays = True, child
        else:
            children, must = _below(child, child.get("busid") or busid, busids)
            stays = child._replace(children=children) if must or child.tag not in _REMOVED else None
        wanted = wanted or must
        if stays is not None:
            found.append(stays)
    return tuple(found), wanted
