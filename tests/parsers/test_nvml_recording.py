"""Recordings of a driver's answers: our own format, the older one, and what is wrong with either."""

from __future__ import annotations

import copy
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputopo.parsers import nvml_recording
from gputopo.parsers.unreadable import Unreadable
from gputopo.records import GpuRecord, NodeRecords
from gputopo.terms.path_level import PathLevel
from gputopo.terms.unknown import Unknown

SHARED = Path(os.environ.get("GPUTOPO_SHARED") or Path(__file__).parents[3] / "shared")
RECORDINGS = SHARED / "data" / "sysfs" / "nvml"
ALL_ONES = "FFFFFFFF:FF:FF.0"
ZERO_UUID = "00000000-0000-0000-0000-000000000000"
CLUSTER = "3a1c7e52-0d4b-4f6e-9b1a-7c2d5e8f9012"


def gpu(index: int, **answers: Any) -> dict[str, Any]:
    return {
        "index": index,
        "uuid": f"GPU-{index:08x}-1111-2222-3333-444455556666",
        "name": "NVIDIA H100 80GB HBM3",
        "pci": f"00000000:{0x1A + index:02X}:00.0",
        "minor": index,
        "memoryBytes": 85_520_809_984,
        "architecture": 9,
        "computeCapability": [9, 0],
        "moduleId": 1 + index,
        "numaNodeId": {"error": 3},
        "cpuAffinity": {"node": [0xFFFF, 0]},
        "memoryAffinity": {"node": [1]},
        "fields": [[91, 0, 0, 2], [164, 0, 0, 26_562], [164, 1, 0, 26_562]],
        "links": [
            {"link": 0, "state": 1, "version": 6, "remoteType": 0, "remoteBusId": f"00000000:{0x1B - index:02X}:00.0"},
            {"link": 1, "state": 0},
        ],
        "fabric": {"state": 1, "status": 0, "cliqueId": 0, "clusterUuid": ZERO_UUID, "healthMask": 0},
        "pcie": {"generation": 5, "width": 16, "maxGeneration": 5, "maxWidth": 16},
        "mig": {"mode": [0, 0]},
    } | answers


def text_of(*gpus: dict[str, Any], **more: Any) -> str:
    count = len(gpus)
    snapshot = {
        "driver": "560.35.03",
        "cuda": 12060,
        "cpusPossible": 128,
        "gpus": list(gpus),
        "topology": [[0 if a == b else 40 for b in range(count)] for a in range(count)],
        "p2p": {str(kind): [[0] * count for _ in range(count)] for kind in range(5)},
    }
    return json.dumps({"gputopo": "nvml-recording", "version": 1, "snapshot": snapshot | more})


def read(*gpus: dict[str, Any], **more: Any) -> NodeRecords:
    (node,) = nvml_recording.parse(text_of(*gpus, **more))
    return node


def read_one(**answers: Any) -> GpuRecord:
    gpus = read(gpu(0, **answers)).gpus
    assert gpus is not None
    return gpus[0]


def why(value: object) -> str:
    assert isinstance(value, Unknown)
    return value.why


def test_a_whole_recording() -> None:
    node = read(gpu(0), gpu(1))
    assert (node.format, node.gpus_complete, node.system.view) == ("nvml-recording", True, None)
    assert (node.system.driver, node.system.cuda) == ("560.35.03", "12.6")
    first = node.gpus[0]
    assert [(key.space, key.value) for key in first.keys] == [
        ("index", "0"),
        ("uuid", "GPU-00000000-1111-2222-3333-444455556666"),
        ("pci", "0000:1a:00.0"),
        ("minor", "0"),
    ]
    assert (first.label, first.vendor, first.architecture, first.compute_capability) == (
        "GPU0",
        "nvidia",
        "Hopper",
        "9.0",
    )
    assert (str(first.cpus), first.cpus_complete, first.numa_nodes) == ("0-15", True, (0,))
    assert (first.nvlinks_active, first.nvlinks_total) == (1, 2)
    assert str(first.links[0].remote) == "0000:1b:00.0"
    assert (first.links[0].remote_kind, first.links[0].gbps) == ("gpu", 26.562)
    assert (first.links[1].state, first.links[1].gbps) == ("inactive", None)
    assert first.fabric.state == "Not Started"
    assert first.mig == ()
    assert (node.gaps, node.observations, node.assumptions) == ((), (), ())
    (pair,) = node.pairs
    assert (pair.a, pair.b, pair.level) == ("GPU0", "GPU1", PathLevel.NODE)
    assert pair.p2p == dict.fromkeys(("read", "write", "nvlink", "atomics", "prop"), "OK")
    assert pair.nvlinks is None


