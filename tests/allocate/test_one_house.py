"""What every mechanism of `allocate` has in common: who decides, the head, the sets, what is left, the sources."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gputopo.cli import run
from gputopo.commands import output
from gputopo.documents.schema import schemas

SAMPLE = "sample:hgx-h100"
MECHANISMS = ("device-plugin", "kubelet", "koordinator", "hami")
HEAD = "nvidia.com/gpu: 4   free: %s 0 -> 1 2 3   %s 1 -> 4 5 7"
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: llm}
spec:
  %s
  containers: [{name: c, resources: {limits: {nvidia.com/gpu: 2}}}]
"""
NODE = """\
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {nvidia.com/device-plugin.config: shared}}
status:
  allocatable: {cpu: "8", nvidia.com/gpu: "%s"}
  nodeInfo: {kubeletVersion: %s}
"""
CLASS = """\
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.nvidia.com}
spec: {extendedResourceName: nvidia.com/gpu}
"""
CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: plugin-configs}
data:
  default: |
    version: v1
    flags: {migStrategy: none}
  shared: |
    version: v1
    sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
"""
KUBELET = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ntopologyManagerPolicy: restricted\n"


class Asked:
    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def text(self, *arguments: str) -> tuple[int, str, str]:
        code = run(["allocate", *arguments])
        out, err = self.capsys.readouterr()
        return code, out, err

    def json(self, *arguments: str) -> dict[str, Any]:
        _, out, _ = self.text(*arguments, "-o", "json")
        made: dict[str, Any] = json.loads(out)
        jsonschema.Draft202012Validator(schemas()[made["kind"]]).validate(made)
        return made


@pytest.fixture
def asked(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Asked:
    monkeypatch.setenv("COLUMNS", "100")
    return Asked(capsys)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    texts = {
        "pod": POD % "", "koord": POD % "schedulerName: koord-scheduler", "node": NODE % ("8", "v1.35.2"),
        "bare": NODE % ("0", "v1.36.2"), "class": CLASS, "map": CONFIG_MAP, "kubelet": KUBELET,
        "list": "---\n".join((POD % "", NODE % ("8", "v1.36.2"), CLASS, CONFIG_MAP, KUBELET)),
    }  # fmt: skip
    found = {}
    for name, text in texts.items():
        (tmp_path / f"{name}.yaml").write_text(text)
        found[name] = str(tmp_path / f"{name}.yaml")
    return found


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_every_answer_says_who_decides_then_the_same_head(asked: Asked, mechanism: str) -> None:
    code, out, _ = asked.text(mechanism, SAMPLE, "-c", "4", "--in-use", "0,6")
    lines = out.splitlines()
    assert (code, lines[0]) == (
        0, "DECIDES   device plugin, probably: no Pod or Node object was given   settle it: --pod, --node",
    )  # fmt: skip
    noun = "NUMA node" if mechanism == "kubelet" else "socket"  # what it looks at
    assert (HEAD % (noun, noun) in lines[1:3], "{1,2,3,4}" in out or "{1,4,5,7}" in out) == (True, True)
    assert ("hypothetical:" in out) is (mechanism in ("koordinator", "hami"))
    assert [line for line in lines if line.startswith("AFTER")] == [
        "AFTER     2 GPUs left: the largest request that fits"
    ]  # fmt: skip


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_every_document_has_what_scripts_ask_for(asked: Asked, mechanism: str) -> None:
    made = asked.json(mechanism, SAMPLE, "-c", "4", "--in-use", "0,6")
    assert list(made)[2] == "decides"
    assert made["decides"] == {
        "who": "device plugin", "reason": "no Pod or Node object was given", "sure": False,
        "settledBy": "--pod, --node", "simulated": True, "hypothetical": mechanism in ("koordinator", "hami"),
    }  # fmt: skip
    assert (made["after"]["largest"], made["after"]["left"], made["best"]["better"]) == (2, 2, False)
    assert made["assumptions"]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_refusal_says_what_would_be_admitted_now(asked: Asked, mechanism: str) -> None:
    code, out, _ = asked.text(mechanism, SAMPLE, "-c", "9")
    assert code == 1
    assert "ANSWER    refused: " in out
    assert "          largest admitted now: 8\n" in out
    assert asked.json(mechanism, SAMPLE, "-c", "9")["after"]["largest"] == 8


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_objects_among_the_sources_decide(asked: Asked, files: dict[str, str], mechanism: str) -> None:
    made = asked.json(mechanism, SAMPLE, files["koord"])
    assert (made["request"]["count"], made["decides"]["who"], made["decides"]["sure"]) == (2, "Koordinator", True)
    assert made["decides"]["hypothetical"] is (mechanism != "koordinator")
    made = asked.json(mechanism, SAMPLE, files["pod"], files["bare"], files["class"])
    assert (made["decides"]["who"], made["decides"]["hypothetical"]) == ("DRA", True)
    assert asked.json(mechanism, SAMPLE, files["pod"], files["node"], files["class"])["decides"]["reason"].endswith(
        "the node's device plugin advertises nvidia.com/gpu"
    )


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_one_file_may_hold_everything(asked: Asked, files: dict[str, str], mechanism: str) -> None:
    made = asked.json(mechanism, SAMPLE, files["list"])
    assert (made["request"]["count"], made["decides"]["sure"]) == (2, True)
    if mechanism in ("device-plugin", "kubelet"):
        assert made["unit"] == "replica"  # the Node's label names the key of the ConfigMap
    else:
        assert any("not looked at by" in one["text"] for one in made["assumptions"])


def test_of_several_waiting_pods_none_is_guessed(asked: Asked, files: dict[str, str]) -> None:
    code, _, err = asked.text("device-plugin", SAMPLE, files["pod"], files["koord"])
    assert (code, err) == (
        2, "gputopo: error: 2 pods on no node among the sources: llm, llm\nhint: say which: --pod FILE\n",
    )  # fmt: skip
    assert asked.text("device-plugin", SAMPLE, files["pod"], files["koord"], "-c", "1")[0] == 0


def test_sources_without_a_node_are_one_line(asked: Asked, files: dict[str, str]) -> None:
    code, out, err = asked.text("kubelet", files["kubelet"], "-c", "1")
    assert (code, out, err.splitlines()[0]) == (2, "", "gputopo: error: no node in the sources")


def test_the_release_of_the_node_object_is_the_kubelets(asked: Asked, files: dict[str, str]) -> None:
    assert asked.json("kubelet", SAMPLE, files["node"], "-c", "1")["version"] == "v1.35"
    assert asked.json("kubelet", SAMPLE, files["node"], "-c", "1", "--k8s-version", "1.34")["version"] == "v1.34"


def test_the_plugins_answer_says_what_the_topology_manager_makes_of_it(asked: Asked, files: dict[str, str]) -> None:
    arguments = ("device-plugin", SAMPLE, "-c", "4", "--in-use", "0,6", files["kubelet"])
    _, out, _ = asked.text(*arguments)
    squeezed = " ".join(out.split())
    assert "OTHERWISE Topology Manager best-effort: the same 6 sets" in squeezed
    assert (
        "restricted (this kubelet's own), single-numa-node: refused, TopologyAffinityError; largest admitted now: 3"
    ) in squeezed
    found = {one["policy"]: one for one in asked.json(*arguments)["otherwise"]}
    assert [(name, one["admitted"], one["largest"], one["inForce"]) for name, one in found.items()] == [
        ("best-effort", True, None, False), ("restricted", False, 3, True), ("single-numa-node", False, 3, False),
    ]  # fmt: skip


def test_the_exit_code_is_explained_on_a_terminal_only(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    arguments = ("device-plugin", SAMPLE, "-c", "9")
    assert "exit 1" not in asked.text(*arguments)[1]
    monkeypatch.setattr(output, "on_terminal", lambda file: file is None)
    assert asked.text(*arguments, "--color", "never")[1].endswith("exit 1    (refused)\n")


def test_a_forecast_says_who_decides(asked: Asked, files: dict[str, str]) -> None:
    _, out, _ = asked.text("sequence", SAMPLE, "--request", "2,2", files["node"])
    assert out.startswith("DECIDES   device plugin, probably: nvidia.com/gpu with the default scheduler;")
    assert asked.json("sequence", SAMPLE, "--request", "2,2", files["bare"], files["class"])["decides"]["hypothetical"]
