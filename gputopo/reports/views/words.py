"""How a view says numbers, addresses and amounts.

    >>> numbers((0, 1, 2, 5))
    '0-2,5'
    >>> short_pci("0000:0f:00.0", one_domain=True), short_pci("0008:01:00.0", one_domain=False)
    ('0f:00.0', '0008:01:00.0')
    >>> gibibytes(1081101176832), gibibytes(536870912)
    ('1007 GiB', '0.5 GiB')
    >>> rate(400.0), rate(2.5)
    ('400G', '2.5G')
    >>> file_name("dumps/a17.txt"), file_name("-"), file_name("/")
    ('a17.txt', 'stdin', '/')
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Union

from gputopo.rules.wording import names
from gputopo.terms.cpu_set import CpuSet
from gputopo.topology.node import Gpu, Nic, NodeTopology, Nvme, Pair

Device = Union[Gpu, Nic, Nvme]  # noqa: UP007
_LONG_LIST = 40
PairsOf = dict[str, dict[str, Pair]]


def numbers(values: Iterable[int]) -> str:
    """Numbers as the kernel prints a list; two in a row are not a range yet."""
    runs: list[list[int]] = []
    for value in sorted(set(values)):
        if runs and value == runs[-1][-1] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    parts = (
        [f"{run[0]}-{run[-1]}"] if len(run) > 2 else [str(value) for value in run] for run in runs
    )
    return ",".join(part for run in parts for part in run)


def cpu_list(cpus: CpuSet) -> str:
    """As the kernel prints it; what gets long that way with a stride, as `taskset -c` takes it.

    >>> cpu_list(CpuSet.of(range(0, 56))), cpu_list(CpuSet.of([*range(0, 56, 2), *range(112, 168, 2)]))
    ('0-55', '0-54:2,112-166:2')
    """
    text = str(cpus)
    if len(text) <= _LONG_LIST:
        return text
    runs: list[list[int]] = []
    for number in cpus:
        run = runs[-1] if runs else []
        if run and (len(run) == 1 or number - run[-1] == run[1] - run[0]):
            run.append(number)
        else:
            runs.append([number])
    return cut(",".join(_stride(run) for run in runs), 2 * _LONG_LIST)


def _stride(run: list[int]) -> str:
    if len(run) < 3:
        return ",".join(map(str, run))
    step = run[1] - run[0]
    return f"{run[0]}-{run[-1]}" if step == 1 else f"{run[0]}-{run[-1]}:{step}"


def short_pci(address: str | None, *, one_domain: bool) -> str:
    """Without the domain where there is only domain 0000."""
    if address is None:
        return ""
    return address.removeprefix("0000:") if one_domain else address


def one_domain(node: NodeTopology) -> bool:
    """Whether every address of the node is in PCI domain 0000."""
    return all(device.pci is None or device.pci.startswith("0000:") for device in devices(node))


def devices(node: NodeTopology) -> tuple[Device, ...]:
    return (*node.gpus, *(node.nics or ()), *(node.nvme or ()))


def gibibytes(amount: int) -> str:
    size = amount / 2**30
    return f"{size:.0f} GiB" if size >= 10 or size == int(size) else f"{size:.1f} GiB"


def rate(gbps: float) -> str:
    return f"{gbps:g}G"


def file_name(name: str) -> str:
    """The last part of a path, for a line that has little room."""
    if name == "-":
        return "stdin"
    return name.rstrip("/").rpartition("/")[2] or name


def named(node: NodeTopology) -> str:
    """The node's name; of one without, the file, or the folder in it, that it was read from; "" of several.

    >>> from gputopo.topology.node import Source
    >>> topo, lscpu = Source("", "nodes", "a", "a17/topo.txt", True), Source("", "nodes", "b", "a17/lscpu.txt", True)
    >>> named(NodeTopology(sources=(topo, lscpu)))
    'a17'
    >>> named(NodeTopology(sources=(topo, Source("", "b.txt", "c", "", True))))
    ''
    """
    if node.name:
        return node.name
    names = {source.name for source in node.sources}
    folders = {source.where.rpartition("/")[0] for source in node.sources}
    if len(names) != 1:
        return ""
    inside = folders.pop() if len(folders) == 1 else ""
    return file_name(f"{names.pop()}/{inside}" if inside else names.pop())


def title_of(node: NodeTopology) -> str:
    return named(node) or (file_name(node.sources[0].name) if node.sources else "") or "a node"


def pairs_of(node: NodeTopology) -> PairsOf:
    """Every pair, from both of its ends."""
    found: PairsOf = {}
    for pair in node.pairs:
        found.setdefault(pair.a, {})[pair.b] = pair
        found.setdefault(pair.b, {})[pair.a] = pair
    return found


def several(ids: Iterable[str], most: int = 8) -> str:
    """Devices in a line that is no sentence: `GPU0, GPU1`, `GPU0-GPU7`."""
    return names(ids, most).replace(" and ", ", ")


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."
