"""`export --to prometheus`: what a scrape gets, by Prometheus' own rules."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gputopo.cli import run
from gputopo.commands.export_listen import Collector, Readings, serve
from gputopo.documents.node import encode
from gputopo.errors import GputopoError
from gputopo.reports.node_metrics import MOST_DEVICES, MOST_LEVELS, metrics
from gputopo.reports.pod_metrics import metrics as pod_metrics
from gputopo.reports.pod_metrics import totals
from gputopo.reports.prometheus import Metric, Sample, exposition
from gputopo.topology.node import Gpu, Nic, NodeTopology, Pair
from tests.machines import MACHINES, Spelled
from tests.pods.test_verb import CSV, LSCPU, checkpoint, matrix
from tests.promlint import families, problems


def text_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(["export", "--to", "prometheus", *arguments]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def values(text: str) -> dict[str, dict[tuple[str, ...], float]]:
    """Metric → label values → value."""
    return {one.name: {tuple(v for _, v in pairs): value for pairs, value in one.series} for one in families(text)}


def test_a_pasted_matrix_says_what_it_knows_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    """Right values: samples/nvidia-smi-topo/hgx-h100/topo.txt as a person reads it; it has no width and no MIG."""
    found = values(text_of(capsys, "sample:hgx-h100", "--node-name", "a17"))
    assert found["gputopo_gpus"] == {("",): 8}
    assert found["gputopo_node_info"] == {("a17", "", "", ""): 1}
    assert found["gputopo_gpu_nvlinks_active"] == {(f"GPU{at}",): 18 for at in range(8)}
    assert found["gputopo_gpu_numa_node"] == {(f"GPU{at}",): at // 4 for at in range(8)}
    assert found["gputopo_pairs"] == {
        ("gpu-gpu", "NV18"): 28, ("gpu-nic", "PIX"): 8, ("gpu-nic", "NODE"): 32, ("gpu-nic", "SYS"): 40,
    }  # fmt: skip
    assert found["gputopo_findings"] == {("GT031", "info"): 1}
    assert not {"gputopo_gpu_pcie_width", "gputopo_gpu_mig_devices", "gputopo_gpu_memory_bytes"} & set(found)


def test_a_whole_machine_has_widths_rates_and_addresses(spelled: Spelled, capsys: pytest.CaptureFixture[str]) -> None:
    paths = spelled("hgx-h100")
    found = values(text_of(capsys, str(paths["sysfs-root"]), str(paths["nvml-recording"]), "--merge"))
    machine = MACHINES["hgx-h100"]
    assert {labels[1] for labels in found["gputopo_gpu_info"]} == {gpu.uuid for gpu in machine.gpus}
    assert set(found["gputopo_gpu_pcie_width"].values()) == set(found["gputopo_gpu_pcie_max_width"].values()) == {16}
    assert 400e9 / 8 in found["gputopo_nic_rate_bytes_per_second"].values()


@pytest.mark.parametrize("name", ["hgx-h100", "dgx1-v100", "dgx-a100"])
def test_every_name_passes_promtool_s_rules(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = text_of(capsys, f"sample:{name}")
    assert problems(text) == []
    assert families(text)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("gputopo_reads_total 1", "_total"), ("gputopo_wait_milliseconds 1", "base unit"),
        ("gputopo_gauge_x 1", "type"),
        ("gputopo_size_gb 1", "abbreviated"), ("gputopo_rate_bits 1", "base unit"), ("gputopo_gpus_count 1", "suffix"),
        ("gputopo_gpuCount 1", "camelCase"), ('gputopo_gpus{le="1"} 1', "reserved"), ("gputopo:gpus 1", "':'"),
        ('gputopo_gpus{gpuId="1"} 1', "camelCase"),
    ],
)  # fmt: skip
def test_the_checker_finds_what_promtool_finds(line: str, said: str) -> None:
    """Each a case of client_golang's promlint_test.go in our names."""
    name = line.split("{")[0].split(" ")[0]
    [problem] = problems(f"# HELP {name} x\n# TYPE {name} gauge\n{line}\n")
    assert said in problem


