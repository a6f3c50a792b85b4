"""`gputopo allocate device-plugin`: answers on the shipped samples, documents, exit codes, one-line errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gputopo.cli import run
from gputopo.documents.schema import schemas

CONFIG = """\
version: v1
flags:
  migStrategy: none
sharing:
  timeSlicing:
    resources:
    - name: nvidia.com/gpu
      replicas: 4
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
    flags: {plugin: {sharedDevicesAllocationPolicy: packed}}
    sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
"""
CLUSTER_POLICY = """\
apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata: {name: cluster-policy}
spec:
  mig: {strategy: mixed}
  devicePlugin:
    env:
    - {name: DEVICE_LIST_STRATEGY, value: volume-mounts}
"""


def text(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run(["allocate", "device-plugin", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    code, out, err = text(capsys, *arguments, "-o", "json")
    assert (code, err) == (0, "")
    made: dict[str, Any] = json.loads(out)
    jsonschema.Draft202012Validator(schemas()[made["kind"]]).validate(made)
    return made


def sets(made: dict[str, Any]) -> set[tuple[int, ...]]:
    return {tuple(int(gpu[3:]) for gpu in one["gpus"]) for one in made["outcomes"]}


def test_an_nvswitch_node_gives_the_two_halves_and_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    made = document(capsys, "sample:hgx-h100", "-c", "4")
    assert sets(made) == {(0, 1, 2, 3), (4, 5, 6, 7)}
    assert made["outcomesComplete"] is True
    assert any("does not see NVSwitch links" in line for line in made["why"])
    assert [one["rule"] for one in made["findings"]] == ["GT031"]
    assert made["after"] == {"free": None, "largest": 4, "left": 4}


def test_four_numa_nodes_with_gpus_give_six_sets_some_crossing_sockets(capsys: pytest.CaptureFixture[str]) -> None:
    made = document(capsys, "sample:dgx-a100-nps4", "-c", "4")
    pairs = [(0, 1), (2, 3), (4, 5), (6, 7)]
    assert sets(made) == {a + b for at, a in enumerate(pairs) for b in pairs[at + 1 :]}
    crossing = {tuple(one["gpus"]) for one in made["outcomes"] if one["crossPackage"]}
    assert ("GPU0", "GPU1", "GPU4", "GPU5") in crossing


def test_bridged_pairs_are_kept_together(capsys: pytest.CaptureFixture[str]) -> None:
    assert sets(document(capsys, "sample:pcie-bridged", "-c", "2", "--available", "0,1,4,5")) == {(0, 1), (4, 5)}


def test_two_taken_gpus_with_totals_and_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("sample:hgx-h100", "-c", "4", "--in-use", "0,6")
    made = document(capsys, *arguments)
    assert sets(made) == {(1, 2, 3, 4), (1, 2, 3, 5), (1, 2, 3, 7), (1, 4, 5, 7), (2, 4, 5, 7), (3, 4, 5, 7)}
    assert {one["score"] for one in made["outcomes"]} == {90}
    _, out, _ = text(capsys, *arguments)
    squeezed = " ".join(out.split())
    for said in (
        "one of 6 sets, and every one crosses sockets (3+1)",
        "3+1, leaves 2+0 set 90 + rest 20 = 110 6 of 15 ways <- wins by 20",
        "2+2, leaves 1+1 set 80 + rest 10 = 90 9 of 15 ways",
        "BETTER nothing now GPU0 freed: only {0,1,2,3} GPU6 freed: only {4,5,6,7} score 120 each",
        "plugin v0.20.0",
    ):
        assert said in squeezed


def test_one_order_has_one_answer(capsys: pytest.CaptureFixture[str]) -> None:
    made = document(capsys, "sample:dgx1-v100", "-c", "2", "--ordered", "7,3,0,4")
    assert [one["devices"] for one in made["outcomes"]] == [["GPU7", "GPU4"]]


def test_a_configuration_among_the_sources_or_beside_them(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(CONFIG)
    for arguments in (("sample:hgx-h100", str(file)), ("sample:hgx-h100", "--plugin-config", str(file))):
        made = document(capsys, *arguments, "-c", "2", "--in-use", "0-5")
        assert (made["unit"], made["outcomes"][0]["devices"]) == ("replica", ["GPU6", "GPU7"])


def test_a_key_of_a_config_map(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "map.yaml"
    file.write_text(CONFIG_MAP)
    base = ("sample:hgx-h100", "-c", "2", "--plugin-config", str(file))
    assert document(capsys, *base)["unit"] == "gpu"
    made = document(capsys, *base, "--config-key", "shared")
    assert {tuple(one["devices"]) for one in made["outcomes"]} == {(f"GPU{n}", f"GPU{n}") for n in range(8)}
    code, _, err = text(capsys, *base, "--config-key", "other")
    assert (code, err.splitlines()) == (
        2, ["gputopo: error: no such key: other (--config-key)", "hint: it has default, shared"],
    )  # fmt: skip


def test_a_cluster_policy(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(CLUSTER_POLICY)
    made = document(capsys, "sample:hgx-h100", "-c", "2", "--plugin-config", str(file))
    assert made["container"]["env"] == {"NVIDIA_VISIBLE_DEVICES": "/var/run/nvidia-container-devices"}


def test_a_configuration_the_plugin_refuses_is_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = text(capsys, "sample:hgx-h100", "-c", "2", "--shared-devices-allocation-policy", "spread")
    assert (code, err) == (1, "")
    assert "invalid --shared-devices-allocation-policy option: spread" in out


def test_too_many_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = text(capsys, "sample:hgx-h100", "-c", "9", "-o", "json")
    made = json.loads(out)
    assert (code, made["admitted"], made["reason"]) == (1, False, "UnexpectedAdmissionError")


def test_partitions_need_module_ids(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = text(capsys, "sample:hgx-h100", "-c", "2", "--fm-partitions", "hgx")
    assert "module ids are not in this evidence" in out


@pytest.mark.parametrize(
    ("arguments", "what", "hint"),
    [
        (["-c", "2", "--available", "0,12"], "no such GPU: 12 (--available)", "the node has GPU0-GPU7"),
        (["-c", "2", "--in-use", "1", "--must-include", "1"], "not among the free ones: GPU1 (--must-include)", ""),
        (["-c", "1", "--must-include", "1,2"], "2 are required and 1 asked for (--must-include)", ""),
        (["-c", "0"], "-c takes 1 or more, not 0", ""),
        ([], "how many? -c is missing", "-c N, or --pod FILE"),
        (["-c", "2", "--available", "1", "--in-use", "2"], "--available and --in-use exclude one another", ""),
        (["-c", "2", "--available", "1,2", "--ordered", "1,3"], "--ordered must hold exactly the free ones", ""),
        (["-c", "2", "--plugin-version", "new"], "no version of the device plugin: 'new' (--plugin-version)", ""),
        (["-c", "2", "--plugin-config", "/none"], "no such file or directory (--plugin-config /", ""),
        (["-c", "2", "--fm-partitions", "/none"], "no such file or directory (--fm-partitions /", ""),
    ],
)  # fmt: skip
def test_bad_usage_is_one_line(
    arguments: list[str], what: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = text(capsys, "sample:hgx-h100", *arguments)
    assert (code, out) == (2, "")
    assert f"error: {what}" in err
    assert hint in err
    assert len(err.splitlines()) <= 2


def test_unknown_mechanisms_are_named_and_absent_ones_are_not_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["allocate", "device-plugn"]) == 2
    assert "did you mean gputopo allocate device-plugin?" in capsys.readouterr().err


def test_two_nodes_are_a_list(capsys: pytest.CaptureFixture[str]) -> None:
    made = document(capsys, "sample:hgx-h100", "sample:pcie-bridged", "--each", "-c", "2")
    assert (made["kind"], len(made["items"])) == ("AllocationList", 2)
