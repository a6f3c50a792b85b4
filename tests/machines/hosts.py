"""CPUs and memory of the hosts that the machines are built on."""

from __future__ import annotations

from collections.abc import Sequence

from tests.machines.machine import NumaNode, Package

GIB = 1 << 30


def intel(model: int, name: str, *cpus: str, threads: int = 2) -> tuple[Package, ...]:
    return tuple(
        Package(number, text, "GenuineIntel", 6, model, name, threads=threads) for number, text in enumerate(cpus)
    )


def amd(family: int, model: int, name: str, *cpus: str, threads: int = 2) -> tuple[Package, ...]:
    return tuple(
        Package(number, text, "AuthenticAMD", family, model, name, threads=threads) for number, text in enumerate(cpus)
    )


def nodes(gib: int, far: int, *cpus: str, per_package: int = 0, sibling: int = 12) -> tuple[NumaNode, ...]:
    """NUMA nodes 0, 1, …: `far` between packages, `sibling` between the nodes of one package."""
    count = len(cpus)

    def distance(a: int, b: int) -> int:
        if a == b:
            return 10
        return sibling if per_package and a // per_package == b // per_package else far

    return tuple(
        NumaNode(number, text, gib * GIB, tuple(distance(number, other) for other in range(count)))
        for number, text in enumerate(cpus)
    )


def grace_nodes(memory_gib: int, gpu_gib: int) -> tuple[NumaNode, ...]:
    """Two Grace and four GPUs: nodes 0 and 1 have the CPUs, each GPU eight nodes from 2 on.

    The first of the eight is the GPU's memory, the others are kept for MIG and are empty
    (`topo -m` of a tray: GPU NUMA ID 2, 10, 18, 26 and NUMA Affinity `0,3-9,11-17`).
    """
    owners = [0, 1, *(gpu // 2 for gpu in range(4) for _ in range(8))]

    def distance(a: int, b: int) -> int:
        if a == b:
            return 10
        if a < 2 and b < 2:
            return 40
        return 80 if owners[a] == owners[b] else 120

    found = []
    for number, owner in enumerate(owners):
        row = tuple(distance(number, other) for other in range(len(owners)))
        if number < 2:
            found.append(NumaNode(number, f"{72 * number}-{72 * number + 71}", memory_gib * GIB, row))
        elif (number - 2) % 8 == 0:
            found.append(NumaNode(number, "", gpu_gib * GIB, row, "gpu-memory", owner))
        else:
            found.append(NumaNode(number, "", 0, row, None, owner))
    return tuple(found)


SAPPHIRE_RAPIDS_2S = intel(143, "Intel(R) Xeon(R) Platinum 8480C", "0-55,112-167", "56-111,168-223")
EMERALD_RAPIDS_48_2S = intel(207, "INTEL(R) XEON(R) PLATINUM 8558", "0-47,96-143", "48-95,144-191")
EMERALD_RAPIDS_56_2S = intel(207, "INTEL(R) XEON(R) PLATINUM 8570", "0-55,112-167", "56-111,168-223")
ROME_64_2S = amd(23, 49, "AMD EPYC 7742 64-Core Processor", "0-63,128-191", "64-127,192-255")
BROADWELL_20_2S = intel(79, "Intel(R) Xeon(R) CPU E5-2698 v4 @ 2.20GHz", "0-19,40-59", "20-39,60-79")
BROADWELL_14_2S = intel(79, "Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz", "0-13,28-41", "14-27,42-55")
SKYLAKE_24_2S = intel(85, "Intel(R) Xeon(R) Platinum 8168 CPU @ 2.70GHz", "0-23,48-71", "24-47,72-95")
ICE_LAKE_28_2S = intel(106, "Intel(R) Xeon(R) Gold 6330 CPU @ 2.00GHz", "0-27,56-83", "28-55,84-111")
SKYLAKE_8_2S = intel(85, "Intel(R) Xeon(R) Silver 4110 CPU @ 2.10GHz", "0-7,16-23", "8-15,24-31")
GRACE_2S = tuple(
    Package(number, f"{72 * number}-{72 * number + 71}", "ARM", 0, 0, "Neoverse-V2", "aarch64", 1) for number in (0, 1)
)


def own_nodes(packages: Sequence[Package], gib: int, far: int) -> tuple[NumaNode, ...]:
    """One NUMA node a package."""
    return nodes(gib, far, *(package.cpus for package in packages))