def test_prometheus_client_reads_what_we_write(capsys: pytest.CaptureFixture[str]) -> None:
    parser = pytest.importorskip("prometheus_client.parser", reason="gputopo[prometheus] is not installed")
    text = text_of(capsys, "sample:hgx-h100", "--node-name", 'a"\\b\nc')
    read = {family.name: family for family in parser.text_string_to_metric_families(text)}
    assert {name: len(family.samples) for name, family in read.items()} == {
        one.name: len(one.series) for one in families(text)
    }
    assert read["gputopo_node_info"].samples[0].labels["node"] == 'a"\\b\nc'
    assert all(family.type == "gauge" and family.documentation for family in read.values())


@pytest.fixture
def evidence(tmp_path: Path) -> Any:
    def written(held: dict[str, list[int]]) -> list[str]:
        files = {"checkpoint": checkpoint(held), "topo.txt": matrix(), "gpus.csv": CSV, "lscpu.txt": LSCPU}
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        return [str(tmp_path / name) for name in files]

    return written


def test_pods_are_numbers_without_names(evidence: Any, capsys: pytest.CaptureFixture[str]) -> None:
    text = text_of(capsys, "--pods", *evidence({"pod-a": [0, 2], "pod-b": [1]}))
    found = values(text)
    for name, value in (
        ("gpus_free", 1), ("containers_holding_gpus", 2), ("containers_cross_socket", 1), ("containers_cross_numa", 1),
        ("containers_better_free", 1), ("containers_undecided", 0), ("pods_known", 1),
    ):  # fmt: skip
        assert found[f"gputopo_{name}"] == {(): value}, name
    assert found["gputopo_pods_findings"][("GT402", "error")] == 1
    assert "pod-a" not in text
    assert problems(text) == []


