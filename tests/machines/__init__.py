"""Our own machines: one description each, printed as every program would print it.

`MACHINES` has them by the name of their sample. `spellings` writes one machine in all formats,
`planted` gives the machine with one thing said wrongly, for tests that look for the conflict.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.machines.catalogue import MACHINES
from tests.machines.expected import SPELLINGS, spelled
from tests.machines.machine import Machine
from tests.machines.planting import PLANTABLE, planted
from tests.machines.render_hwloc_xml import render_hwloc_xml
from tests.machines.render_lscpu import render_lscpu
from tests.machines.render_nccl_xml import render_nccl_xml
from tests.machines.render_nvml import render_nvml
from tests.machines.render_sysfs import render_sysfs
from tests.machines.render_topo import render_topo

__all__ = ["MACHINES", "PLANTABLE", "SPELLINGS", "Spelled", "planted", "spellings"]

Spelled = Callable[[str], dict[str, Path]]  # the name of a machine → spelling → path

_TEXTS: dict[str, tuple[str, Callable[[Machine], str]]] = {
    "topo-m": ("topo-m.txt", render_topo),
    "topo-mp": ("topo-mp.txt", lambda machine: render_topo(machine, "mp")),
    "nvml-recording": ("nvml.json", render_nvml),
    "nccl-xml": ("nccl.xml", render_nccl_xml),
    "hwloc-xml": ("lstopo.xml", render_hwloc_xml),
    "lscpu": ("lscpu.txt", render_lscpu),
}


def spellings(machine: Machine, directory: Path, only: str | None = None) -> dict[str, Path]:
    """Write every spelling that the machine has (or `only` that one) into `directory`; spelling → path.

    `sysfs-root` is a folder, `nvml-recording` plain JSON; a machine of the SOC generation has no `topo-mp`.
    """
    directory.mkdir(parents=True, exist_ok=True)
    paths = {}
    for spelling in spelled(machine) if only is None else (only,):
        if spelling == "sysfs-root":
            paths[spelling] = directory / "root"
            render_sysfs(machine, paths[spelling])
        else:
            name, render = _TEXTS[spelling]
            paths[spelling] = directory / name
            paths[spelling].write_text(render(machine), encoding="utf-8")
    return paths
