"""Our own machines: one description each, printed as every program would print it.

`MACHINES` has them by the name of their sample. `spellings` writes one machine in all formats,
`planted` gives the machine with one thing said wrongly, for tests that look for the conflict.
"""

from __future__ import annotations

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

__all__ = ["MACHINES", "PLANTABLE", "SPELLINGS", "planted", "spellings"]


def spellings(machine: Machine, directory: Path, only: str | None = None) -> dict[str, Path]:
    """Write every spelling that the machine has (or `only` that one) into `directory`; spelling → path.

    `sysfs-root` is a folder, `nvml-recording` plain JSON; a machine of the SOC generation has no `topo-mp`.
    """
    directory.mkdir(parents=True, exist_ok=True)
    texts = {
        "topo-m": ("topo-m.txt", render_topo(machine)),
        "topo-mp": ("topo-mp.txt", render_topo(machine, "mp")),
        "nvml-recording": ("nvml.json", render_nvml(machine)),
        "nccl-xml": ("nccl.xml", render_nccl_xml(machine)),
        "hwloc-xml": ("lstopo.xml", render_hwloc_xml(machine)),
        "lscpu": ("lscpu.txt", render_lscpu(machine)),
    }
    paths = {}
    for spelling in spelled(machine) if only is None else (only,):
        if spelling == "sysfs-root":
            paths[spelling] = directory / "root"
            render_sysfs(machine, paths[spelling])
        else:
            name, text = texts[spelling]
            paths[spelling] = directory / name
            paths[spelling].write_text(text, encoding="utf-8")
    return paths