def test_what_was_not_asked_is_none_and_never_zero() -> None:
    node = read({"index": 0, "uuid": "GPU-1"})
    record = node.gpus[0]
    said = {name for name, value in record._asdict().items() if value is not None}
    assert said == {"label", "keys", "nvml_index", "uuid", "vendor"}
    assert node.gaps == ()


@pytest.mark.parametrize(
    ("key", "field"),
    [
        ("uuid", "uuid"),
        ("name", "name"),
        ("pci", "pci"),
        ("minor", "minor"),
        ("memoryBytes", "memory_bytes"),
        ("architecture", "architecture"),
        ("computeCapability", "compute_capability"),
        ("moduleId", "module_id"),
        ("numaNodeId", "memory_numa_node"),
        ("fabric", "fabric"),
    ],
)
@pytest.mark.parametrize("code", [3, 4, 13, 999])
def test_a_refusal_is_unknown_with_its_reason(key: str, field: str, code: int) -> None:
    reason = why(getattr(read_one(**{key: {"error": code}}), field))
    assert "nvml" in reason
    assert ("FunctionNotFound" in reason) if code == 13 else (f"({code})" in reason)


def test_no_answer_is_believed_that_cannot_be() -> None:
    for key, field, value in (
        ("uuid", "uuid", 5),
        ("pci", "pci", ALL_ONES),
        ("minor", "minor", -1),
        ("architecture", "architecture", 4294967295),
        ("computeCapability", "compute_capability", [9]),
        ("numaNodeId", "memory_numa_node", -1),
        ("cpuAffinity", "cpus", {"node": [1 << 64]}),
        ("cpuAffinity", "cpus", {"node": [True]}),
        ("memoryAffinity", "numa_nodes", {"node": "0"}),
        ("fabric", "fabric", {"state": 9}),
        ("pcie", "pcie", {"generation": 0, "width": 255}),
    ):
        assert why(getattr(read_one(**{key: value}), field)), key


def test_cpu_words_without_a_cpu_are_unknown_not_empty() -> None:
    for possible in (None, 64, 256):
        snapshot = {} if possible is None else {"cpusPossible": possible}
        text = json.loads(text_of(gpu(0, cpuAffinity={"node": [0, 0]})))
        text["snapshot"].pop("cpusPossible")
        text["snapshot"].update(snapshot)
        (node,) = nvml_recording.parse(json.dumps(text))
        assert "no CPU among the 128" in why(node.gpus[0].cpus)
        assert node.gpus[0].cpus_complete is None


@pytest.mark.parametrize(("possible", "complete"), [(128, True), (64, True), (129, False), (None, None)])
def test_cpus_are_complete_when_enough_words_were_asked(possible: int | None, complete: bool | None) -> None:
    (record,) = read(gpu(0), cpusPossible=possible).gpus
    assert record.cpus_complete is complete


