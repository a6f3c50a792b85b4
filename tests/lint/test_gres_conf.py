"""What the rules over Slurm's gres.conf say, where, and what they let pass."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputopo.export import Choices, export
from gputopo.parsers.gres_conf import read
from gputopo.parsers.unreadable import Unreadable
from gputopo.rules.manifests.problem import Context, Problem
from gputopo.rules.manifests.run import run
from gputopo.terms.cpu_set import CpuSet
from gputopo.topology.node import Gpu, NodeTopology, NumaNode, Package, Pair
from tests.export.test_machines import node_of
from tests.machines import MACHINES, Spelled

MINORS = (0, 2, 1, 3)  # of the GPUs at 0a, 1a, 2a, 3a


def lint(text: str, node: NodeTopology | None = None) -> list[Problem]:
    return list(run(read(text), Context(node=node)))


def said(text: str, node: NodeTopology | None = None) -> list[tuple[str, str, int, int]]:
    return [(one.rule, one.severity, *one.place) for one in lint(text, node)]


def node(
    cpus: tuple[str, str] = ("0-15,32-47", "16-31,48-63"), numa_nodes: tuple[str, ...] = (), links: int = 4,
    switched: bool = False, vendor: str = "GenuineIntel", name: str | None = None,
) -> NodeTopology:  # fmt: skip
    """Two sockets, two GPUs on each; their minors are not in the order of their addresses."""
    sets = [CpuSet.parse_list(text) for text in cpus]
    packages = tuple(Package(f"PKG{at}", at, one, (at,), vendor) for at, one in enumerate(sets))
    near = [CpuSet.parse_list(text) for text in numa_nodes] or [sets[0], sets[0], sets[1], sets[1]]
    nodes = tuple(
        NumaNode(f"NUMA{at}", at, "cpu", one, (f"PKG{at // 2}",)) for at, one in enumerate(near if numa_nodes else sets)
    )
    gpus = tuple(
        Gpu(f"GPU{at}", nvml_index=at, name="NVIDIA A100-SXM4-40GB", vendor="nvidia", pci=f"0000:{at}a:00.0",
            minor=MINORS[at], packages=(f"PKG{at // 2}",), cpus=near[at], cpus_complete=True)
        for at in range(4)
    )  # fmt: skip
    pairs = tuple(
        Pair(f"GPU{a}", f"GPU{b}", nvlinks=links, via_switch=switched) for a in range(4) for b in range(a + 1, 4)
    )
    return NodeTopology(name=name, packages=packages, numa_nodes=nodes, gpus=gpus, pairs=pairs)


RIGHT = """AutoDetect=off
Name=gpu Type=a100 File=/dev/nvidia0 Cores=0-15 Links=-1,4,4,4
Name=gpu Type=a100 File=/dev/nvidia2 Cores=0-15 Links=4,-1,4,4
Name=gpu Type=a100 File=/dev/nvidia1 Cores=16-31 Links=4,4,-1,4
Name=gpu Type=a100 File=/dev/nvidia3 Cores=16-31 Links=4,4,4,-1
"""


@pytest.mark.parametrize(
    "text",
    [
        "AutoDetect=nvml\n",
        "AutoDetect=nvml\nName=gpu\n",
        "AutoDetect=nvml\nName=gpu Type=A100 Count=4\n",
        "AutoDetect=nvml\nName=gpu Type=a100-sxm4 File=/dev/nvidia[0-3]\nName=mps Count=400\n",
        "AutoDetect=full\nNodeName=tux3 AutoDetect=off Name=gpu File=/dev/nvidia[0-3]\n",
        "NodeName=tux[0-7] AutoDetect=nvml\nNodeName=tux[8-9] Name=gpu File=/dev/nvidia[0-3]\n",
        "NodeName=a Name=gpu File=/dev/nvidia0\nNodeName=b Name=gpu Type=a100 File=/dev/nvidia0\n",
        "Name=gpu File=/dev/nvidia[0-1] Count=2\nName=mps Count=200 File=/dev/nvidia0\n",
        "Name=gpu MultipleFiles=/dev/nvidia0,/dev/nvidia-caps/nvidia-cap[3-4] Count=1\n",
        "NodeName=tux[0-7] Name=bandwidth Type=lustre Count=4G Flags=CountOnly\n",
        "Name=gpu File=/dev/nvidia0 Flags=nvidia_gpu_env,env_uuid\n",
        RIGHT.replace("off", "nvml"),
        RIGHT,
    ],
)
def test_right_files_are_clean(text: str) -> None:
    assert lint(text) == []


@pytest.mark.parametrize(
    ("text", "expected", "part"),
    [
        ("Name=gpu Typ=a100 File=/dev/nvidia0", (1, 10), "unknown key Typ"),
        ("Name=gpu File=/dev/nvidia0 Cores=0-7 oops", (1, 38), "'oops' is no KEY=VALUE"),
        ("File=/dev/nvidia0 Name=gpu Type=a", (1, 1), "a line begins with Name or NodeName, not with File"),
        ("Nam=gpu File=/dev/nvidia0 Type=a", (1, 1), "unknown key Nam"),
        ("Name=gpu NodeName=tux1 File=/dev/nvidia0", (1, 10), "NodeName stands first"),
        ("AutoDetect=nvml Name=gpu File=/dev/nvidia0", (1, 17), "Name is left over"),
        ("AutoDetect=off\nName=gpu File=/dev/nvidia0\nName=gpu Type", (3, 10), "'Type' is no KEY=VALUE"),
        ("AutoDetect=nvlm\nName=gpu File=/dev/nvidia0", (1, 12), "knows no AutoDetect=nvlm"),
        ("NodeName=tux1 File=/dev/nvidia0 Type=a", (1, 1), "it has no Name"),
        ("Name=gpu Count=2 File=/dev/nvidia[0-3]", (1, 16), "Count is 2, File names 4 devices"),
        ("Name=gpu Count=two File=/dev/nvidia[0-3]", (1, 16), "invalid count two"),
        ("Name=gpu Count=2 MultipleFiles=/dev/nvidia0,/dev/nvidia1", (1, 16), "MultipleFiles is one device"),
        ("Name=gpu MultipleFiles=/dev/nvidia0", (1, 24), "MultipleFiles names one file"),
        ("Name=gpu File=/dev/nvidia0 MultipleFiles=/dev/nvidia[0-1]", (1, 28), "exclude one another"),
        ("Name=gpu File=/dev/nvidia[0-3", (1, 15), "cannot parse File=/dev/nvidia[0-3"),
        ("Name=gpu File=/dev/nvidia[3-0]", (1, 15), "cannot parse"),
        ("Name=gpu File=/dev/nvidia0 Flags=no_gpu_env,amd_gpu_env", (1, 34), "no_gpu_env excludes"),
        ("Name=gpu File=/dev/nvidia0 Cores=ALL", (1, 34), "no list of core numbers"),
        ("Name=gpu Count=4", (1, 6), "a GPU without File"),
        ("AutoDetect=off\nName=gpu Type=a100 Count=4", (2, 6), "a GPU without File"),
        ("Name=gpu File=/dev/nvidia0\nName=gpu File=/dev/nvidia[0-1]", (2, 15), "/dev/nvidia0 stands in another"),
        ("Name=gpu File=/dev/nvidia0\nName=gpu Type=a File=/dev/nvidia1", (1, 6), "some records of gpu have Type"),
        ("AutoDetect=nvml\nName=gpu File=/dev/nvidia0\nName=gpu", (3, 6), "some records of gpu have File"),
        ("AutoDetect=nvml\nName=gpu\nName=gpu Count=2", (3, 6), "a second record of gpu"),
        ("NodeName=t1 AutoDetect=nvml\nNodeName=t[1-2] AutoDetect=off", (2, 28), "has another AutoDetect already"),
    ],
)
def test_what_slurmd_refuses_is_an_error_at_its_place(text: str, expected: tuple[int, int], part: str) -> None:
    [one] = lint(text)
    assert (one.rule, one.severity, *one.place) == ("GT390", "error", *expected)
    assert part in one.message


def test_what_stands_before_an_unknown_key_is_judged_too() -> None:
    found = lint("Name=gpu Count=2 File=/dev/nvidia[0-3] Core=0-7")
    assert [one.place.column for one in found] == [16, 40]


@pytest.mark.parametrize(
    ("text", "expected", "part"),
    [
        ("Name=gpu File=/dev/nvidia0 File=/dev/nvidia1", (1, 28), "File stands twice"),
        ("Name=gpu File=/dev/nvidia0 AutoDetect=nvml", (1, 28), "AutoDetect behind Name has no effect"),
        ("Name=gpu File=/dev/nvidia0 Flags=explicit,nvida_env", (1, 43), "Flags=nvida_env has no effect"),
    ],
)
def test_what_slurmd_passes_over_is_a_warning(text: str, expected: tuple[int, int], part: str) -> None:
    [one] = lint(text)
    assert (one.severity, *one.place) == ("warning", *expected)
    assert part in one.message


def test_a_part_of_a_text_may_have_the_rest_elsewhere() -> None:
    report = "we wrote this:\n\nName=gpu Type=a100 Count=4\nName=gpu Count=4\n\nand the node is drained\n"
    assert lint(report) == []
    assert lint("Name=gpu Count=4\nInclude detect.conf\n") == []
    assert [one.message for one in lint(report.replace("Type", "Typ"))] == ["slurmd does not start: unknown key Typ"]


SMT = node()
NO_SMT = node(("0-31", "32-63"), ("0-15", "16-31", "32-47", "48-63"), vendor="AuthenticAMD")


@pytest.mark.parametrize(
    ("text", "beside", "expected"),
    [
        (RIGHT, SMT, []),
        (RIGHT.replace("off", "nvml"), SMT, []),
        (RIGHT.replace("0-15 ", "0-15,32-47 ").replace("16-31 ", "16-31,48-63 "), SMT, ["error"] * 4),  # threads
        (RIGHT.replace("0-15 ", "0-7 ").replace("16-31 ", "16-23 "), SMT, ["warning"] * 4),  # halves of sockets
        (RIGHT.replace("0-15 ", "0-7 ", 1), SMT, ["error"]),  # nothing makes sockets of both sizes
        (RIGHT.replace("16-31 ", "0-15 "), SMT, ["warning"] * 2),  # the other socket
        (RIGHT.replace("off", "nvml").replace("16-31 ", "0-15 "), SMT, ["error"] * 2),
        (RIGHT.replace("16-31 ", "32-47 "), SMT, ["error"] * 2),  # outside
        (RIGHT.replace("0-15 ", "0-31 ").replace("16-31 ", "0-31 "), SMT, []),  # all cores
        ("Name=gpu File=/dev/nvidia[0,2] Cores=0-31\nName=gpu File=/dev/nvidia[1,3] Cores=32-63\n", NO_SMT, []),
        ("Name=gpu File=/dev/nvidia[0,2] Cores=0-15\n", NO_SMT, []),  # right with two threads a core
        ("Name=gpu File=/dev/nvidia0 Cores=48-63\n", NO_SMT, ["warning"]),  # wrong with any number
        ("Name=gpu File=/dev/nvidia0 Cores=8-20\n", NO_SMT, ["error"]),
    ],
)
def test_cores_are_whole_sockets(text: str, beside: NodeTopology, expected: list[str]) -> None:
    found = [one for one in lint(text, beside) if "ores" in one.message]
    assert [one.severity for one in found] == expected
    assert {one.path for one in found} <= {"Cores"}


def test_parts_of_a_socket_name_what_makes_them_sockets() -> None:
    [one] = lint("Name=gpu File=/dev/nvidia0 Cores=48-63\n", NO_SMT)
    assert one.message == "Cores=48-63 is no whole socket: socket 1 is cores 32-63"
    assert "numa_node_as_socket" in one.remedy
    assert "l3cache_as_socket" not in one.remedy
    assert one.place == (1, 34)


def test_what_autodetect_finds_must_be_whole_sockets_too() -> None:
    [one] = lint("AutoDetect=nvml\n", NO_SMT)
    assert (one.severity, one.place, one.path) == ("warning", (1, 12), "AutoDetect")
    assert "CPUs 0-15 for GPU0" in one.message
    assert lint("AutoDetect=nvml\n", SMT) == []
    assert lint("AutoDetect=off\nName=gpu File=/dev/nvidia[0,2]\n", NO_SMT) == []
    assert lint("AutoDetect=nvml\n", NO_SMT._replace(view="container")) == []


def test_sockets_that_are_not_known_judge_no_cores() -> None:
    assert lint(RIGHT.replace("0-15", "0-3"), SMT._replace(packages=None)) == []


def test_devices_types_and_order_of_the_node() -> None:
    [one] = lint("AutoDetect=nvml\nName=gpu File=/dev/nvidia[0-4]\n", SMT)
    assert (one.severity, one.place, one.message) == ("warning", (2, 15), "no GPU of the node is /dev/nvidia4")
    [one] = lint("AutoDetect=nvml\nName=gpu Type=h100 File=/dev/nvidia0\n", SMT)
    assert (one.severity, one.place) == ("warning", (2, 15))
    assert "nvidia_a100-sxm4-40gb" in one.message
    [one] = lint("AutoDetect=nvml\nName=gpu Type=h100 Count=4\n", SMT)
    assert one.severity == "error"
    [one] = lint("Name=gpu File=/dev/nvidia[0-3]\n", SMT)  # 0, 1, 2, 3 are at 0a, 2a, 1a, 3a
    assert (one.severity, one.place) == ("warning", (1, 15))
    assert "/dev/nvidia2 (0000:1a:00.0) stands behind the GPU at 0000:2a:00.0" in one.message
    assert lint("Name=gpu File=/dev/nvidia[0,2,1,3]\n", SMT) == []
    assert lint("Name=gpu Type=h100 File=/dev/nvidia0\n", SMT) == []  # any word, where nothing detects


def test_of_lines_for_other_nodes_nothing_is_compared() -> None:
    text = "NodeName=a Name=gpu File=/dev/nvidia[0-3]\nNodeName=b Name=gpu File=/dev/nvidia[0,2,1,3]\n"
    assert [one.place.line for one in lint(text, node(name="a.example.org"))] == [1]
    assert lint(text, node(name="b")) == []
    assert lint(text, node(name="c")) == []
    assert lint(text, node()) == []
    assert len(lint(text.partition("\n")[0], node())) == 1


def links(*rows: str, detect: str = "off", files: tuple[int, ...] = MINORS) -> str:
    lines = [f"Name=gpu File=/dev/nvidia{file} Links={row}" for file, row in zip(files, rows)]
    return "\n".join([f"AutoDetect={detect}", *lines, ""])


FULL = ("-1,4,4,4", "4,-1,4,4", "4,4,-1,4", "4,4,4,-1")
NONE = ("-1,0,0,0", "0,-1,0,0", "0,0,-1,0", "0,0,0,-1")
SWITCHED = ("-1,12,12,12", "12,-1,12,12", "12,12,-1,12", "12,12,12,-1")


@pytest.mark.parametrize(
    ("text", "beside", "expected"),
    [
        (links(*FULL), None, []),
        (links(*FULL, detect="nvml"), SMT, []),
        (links(*NONE, detect="nvml"), node(links=12, switched=True), []),
        (links(*SWITCHED), None, [("warning", 2), ("warning", 3), ("warning", 4), ("warning", 5)]),
        (links(*SWITCHED, detect="nvml"), None, [("error", 2), ("error", 3), ("error", 4), ("error", 5)]),
        (links(*SWITCHED, detect="nvml"), node(links=12, switched=True), [("error", at) for at in (2, 3, 4, 5)]),
        (links(*SWITCHED), node(links=12, switched=True), [("warning", at) for at in (2, 3, 4, 5)]),
        (links(*NONE, detect="nvml"), SMT, [("error", at) for at in (2, 3, 4, 5)]),
        (links(*NONE), SMT, [("warning", at) for at in (2, 3, 4, 5)]),
        (links("-1,4,4,4", "4,-1,4,4", "4,4,-1,2", "4,4,4,-1"), None, [("warning", 5)]),  # not both ways
        (links("-1,4,4", "4,-1,4", "4,4,-1", "4,4,4"), None, [("warning", at) for at in (2, 3, 4)] + [("warning", 5)]),
        (links("-1,4,4,4,4"), None, [("error", 2)]),  # five places, one GPU
        (links("-1,4,4,4", "-1,4,4,4"), None, [("error", 2), ("error", 3), ("warning", 3)]),
        (links("4,-1,4,4", "-1,4,4,4", *FULL[2:]), None, [("warning", 2), ("warning", 3)]),  # places of each other
        (links("-1,4,x,4"), None, [("warning", 2)]),
        (links("0,4,4,4"), None, [("warning", 2)]),
        (links("-1,-1,4,4"), None, [("warning", 2)]),
        (links("-3,-1,4,4"), None, [("warning", 2)]),
        (links("-1,4,,4", *FULL[1:]), None, [("warning", 2), ("warning", 4)]),
    ],
)
def test_links(text: str, beside: NodeTopology | None, expected: list[tuple[str, int]]) -> None:
    found = [one for one in lint(text, beside) if one.rule == "GT391"]
    assert [(one.severity, one.place.line) for one in found] == expected


def test_links_of_minors_in_their_own_order_are_misplaced() -> None:
    """Links goes by PCI address, and minors 1 and 2 are the other way round."""
    found = lint(links(*FULL, detect="nvml", files=(0, 1, 2, 3)), SMT)
    assert [(one.rule, one.severity, one.place.line) for one in found] == [("GT391", "error", 3), ("GT391", "error", 4)]
    assert "is device 2, in the order of PCI addresses" in found[0].message


def test_the_number_that_is_wrong_is_pointed_at() -> None:
    [one] = [one for one in lint(links(*FULL[:3], "4,4,2,-1", detect="nvml"), SMT) if "node has" in one.message]
    line = links(*FULL[:3], "4,4,2,-1").splitlines()[4]
    assert one.place == (5, line.index("2,-1") + 1)
    assert one.message == "Links of GPU3 (0000:3a:00.0) says 2 to device 2, the node has 4"


def test_links_and_many_devices_on_one_line() -> None:
    assert ("GT391", "error", 1, 38) in said("Name=gpu File=/dev/nvidia[0-3] Links=-1,4,4,4")


# ruff: noqa: E501
SAID = """slurmd: Gres Name=gpu Type=a100 Count=1 Index=0 ID=7696487 File=/dev/nvidia0 Cores={} CoreCnt=32 Links={} Flags=
slurmd: Gres Name=gpu Type=a100 Count=1 Index=2 ID=7696487 File=/dev/nvidia2 Cores=0-15 CoreCnt=32 Links=4,-1,4,4 Flags=
"""


def test_what_slurmd_printed_is_compared_with_the_node() -> None:
    assert lint(SAID.format("0-15", "-1,4,4,4"), SMT) == []
    [one] = lint(SAID.format("0-11", "-1,4,4,4"), SMT)
    assert (one.rule, one.severity, one.path, one.place.line) == ("GT390", "error", "Cores", 1)
    [one] = lint(SAID.format("0-15", "-1,12,4,4"), SMT)[:1]
    assert (one.rule, one.path, one.place.line) == ("GT391", "Links", 1)


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("named", [True, False])
def test_what_export_writes_is_clean_beside_its_node(name: str, named: bool, spelled: Spelled) -> None:
    machine = MACHINES[name]
    beside = node_of(name, spelled)
    choices = Choices(node_name="node-a" if named else None, threads_per_core=machine.packages[0].threads)
    text = export(beside, "gres.conf", choices)
    assert lint(text, beside._replace(name=choices.node_name)) == []
    assert lint(text) == []


KEYS = st.sampled_from(
    ["Name", "name", "File", "Type", "Cores", "Links", "Count", "Flags", "NodeName", "AutoDetect", "X"]
)
VALUES = st.sampled_from(
    ["gpu", "mps", "/dev/nvidia[0-3]", "/dev/nvidia0", "a100", "0-15", "-1,4,4,4", "4,-1", "[", "]", "n[0-9]", "off",
     "nvml", '""', "9" * 30, "-1,,", "x,-", "no_gpu_env,amd_gpu_env", "65535", "0-65535", "é"]
)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=5), min_size=1, max_size=6), st.booleans())
def test_no_file_raises(lines: list[list[tuple[str, str]]], beside: bool) -> None:
    text = "\n".join(" ".join(f"{key}={value}" for key, value in line) for line in lines)
    try:
        found = lint(text, SMT if beside else None)
    except Unreadable:
        return
    height = text.count("\n") + 1
    assert all(1 <= one.place.line <= height and one.place.column >= 1 and one.message for one in found)
