"""`gputopo pods` as a user calls it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gputopo.cli import run
from gputopo.documents.schema import schemas
from tests.pods.machines import uuid

SHARED = Path(os.environ.get("GPUTOPO_SHARED", Path(__file__).resolve().parents[2].parent / "shared"))
SETS = SHARED / "data" / "kubelet" / "samples"
CSV = "index, uuid, pci.bus_id\n" + "".join(f"{at}, {uuid(at)}, 00000000:{at + 1:02x}:00.0\n" for at in range(4))
LSCPU = """Architecture: x86_64
CPU(s): 16
On-line CPU(s) list: 0-15
Thread(s) per core: 1
Core(s) per socket: 8
Socket(s): 2
NUMA node(s): 2
NUMA node0 CPU(s): 0-7
NUMA node1 CPU(s): 8-15
"""


def matrix() -> str:
    lines = ["\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity"]
    for a in range(4):
        cells = ["X" if a == b else "PIX" if a // 2 == b // 2 else "SYS" for b in range(4)]
        lines.append(f"GPU{a}\t" + "\t".join(cells) + f"\t{'0-7' if a < 2 else '8-15'}\t{a // 2}")
    return "\n".join(lines) + "\n"


def checkpoint(held: dict[str, list[int]]) -> str:
    """Of pods with one container `c`, each GPU on the NUMA node of its socket."""
    entries: list[dict[str, Any]] = [
        {"PodUID": pod, "ContainerName": "c", "ResourceName": "nvidia.com/gpu",
         "DeviceIDs": {str(numa): [uuid(one) for one in gpus if one // 2 == numa] for numa in {g // 2 for g in gpus}},
         "AllocResp": ""}
        for pod, gpus in held.items()
    ]  # fmt: skip
    healthy = {"nvidia.com/gpu": [uuid(at) for at in range(4)]}
    return json.dumps({"Data": {"PodDeviceEntries": entries, "RegisteredDevices": healthy}, "Checksum": 1})


@pytest.fixture
def ask(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("COLUMNS", "100")

    def asked(held: dict[str, list[int]], *options: str, node: bool = True) -> tuple[int, str, str]:
        files = {"checkpoint": checkpoint(held)}
        if node:
            files |= {"topo.txt": matrix(), "gpus.csv": CSV, "lscpu.txt": LSCPU}
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        code = run(["pods", *(str(tmp_path / name) for name in files), *options])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return asked


def test_a_crossing_pod_is_an_error_with_evidence_and_a_better_set(ask: Any) -> None:
    code, out, _ = ask({"pod-a": [0, 2]})
    assert code == 1
    assert "error GT402  pod pod-a crosses sockets over PCIe: GPU0 | GPU2" in out
    assert "{GPU0 GPU1} or {GPU2 GPU3} are free and better" in " ".join(out.split())
    assert "NUMA 0 holds 1 id, NUMA 1 holds 1 id" in out


def test_the_document_follows_its_schema_and_says_the_same(ask: Any) -> None:
    code, out, _ = ask({"pod-a": [0, 2], "pod-b": [1]}, "-o", "json")
    document = json.loads(out)
    jsonschema.validate(document, schemas()["PodAudit"])
    assert (code, document["free"]) == (1, ["GPU3"])
    first = document["containers"][0]
    assert (first["gpus"], first["crossPackage"], first["weakest"]["level"]) == (["GPU0", "GPU2"], True, "SYS")
    assert first["better"] == [["GPU2", "GPU3"]]


def test_without_a_topology_it_is_undecided_and_no_error(ask: Any) -> None:
    code, out, _ = ask({"pod-a": [0, 2]}, "-o", "json", node=False)
    document = json.loads(out)
    assert code == 0
    assert [one["severity"] for one in document["findings"]] == ["warning"]
    first = document["containers"][0]
    assert (first["gpus"], first["crossNuma"], first["crossPackage"], first["better"]) == (None, True, None, None)


def test_metrics_and_sarif_hold_what_the_document_holds(ask: Any) -> None:
    _, out, _ = ask({"pod-a": [0, 2]}, "-o", "prometheus")
    assert 'gputopo_container_cross_socket{node="",namespace="",pod="pod-a",container="c"} 1' in out
    _, out, _ = ask({"pod-a": [0, 2]}, "-o", "sarif")
    assert json.loads(out)["runs"][0]["results"][0]["ruleId"] == "GT402"


def test_a_file_that_says_nothing_of_pods_is_one_line_and_exit_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "topo.txt"
    file.write_text(matrix())
    assert run(["pods", str(file)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("gputopo: error: nothing in it says who holds what")


def test_no_kubelet_is_one_line_and_exit_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["pods", "--kubelet-root", str(tmp_path)]) == 3
    assert "there is no such socket" in capsys.readouterr().err


@pytest.mark.skipif(not SETS.is_dir(), reason="no recorded kubelet files beside the project")
@pytest.mark.parametrize("name", ["node-set-a", "node-set-none"])
@pytest.mark.parametrize("topology", [True, False])
def test_recorded_node_sets_are_audited_as_their_readme_says(
    name: str, topology: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = SETS / name
    expected = json.loads((folder / "expected.json").read_text())
    files = ["kubelet_internal_checkpoint", "cpu_manager_state", "memory_manager_state"]
    files += ["node/topo.txt", "node/list.txt", "node/lscpu.txt"] if topology else []
    run(["pods", *(str(folder / file) for file in files), "-o", "json"])
    got = json.loads(capsys.readouterr().out)
    assert got["free"] == (expected["free"] if topology else expected["freeWithoutTopology"]["ids"])
    found = {(one["podUID"], one["container"]): one for one in got["containers"]}
    assert len(found) == len(expected["containers"])
    for one in expected["containers"]:
        own, view = found[one["podUID"], one["container"]], one["withTopology" if topology else "withoutTopology"]
        assert (own["kind"], own["numaNodes"], own["cpus"]) == (one["kind"], one["numaNodes"], one["exclusiveCpus"])
        assert own["gpus"] == (one["gpus"] if topology else None)
        assert own["packages"] == (one["packages"] if topology else None)
        assert (own["crossNuma"], own["crossPackage"]) == (view["crossNuma"], view["crossPackage"])
        assert (own["weakest"] or {}).get("level") == view["weakest"]
        assert own["better"] == view["better"]
        assert own["cpuPool"] == one["cpuPool"]
    worst = expected["worstSeverity"]["withTopology" if topology else "withoutTopology"]
    severities = {one["severity"] for one in got["findings"]} - {"info"}
    if worst == "not error":
        assert "error" not in severities
    else:
        assert severities == ({worst} if worst else set())
    assert got["conflicts"] == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("-w",), "-w is for what changes"),
        (("-w", "--interval", "0"), "--interval takes seconds"),
    ],
)
def test_what_cannot_be_watched_is_one_line(ask: Any, options: tuple[str, ...], said: str) -> None:
    code, out, err = ask({"pod-a": [0]}, *options)
    assert (code, out) == (2, "")
    assert said in err


def test_watching_a_live_node_prints_a_report_then_changes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from gputopo.commands import pods_watch

    state = tmp_path / "device-plugins"
    state.mkdir()
    (state / "kubelet_internal_checkpoint").write_text(checkpoint({"pod-a": [0]}))
    watched = pods_watch.watch

    def until_the_second_pod(*given: Any, **named: Any) -> None:
        def sleep(seconds: float) -> None:
            if (state / "seen").exists():
                raise KeyboardInterrupt
            (state / "seen").touch()
            (state / "kubelet_internal_checkpoint").write_text(checkpoint({"pod-a": [0], "pod-b": [1]}))

        watched(*given, **named, sleep=sleep)

    monkeypatch.setattr(pods_watch, "watch", until_the_second_pod)
    code = run(["pods", "--kubelet-root", str(tmp_path), "-w", "-o", "json", "-q"])
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert code == 130
    assert [(one["type"], one["object"]["podUID"]) for one in events] == [("ADDED", "pod-a"), ("ADDED", "pod-b")]