def test_the_node_of_a_gpus_own_memory() -> None:
    grace = read(
        gpu(0, numaNodeId=2, memoryAffinity={"node": [0b0101]}), gpu(1, numaNodeId=10, memoryAffinity={"node": [2]})
    )
    assert [record.memory_numa_node for record in grace.gpus] == [2, 10]
    assert "node of the CPUs" in why(read_one(numaNodeId=0).memory_numa_node)
    shared = read(*(gpu(i, numaNodeId=0, memoryAffinity={"node": [3]}) for i in range(2)))
    assert all("several GPUs" in why(record.memory_numa_node) for record in shared.gpus)


def test_links_of_every_kind() -> None:
    fields = [[91, 0, 0, 6], [90, 0, 0, 25_000], [164, 0, 0, 26_562], [164, 1, 3, None], [165, 3, 0, 2], [165, 4, 0, 3]]
    links = [
        {"link": 0, "state": 1, "remoteType": 2, "remoteBusId": ALL_ONES},
        {"link": 1, "state": 1, "remoteType": {"error": 3}, "remoteBusId": ALL_ONES},
        {"link": 2, "state": 1, "remoteType": 255, "remoteBusId": {"error": 3}},
        {"link": 3, "state": 1},
        {"link": 4, "state": 1},
        {"link": 5, "state": {"error": 999}},
    ]
    node = read(gpu(0, fields=fields, links=links))
    record = node.gpus[0]
    assert [(link.state, link.gbps, link.remote_kind, link.remote) for link in record.links] == [
        ("active", 26.562, "switch", None),
        ("active", 25.0, "switch", None),
        ("active", 25.0, None, None),
        ("sleep", None, None, None),
        ("disabled", None, None, None),
        (None, None, None, None),
    ]
    assert record.nvlinks_total == 6
    assert "every link" in why(record.nvlinks_active)
    assert len(node.assumptions) == 1  # link 1: a hidden far end is taken for a switch


def test_a_gpu_without_nvlink_has_none_and_a_refusal_is_no_zero() -> None:
    first = [{"link": 0, "state": {"error": 3}}]
    for answers in (
        {"fields": [[91, 0, 3, None]], "links": first},
        {"fields": {"error": 3}, "links": first},
        {"fields": [[91, 0, 0, 0]], "links": []},
        {"fields": [[91, 0, 3, 0]], "links": []},
    ):
        record = read_one(**answers)
        assert (record.nvlinks_active, record.nvlinks_total, record.links) == (0, 0, ()), answers
    mig = read_one(fields=[[91, 0, 3, None]], links=first, mig={"mode": [1, 1], "devices": []})
    assert "MIG" in why(mig.nvlinks_total)
    refused = read_one(fields=[[91, 0, 4, None]], links=[{"link": 0, "state": {"error": 4}}])
    assert "NO_PERMISSION" in why(refused.nvlinks_active)
    assert "NO_PERMISSION" in why(refused.nvlinks_total)
    assert "NO_PERMISSION" in why(refused.links)


def test_the_end_of_the_links_tells_their_number() -> None:
    links = [*({"link": n, "state": int(n < 2)} for n in range(4)), {"link": 4, "state": {"error": 2}}]
    record = read_one(fields={"error": 13}, links=links)
    assert (record.nvlinks_active, record.nvlinks_total, len(record.links)) == (2, 4, 4)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"state": 0}, ("Not Supported", None, None, None, None)),
        ({"state": 2, "status": 0, "clusterUuid": CLUSTER, "cliqueId": 1}, ("In Progress", None, None, None, None)),
        (
            {"state": 3, "status": 0, "cliqueId": 32766, "clusterUuid": CLUSTER, "healthMask": 0x1AA},
            ("Completed", "Success", CLUSTER, 32766, "Healthy"),
        ),
        (
            {"state": 3, "status": 999, "cliqueId": 0, "clusterUuid": ZERO_UUID, "healthMask": 0x219},
            ("Completed", "Unknown Error", None, None, "degraded bandwidth, route unhealthy, incorrect configuration"),
        ),
        (
            {"state": 3, "status": 0, "cliqueId": 7, "clusterUuid": CLUSTER, "healthMask": 1, "healthSummary": 3},
            ("Completed", "Success", CLUSTER, 7, "Limited Capacity"),
        ),
    ],
)
def test_fabric(answer: dict[str, Any], expected: tuple[object, ...]) -> None:
    assert read_one(fabric=answer).fabric == expected


