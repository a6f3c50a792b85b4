"""An NVML recording of a machine: the decoded half (`snap`) that a recorder of ours also writes.

`snap` holds what NVML answers: `links` rows are [link, NVLink version, remote type, remote bus id]
(type 0 a GPU, 2 a switch; FFFFFFFF:FF:FF.0 where the driver does not show the far end), `fv` rows
are [field, scope, return code, value], "ERR3" is NOT_SUPPORTED, CPU sets are 64-bit words.
"""

from __future__ import annotations

import json
from typing import Any

from tests.machines.cpu_numbers import split, words
from tests.machines.letters import nvlinks, pcie_level
from tests.machines.machine import Gpu, Machine

LEVELS = {"PIX": 10, "PXB": 20, "PHB": 30, "NODE": 40, "SYS": 50}
NOT_SUPPORTED = 3
P2P_CHIPSET, P2P_NOT_SUPPORTED = 1, 5
HIDDEN_REMOTE = "FFFFFFFF:FF:FF.0"


def render_nvml(machine: Machine) -> str:
    """The recording as JSON text; `calls` is empty: nothing was recorded byte for byte."""
    document = {"pynvml": "nvidia-ml-py", "calls": {}, "snap": snapshot(machine)}
    return json.dumps(document, indent=1) + "\n"


def snapshot(machine: Machine) -> dict[str, Any]:
    return {
        "drv": machine.driver,
        "gpus": [gpu_answers(machine, gpu) for gpu in machine.gpus],
        "topo": [[0 if a is b else LEVELS[pcie_level(machine, a, b)] for b in machine.gpus] for a in machine.gpus],
        "p2p": {
            str(kind): [[p2p(machine, a, b, kind) for b in machine.gpus] for a in machine.gpus] for kind in range(5)
        },
    }


def gpu_answers(machine: Machine, gpu: Gpu) -> dict[str, Any]:
    numa = machine.gpu_numa(gpu)
    near = split(gpu.near_nodes) if gpu.near_nodes and numa == gpu.numa else [] if numa is None else [numa]
    highest = max(split(machine.all_cpus))
    links = link_rows(machine, gpu)
    state = machine.fabric_state
    return {
        "uuid": gpu.uuid,
        "name": gpu.name,
        "pci": nvml_bus_id(gpu.pci),
        "numa": f"ERR{NOT_SUPPORTED}" if gpu.memory_node is None else gpu.memory_node,
        "cpus": words(split(machine.cpus_near(gpu.numa)), 64, highest // 64 + 1),
        "mem": words(near, 64) if near else f"ERR{NOT_SUPPORTED}",
        "links": links,
        "fv": [[91, 0, 0, len(links)], *([164, row[0], 0, gpu.link_mbps] for row in links)]
        if links
        else [[91, 0, NOT_SUPPORTED, 0]],
        "fabric": [NOT_SUPPORTED, 0, 0, "0x0"] if state is None else [0, state, 0, "0x0"],
    }


def link_rows(machine: Machine, gpu: Gpu) -> list[list[Any]]:
    remotes: list[str] = []
    kinds: list[int] = []
    for peer, _ in gpu.peers:
        count, _via = nvlinks(machine, gpu, machine.gpus[peer])
        remotes += [nvml_bus_id(machine.gpus[peer].pci)] * count
        kinds += [0] * count
    for switch, count in gpu.fabric:
        remotes += [HIDDEN_REMOTE if switch is None else nvml_bus_id(machine.nvswitches[switch].pci)] * count
        kinds += [2] * count
    return [[link, gpu.nvlink_version, kind, remote] for link, (kind, remote) in enumerate(zip(kinds, remotes))]


def p2p(machine: Machine, a: Gpu, b: Gpu, kind: int) -> int:
    """nvmlGpuP2PStatus of read 0, write 1, NVLink 2, atomics 3, prop 4."""
    if a is b:
        return 0
    linked = nvlinks(machine, a, b)[0] > 0
    if kind in (2, 3):
        return 0 if linked else P2P_NOT_SUPPORTED
    return 0 if linked or (a.p2p and b.p2p) else P2P_CHIPSET


def nvml_bus_id(pci: str) -> str:
    domain, _, rest = pci.partition(":")
    return f"{int(domain, 16):08X}:{rest.upper()}"
