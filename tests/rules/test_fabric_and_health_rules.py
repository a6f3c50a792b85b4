"""GT130, GT131, GT140 to GT142: fabric, ECC, clocks, resets; from `nvidia-smi -q`, from NVML, and by severity."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import gputopo
from gputopo.rules.run import run
from gputopo.topology.islands import build_islands
from gputopo.topology.node import Fabric, Gpu, NodeTopology, NoteUnknown, NvLinks, NvSwitch
from tests.rules.nodes import found, observing, says, seen

CLUSTER = "3183419e-9edc-4f0e-86e8-d895a9fb06be"
OTHER = "bbc2edac-6ffb-43a0-9053-cae96152c90a"
ZERO = "00000000-0000-0000-0000-000000000000"


def fabric(state: str, status: str, cluster: str = "N/A", clique: str = "N/A", health: str = "") -> str:
    rows = f"State : {state}|Status : {status}|CliqueId : {clique}|ClusterUUID : {cluster}".split("|")
    rows += ["Health", *(f"    {row}" for row in health.split("|"))] if health else []
    return "".join(f"        {row}\n" for row in rows)


def queried(folder: Path, *fabrics: str, name: str = "NVIDIA GB200", more: str = "") -> NodeTopology:
    """A node from the text of `nvidia-smi -q`."""
    text = f"==============NVSMI LOG==============\n\nDriver Version : 570.133.20\nAttached GPUs : {len(fabrics)}\n"
    for number, printed in enumerate(fabrics):
        text += f"GPU 0000000{number + 1}:01:00.0\n    Product Name : {name}\n    Minor Number : {number}\n"
        text += f"    GPU UUID : GPU-00000000-0000-4000-8000-00000000000{number}\n    Fabric\n{printed}{more}"
    (folder / "q.txt").write_text(text)
    return gputopo.load_node(str(folder / "q.txt"))


def told(node: NodeTopology, code: str) -> list[tuple[str, str]]:
    return [(finding.severity, finding.message) for finding in found(code, node)]


# GT130


@pytest.mark.parametrize(
    ("printed", "severity", "word"),
    [
        (fabric("In Progress", "N/A"), "error", "state In Progress"),
        (fabric("Not Started", "N/A"), "error", "state Not Started"),
        (fabric("Completed", "Insufficient Resources"), "error", "status Insufficient Resources"),
        (fabric("Completed", "Success", CLUSTER, "32766", "Bandwidth : Degraded"), "warning", "degraded bandwidth"),
        (fabric("Completed", "Success", CLUSTER, "1", "Route Unhealthy : True"), "error", "route unhealthy"),
        (fabric("Completed", "Success", CLUSTER, "1", "Summary : Unhealthy"), "error", "Unhealthy"),
        (fabric("Completed", "Success", CLUSTER, "1", "Incorrect Configuration : Incorrect SysGUID"), "error",
         "incorrect configuration"),
    ],
)  # fmt: skip
def test_a_fabric_in_trouble(tmp_path: Path, printed: str, severity: str, word: str) -> None:
    [(is_, message)] = told(queried(tmp_path, printed, printed), "GT130")
    assert (is_, word in message, message.startswith("GPU0 and GPU1 have ")) == (severity, True, True)


@pytest.mark.parametrize(
    "printed",
    [
        fabric("Completed", "Success", CLUSTER, "32766", "Bandwidth : Full|Route Unhealthy : False"),
        fabric("Completed", "Success", ZERO, "0"),
        fabric("N/A", "N/A"),
        fabric("Not Supported", "N/A"),
        fabric("Completed", "Success", CLUSTER, "1", "Bandwidth : N/A|Incorrect Configuration : None"),
    ],
)
def test_a_healthy_fabric_and_none_at_all_are_silent(tmp_path: Path, printed: str) -> None:
    node = queried(tmp_path, printed, printed)
    assert (told(node, "GT130"), told(node, "GT131")) == ([], [])


def test_a_rack_is_told_to_look_at_its_switch_trays(tmp_path: Path) -> None:
    [finding] = found("GT130", queried(tmp_path, fabric("In Progress", "N/A")))
    assert says(finding, "switch trays")
    [finding] = found("GT130", queried(tmp_path, fabric("In Progress", "N/A"), name="NVIDIA B200"))
    assert says(finding, "nvidia-fabricmanager")


@pytest.mark.parametrize(
    ("gpu", "severity"),
    [
        (Gpu("GPU0", name="NVIDIA H100 80GB HBM3"), "warning"),  # four of them may have cables
        (Gpu("GPU0", name="NVIDIA H100 NVL"), None),
        (Gpu("GPU0", name="NVIDIA H100 PCIe"), None),
        (Gpu("GPU0", name="NVIDIA H100 80GB HBM3", nvlinks=NvLinks(18, 18, "direct")), None),
        (Gpu("GPU0", name="NVIDIA H100 80GB HBM3", nvlinks=NvLinks(18, 18, "switch")), "error"),
    ],
)
def test_it_is_as_grave_as_it_is_sure_that_there_is_a_switch(gpu: Gpu, severity: str | None) -> None:
    node = NodeTopology(gpus=(gpu._replace(fabric=Fabric("In Progress")),))
    assert [one for one, _ in told(node, "GT130")] == ([severity] if severity else [])
    with_switch = node._replace(nvswitches=(NvSwitch("0000:07:00.0", "0000:07:00.0"),))
    assert [one for one, _ in told(with_switch, "GT130")] == ["error"]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"state": 3, "status": 0, "cliqueId": 7, "clusterUuid": CLUSTER, "healthMask": 0x1AA}, []),
        ({"state": 2, "status": 0, "cliqueId": 0, "clusterUuid": ZERO, "healthMask": 0}, ["state In Progress"]),
        ({"state": 3, "status": 999, "cliqueId": 7, "clusterUuid": CLUSTER, "healthMask": 0}, ["status Unknown Error"]),
        ({"state": 3, "status": 0, "cliqueId": 7, "clusterUuid": CLUSTER, "healthMask": 0x1A9}, ["degraded bandwidth"]),
        ({"state": 3, "status": 0, "cliqueId": 7, "clusterUuid": CLUSTER, "healthMask": 0x19A}, ["route unhealthy"]),
        ({"state": 3, "status": 0, "cliqueId": 7, "clusterUuid": CLUSTER, "healthMask": 0x2AA}, ["incorrect config"]),
        ({"state": 0, "status": 0, "cliqueId": 0, "clusterUuid": ZERO, "healthMask": 0}, []),
    ],
)
def test_nvml_says_the_same_in_numbers(tmp_path: Path, said: dict[str, object], expected: list[str]) -> None:
    node = recorded(tmp_path, said)
    messages = [message for _, message in told(node, "GT130")]
    assert len(messages) == len(expected)
    assert all(word in message for word, message in zip(expected, messages))


def recorded(folder: Path, *fabrics: dict[str, object]) -> NodeTopology:
    gpus = [
        {"index": number, "uuid": f"GPU-00000000-0000-4000-8000-00000000000{number}", "name": "NVIDIA GB200",
         "pci": {"busId": f"0000000{number + 1}:01:00.0"}, "fabric": said}
        for number, said in enumerate(fabrics)
    ]  # fmt: skip
    recording = {"gputopo": "nvml-recording", "version": 1, "snapshot": {"gpus": gpus}}
    (folder / "nvml.json").write_text(json.dumps(recording))
    return gputopo.load_node(str(folder / "nvml.json"))


# GT131 and the islands


def test_gpus_of_one_clique_are_an_island_named_by_both(tmp_path: Path) -> None:
    node = queried(tmp_path, *[fabric("Completed", "Success", CLUSTER, "32766")] * 4)
    assert node.islands.fabric == ((CLUSTER, 32766, ("GPU0", "GPU1", "GPU2", "GPU3")),)
    assert told(node, "GT131") == []


def test_a_zero_cluster_and_a_clique_without_cluster_name_no_island(tmp_path: Path) -> None:
    for printed in (fabric("Completed", "Success", ZERO, "32766"), fabric("Completed", "Success", "N/A", "32766")):
        node = queried(tmp_path, printed, printed)
        assert (node.islands.fabric, told(node, "GT131")) == ((), [])


def test_one_clique_id_in_two_clusters_is_two_islands() -> None:
    gpus = [Gpu(f"GPU{n}", fabric=Fabric("Completed", "Success", (CLUSTER, OTHER)[n % 2], 32766)) for n in range(4)]
    assert [(one.cluster_uuid, one.gpus) for one in build_islands(gpus, ()).fabric] == [
        (CLUSTER, ("GPU0", "GPU2")), (OTHER, ("GPU1", "GPU3")),
    ]  # fmt: skip
    [(severity, message)] = told(NodeTopology(gpus=tuple(gpus)), "GT131")
    assert severity == "error"
    assert message.startswith("GPUs of this node are in 2 clusters: GPU0 and GPU2 in clique 32766 of cluster 3183419e")
    upper = gpus[0]._replace(id="GPU4", fabric=Fabric("Completed", "Success", CLUSTER.upper(), 32766))
    assert len(build_islands([*gpus, upper], ()).fabric) == 2


def test_cliques_of_one_cluster_are_a_warning(tmp_path: Path) -> None:
    printed = [fabric("Completed", "Success", CLUSTER, clique) for clique in ("1", "1", "2", "2")]
    [(severity, message)] = told(queried(tmp_path, *printed), "GT131")
    assert severity == "warning"
    assert message == "GPUs of this node are in 2 fabric cliques: GPU0 and GPU1 in clique 1; GPU2 and GPU3 in clique 2"


@pytest.mark.parametrize("source", ["-q", "nvml"])
def test_a_gpu_in_no_cluster_beside_others_in_one(tmp_path: Path, source: str) -> None:
    if source == "-q":
        printed = [fabric("Completed", "Success", cluster, "1") for cluster in (CLUSTER, ZERO)]
        node = queried(tmp_path, *printed)
    else:
        joined: dict[str, object] = {"state": 3, "status": 0, "cliqueId": 1, "clusterUuid": CLUSTER, "healthMask": 0}
        node = recorded(tmp_path, joined, {**joined, "cliqueId": 0, "clusterUuid": ZERO})
    [(severity, message)] = told(node, "GT131")
    assert (severity, "and in none" in message, "GPU1 in no cluster" in message) == ("warning", True, True)


def test_a_gpu_of_which_nobody_said_is_not_called_alone() -> None:
    gpus = (Gpu("GPU0", fabric=Fabric("Completed", "Success", CLUSTER, 1)), Gpu("GPU1", fabric=Fabric("Completed")))
    note = NoteUnknown(("GPU1",), "fabric", "a clique id without the cluster UUID it belongs to", "nvidia-smi -q")
    assert told(NodeTopology(gpus=gpus, unknown=(note,)), "GT131") == []
    waiting = (gpus[0], Gpu("GPU1", fabric=Fabric("In Progress")), Gpu("GPU2"))
    assert told(NodeTopology(gpus=waiting), "GT131") == []


# GT140


@pytest.mark.parametrize(
    ("text", "severity", "word"),
    [
        ("HW Slowdown, HW Thermal Slowdown", "warning", "cooling"),
        ("SW Thermal Slowdown", "warning", "cooling"),
        ("HW Power Brake", "warning", "power supply"),
        ("HW Slowdown", "warning", "heat or power"),
        ("SW Power Cap", "info", "power limit"),
    ],
)
def test_throttled_clocks(text: str, severity: str, word: str) -> None:
    [finding] = found("GT140", observing(seen("clocks-throttled", "GPU0", text=text), gpus=2))
    assert (finding.severity, finding.subjects) == (severity, ("GPU0",))
    assert word in finding.because
    assert finding.evidence


def test_clocks_as_nvidia_smi_prints_them(tmp_path: Path) -> None:
    rows = {"Idle": "Active", "SW Power Cap": "Not Active", "HW Slowdown": "Active", "Sync Boost": "Not Active"}
    more = "    Clocks Event Reasons\n" + "".join(f"        {name} : {said}\n" for name, said in rows.items())
    node = queried(tmp_path, fabric("N/A", "N/A"), more=more)
    assert told(node, "GT140") == [("warning", "the clocks of GPU0 are throttled: HW Slowdown")]
    more = more.replace("HW Slowdown : Active", "HW Slowdown : Not Active")
    idle = queried(tmp_path, fabric("N/A", "N/A"), more=more)
    assert told(idle, "GT140") == []


# GT141


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("ecc-errors", "Volatile DRAM Correctable: 9; Aggregate DRAM Correctable: 12", []),
        ("ecc-errors", "Volatile SRAM Uncorrectable Parity: 1", ["error"]),
        ("ecc-errors", "Aggregate DRAM Uncorrectable: 3", ["info"]),
        ("ecc-errors", "volatile double bit device memory: 1", ["error"]),
        ("memory-rows-failing", "Remapped Rows Pending: Yes", ["warning"]),
        ("memory-rows-failing", "Remapped Rows Remapping Failure Occurred: Yes", ["error"]),
        ("memory-rows-failing", "Remapped Rows Pending: Yes; Remapped Rows Remapping Failure Occurred: Yes", ["error"]),
    ],
)
def test_memory_errors(kind: str, text: str, expected: list[str]) -> None:
    findings = found("GT141", observing(seen(kind, "GPU1", text=text), gpus=2))
    assert [finding.severity for finding in findings] == expected
    assert all(finding.subjects == ("GPU1",) and "Correctable: 9" not in finding.message for finding in findings)


def test_gpus_with_the_same_trouble_are_one_finding() -> None:
    text = "Remapped Rows Pending: Yes"
    node = observing(*(seen("memory-rows-failing", f"GPU{n}", text=text) for n in (2, 0)), gpus=3)
    [finding] = found("GT141", node)
    assert finding.subjects == ("GPU0", "GPU2")


def test_ecc_as_nvidia_smi_prints_it(tmp_path: Path) -> None:
    more = (
        "    ECC Errors\n        Volatile\n            SRAM Correctable : 0\n            DRAM Correctable : 4\n"
        "            DRAM Uncorrectable : 2\n        Aggregate\n            DRAM Uncorrectable : 2\n"
        "    Remapped Rows\n        Correctable Error : 0\n        Uncorrectable Error : 2\n        Pending : Yes\n"
        "        Remapping Failure Occurred : No\n"
    )
    node = queried(tmp_path, fabric("N/A", "N/A"), name="NVIDIA A100-SXM4-80GB", more=more)
    assert told(node, "GT141") == [
        ("error", "memory of GPU0 had errors that ECC could not correct: Volatile DRAM Uncorrectable: 2"),
        ("warning", "memory rows of GPU0 wait for a reset: Remapped Rows Pending: Yes"),
    ]
    quiet = queried(tmp_path, fabric("N/A", "N/A"), more=more.replace(": 2", ": 0").replace("Yes", "No"))
    assert told(quiet, "GT141") == []


# GT142


@pytest.mark.parametrize(("name", "said"), [("Reset Required", "Yes"), ("GPU Recovery Action", "Drain and Reset")])
def test_what_the_driver_asks_for(tmp_path: Path, name: str, said: str) -> None:
    more = f"    GPU Reset Status\n        {name} : {said}\n" if name == "Reset Required" else f"    {name} : {said}\n"
    node = queried(tmp_path, fabric("N/A", "N/A"), more=more)
    assert told(node, "GT142") == [("error", f"the driver asks for an action on GPU0: {name}: {said}")]
    calm = queried(tmp_path, fabric("N/A", "N/A"), more=more.replace(said, "No" if said == "Yes" else "None"))
    assert told(calm, "GT142") == []


def test_a_node_in_order_gives_none_of_them(tmp_path: Path) -> None:
    node = queried(tmp_path, *[fabric("Completed", "Success", CLUSTER, "32766")] * 4)
    assert [finding.rule for finding in run(node, select=["GT13", "GT14"])[0]] == []