def test_a_clique_without_its_cluster_is_a_gap() -> None:
    node = read(gpu(0, fabric={"state": 3, "cliqueId": 7}))
    assert node.gpus[0].fabric.clique_id is None
    assert [(gap.subjects, gap.attribute) for gap in node.gaps] == [(("GPU0",), "fabric")]


def test_c2c_links() -> None:
    fields = [[170, 0, 0, 10], *([172, n, 0, 44_712] for n in range(10))]
    assert read_one(fields=fields).c2c == {"count": 10, "gbpsPerLink": 44.712}
    assert read_one(fields=[[170, 0, 3, None]]).c2c is None


@pytest.mark.parametrize(
    ("number", "level"),
    [
        (0, PathLevel.PIX),
        (10, PathLevel.PIX),
        (20, PathLevel.PXB),
        (30, PathLevel.PHB),
        (40, PathLevel.NODE),
        (50, PathLevel.SYS),
    ],
)
def test_levels(number: int, level: PathLevel) -> None:
    assert read(gpu(0), gpu(1), topology=[[0, number], [number, 0]]).pairs[0].level is level


def test_levels_that_are_none() -> None:
    def one(topology: object) -> object:
        return read(gpu(0), gpu(1), topology=topology).pairs[0].level

    assert "NOT_SUPPORTED" in why(one([[0, {"error": 3}], [{"error": 3}, 0]]))
    assert "holds 25" in why(one([[0, 25], [25, 0]]))
    assert "holds True" in why(one([[0, True], [True, 0]]))
    assert one([[0], []]) is None
    assert one([[0, {"error": 3}], [20, 0]]) is PathLevel.PXB


def test_a_matrix_with_two_answers_is_observed_and_none_is_taken() -> None:
    p2p = {"0": [[0, 1], [1, 0]], "1": [[0, 0], [2, 0]]}
    node = read(gpu(0), gpu(1), topology=[[0, 20], [50, 0]], p2p=p2p)
    (pair,) = node.pairs
    assert "PXB one way and SYS the other" in why(pair.level)
    assert pair.p2p == {"read": "CNS"}
    assert [(o.kind, o.subjects) for o in node.observations] == [("matrix-not-symmetric", ("GPU0", "GPU1"))] * 2
    assert "GPU0 to GPU1 PXB, GPU1 to GPU0 SYS" in node.observations[0].text
    assert "OK" in node.observations[1].text
    assert "GNS" in node.observations[1].text
    assert [(gap.subjects, gap.attribute) for gap in node.gaps] == [(("GPU0", "GPU1"), "p2p")]


def test_p2p_letters_and_refusals() -> None:
    for number, letters in enumerate(("OK", "CNS", "GNS", "TNS", "DR", "NS", "U")):
        pair = read(gpu(0), gpu(1), p2p={"2": [[0, number], [number, 0]]}).pairs[0]
        assert pair.p2p == {"nvlink": letters}
    refused = {"error": 3}
    assert "NOT_SUPPORTED" in why(read(gpu(0), gpu(1), p2p={"0": [[0, refused], [refused, 0]]}).pairs[0].p2p)


def test_a_lost_gpu_keeps_what_was_answered_before() -> None:
    node = read(gpu(0), {"index": 1, "uuid": "GPU-x", "name": {"error": 15}, "cpuAffinity": {"node": {"error": 15}}})
    lost = node.gpus[1]
    assert lost.uuid == "GPU-x"
    assert [key.space for key in lost.keys] == ["index", "uuid"]
    for field in ("name", "pci", "cpus", "numa_nodes", "links", "nvlinks_total", "fabric", "pcie", "mig", "minor"):
        assert why(getattr(lost, field)) == "GPU is lost (NVML 15): the driver cannot reach it"
    assert [(o.kind, o.subjects) for o in node.observations] == [("gpu-lost", ("GPU1",))]
    assert node.gpus[0].uuid == gpu(0)["uuid"]


