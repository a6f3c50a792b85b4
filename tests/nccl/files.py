"""Topology files written for these tests, in NCCL's grammar (facts: src/graph/xml.cc)."""

from __future__ import annotations

from gputopo.nccl import Machine, Refused, Settings, machine
from gputopo.nccl.settings import DEFAULTS
from gputopo.parsers.nccl_xml import parse
from gputopo.records import NcclElement

INTEL_ICX = 'arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="106"'
AMD = 'arch="x86_64" vendor="AuthenticAMD" familyid="25" modelid="1"'
ARM = 'arch="arm64"'
GEN3, GEN4, GEN5 = "8.0 GT/s PCIe", "16.0 GT/s PCIe", "32.0 GT/s PCIe"


def system(*cpus: str) -> str:
    return f'<system version="1">{"".join(cpus)}</system>'


def cpu(numa: int, says: str, *inside: str) -> str:
    return f'<cpu numaid="{numa}" {says}>{"".join(inside)}</cpu>'


def pci(busid: str, kind: str, speed: str, *inside: str, says: str = "", width: int = 16) -> str:
    link = f'link_speed="{speed}" link_width="{width}"'
    return f'<pci busid="{busid}" class="{kind}" {says} {link}>{"".join(inside)}</pci>'


def gpu(dev: int, sm: int, *rows: str, speed: str = GEN4, gdr: int = 1) -> str:
    """GPU number 3 is at 0000:13:00.0."""
    inside = f'<gpu dev="{dev}" sm="{sm}" rank="{dev}" gdr="{gdr}">{"".join(rows)}</gpu>'
    return pci(busid(dev), "0x030200", speed, inside)


def busid(dev: int) -> str:
    return f"0000:{0x10 + dev:02x}:00.0"


def to_switch(count: int) -> str:
    return f'<nvlink target="fffffff:ffff:ff" count="{count}" tclass="0x068000"/>'


def to_gpu(dev: int, count: int) -> str:
    return f'<nvlink target="{busid(dev)}" count="{count}" tclass="0x030200"/>'


def switch(number: int, *inside: str, speed: str = GEN4) -> str:
    return pci(f"0000:{0x80 + number:02x}:00.0", "0x060400", speed, *inside)


def nic(number: int, *nets: str, speed: str = GEN4) -> str:
    return pci(f"0000:{0xC0 + number:02x}:00.0", "0x020700", speed, f"<nic>{''.join(nets)}</nic>")


def net(dev: int, mbps: int, gdr: int = 1) -> str:
    return f'<net name="mlx5_{dev}" dev="{dev}" speed="{mbps}" port="1" gdr="{gdr}"/>'


def nvswitch_node(sm: int, links: int, gpus: int = 8, speed: str = GEN5) -> str:
    """Two sockets, every GPU with all its links to the NVSwitches."""
    half = (gpus + 1) // 2
    each = [gpu(dev, sm, to_switch(links), speed=speed) for dev in range(gpus)]
    return system(cpu(0, INTEL_ICX, *each[:half]), cpu(1, INTEL_ICX, *each[half:]))


def element(text: str) -> NcclElement:
    found = parse(text)[0].nccl
    assert found is not None
    return found


def read(text: str, settings: Settings = DEFAULTS) -> Machine:
    found = machine(element(text), settings)
    assert isinstance(found, Machine), found
    return found


def refused(text: str) -> Refused:
    found = machine(element(text))
    assert isinstance(found, Refused)
    return found
