"""Render a matrix as the driver does, damage it, parse it: the same facts or a named gap, never a wrong value."""

from __future__ import annotations

import random
import re

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gputopo.parsers.nvidia_smi_topo import parse
from gputopo.parsers.unreadable import Unreadable
from gputopo.records import NodeRecords
from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.unknown import Unknown
from tests.parsers.topo_matrix import Machine, cut_by_printer, machines, print_matrix

few = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def wrong_values(machine: Machine, node: NodeRecords) -> list[str]:
    """Every value of the records that the machine does not have."""
    wrong = []
    labels = machine.labels
    assert node.matrix is not None
    for row in node.matrix.rows:
        if row.label not in labels:
            wrong.append(f"row {row.label}")
            continue
        for column, letter in row.cells.items():
            if column not in labels or machine.letter(row.label, column) != letter:
                wrong.append(f"cell {row.label},{column}={letter}")
    for gpu in node.gpus or ():
        if gpu.label not in machine.gpu_labels:
            wrong.append(gpu.label)
            continue
        n = int(gpu.label[3:])
        if isinstance(gpu.cpus, CpuSet):
            if gpu.cpus != CpuSet.parse_list(machine.cpus[n]):
                wrong.append(f"{gpu.label} cpus {gpu.cpus}")
            if gpu.cpus_complete and machine.cpus[n] != machine.whole_cpus[n]:
                wrong.append(f"{gpu.label} cpus are not complete")
        if isinstance(gpu.numa_nodes, tuple) and not isinstance(gpu.numa_nodes, Unknown):
            wanted = CpuSet.parse_list(machine.numa[n])
            if wanted is None or tuple(wanted) != gpu.numa_nodes:
                wrong.append(f"{gpu.label} NUMA {gpu.numa_nodes}")
        if isinstance(gpu.memory_numa_node, int) and str(gpu.memory_numa_node) != machine.memory[n]:
            wrong.append(f"{gpu.label} memory {gpu.memory_numa_node}")
    devices = dict(zip(machine.nic_labels, machine.nics))
    for nic in node.nics or ():
        if nic.label not in devices or (nic.device is not None and nic.device != devices[nic.label]):
            wrong.append(f"{nic.label} is {nic.device}")
    return wrong


def untold(machine: Machine, node: NodeRecords) -> list[str]:
    """What the machine has and the records neither give nor name as a gap."""
    assert node.matrix is not None
    gaps = {(label, gap.attribute) for gap in node.gaps for label in gap.subjects}
    rows = {row.label: row.cells for row in node.matrix.rows}
    missing = []
    for label in machine.labels:
        if (label, "row") in gaps:
            continue
        if set(rows.get(label, ())) != set(machine.labels):
            missing.append(f"cells of {label}")
    for gpu in node.gpus or ():
        n = int(gpu.label[3:])
        if (gpu.label, "row") in gaps:
            continue
        if not isinstance(gpu.cpus, CpuSet) and (gpu.label, "cpus") not in gaps:
            missing.append(f"cpus of {gpu.label}")
        known = machine.heads < 2 or machine.numa[n] in ("N/A", "") or (gpu.label, "numaNodes") in gaps
        if not known and isinstance(gpu.numa_nodes, Unknown | None):
            missing.append(f"NUMA of {gpu.label}")
    return missing


def agrees(machine: Machine, text: str) -> None:
    """All values that come out are right, and what does not come out is named."""
    try:
        nodes = parse(text)
    except Unreadable:
        return
    assert len(nodes) == 1
    assert wrong_values(machine, nodes[0]) == []
    assert not nodes[0].whole or untold(machine, nodes[0]) == []


def is_the_same(machine: Machine, text: str) -> None:
    """Nothing was lost: every row and cell is there (a cell may be doubtful where tabs are gone)."""
    (node,) = parse(text)
    assert wrong_values(machine, node) == []
    assert node.matrix is not None
    assert node.matrix.columns == tuple(machine.labels)
    assert [row.label for row in node.matrix.rows] == machine.labels
    assert untold(machine, node) == []


@few
@given(machines())
def test_the_drivers_own_text_gives_every_fact(machine: Machine) -> None:
    (node,) = parse(print_matrix(machine))
    is_the_same(machine, print_matrix(machine))
    assert node.whole
    assert node.gaps == ()
    for gpu in node.gpus or ():
        text = machine.cpus[int(gpu.label[3:])]
        assert gpu.cpus == CpuSet.parse_list(text)
        if cut_by_printer(machine.whole_cpus[int(gpu.label[3:])]) != machine.whole_cpus[int(gpu.label[3:])]:
            assert gpu.cpus_complete is None