def test_a_driver_that_refuses_to_count() -> None:
    text = '{"gputopo": "nvml-recording", "version": 1, "snapshot": {"driver": "560.35.03", "gpus": {"error": 999}}}'
    (node,) = nvml_recording.parse(text)
    assert node.gpus is None
    assert not node.gpus_complete
    assert [(gap.attribute, gap.reason) for gap in node.gaps] == [
        ("gpus", "nvmlDeviceGetCount_v2 answered UNKNOWN (999)")
    ]


def test_no_gpu_is_an_answer() -> None:
    node = read()
    assert (node.gpus, node.gpus_complete, node.pairs) == ((), True, ())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not a recording"),
        ('{"gputopo": "nvml-recording", "version": 1, "snap', "not a recording"),
        ("[1]", "no object"),
        ("{}", "neither"),
        ('{"gputopo": "nvml-recording", "version": 2, "snapshot": {}}', "version 2"),
        ('{"gputopo": "nvml-recording", "version": 1, "snapshot": {}}', "no answers of any GPU"),
        ('{"gputopo": "nvml-recording", "version": 1, "snapshot": {"gpus": [{"index": 1}, {}]}}', "two GPUs alike"),
        ('{"pynvml": "nvidia-ml-py", "calls": {}}', "neither decoded answers nor calls"),
        ('{"pynvml": "nvidia-ml-py", "snap": {}}', "no answers of any GPU"),
        ("[" * 100_000, "nesting"),
        ('{"a": ' + "9" * 5000 + "}", "numbers"),
    ],
)
def test_unreadable(text: str, says: str) -> None:
    with pytest.raises(Unreadable, match=says):
        nvml_recording.parse(text)


def test_the_line_of_damage_is_named() -> None:
    lines = json.dumps(json.loads(text_of(gpu(0))), indent=1).splitlines()
    with pytest.raises(Unreadable) as caught:
        nvml_recording.parse("\n".join([*lines[:20], "<cut>"]))
    assert caught.value.line == 21


def test_sniff() -> None:
    text = text_of(gpu(0))
    assert nvml_recording.sniff(text)
    assert nvml_recording.sniff("\ufeff\n  " + json.dumps(json.loads(text), indent=2))
    assert nvml_recording.sniff('{"pynvml": "nvidia-ml-py", "calls": {}, "snap": {"drv": "1"}}')
    assert nvml_recording.sniff(json.dumps({"calls": {'["nvmlInitWithFlags", 0]': [0, [None]]}}))
    for other in ("", "{}", '{"apiVersion": "gputopo/v1alpha1"}', "nvmlInit failed", '["pynvml", "calls"]'):
        assert not nvml_recording.sniff(other)


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(max_size=5),
    st.just(10**300),
    st.just([]),
    st.just({}),
    st.just({"error": 15}),
    st.just([[]]),
    st.just([{}]),
    st.just({"error": "x"}),
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path] * bool(path) + [place for key, item in items for place in _places(item, (*path, key))]


