"""`gputopo allocate kubelet`: exit codes, one clear line for what is wrong, the answers people came for."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

if importlib.util.find_spec("gputopo.commands.allocate") is None:
    pytest.skip("the verb allocate is not there yet", allow_module_level=True)

from gputopo.cli import run

EIGHT = "sample:pcie-2s-8gpu"


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Any:
    def ask(*arguments: str) -> tuple[int, str, str]:
        code = run(["allocate", "kubelet", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return ask


def test_eight_gpus_over_two_sockets_are_refused_by_single_numa_node(told: Any) -> None:
    code, out, _ = told(EIGHT, "-c", "8", "--topology-manager-policy", "single-numa-node")
    assert code == 1
    assert "refused: TopologyAffinityError" in out
    assert "largest admitted now: 4" in out


@pytest.mark.parametrize(("cpus", "code"), [((), 0), (("--cpus", "16"), 1)])
def test_restricted_refuses_eight_gpus_only_beside_sixteen_cpus(told: Any, cpus: tuple[str, ...], code: int) -> None:
    assert told(EIGHT, "-c", "8", "--topology-manager-policy", "restricted", *cpus)[0] == code


def test_json_holds_exact_cpus_and_what_is_assumed(told: Any) -> None:
    code, out, _ = told(EIGHT, "-c", "2", "--cpus", "4", "--topology-manager-policy", "best-effort", "-o", "json")
    found = json.loads(out)
    assert code == 0
    assert (found["kind"], found["mechanism"], found["admitted"]) == ("Allocation", "kubelet", True)
    assert {one["cpus"] for one in found["outcomes"]} == {"1-2,57-58"}
    assert any("--reserved-cpus" in one["text"] for one in found["assumptions"])


def test_configuration_and_pod_from_files(told: Any, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ntopologyManagerPolicy: restricted\n"
        "cpuManagerPolicy: static\nreservedSystemCPUs: 0,56\n"
    )
    pod = tmp_path / "pod.yaml"
    pod.write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - name: c\n    resources:\n"
        "      limits: {nvidia.com/gpu: 8, cpu: 16, memory: 64Gi}\n"
    )
    code, out, _ = told(EIGHT, "--pod", str(pod), "--kubelet-config", str(config))
    assert code == 1
    assert "no one set of NUMA nodes is preferred for all" in out
    assert told(EIGHT, "--pod", str(pod), "-c", "4", "--kubelet-config", str(config))[0] == 0


def test_a_kubelet_that_would_not_start_is_exit_1(told: Any) -> None:
    code, out, _ = told(EIGHT, "-c", "1", "--topology-manager-policy", "strict")
    assert code == 1
    assert 'unknown policy: "strict"' in out


def test_more_than_there_are_is_refused_as_the_kubelet_does(told: Any) -> None:
    code, out, _ = told(EIGHT, "-c", "9")
    assert code == 1
    assert "Requested: 9, Available: 8" in " ".join(out.split())


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((EIGHT,), "how many?"),
        ((EIGHT, "-c", "1", "--in-use", "9"), "no such GPU: 9"),
        ((EIGHT, "-c", "1", "--reserved-cpus", "x"), "no list of CPUs"),
        ((EIGHT, "-c", "1", "--cpus", "many"), "no quantity"),
        ((EIGHT, "-c", "1", "--k8s-version", "new"), "no version of Kubernetes"),
        ((EIGHT, "--pod", "/nowhere"), "no such file"),
        ((EIGHT, "-c", "1", "--pod", "/nowhere", "--cpus", "1"), "--pod says CPUs and memory itself"),
    ],
)
def test_what_is_wrong_is_one_line_and_exit_2(told: Any, arguments: tuple[str, ...], line: str) -> None:
    code, out, err = told(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("gputopo: error: ")
    assert line in err
    assert len(err.splitlines()) <= 2


def test_a_pod_without_gpus(told: Any, tmp_path: Path) -> None:
    pod = tmp_path / "pod.yaml"
    pod.write_text("apiVersion: v1\nkind: Pod\nspec: {containers: [{name: c}]}\n")
    code, _, err = told(EIGHT, "--pod", str(pod))
    assert (code, err) == (2, f"gputopo: error: the pod asks for no nvidia.com/gpu ({pod}:1)\n")


def test_memory_that_is_not_in_the_evidence_leaves_it_open(told: Any) -> None:
    assert told(EIGHT, "-c", "1", "--memory", "1Gi")[0] == 3
