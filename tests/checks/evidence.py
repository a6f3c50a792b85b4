"""A machine as people paste it, its twin under other names, and ten machines with one thing wrong each.

Everything goes the whole way: a machine is printed as nvidia-smi, NVML and lscpu print it, and read again.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.machines import MACHINES
from tests.machines.machine import Gpu, Machine, Nic, Planted
from tests.machines.render_lscpu import render_lscpu
from tests.machines.render_nvml import render_nvml
from tests.machines.render_topo import render_topo

H100 = MACHINES["hgx-h100"]


def write(machine: Machine, folder: Path) -> list[str]:
    """topo -m, NVML's answers, lscpu, and the width of each GPU's link as `--query-gpu` prints it."""
    folder.mkdir(parents=True, exist_ok=True)
    header = "index, uuid, name, driver_version, pci.bus_id, pcie.link.width.current, pcie.link.width.max"
    rows = [
        f"{gpu.number}, {gpu.uuid}, {gpu.name}, {machine.driver}, {gpu.pci}, {gpu.width}, {gpu.max_width}"
        for gpu in machine.gpus
    ]
    texts = {
        "topo.txt": render_topo(machine),
        "nvml.json": render_nvml(machine),
        "lscpu.txt": render_lscpu(machine),
        "gpus.csv": "\n".join([header, *rows]) + "\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    return [str(folder / name) for name in texts]


def twin(machine: Machine, seed: int = 7) -> Machine:
    """The same machine: GPUs and NICs in another order, every bus of PCI under another number."""
    draw = Random(seed)
    buses = draw.sample(range(1, 255), 250)
    text = {f"{bus:02x}": f"{new:02x}" for bus, new in zip(range(255), buses)}

    def moved(address: str) -> str:
        domain, bus, rest = address.split(":")
        return f"{domain}:{text[bus]}:{rest}"

    def bridge(id: str) -> str:
        return f"pci0000:{text[id.rpartition(':')[2]]}" if id.startswith("pci") else moved(id)

    order = draw.sample(range(len(machine.gpus)), len(machine.gpus))
    number = {old: new for new, old in enumerate(order)}

    def device(id: str) -> str:
        return f"GPU{number[int(id[3:])]}" if id.startswith("GPU") else id

    gpus = [
        machine.gpus[old]._replace(
            number=new, pci=moved(machine.gpus[old].pci), parent=bridge(machine.gpus[old].parent),
            peers=tuple((number[peer], links) for peer, links in machine.gpus[old].peers),
        )
        for new, old in enumerate(order)
    ]  # fmt: skip
    nics = [nic._replace(pci=moved(nic.pci), parent=bridge(nic.parent)) for nic in machine.nics]
    return machine._replace(
        gpus=tuple(gpus), nics=tuple(draw.sample(nics, len(nics))),
        host_bridges=tuple(one._replace(id=bridge(one.id)) for one in machine.host_bridges),
        bridges=tuple(one._replace(pci=moved(one.pci), parent=bridge(one.parent)) for one in machine.bridges),
        nvswitches=tuple(one._replace(pci=moved(one.pci), parent=bridge(one.parent)) for one in machine.nvswitches),
        nvmes=(), planted=Planted(
            tuple((number[gpu], numa) for gpu, numa in machine.planted.numa if gpu in number),
            tuple((device(a), device(b), level) for a, b, level in machine.planted.letters),
        ),
    )  # fmt: skip


def _gpu(machine: Machine, number: int, change: Callable[[Gpu], Gpu]) -> Machine:
    return machine._replace(gpus=tuple(change(one) if one.number == number else one for one in machine.gpus))


def _nic(machine: Machine, device: str, change: Callable[[Nic], Nic]) -> Machine:
    return machine._replace(nics=tuple(change(one) if one.device == device else one for one in machine.nics))


def _one_link_less(machine: Machine) -> Machine:
    def change(gpu: Gpu) -> Gpu:
        (switch, count), *rest = gpu.fabric
        return gpu._replace(fabric=((switch, count - 1), *rest))

    return _gpu(machine, 5, change)


def _one_gpu_missing(machine: Machine) -> Machine:
    """The last one: the others keep their numbers, as they do when NVML does not see it."""
    return machine._replace(gpus=machine.gpus[:-1])


def _swapped_sockets(machine: Machine) -> Machine:
    """GPU3 says socket 1 and GPU4 socket 0; what the PCI tree says of them stays."""
    return machine._replace(planted=Planted(numa=((3, 1), (4, 0))))


def _narrow_slot(machine: Machine) -> Machine:
    return _gpu(machine, 5, lambda gpu: gpu._replace(width=8))


def _old_driver(machine: Machine) -> Machine:
    return machine._replace(driver="535.161.08")


def _nic_under_another_switch(machine: Machine) -> Machine:
    """mlx5_2, which is under GPU2's switch, is under GPU1's."""
    other = next(nic.parent for nic in machine.nics if nic.device == "mlx5_1")
    return _nic(machine, "mlx5_2", lambda nic: nic._replace(parent=other, pci=machine.nics[1].pci[:-1] + "1"))


def _other_model(machine: Machine) -> Machine:
    return _gpu(machine, 2, lambda gpu: gpu._replace(name="NVIDIA H100 NVL"))


def _one_nic_missing(machine: Machine) -> Machine:
    return machine._replace(nics=tuple(nic for nic in machine.nics if nic.device != "mlx5_6"))


def _two_more_numa_nodes(machine: Machine) -> Machine:
    """Sub-NUMA clustering: the GPUs and all else stay where they are, each socket is two nodes."""
    from tests.machines.hosts import own_nodes
    from tests.machines.machine import NumaNode, Package

    a, b = machine.packages
    halves = [
        Package(2 * at + half, cpus, one.vendor, one.family, one.model, one.model_name)
        for at, (one, parts) in enumerate(
            ((a, ("0-27,112-139", "28-55,140-167")), (b, ("56-83,168-195", "84-111,196-223")))
        )
        for half, cpus in enumerate(parts)
    ]
    nodes: tuple[NumaNode, ...] = own_nodes(tuple(halves), 503, 21)
    return machine._replace(
        numa_nodes=nodes,
        gpus=tuple(gpu._replace(numa=2 * (gpu.numa or 0)) for gpu in machine.gpus),
        nics=tuple(nic._replace(numa=2 * (nic.numa or 0)) for nic in machine.nics),
        host_bridges=tuple(one._replace(numa=2 * (one.numa or 0)) for one in machine.host_bridges),
    )


def _one_level_changed(machine: Machine) -> Machine:
    return machine._replace(planted=Planted(letters=(("GPU0", "mlx5_0", "PXB"),)))


# mutation → the machine, the fields that `check` must name, and the devices it is about.
MUTANTS: dict[str, tuple[Callable[[Machine], Machine], set[str], set[str]]] = {
    "one link less": (_one_link_less, {"gpus[5].nvlinks.active"}, {"GPU5"}),
    "one GPU missing": (_one_gpu_missing, {"gpus.count"}, {"GPU7"}),
    "swapped sockets": (_swapped_sockets, {"gpus[3].numaNodes", "gpus[4].numaNodes"}, {"GPU3", "GPU4"}),
    "x8 slot": (_narrow_slot, {"gpus[5].pcie.width"}, {"GPU5"}),
    "old driver": (_old_driver, {"system.driver"}, set()),
    "NIC under another switch": (
        _nic_under_another_switch, {"gpus[1].nearestNics", "gpus[2].nearestNics", "pairs[NIC2-*].pcie"}, {"NIC2"},
    ),
    "other model": (_other_model, {"gpus[2].name"}, {"GPU2"}),
    "one NIC missing": (_one_nic_missing, {"nics.count", "gpus[6].nearestNics"}, {"NIC6"}),
    "NUMA layout": (
        _two_more_numa_nodes, {"numaNodes.count", "numaNodes[0].cpus", "numaNodes[1].cpus", "numaNodes[2].cpus",
                               "numaNodes[3].cpus"}, {"NUMA0", "NUMA1", "NUMA2", "NUMA3"},
    ),
    "one level changed": (_one_level_changed, {"gpus[0].nearestNics", "pairs[GPU0-NIC0].pcie"}, {"GPU0", "NIC0"}),
}  # fmt: skip