OWN = json.loads(text_of(gpu(0), gpu(1)))
OLD = {
    "pynvml": "nvidia-ml-py",
    "calls": {
        '["nvmlDeviceGetHandleByIndex_v2", 0, ["ref", "LP_struct_c_nvmlDevice_t", "00"]]': [0, [None, "07"]],
        '["nvmlDeviceGetMinorNumber", ["h", 7], ["ref", "c_uint", "00000000"]]': [0, [None, "02000000"]],
    },
    "snap": {
        "drv": "560.35.03",
        "gpus": [
            {
                "uuid": "GPU-1",
                "name": "ERR15",
                "pci": "00000000:1A:00.0",
                "numa": "ERR3",
                "cpus": [3, 0],
                "mem": [1],
                "links": [[0, 6, 2, ALL_ONES]],
                "fv": [[91, 0, 0, 1], [164, 0, 0, 26_562]],
                "fabric": [0, 3, 0, "0x1aa"],
            }
        ],
        "topo": [[0]],
        "p2p": {"0": [[0]]},
    },
}


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_any_damage_is_unreadable_or_records(data: st.DataObject) -> None:
    document = copy.deepcopy(data.draw(st.sampled_from([OWN, OLD])))
    for _ in range(data.draw(st.integers(1, 3))):
        *way, last = data.draw(st.sampled_from(_places(document)))
        target = document
        for key in way:
            target = target[key]
        target[last] = copy.deepcopy(data.draw(LEAVES))
    try:
        (node,) = nvml_recording.parse(json.dumps(document))
    except Unreadable:
        return
    assert node.gpus is None or all(record.label.startswith("GPU") for record in node.gpus)


def test_bytes_fill_what_the_decoded_values_leave_out() -> None:
    (node,) = nvml_recording.parse(json.dumps(OLD))
    assert (node.gpus[0].minor, node.gpus[0].uuid, str(node.gpus[0].cpus)) == (2, "GPU-1", "0-1")


def test_reading_a_recording_loads_no_driver_wrapper() -> None:
    code = (
        "import sys; from gputopo.parsers import nvml_recording as r; "
        "r.parse(sys.stdin.read()); print(sorted({'pynvml', 'ctypes', 'struct', 'dataclasses'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {code}"],
        input=text_of(gpu(0)),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"


@pytest.fixture(params=("h100", "gb200"))
def shared(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any], NodeRecords]:
    path = RECORDINGS / f"nvml-rec-mock-{request.param}.json.gz"
    if not path.exists():
        pytest.skip(f"shared recordings are absent: no {path}")
    text = gzip.decompress(path.read_bytes()).decode()
    assert nvml_recording.sniff(text)
    (node,) = nvml_recording.parse(text)
    return request.param, json.loads(text)["snap"], node


def test_shared_recordings(shared: tuple[str, dict[str, Any], NodeRecords]) -> None:
    name, snap, node = shared
    assert len(node.gpus) == 8
    assert node.gpus_complete
    assert node.system.driver == snap["drv"]
    speed = {"h100": 26.562, "gb200": 53.125}[name]
    for record, answers in zip(node.gpus, snap["gpus"]):
        assert record.uuid == answers["uuid"]
        assert (record.nvlinks_active, record.nvlinks_total) == (18, 18)
        assert {link[1:5] for link in record.links} == {("active", speed, None, "switch")}
        assert [link.number for link in record.links] == list(range(18))
        assert record.numa_nodes == (answers["numa"],)
        assert "node of the CPUs" in why(record.memory_numa_node)
        assert record.fabric == ("Completed", "Success", "00000000-0000-0000-0000-000000000001", 0, "Healthy")
        assert (record.minor, record.pcie, record.mig, record.module_id) == (None,) * 4
        if any(answers["cpus"]):
            assert record.cpus.mask == answers["cpus"][0] | answers["cpus"][1] << 64
        else:
            assert "no CPU among the 128" in why(record.cpus)
    without = [record.label for record in node.gpus if isinstance(record.cpus, Unknown)]
    assert without == {"h100": [], "gb200": ["GPU4", "GPU5", "GPU6", "GPU7"]}[name]
    assert len(node.pairs) == 28
    for pair in node.pairs:
        a, b = int(pair.a[3:]), int(pair.b[3:])
        assert int(pair.level) == snap["topo"][a][b]
        assert set(pair.p2p.values()) == {"OK"}
    assert (node.gaps, node.observations, node.assumptions) == ((), (), ())
