"""lscpu's text: which CPUs a NUMA node has, how many sockets, and what follows from both."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputopo.parsers.lscpu import parse, sniff
from gputopo.parsers.lscpu_sockets import Counts, place_nodes
from gputopo.parsers.unreadable import Unreadable
from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.unknown import Unknown

SHARED = Path(os.environ.get("GPUTOPO_SHARED", Path(__file__).parents[3] / "shared"))


def lscpu(nodes, sockets="2", more=""):
    lines = [
        "Architecture:        x86_64",
        f"Socket(s):           {sockets}",
        more,
        f"NUMA node(s):        {len(nodes)}",
    ]
    return "\n".join(lines + [f"NUMA node{number} CPU(s):   {cpus}" for number, cpus in nodes.items()])


def node_of(text):
    [node] = parse(text)
    return node


def packages(node):
    return [(package.number, package.numa_nodes, str(package.cpus)) for package in node.packages or ()]


def test_one_socket_holds_everything():
    node = node_of(lscpu({0: "0-7", 1: "8-15"}, "1"))
    assert packages(node) == [(0, (0, 1), "0-15")]


def test_as_many_nodes_as_sockets():
    node = node_of(lscpu({0: "0,4,8", 1: "1,5,9", 2: "2,6,10", 3: "3,7,11"}, "4"))
    assert packages(node) == [(0, (0,), "0,4,8"), (1, (1,), "1,5,9"), (2, (2,), "2,6,10"), (3, (3,), "3,7,11")]
    assert [n.packages for n in node.numa_nodes] == [(0,), (1,), (2,), (3,)]
    assert "each of the 4 NUMA nodes with CPUs is one socket" in node.assumptions[0].text


def test_nodes_in_blocks_follow_each_other():
    cpus = {n: f"{16 * n}-{16 * n + 15},{128 + 16 * n}-{143 + 16 * n}" for n in range(8)}
    node = node_of(lscpu(cpus, more="Core(s) per socket: 64\nThread(s) per core: 2"))
    assert [p.numa_nodes for p in node.packages] == [(0, 1, 2, 3), (4, 5, 6, 7)]
    assert node.assumptions


def test_cpus_dealt_in_turns_put_every_second_node_in_one_socket():
    cpus = {n: ",".join(str(cpu) for cpu in range(n, 112, 4)) for n in range(4)}
    node = node_of(lscpu(cpus))
    assert [p.numa_nodes for p in node.packages] == [(0, 2), (1, 3)]


@pytest.mark.parametrize(
    ("nodes", "sockets", "more"),
    [
        ({0: "0-7", 1: "8-15", 2: "16-23"}, "2", ""),  # no multiple
        ({0: "0-7", 1: "8-11"}, "2", ""),  # unequal
        ({0: "0-7", 1: "8-15"}, "2", "Core(s) per socket: 16\nThread(s) per core: 1"),  # half of the CPUs
        ({0: "0,4", 1: "1,5", 2: "2,6", 3: "3,7"}, "2", "Thread(s) per core: 2"),  # one core a node
        ({0: "0-7", 1: "8-15"}, "-", ""),  # arm64 of some versions
        ({0: "0-7", 1: "8-"}, "2", ""),  # unreadable
    ],
)
def test_nothing_is_supposed_where_the_numbers_do_not_fit(nodes, sockets, more):
    node = node_of(lscpu(nodes, sockets, more))
    assert node.packages is None
    assert [gap.attribute for gap in node.gaps] == ["packages"]
    assert all(n.packages is None for n in node.numa_nodes)
    assert not node.assumptions


def test_nodes_of_memory_alone_are_no_sockets():
    cpus = {0: "0-71", 1: "72-143"} | dict.fromkeys(range(2, 34), "")
    node = node_of(lscpu(cpus))
    assert packages(node) == [(0, (0,), "0-71"), (1, (1,), "72-143")]
    assert [(n.kind, str(n.cpus), n.packages) for n in node.numa_nodes][1:3] == [
        ("cpu", "72-143", (1,)),
        (None, "", ()),
    ]


def test_a_cut_list_of_nodes_is_not_whole():
    text = lscpu({0: "0-7", 1: "8-15"}).replace("NUMA node(s):        2", "NUMA node(s):        4")
    node = node_of(text)
    assert not node.whole
    assert node.packages is None
    assert [gap.attribute for gap in node.gaps] == ["numaNodes", "packages"]
    alone = node_of(text.replace("Socket(s):           2", "Socket(s):           1"))
    assert alone.packages[0].cpus is None


def test_an_unreadable_list_is_unknown():
    node = node_of("NUMA node0 CPU(s):  0-7,...\nNUMA node1 CPU(s):  8-15")
    assert isinstance(node.numa_nodes[0].cpus, Unknown)
    assert str(node.numa_nodes[1].cpus) == "8-15"


def test_vendor_family_model_and_not_what_the_firmware_says():
    firmware = "  BIOS Vendor ID: Advanced Micro Devices\nBIOS CPU family: 107\n"
    more = f"Vendor ID: AuthenticAMD\n{firmware}CPU family: 25\nModel: 17"
    [package, _] = node_of(lscpu({0: "0-7", 1: "8-15"}, more=more)).packages
    assert (package.vendor, package.family, package.model, package.arch) == ("AuthenticAMD", 25, 17, "x86_64")


@pytest.mark.parametrize(
    ("more", "virtual"),
    [
        ("Hypervisor vendor: KVM\nVirtualization type: full", True),
        ("Virtualization type: para", True),
        ("Virtualization type: container", None),
        ("Virtualization: VT-x", None),
        ("", None),
    ],
)
def test_virtual(more, virtual):
    node = node_of(lscpu({0: "0-7"}, "1", more))
    assert node.system.virtual is virtual
    assert [seen.kind for seen in node.observations] == (["hypervisor"] if virtual else [])


@pytest.mark.parametrize("prefix", ["", "  ", "> ", "| ", "[rank0]: ", "2025-01-01 10:00:00 INFO ", "\t"])
def test_prefixes(prefix):
    text = "\r\n".join(prefix + line for line in lscpu({0: "0-7", 1: "8-15"}).splitlines())
    node = node_of("CPU:\r\n" + text)
    assert [str(n.cpus) for n in node.numa_nodes] == ["0-7", "8-15"]
    assert len(node.packages) == 2


def test_a_table_cell_is_stripped_of_its_frame():
    assert str(node_of("| `NUMA node0 CPU(s):  0-7` |").numa_nodes[0].cpus) == "0-7"


def test_json_of_lscpu():
    children = [{"field": "NUMA node(s):", "data": "1"}, {"field": "NUMA node0 CPU(s):", "data": "0-7"}]
    fields = [
        {"field": "Architecture:", "data": "x86_64"},
        {"field": "Vendor ID:", "data": "GenuineIntel", "children": [{"field": "Socket(s):", "data": "1"}]},
        {"field": "NUMA:", "data": None, "children": children},
    ]
    text = json.dumps({"lscpu": fields}, indent=3)
    assert sniff(text)
    [package] = node_of(text).packages
    assert (package.numa_nodes, str(package.cpus), package.vendor) == ((0,), "0-7", "GenuineIntel")


def test_two_machines_in_one_text_are_two_and_one_twice_is_one():
    a, b = lscpu({0: "0-7", 1: "8-15"}), lscpu({0: "0-31"}, "1")
    assert [len(node.numa_nodes) for node in parse(a + "\n" + b)] == [2, 1]
    assert [node.line for node in parse(a + "\n" + b)] == [1, 7]
    assert len(parse(a + "\n" + a)) == 1
    assert len(parse("NUMA node0 CPU(s): 0-7\nNUMA node0 CPU(s): 0-15")) == 2


def test_cores_of_several_kinds_print_sockets_twice():
    blocks = "\n".join(f"Model name: {name}\nCore(s) per socket: 10\nSocket(s): 1" for name in ("X925", "A725"))
    node = node_of(f"Architecture: aarch64\n{blocks}\nNUMA node(s): 1\nNUMA node0 CPU(s): 0-19")
    assert packages(node) == [(0, (0,), "0-19")]


def test_not_lscpu():
    assert not sniff("GPU0 X NV18 0-31 0")
    with pytest.raises(Unreadable):
        parse("GPU Architecture: Hopper\nModel: 3")


@settings(max_examples=100, deadline=None)
@given(sockets=st.integers(1, 4), nodes=st.integers(1, 4), cores=st.integers(2, 6), in_turns=st.booleans())
def test_what_is_derived_is_how_the_machine_was_made(sockets, nodes, cores, in_turns):
    """Either right or unknown, for both ways firmware numbers CPUs."""
    count = sockets * nodes
    where, cpus = {}, {}
    for number in range(count):
        if in_turns:
            where[number] = number % sockets
            cpus[number] = CpuSet.of(range(number, count * cores, count))
        else:
            where[number] = number // nodes
            cpus[number] = CpuSet.of(range(number * cores, (number + 1) * cores))
    found = place_nodes(cpus, Counts(sockets, cores * nodes, 1))
    assert found.unknown is None
    assert {frozenset(group) for group in found.nodes} == {
        frozenset(n for n in where if where[n] == socket) for socket in range(sockets)
    }


@pytest.mark.skipif(not SHARED.exists(), reason=f"no data at {SHARED}; set GPUTOPO_SHARED")
@pytest.mark.parametrize(
    ("name", "sockets"),
    [
        ("dcgm-149", [(0, 1, 2, 3), (4, 5, 6, 7)]),
        ("vllm-13188", [(0,), (1,), (2,), (3,)]),
        ("vllm-39361", [(0,), (1,)]),
    ],
)
def test_reports(name, sockets):
    path = SHARED / f"data/public-reports/built/{name}-lscpu.txt"
    assert [package.numa_nodes for package in node_of(path.read_text()).packages] == sockets
