"""A made-up machine and its `nvidia-smi topo -m` text, byte for byte as the driver prints it."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import strategies as st

LEGEND = (
    ("X", "Self"),
    ("SYS", "Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)"),
    ("NODE", "Connection traversing PCIe as well as the interconnect between PCIe Host Bridges"),
    ("PHB", "Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)"),
    ("PXB", "Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)"),
    ("PIX", "Connection traversing at most a single PCIe bridge"),
    ("NV#", "Connection traversing a bonded set of # NVLinks"),
)


class Machine(NamedTuple):
    """`heads`: affinity columns; cells are texts as printed (`cpus` may be cut by the printer)."""

    gpus: int
    nics: tuple[str, ...]  # device names
    numbered: bool  # NICn columns and a NIC legend, else device names as columns
    heads: int
    letters: dict[tuple[str, str], str]
    cpus: tuple[str, ...]
    whole_cpus: tuple[str, ...]  # what the printer would print if it did not cut
    numa: tuple[str, ...]
    memory: tuple[str, ...]
    legend: bool

    @property
    def gpu_labels(self) -> list[str]:
        return [f"GPU{n}" for n in range(self.gpus)]

    @property
    def nic_labels(self) -> list[str]:
        return [f"NIC{n}" for n in range(len(self.nics))] if self.numbered else list(self.nics)

    @property
    def labels(self) -> list[str]:
        return self.gpu_labels + self.nic_labels

    def letter(self, a: str, b: str) -> str:
        return "X" if a == b else self.letters.get((a, b)) or self.letters[b, a]


def print_header(machine: Machine) -> str:
    heads = ["CPU Affinity", "NUMA Affinity", "GPU NUMA ID"][: machine.heads]
    return "\t\x1b[4m" + "\t".join(machine.labels + heads) + "\x1b[0m\n"


def print_row(machine: Machine, label: str) -> str:
    cells = [machine.letter(label, other) for other in machine.labels]
    row = label + "".join("\t X " if cell == "X" else f"\t{cell}" for cell in cells)
    if not label.startswith("GPU"):
        return row + "\t" * {1: 1, 2: 2, 3: 4}[machine.heads] + "\n"
    n = int(label[3:])
    row += "\t" + machine.cpus[n]
    if machine.heads > 1:
        row += "\t\tN/A" if machine.numa[n] == "N/A" else "\t" + machine.numa[n]
    if machine.heads > 2:
        row += "\t\t" + machine.memory[n]
    return row + "\n"


def print_legend(machine: Machine) -> str:
    text = "\nLegend:\n\n" + "".join(f"  {symbol:<4} = {says}\n" for symbol, says in LEGEND)
    if machine.nics and machine.numbered:
        text += "\nNIC Legend:\n\n" + "".join(f"  NIC{n}: {name}\n" for n, name in enumerate(machine.nics))
    return text


def print_matrix(machine: Machine) -> str:
    rows = "".join(print_row(machine, label) for label in machine.labels)
    return print_header(machine) + rows + (print_legend(machine) if machine.legend else "")


def cut_by_printer(text: str) -> str:
    """What is left of a CPU list: no range is added once there are ten characters."""
    kept = ""
    for part in text.split(","):
        if len(kept) >= 10:
            break
        kept = f"{kept},{part}" if kept else part
    return kept


# In each family the sets are disjoint: CPUs near one GPU are those near another, or none of them.
_FAMILIES = (
    ("0-31", "32-63"),
    ("0", "10", "3-7"),
    ("0-11,24-35", "12-23,36-47"),
    ("0-63,128-191", "64-127,192-255"),
    ("0,2,4,6,8,10,12,14", "1,3,5,7,9,11,13,15"),
    ("0-15,32-47,64-79", "16-31,48-63,80-95"),
    ("0-127", "128-255,384-511"),
    ("1,5,9", "2,6,10"),
)
_NUMA = st.sampled_from(("0", "1", "3", "11", "0-1", "0,3-9,11-17", "N/A", ""))
_MEMORY = st.sampled_from(("N/A", "N/A", "0", "2", "18"))
_DEVICES = ("mlx5_0", "mlx5_2", "mlx5_1", "mlx5_bond_0", "rocep4s0f0", "roceP2p1s0f1", "mlx5_10", "bnxt_re0", "mlx5_3")


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    gpus = draw(st.sampled_from((1, 2, 2, 3, 4, 4, 11)))
    names = draw(st.lists(st.sampled_from(_DEVICES), max_size=4, unique=True))
    numbered = draw(st.booleans())
    heads = draw(st.integers(1, 3))
    gpu_labels = [f"GPU{n}" for n in range(gpus)]
    labels = gpu_labels + ([f"NIC{n}" for n in range(len(names))] if numbered else names)
    far = ("SYS", "NODE", "PHB", "PXB", "PIX")
    near = (*far, "NV1", "NV4", "NV18", "Unknown")
    letters = {}
    for at, a in enumerate(labels):
        for b in labels[at + 1 :]:
            letters[a, b] = draw(st.sampled_from(near if b.startswith("GPU") else far))
    family = draw(st.sampled_from(_FAMILIES))
    # Only newer printers, which have all three columns, leave a CPU cell empty.
    whole = tuple(draw(st.sampled_from((*family, "") if heads == 3 else family)) for _ in range(gpus))
    node_of = {cpus: draw(_NUMA) for cpus in family}  # GPUs near the same CPUs are in the same node
    return Machine(
        gpus,
        tuple(names),
        numbered,
        heads,
        letters,
        tuple(cut_by_printer(text) for text in whole),
        whole,
        tuple(node_of[cpus] if cpus else draw(_NUMA) for cpus in whole),
        tuple(draw(_MEMORY) for _ in range(gpus)),
        draw(st.booleans()),
    )
