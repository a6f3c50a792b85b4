"""`nvidia-smi -q -x` → `PrintedLog`s, through the guard that lets no entity through."""

from __future__ import annotations

from gputopo.parsers.nvidia_smi_q.printed import PrintedGpu, PrintedLog, PrintedMig, plain
from gputopo.parsers.xml_guard import Element, documents

ROOT = "nvidia_smi_log"


def read_xml(text: str) -> list[PrintedLog]:
    """Every document of a text. Raises Unreadable where one is broken or declares entities."""
    return [_log(root) for root in documents(text, (ROOT,))]


def _log(root: Element) -> PrintedLog:
    log = PrintedLog(root.line, is_xml=True)
    for child in root.children:
        if child.tag == "gpu":
            log.gpus.append(_gpu(child))
        elif not child.children:
            log.head.setdefault(plain(child.tag), child.text.strip())
    return log


def _gpu(element: Element) -> PrintedGpu:
    gpu = PrintedGpu(element.get("id"), element.line)
    waiting: list[tuple[tuple[str, ...], Element]] = [((), child) for child in reversed(element.children)]
    while waiting:
        section, child = waiting.pop()
        if child.tag in ("processes", "accounted_processes", "supported_clocks"):
            if child.tag == "processes":
                gpu.add(section, child.tag, "", child.line)
            continue
        if child.tag == "mig_devices":
            gpu.mig = [_mig(device) for device in child.named("mig_device")]
            continue
        if child.children:
            waiting += [((*section, child.tag), one) for one in reversed(child.children)]
        else:
            gpu.add(section, child.tag, child.text.strip(), child.line)
    return gpu


def _mig(element: Element) -> PrintedMig:
    mig = PrintedMig()
    for child in element.children:
        if not child.children:
            mig.values.setdefault(plain(child.tag), child.text.strip())
    return mig
