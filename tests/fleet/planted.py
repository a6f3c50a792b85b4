"""A fleet of bundles of six machine models with seven faults planted in it, each in a node of its own.

Every node has GPU UUIDs, a boot id and a host name of its own; nodes of one model are alike in everything else. A
bundle is a .tar.gz as `gputopo collect` writes one, of two gzip members: what nodes have in common is packed once.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

from gputopo.evidence.bundle_write import _tar
from gputopo.evidence.tar_headers import Member
from gputopo.evidence.tree import FILE, FOLDER, LINK
from tests.machines import MACHINES
from tests.machines.machine import Machine
from tests.machines.render_nvml import render_nvml
from tests.machines.render_sysfs import Root, fill

MODELS = ("hgx-h100", "hgx-b200", "dgx-a100", "pcie-2s-8gpu", "pcie-bridged", "dgx1-v100")
_MANIFEST = b'{"gputopo": "bundle", "version": 1, "evidence": ["root", "nvml.json"], "live": {}}'
_UUID, _BOOT, _HOST = b"00000000-0000-4000-8000-", b"b0070000-0000-4000-8000-000000000000", b"node-00000000"


def nics_renamed(machine: Machine) -> Machine:
    """The first two RDMA devices have each other's name."""
    first, second, *rest = machine.nics
    swapped = (first._replace(device=second.device), second._replace(device=first.device), *rest)
    return machine._replace(nics=swapped)


def link_down(machine: Machine) -> Machine:
    """GPU 3 has one NVLink less."""
    gpu = machine.gpus[3]
    (switch, count), *rest = gpu.fabric
    lame = gpu._replace(fabric=((switch, count - 1), *rest))
    return machine._replace(gpus=(*machine.gpus[:3], lame, *machine.gpus[4:]))


def sockets_swapped(machine: Machine) -> Machine:
    """Whatever was on socket 0 is on socket 1, and the other way round."""
    other = {0: 1, 1: 0}

    def moved(things):  # type: ignore[no-untyped-def]
        return tuple(one._replace(numa=other.get(one.numa, one.numa)) for one in things)

    return machine._replace(
        host_bridges=moved(machine.host_bridges), gpus=moved(machine.gpus), nics=moved(machine.nics),
        nvmes=moved(machine.nvmes), nvswitches=moved(machine.nvswitches), others=moved(machine.others),
    )  # fmt: skip


def slot_x8(machine: Machine) -> Machine:
    gpu = machine.gpus[2]._replace(width=8)
    return machine._replace(gpus=(*machine.gpus[:2], gpu, *machine.gpus[3:]))


def old_driver(machine: Machine) -> Machine:
    return machine._replace(driver="525.60.13")


# What is planted → in which model; the sixth and the seventh are a file that is no bundle, and one that is there twice.
FAULTS: dict[str, tuple[str, Callable[[Machine], Machine]]] = {
    "nic-order": ("hgx-h100", nics_renamed),
    "links-17": ("hgx-b200", link_down),
    "sockets": ("dgx1-v100", sockets_swapped),
    "x8": ("pcie-2s-8gpu", slot_x8),
    "driver": ("pcie-bridged", old_driver),
}


# What a report says of each, and nothing else.
FIELDS: dict[str, tuple[str, ...]] = {
    "nic-order": ("gpus[0-1].nearestNics",),
    "links-17": ("gpus[3].nvlinks.active",),
    "sockets": ("gpus[0-7].numaNodes", "nics[0-3].numaNodes"),
    "x8": ("gpus[2].pcie.width",),
    "driver": ("system.driver",),
    "unreadable": ("unreadable",),
    "duplicate": ("duplicate",),
}


class _Members(Root):
    """A root folder that is members of an archive; thousands of files take their time."""

    def __init__(self, folder: Path, machine: Machine) -> None:
        super().__init__(folder, machine)
        self.members: dict[str, Member] = {}

    def file(self, path: str, text: str) -> None:
        self.members[f"root/{path}"] = Member(FILE, data=(text if text.endswith("\n") else text + "\n").encode())

    def link(self, path: str, to: str) -> None:
        self.members[f"root/{path}"] = Member(LINK, os.path.relpath(to, os.path.dirname(path)))

    def made(self, path: str) -> None:
        self.members[f"root/{path}"] = Member(FOLDER)


@cache
def _archive(machine: Machine) -> tuple[bytes, bytes]:
    """What is common to nodes, packed, and the rest of the tar with identities that stand for those of a node."""
    members = _template(machine)
    own = {path: member for path, member in members.items() if _names_a_node(member.data or b"")}
    common = _tar({path: member for path, member in members.items() if path not in own})
    while common.endswith(bytes(512)):  # the end of a tar
        common = common[:-512]
    return gzip.compress(common, 6, mtime=0), _tar(own)


def _template(machine: Machine) -> dict[str, Member]:
    root = _Members(Path("root"), machine)
    fill(root)
    root.members["root/proc/sys/kernel/hostname"] = Member(FILE, data=_HOST + b"\n")
    root.members["root/proc/sys/kernel/random/boot_id"] = Member(FILE, data=_BOOT + b"\n")
    root.members["nvml.json"] = Member(FILE, data=render_nvml(machine).encode())
    root.members["manifest.json"] = Member(FILE, data=_MANIFEST)
    return root.members


def members(machine: Machine, number: int) -> dict[str, Member]:
    """Of the bundle of node `number`."""
    return {
        path: one if one.data is None else one._replace(data=_renamed(one.data, number))
        for path, one in _template(machine).items()
    }


def _renamed(data: bytes, number: int) -> bytes:
    for before, after in (
        (_UUID, b"%08x-0000-4000-8000-" % number),
        (_BOOT, b"b0070000-0000-4000-8000-%012x" % number),
        (_HOST, b"node-%08d" % number),
    ):
        data = data.replace(before, after)
    return data


def _names_a_node(data: bytes) -> bool:
    return any(identity in data for identity in (_UUID, _BOOT, _HOST))


def bundle(machine: Machine, number: int) -> bytes:
    """Of node `number`."""
    common, own = _archive(machine)
    return common + gzip.compress(_renamed(own, number), 1, mtime=0)


def write(folder: Path, nodes: int, models: tuple[str, ...] = MODELS) -> dict[str, str]:
    """`nodes` files in folders of at most 1,000; what is planted → its file."""
    faults = {fault: (model, change) for fault, (model, change) in FAULTS.items() if model in models}
    planted: dict[str, str] = {}
    places = {model: [fault for fault, (own, _) in faults.items() if own == model] for model in models}
    last = b""
    for number in range(nodes):
        model = models[number % len(models)]
        machine = MACHINES[model]
        path = folder / f"rack{number // 1000}" / f"n{number:06d}.tar.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        if number >= nodes // 2 and places[model]:
            fault = places[model].pop()
            machine = faults[fault][1](machine)
            planted[fault] = str(path)
        if number == nodes - 2:
            planted["unreadable"] = str(path)
            path.write_bytes(b"\x1f\x8b\x08\x00 the copy went wrong")
        elif number == nodes - 1:
            planted["duplicate"] = str(path)
            path.write_bytes(last)
        else:
            last = bundle(machine, number)
            path.write_bytes(last)
    return planted