def test_live_the_kubelet_below_the_root_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As in the DaemonSet, with --root=/host: no socket answers here, its checkpoint does; no GPU resolves the ids."""
    for folder in ("sys/devices/system/node/node0", "var/lib/kubelet/device-plugins"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "sys/devices/system/node/node0/cpulist").write_text("0-7\n")
    (tmp_path / "var/lib/kubelet/device-plugins/kubelet_internal_checkpoint").write_text(checkpoint({"a": [0, 2]}))
    found = values(text_of(capsys, "--pods", "--root", str(tmp_path)))
    assert found["gputopo_pods_known"] == {(): 1}
    assert found["gputopo_containers_holding_gpus"] == {(): 1}
    assert found["gputopo_containers_cross_numa"] == {(): 1}  # by the checkpoint's own NUMA nodes
    assert found["gputopo_containers_cross_socket"] == {(): 0}


def audit(pods: int, gpus: int) -> dict[str, Any]:
    """The document of a node with that many pods, of which each GPU is held by one."""
    containers = [
        {"namespace": "ml", "pod": f"job-{at}", "podUID": None, "container": "main", "crossPackage": at % 2 == 0,
         "crossNuma": True, "better": [], "gpus": [f"GPU{at}"] if at < gpus else [],
         "devices": [{"gpu": f"GPU{at}"}] if at < gpus else []}
        for at in range(pods)
    ]  # fmt: skip
    findings = [{"rule": "GT402", "severity": "error"} for _ in range(min(pods, gpus))]
    return {"node": "n", "free": [], "containers": containers, "findings": findings}


def series(made: Sequence[Metric]) -> int:
    return sum(len(one.samples) for one in made)


def test_a_thousand_pods_make_no_more_series_than_the_gpus_they_hold() -> None:
    assert series(totals(audit(1000, 8))) == series(totals(audit(8, 8))) == 7
    assert series(totals(audit(1000, 1000))) == 7
    assert series(pod_metrics([audit(1000, 8)])) == series(pod_metrics([audit(8, 8)])) == 4 * 8 + 2
    text = exposition([*totals(audit(1000, 1000)), *pod_metrics([audit(1000, 8)])])
    assert problems(text) == []


def test_a_text_that_says_anything_makes_a_bounded_number_of_series() -> None:
    gpus = tuple(Gpu(f"GPU{at}", name=f"model {at}" + "x" * 500 + "\ud800") for at in range(5000))
    pairs = tuple(Pair("GPU0", f"GPU{at}", f"NV{at}") for at in range(1, 5000))
    node = NodeTopology(gpus=gpus, nics=tuple(Nic(f"NIC{at}") for at in range(5000)), pairs=pairs)
    made = metrics(encode(node), "1.0", "abc")
    assert all(len(one.samples) <= MOST_DEVICES for one in made)
    by_name = {one.name: one.samples for one in made}
    assert len(by_name["gputopo_pairs"]) == MOST_LEVELS + 1
    assert sum(one.value for one in by_name["gputopo_pairs"]) == 4999
    assert [one.value for one in by_name["gputopo_devices_left_out"]] == [2 * (5000 - MOST_DEVICES)]
    text = exposition(made)
    assert problems(text) == []
    assert max(map(len, text.encode("utf-8").splitlines())) < 700


def test_a_node_without_gpus_counts_none() -> None:
    made = {one.name: one.samples for one in metrics(encode(NodeTopology()), "1.0")}
    assert made["gputopo_gpus"] == (Sample({"product": ""}, 0),)
    assert made["gputopo_node_shape_info"] == ()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--to", "nfd", "--listen", "127.0.0.1:1"], "--listen is for --to prometheus"),
        (["--to", "nfd", "--pods"], "--pods is for --to prometheus"),
        (["--to", "prometheus", "--interval", "5"], "--interval is for --listen, which is not given"),
        (["--to", "prometheus", "--listen", "127.0.0.1:1", "--interval", "0"], "--interval takes seconds between 1"),
        (["--to", "prometheus", "--listen", "localhost"], "--listen takes HOST:PORT, not 'localhost'"),
        (["--to", "prometheus", "--listen", "a:b:1"], "--listen takes HOST:PORT, not 'a:b:1'"),
        (["--to", "prometheus", "--listen", "127.0.0.1:1", "sample:hgx-h100"], "--listen serves the live node"),
        (["--to", "prometheus", "--as", "lscpu"], "--as is for sources"),
        (["--to", "nfd", "--merge"], "--merge is for sources"),
        (["--to", "prometheus", "--pods", "--merge", "sample:hgx-h100"], "--merge is for sources"),
        (["--to", "prometheus", "sample:hgx-h100", "sample:dgx1-v100"], "2 nodes in the sources: metrics are of one"),
    ],
)
def test_what_does_not_go_together_is_said(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["export", *arguments]) == 2
    assert capsys.readouterr().err.startswith(f"gputopo: error: {said}")


def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    """node_exporter reads every *.prom of its folder at any time."""
    file = tmp_path / "gputopo.prom"
    assert run(["export", "--to", "prometheus", "sample:hgx-h100", "--output-file", str(file)]) == 0
    assert problems(file.read_text()) == []
    assert [one.name for one in tmp_path.iterdir()] == ["gputopo.prom"]


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def free(value: float) -> tuple[Metric, ...]:
    return (Metric("gputopo_gpus", "GPUs by product.", (Sample({"product": ""}, value),)),)


def shown(readings: Readings, patience: float = 5.0) -> dict[str, float]:
    return {one.name.removeprefix("gputopo_"): one.samples[0].value for one in readings.now(patience)}


def test_the_node_is_read_again_only_after_the_interval() -> None:
    clock, reads = Clock(), iter(range(10))
    readings = Readings(lambda: free(next(reads)), 60, clock)
    clock.now = 59.9
    assert [shown(readings)["gpus"] for _ in range(3)] == [0, 0, 0]
    clock.now = 60
    assert [shown(readings)["gpus"] for _ in range(3)] == [1, 1, 1]


def test_a_node_that_cannot_be_read_any_more_keeps_its_metrics_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    answers: list[tuple[Metric, ...] | Exception] = [free(8), GputopoError("no", "here", "do that"), free(7)]

    def read() -> tuple[Metric, ...]:
        one = answers.pop(0)
        if isinstance(one, Exception):
            raise one
        return one

    readings = Readings(read, 60, clock)
    when = shown(readings)["last_read_timestamp_seconds"]
    clock.now = 60
    assert shown(readings) == {"gpus": 8, "read_success": 0, "last_read_timestamp_seconds": when}
    assert capsys.readouterr().err == "gputopo: the node cannot be read: no (here)\n"
    clock.now = 120
    assert shown(readings)["gpus"] == 7
    assert shown(readings)["read_success"] == 1


def test_a_scrape_does_not_wait_for_a_driver_that_hangs() -> None:
    clock, hung, reads = Clock(), threading.Event(), [0]

    def read() -> tuple[Metric, ...]:
        reads[0] += 1
        if reads[0] == 2:
            hung.wait(10)
        return free(reads[0])

    readings = Readings(read, 60, clock)
    clock.now = 60
    assert [shown(readings, 0.01)["gpus"] for _ in range(3)] == [1, 1, 1]
    assert reads == [2]  # one reader, however many ask
    hung.set()
    assert shown(readings)["gpus"] == 2


def test_without_prometheus_client_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(GputopoError) as caught:
        serve(lambda: free(1), "127.0.0.1:9836", 60, True)
    assert (caught.value.what, caught.value.exit_code) == ("--listen needs prometheus_client", 3)
    assert "textfile" in caught.value.hint


def test_the_collector_gives_prometheus_client_the_same_families() -> None:
    pytest.importorskip("prometheus_client", reason="gputopo[prometheus] is not installed")
    from prometheus_client import CollectorRegistry, generate_latest

    registry = CollectorRegistry()
    registry.register(Collector(Readings(lambda: free(8), 60)))
    text = generate_latest(registry).decode()
    assert 'gputopo_gpus{product=""} 8.0\n' in text
    assert [one.name for one in families(text)] == [
        "gputopo_gpus", "gputopo_read_success", "gputopo_last_read_timestamp_seconds"
    ]  # fmt: skip


def test_it_serves_until_it_is_ended(tmp_path: Path) -> None:
    pytest.importorskip("prometheus_client", reason="gputopo[prometheus] is not installed")
    cpus = tmp_path / "sys/devices/system/node/node0"
    cpus.mkdir(parents=True)
    (cpus / "cpulist").write_text("0-7\n")
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "gputopo", "export", "--to", "prometheus", "--root", str(tmp_path), "--pods",
         "--listen", f"127.0.0.1:{port}"],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stderr is not None
        assert process.stderr.readline() == (
            f"gputopo: serving http://127.0.0.1:{port}/metrics, read at most every 60 s\n"
        )
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        found = values(text)
        assert found["gputopo_gpus"] == {("",): 0}
        assert found["gputopo_pods_known"] == {(): 0}  # there is no kubelet below that root
        assert abs(found["gputopo_last_read_timestamp_seconds"][()] - time.time()) < 60
        assert problems(text) == []
        process.terminate()
        assert process.wait(10) == 0
    finally:
        process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def test_the_document_that_metrics_are_made_of_is_the_one_that_inspect_prints() -> None:
    """So that a field that is renamed there is missed here, not silently absent."""
    made = metrics(json.loads(json.dumps(encode(NodeTopology()))), "1.0")
    assert len(made) == 21
