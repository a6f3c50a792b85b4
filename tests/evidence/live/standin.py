"""The C stand-in for the NVIDIA driver's library, and a machine's answers for it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.machines.cpu_numbers import split, words
from tests.machines.letters import pcie_level
from tests.machines.machine import Gpu, Machine
from tests.machines.render_nvml import LEVELS, link_rows, nvml_bus_id

SOURCE = Path(__file__).with_name("nvml_standin.c")
NO_COMPILER = "no C compiler (gcc or cc) to build the stand-in for libnvidia-ml with"


def compiler() -> str | None:
    return shutil.which("gcc") or shutil.which("cc")


def build(folder: Path, *defines: str) -> Path:
    """libnvidia-ml.so.1 in `folder`."""
    program = compiler()
    assert program
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / "libnvidia-ml.so.1"
    command = [program, "-shared", "-fPIC", "-O1", *(f"-D{word}" for word in defines), "-o", str(library), str(SOURCE)]
    subprocess.run(command, check=True, timeout=60)
    return library


def answers(machine: Machine, gpus: Iterable[Gpu] | None = None) -> dict[str, str]:
    """What a healthy driver of this machine says, of these of its GPUs: a container's view has some of them."""
    listed = tuple(machine.gpus if gpus is None else gpus)
    said = {"driver": machine.driver, "cuda": "12080", "count": str(len(listed)), "p2p": "0"}
    for index, gpu in enumerate(listed):
        rows = link_rows(machine, gpu)
        highest = max(split(machine.all_cpus))
        said |= {
            f"uuid.{index}": gpu.uuid,
            f"name.{index}": gpu.name,
            f"pci.{index}": nvml_bus_id(gpu.pci),
            f"minor.{index}": str(gpu.number),
            f"width.{index}": str(gpu.width),
            f"cpus.{index}": hexadecimal(words(split(machine.cpus_near(gpu.numa)), 64, highest // 64 + 1)),
            f"nodes.{index}": f"{1 << (gpu.numa or 0):x}",
            f"links.{index}": str(len(rows)),
            "speed": str(gpu.link_mbps),
        }
        said |= {f"link.{index}.{link}": remote for link, _, _, remote in rows}
        for other, peer in enumerate(listed):
            if peer is not gpu:
                said[f"level.{index}.{other}"] = str(LEVELS[pcie_level(machine, gpu, peer)])
    return said


def hexadecimal(numbers: Iterable[int]) -> str:
    return " ".join(f"{number:x}" for number in numbers)


def environment(library: Path, said: Mapping[str, str] | None, folder: Path) -> dict[str, str]:
    """For a process that finds the stand-in where the loader looks. `said` None: no driver is loaded."""
    settings = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "GPUTOPO_NVML_STANDIN")}
    settings["LD_LIBRARY_PATH"] = str(library.parent)
    if said is not None:
        file = folder / "driver.txt"
        file.write_text("".join(f"{key} {value}\n" for key, value in said.items()), encoding="ascii")
        settings["GPUTOPO_NVML_STANDIN"] = str(file)
    return settings
