"""Metrics of dcgm-exporter as who had what. Labels: NVIDIA/dcgm-exporter, internal/pkg/rendermetrics."""

from __future__ import annotations

import json
import time
from contextlib import suppress

import pytest

from gputopo.parsers.dcgm_metrics import parse
from gputopo.parsers.recognise_holdings import recognise
from gputopo.parsers.unreadable import Unreadable
from gputopo.topology.node import NodeTopology
from tests.pods.machines import held, node, said, uuid

HEAD = "# HELP DCGM_FI_DEV_SM_CLOCK SM clock frequency (in MHz).\n# TYPE DCGM_FI_DEV_SM_CLOCK gauge\n"
EXPORTER = {"namespace": "gpu-operator", "pod": "nvidia-dcgm-exporter-7mqjg", "container": "nvidia-dcgm-exporter"}
POD = {"namespace": "ml", "pod": "a", "container": "main"}


def sample(gpu: int, more: dict[str, str], name: str = "DCGM_FI_DEV_SM_CLOCK", value: str = "1755") -> str:
    labels = {"gpu": str(gpu), "UUID": uuid(gpu), "device": f"nvidia{3 - gpu}", "modelName": "NVIDIA H100",
              "Hostname": "n1", **more}  # fmt: skip
    written = ",".join(f'{key}="{one}"' for key, one in labels.items())
    return f"{name}{{{written}}} {value}\n"


def who(text: str) -> list[tuple[str | None, str | None, str | None, list[str]]]:
    return [
        (one.namespace, one.pod, one.container, [device.id for device in one.devices or ()])
        for records in parse(text) for one in records.containers
    ]  # fmt: skip


def test_several_metrics_of_a_pod_s_gpus_are_one_holding() -> None:
    text = HEAD + sample(0, POD) + sample(2, POD) + sample(1, {"namespace": "", "pod": "", "container": ""})
    text += sample(0, POD, "DCGM_FI_DEV_GPU_TEMP")
    assert recognise(text.encode()) == ("dcgm-metrics",)
    assert who(text) == [("ml", "a", "main", [uuid(0), uuid(2)])]
    [records] = parse(text)
    assert (records.node, records.past, records.at) == ("n1", True, None)
    assert [(one.id, one.minor) for one in records.names] == [(uuid(0), 3), (uuid(2), 1), (uuid(1), 2)]


@pytest.mark.parametrize("stamp", ["1764385927000", "1764385927123", "1764385927.5"])
def test_a_sample_says_when_it_was_taken(stamp: str) -> None:
    assert parse(sample(0, POD, value=f"5 {stamp}"))[0].at == "2025-11-29T03:12:07Z"


def test_prometheus_writes_the_exporter_s_pod_into_pod() -> None:
    exported = {f"exported_{key}": value for key, value in POD.items()}
    assert who(sample(0, {**EXPORTER, **exported}) + sample(1, EXPORTER)) == [("ml", "a", "main", [uuid(0)])]
    assert who(sample(1, EXPORTER)) == []


def test_mig_instances_replicas_and_jobs() -> None:
    mig = sample(0, {**POD, "GPU_I_PROFILE": "1g.10gb+me", "GPU_I_ID": "9"})
    [records] = parse(mig)
    [device] = records.containers[0].devices or ()
    assert (device.resource, device.id, device.space) == ("nvidia.com/mig-1g.10gb.me", f"MIG-{uuid(0)}/9", "mig")
    [container] = held(said("dcgm-metrics", *records.containers, names=records.names, past=True)).containers
    assert (container.devices[0].gpu, container.devices[0].mig) == ("GPU0", f"MIG-{uuid(0)}/9")
    assert who(sample(0, {**POD, "vgpu": "3"}))[0][3] == [f"{uuid(0)}::3"]
    assert who(sample(0, {"hpc_job": "4711"})) == [("slurm", "4711", "job", [uuid(0)])]


def test_what_prometheus_answers_is_of_the_time_of_each_value() -> None:
    metric = {"__name__": "DCGM_FI_DEV_GPU_UTIL", "UUID": uuid(0), "Hostname": "n1", **POD}
    other = {**metric, "pod": "b"}
    result = [{"metric": metric, "values": [[1764385000, "1"], [1764385927.1, "2"]]},
              {"metric": other, "values": [[1764389527, "1"]]}, {"metric": {"UUID": 3}}]  # fmt: skip
    text = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}})
    assert recognise(text.encode()) == ("dcgm-metrics",)
    assert [(one.at, one.containers[0].pod) for one in parse(text)] == [
        ("2025-11-29T03:12:07Z", "a"), ("2025-11-29T04:12:07Z", "b"),
    ]  # fmt: skip


def test_nodes_are_told_apart_and_an_exporter_s_own_name_is_none() -> None:
    older = sample(1, {"Hostname": "dcgm-exporter-x2", "node": "n1"})
    text = sample(0, POD) + sample(0, {**POD, "Hostname": "n2"}) + older
    assert [one.node for one in parse(text)] == ["n1", "n2"]
    assert parse(sample(1, {"Hostname": "dcgm-exporter-x2"}))[0].node == ""


def test_its_names_resolve_what_the_evidence_has_no_uuid_of() -> None:
    bare = node()._replace(gpus=tuple(gpu._replace(uuid=None) for gpu in node().gpus))
    [records] = parse(sample(0, POD) + sample(1, POD))
    spoken = said("dcgm-metrics", *records.containers, names=records.names, past=True)
    assert held(spoken, on=bare).containers[0].placed.gpus == ("GPU0", "GPU1")
    assert held(spoken, on=NodeTopology()).containers[0].placed.gpus is None


def test_escapes_and_odd_lines() -> None:
    odd = sample(0, {"modelName": 'a \\"b\\" {x}, \\\\', **POD})
    assert who(odd) == [("ml", "a", "main", [uuid(0)])]
    assert who(odd + 'x{UUID="GPU-1",pod="cut\n' + 'x{UUID="GPU-1"} \n') == who(odd)


@pytest.mark.parametrize("text", ["", HEAD, 'x{uuid="1"} 2\n', '{"resultType": "vector", "UUID"', "[" * 99_999])
def test_damaged_is_one_line(text: str) -> None:
    with pytest.raises(Unreadable):
        parse(text)


@pytest.mark.parametrize(
    "text", ['x{UUID="GPU-1",' + 'a="b",' * 2000 + "\n", 'x{UUID="' + "\\" * 16_000, 'x{UUID="GPU-1"}' * 999]
)
def test_hostile_texts_take_no_time(text: str) -> None:
    begun = time.process_time()
    with suppress(Unreadable):
        parse(f"{text}\n" * 50)
    assert time.process_time() - begun < 2


@pytest.mark.parametrize("stamp", ["99999999999999999", "1e999", "-5", "0"])
def test_times_that_are_none(stamp: str) -> None:
    parse(sample(0, POD, value=f"5 {stamp}") + sample(1, POD))