def without_colour(text: str) -> str:
    return re.sub(r"\x1b\[\d*m", "", text)


LOSSLESS = {
    "tabs expanded to eight columns": lambda text: without_colour(text).expandtabs(8),
    "tabs as four blanks": lambda text: without_colour(text).replace("\t", "    "),
    "ESC bytes lost": lambda text: text.replace("\x1b", ""),
    "colour codes removed": without_colour,
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "mail quote": lambda text: "".join(f"> {line}" for line in text.splitlines(True)),
    "comment sign": lambda text: "".join(f"# {line}" for line in text.splitlines(True)),
    "a host before every line": lambda text: "".join(f"node-a: {line}" for line in text.splitlines(True)),
    "a rank before every line": lambda text: "".join(f"[rank0]: {line}" for line in text.splitlines(True)),
    "a container before every line": lambda text: "".join(f"app-1  | {line}" for line in text.splitlines(True)),
    "a time and a host before every line": lambda text: "".join(
        f"2025-06-01T12:00:{n % 60:02}.123Z node-a {line}" for n, line in enumerate(text.splitlines(True))
    ),
    "four blanks before every line": lambda text: "".join(f"    {line}" for line in text.splitlines(True)),
    "a fence and prose around": lambda text: f"GPU 0: NAME (UUID: x)\n\n```\n{text}```\n\nGPU0 is slow.\n",
    "leading tab lost": lambda text: text.lstrip("\t"),
    "header repeated in prose": lambda text: f"topology: {text.splitlines()[0]}\n\n{text}",
    "blank lines between all lines": lambda text: text.replace("\n", "\n\n"),
    "trailing blanks": lambda text: text.replace("\n", "    \n"),
}


@few
@given(machines(), st.sampled_from(sorted(LOSSLESS)))
def test_what_pasting_does_to_a_text_loses_no_row_and_no_cell(machine: Machine, damage: str) -> None:
    is_the_same(machine, LOSSLESS[damage](print_matrix(machine)))


@few
@given(machines(), st.randoms(use_true_random=False), st.booleans())
def test_a_cut_at_any_byte_gives_no_wrong_value(machine: Machine, chance: random.Random, expanded: bool) -> None:
    text = without_colour(print_matrix(machine))
    text = text.expandtabs(8) if expanded else text
    agrees(machine, text[: chance.randrange(len(text))])


@few
@given(machines(), st.randoms(use_true_random=False), st.booleans())
def test_a_lost_tab_gives_no_wrong_value(machine: Machine, chance: random.Random, expanded: bool) -> None:
    text = without_colour(print_matrix(machine))
    at = chance.choice([place for place, sign in enumerate(text) if sign == "\t"])
    text = text[:at] + text[at + 1 :]
    agrees(machine, text.expandtabs(8) if expanded else text)


@few
@given(machines(), st.booleans())
def test_without_its_header_a_text_gives_no_wrong_value(machine: Machine, expanded: bool) -> None:
    text = without_colour(print_matrix(machine))
    text = text[text.index("\n") + 1 :]
    agrees(machine, text.expandtabs(8) if expanded else text)


@few
@given(machines(), st.randoms(use_true_random=False))
def test_a_glued_header_and_a_lost_row_give_no_wrong_value(machine: Machine, chance: random.Random) -> None:
    header, *lines = without_colour(print_matrix(machine)).splitlines(True)
    lines.pop(chance.randrange(len(machine.labels)))
    agrees(machine, header.replace("\t", "") + "".join(lines))


@few
@given(machines(), st.integers(40, 120))
def test_lines_wrapped_at_a_width_give_no_wrong_value(machine: Machine, width: int) -> None:
    text = without_colour(print_matrix(machine)).expandtabs(8)
    agrees(machine, re.sub(f"(.{{{width}}})(?!\n)", r"\1\n", text))


@few
@given(machines(), st.integers(20, 120))
def test_lines_cut_at_a_width_give_no_wrong_value(machine: Machine, width: int) -> None:
    text = without_colour(print_matrix(machine)).expandtabs(8)
    try:
        nodes = parse("".join(line[:width] + "\n" for line in text.splitlines()))
    except Unreadable:
        return
    for node in nodes:  # where all headings are gone, nothing shows that there were affinity columns
        assert wrong_values(machine, node) == []
