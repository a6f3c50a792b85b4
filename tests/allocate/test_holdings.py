"""State files, configurations and the node among one command's sources."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gputopo.cli import run

UUIDS = [f"GPU-00000000-0000-4000-8000-00000000000{n}" for n in range(8)]
LIST = "".join(f"GPU {n}: NVIDIA H100 80GB HBM3 (UUID: {uuid})\n" for n, uuid in enumerate(UUIDS))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "list.txt").write_text(LIST)
    entries = [
        {"PodUID": "uid-1", "ContainerName": "app", "ResourceName": "nvidia.com/gpu", "DeviceIDs": {"0": [UUIDS[0]]}},
        {"PodUID": "uid-2", "ContainerName": "app", "ResourceName": "nvidia.com/gpu", "DeviceIDs": {"1": [UUIDS[6]]}},
        {"PodUID": "uid-2", "ContainerName": "init", "ResourceName": "nvidia.com/gpu", "DeviceIDs": {"1": [UUIDS[6]]}},
        {"PodUID": "uid-3", "ContainerName": "app", "ResourceName": "example.com/nic", "DeviceIDs": {"0": ["nic-0"]}},
    ]  # fmt: skip
    data = {"PodDeviceEntries": entries, "RegisteredDevices": {"nvidia.com/gpu": UUIDS}}
    (tmp_path / "kubelet_internal_checkpoint").write_text(json.dumps({"Data": data, "Checksum": 1}))
    cpus = {"policyName": "static", "defaultCpuSet": "0,57-223", "entries": {"uid-1": {"app": "1-56"}}, "checksum": 1}
    (tmp_path / "cpu_manager_state").write_text(json.dumps(cpus))
    (tmp_path / "kubelet.yaml").write_text(
        "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\n"
        'cpuManagerPolicy: static\nreservedSystemCPUs: "0"\ntopologyManagerPolicy: restricted\n'
    )
    return tmp_path


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, object]]:
    code = run(["allocate", *arguments, "-o", "json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("mechanism", ["device-plugin", "kubelet"])
def test_the_checkpoint_says_what_is_in_use(mechanism: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sources = [str(folder / name) for name in ("list.txt", "kubelet_internal_checkpoint")]
    by_file = asked(capsys, mechanism, "sample:hgx-h100", *sources, "-c", "4")
    by_option = asked(capsys, mechanism, "sample:hgx-h100", sources[0], "-c", "4", "--in-use", "0,6")
    assert by_file[0] == by_option[0] == 0
    assert by_file[1]["outcomes"] == by_option[1]["outcomes"]
    runs = "every container in the kubelet's state files still runs"
    assert [any(runs in one["text"] for one in said[1]["assumptions"]) for said in (by_file, by_option)] == [  # type: ignore[attr-defined]
        True, False,
    ]  # fmt: skip
    assert len(by_file[1]["outcomes"]) == 6  # type: ignore[arg-type]


def test_options_come_before_the_checkpoint(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sources = [str(folder / name) for name in ("list.txt", "kubelet_internal_checkpoint")]
    code, document = asked(capsys, "device-plugin", "sample:hgx-h100", *sources, "-c", "1", "--available", "0")
    assert code == 0
    assert [one["gpus"] for one in document["outcomes"]] == [["GPU0"]]  # type: ignore[attr-defined,index]


def test_cpus_that_are_held_decide_the_numa_node(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of NUMA 0 (0-55,112-167) 1-55 are held, so 60 CPUs and a GPU are aligned on NUMA 1 alone."""
    sources = [str(folder / name) for name in ("cpu_manager_state", "kubelet.yaml")]
    code, document = asked(capsys, "kubelet", "sample:hgx-h100", *sources, "-c", "1", "--cpus", "60")
    assert code == 0
    outcomes = document["outcomes"]
    assert {one["gpus"][0] for one in outcomes} == {"GPU4", "GPU5", "GPU6", "GPU7"}  # type: ignore[attr-defined]
    assert all(one["crossNuma"] is False for one in outcomes)  # type: ignore[attr-defined]


def test_a_checkpoint_of_gpus_that_the_node_does_not_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = str(folder / "kubelet_internal_checkpoint")
    assert run(["allocate", "device-plugin", "sample:hgx-h100", source, "-c", "1"]) == 2
    assert "nvidia-smi -L" in capsys.readouterr().err


def test_two_configurations_of_one_kubelet(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "other.yaml").write_text((folder / "kubelet.yaml").read_text())
    sources = [str(folder / name) for name in ("kubelet.yaml", "other.yaml")]
    assert run(["allocate", "kubelet", "sample:hgx-h100", *sources, "-c", "1"]) == 2
    assert "two configurations of one kubelet" in capsys.readouterr().err


def test_pods_of_a_manifest_are_a_sequence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    template = "spec: {containers: [{name: a, resources: {limits: {nvidia.com/gpu: %d}}}]}"
    (tmp_path / "pods.yaml").write_text(
        "kind: Deployment\napiVersion: apps/v1\nmetadata: {name: embed}\n"
        f"spec: {{replicas: 2, template: {{{template % 1}}}}}\n"
        "---\nkind: Service\napiVersion: v1\nmetadata: {name: s}\nspec: {}\n"
        f"---\nkind: Pod\napiVersion: v1\nmetadata: {{name: llm, namespace: ml}}\n{template % 4}\n"
    )
    code, document = asked(capsys, "sequence", "sample:hgx-h100", "--pods", str(tmp_path / "pods.yaml"))
    assert code == 0
    events = [(one["owner"], one["count"], one["split"]) for one in document["events"]]  # type: ignore[attr-defined]
    assert events == [("embed-0", 1, "never"), ("embed-1", 1, "never"), ("ml/llm", 4, "sometimes")]


def test_cpus_of_a_pod_as_a_whole_are_held(folder: Path) -> None:
    """PodLevelResourceManagers: CPUs that no container of the pod has for itself."""
    from gputopo.allocate.state import Holding, State
    from gputopo.commands.allocate_holdings import holding
    from gputopo.evidence.open import open_sources
    from gputopo.inspection import nodes
    from gputopo.parsers.kubelet_state import parse
    from gputopo.terms.cpu_set import CpuSet

    state = {"policyName": "static", "defaultCpuSet": "0", "podEntries": {"uid-1": {"cpuSet": "1-4"}}, "checksum": 1}
    [node] = nodes(open_sources([str(folder / "list.txt")]))
    held = holding(State(node, (), ()), "nvidia.com/gpu", parse(json.dumps(state)), given=None).held
    assert held == (Holding("uid-1", (), CpuSet.parse_list("1-4")),)
