"""`gputopo fleet PATH...` from saved nodes to the document, the table, the exit code."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import shutil
import sys
from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gputopo.cli import run
from gputopo.commands import fleet_map
from gputopo.commands.allocate_fleet_reading import How
from gputopo.commands.fleet_map import Asked, Task, map_tasks
from gputopo.documents.schema import schemas
from gputopo.evidence.fleet_plan import plan
from gputopo.fleet.part import EMPTY, Part, Sum, merge
from gputopo.sample_files import sample_paths
from tests.fleet.planted import FIELDS, bundle, write
from tests.fleet.test_command import checkpoint, uuid
from tests.machines import MACHINES

NODES = 32  # five of each model; the faults are in the second half


class Fleet:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "fleet"
        self.planted = write(self.path, NODES)
        self.state = folder / "state"
        self.json = folder / "one.json"
        out = ("-o", "json", "--output-file", str(self.json))
        self.code = run(["fleet", str(self.path), "--workers", "1", "--state", str(self.state), *out])

    @property
    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.json.read_text())
        return found


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    return Fleet(tmp_path_factory.mktemp("planted"))


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("COLUMNS", "100")

    def ask(*arguments: str | Path) -> tuple[int, str, str]:
        code = run(["fleet", *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return ask


def test_the_seven_planted_faults_are_named_with_the_field_and_nothing_else(fleet: Fleet) -> None:
    document = fleet.document
    jsonschema.validate(document, schemas()["FleetReport"])
    found = {(node["source"], odd["field"]) for odd in document["odd"] for node in odd["nodes"]}
    found |= {(one["source"], "unreadable") for one in document["unreadable"]}
    found |= {(node["source"], "duplicate") for one in document["duplicates"] for node in one["nodes"][1:]}
    assert found == {(path, field) for fault, path in fleet.planted.items() for field in FIELDS[fault]}
    assert document["split"] == []
    assert document["summary"] == {"nodes": 30, "groups": 6, "shapes": 7, "odd": 5, "twice": 1, "unreadable": 1}
    by_field = {odd["field"]: odd for odd in document["odd"]}
    assert (by_field["gpus[3].nvlinks.active"]["found"], by_field["gpus[3].nvlinks.active"]["expected"]) == (
        ["17"], ["18"],
    )  # fmt: skip
    assert by_field["system.driver"]["found"] == ["525.60.13"]
    assert by_field["gpus[0-1].nearestNics"]["found"] == ["mlx5_1 PIX", "mlx5_0 PIX"]
    assert fleet.code == 1  # the x8 slot and the GPU with 17 links are errors of their nodes


def test_the_findings_of_all_nodes_are_counted(fleet: Fleet) -> None:
    counts = {one["rule"]: (one["severity"], one["nodes"]) for one in fleet.document["distribution"]}
    assert counts["GT111"] == ("error", 1)
    assert counts["GT112"] == ("error", 1)
    assert counts["GT031"][1] == 15  # the machines with NVSwitches: three of the six models, five nodes each
    assert [one["rule"] for one in fleet.document["findings"]] == ["GT602"] + ["GT605"] * 6 + ["GT603"]


def test_a_pool_of_two_gives_the_same_bytes(fleet: Fleet, told: Any) -> None:
    _, out, err = told(fleet.path, "-o", "json", "--workers", "2")
    assert (out, err) == (fleet.json.read_text(), "")


def test_a_run_that_was_ended_goes_on(
    fleet: Fleet, told: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = fleet.state.read_text().splitlines(keepends=True)
    tasks = [at for at, line in enumerate(lines) if line.startswith('{"task"')]
    half = tmp_path / "half"
    half.write_text("".join(lines[: tasks[20]]) + lines[tasks[20]][:40])  # the last line is cut
    read: list[Task] = []

    def counted(asked: Asked, chunk: list[Task]) -> Part:
        read.extend(chunk)
        return map_tasks(asked, chunk)

    monkeypatch.setattr(fleet_map, "map_tasks", counted)
    for again in (12, 0):  # the second time there is nothing left to read
        read.clear()
        _, out, _ = told(fleet.path, "-o", "json", "--workers", "1", "--state", half)
        assert out == fleet.json.read_text()
        assert len(read) == again
    code, _, err = told(fleet.path, "--state", half, "--select", "GT112")
    assert code == 2
    assert err.startswith("gputopo: error: this state is of other options or another version")
    (tmp_path / "other").write_text("my notes\n")
    code, _, err = told(fleet.path, "--state", tmp_path / "other")
    assert (code, err.splitlines()[0].startswith("gputopo: error: this is no state of gputopo fleet")) == (2, True)
    assert (tmp_path / "other").read_text() == "my notes\n"


def test_merge_does_not_care_for_order_or_grouping(fleet: Fleet) -> None:
    asked = Asked(How(10.0))
    tasks = [Task(at, later) for at, later in enumerate(plan([str(fleet.path)]))][-9:]
    parts = [map_tasks(asked, [task]) for task in tasks]
    whole = map_tasks(asked, tasks)
    assert whole.size == 9
    draw = random.Random(7)
    for _ in range(20):
        order = draw.sample(parts, len(parts))
        cut = draw.randrange(len(order))
        grouped = merge(reduce(merge, order[:cut], EMPTY), reduce(merge, order[cut:], EMPTY))
        summed = Sum()
        for part in order:
            summed.add(part)
        for found in (grouped, summed.total):
            assert found == whole
            assert list(found.nodes) == list(whole.nodes)


def test_text_names_who_and_what(fleet: Fleet, told: Any) -> None:
    _, out, err = told(fleet.path, "--workers", "1", "--state", fleet.state)
    assert err == ""
    assert out.startswith("30 nodes of 6 products in 7 shapes: 5 odd nodes, 1 read twice, 1 source not read\n")
    assert "gpus[3].nvlinks.active: 17, usual 18" in out
    assert "system.driver: 525.60.13, usual 550.163.01" in out
    assert "n000030.tar.gz: empty or damaged gzip file" in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 100


def test_csv_has_a_row_for_everything_that_was_read(fleet: Fleet, told: Any) -> None:
    _, out, _ = told(fleet.path, "--workers", "1", "--state", fleet.state, "-o", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert len(rows) == NODES
    by_path = {row["source"]: row for row in rows}
    assert {fault: by_path[path]["status"] for fault, path in fleet.planted.items()} == {
        "nic-order": "odd", "links-17": "odd", "sockets": "odd", "x8": "odd", "driver": "odd",
        "unreadable": "unreadable", "duplicate": "twice",
    }  # fmt: skip
    assert by_path[fleet.planted["x8"]]["odd"] == "gpus[2].pcie.width: 8, usual 16"
    assert by_path[fleet.planted["x8"]]["errors"] == "GT112"


def test_a_cell_is_no_formula() -> None:
    from gputopo.reports.fleet_table import _cell

    assert (_cell("=HYPERLINK(1)"), _cell("a=b"), _cell("\x1b[2J"), _cell(None)) == (
        "'=HYPERLINK(1)", "a=b", "\\x1b[2J", "",
    )  # fmt: skip


def test_parquet_needs_pyarrow_and_says_so(told: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    code, out, err = told("sample:dgx2", "-o", "parquet", "--output-file", tmp_path / "t.parquet")
    assert (code, out) == (2, "")
    assert err.splitlines()[0] == "gputopo: error: -o parquet needs pyarrow, which is not installed"


def test_parquet_has_the_rows_of_the_csv(fleet: Fleet, told: Any, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra [parquet]")
    kept = ("--workers", "1", "--state", fleet.state)
    told(fleet.path, *kept, "-o", "parquet", "--output-file", tmp_path / "t.parquet")
    rows = parquet.read_table(tmp_path / "t.parquet").to_pylist()
    assert [row["status"] for row in rows].count("odd") == 5
    assert (len(rows), rows[0]["gpus"]) == (NODES, 8)


def test_bad_files_are_listed_and_stop_nothing(told: Any, tmp_path: Path) -> None:
    base = tmp_path / "f"
    base.mkdir()
    (base / "a.tar.gz").write_bytes(bundle(MACHINES["single-gpu"], 1))
    (base / "empty.txt").write_text("")
    (base / "junk.bin").write_bytes(bytes(range(256)) * 40)
    (base / "cut.tar.gz").write_bytes(bundle(MACHINES["single-gpu"], 2)[:2000])
    (base / "newer.ndjson").write_text('{"gputopo": "bundle", "version": 9, "members": {}}\n')
    (base / "notes.txt").write_text("GPU0 GPU1 went away")
    os.mkfifo(base / "pipe")
    code, out, err = told(base, "-o", "json", "--workers", "1", "--timeout", "0.3", "--fail-on", "warning")
    assert (code, err) == (1, "")
    document = json.loads(out)
    assert document["shapes"][0]["members"][0]["source"].endswith("a.tar.gz")
    reasons = {Path(one["source"]).name: one["reason"] for one in document["unreadable"]}
    assert set(reasons) >= {"empty.txt", "junk.bin", "newer.ndjson", "notes.txt", "pipe"}
    assert reasons["empty.txt"] == "the file is empty"
    assert reasons["notes.txt"] == "of no known format"
    assert any("cut.tar.gz" in source for source in reasons)
    code, out, _ = told(base / "notes.txt", "--fail-on", "never")
    assert (code, out.splitlines()[0]) == (2, "no node was read: 1 source not read")


def test_a_file_that_ends_every_process_that_reads_it_costs_itself() -> None:
    from gputopo.fleet.here import chunked, in_pool

    found = [answer for _, answers in in_pool(deadly, chunked(range(12), 4), 2, given_up) for answer in answers]
    assert sorted(found) == [(at, "given up" if at == 7 else "read") for at in range(12)]


def deadly(chunk: Sequence[int]) -> list[tuple[int, str]]:
    if 7 in chunk:
        os._exit(9)
    return [(at, "read") for at in chunk]


def given_up(at: int) -> list[tuple[int, str]]:
    return [(at, "given up")]


def records(*numbers: int) -> str:
    from gputopo.evidence.bundle_write import record
    from tests.fleet.planted import members

    return "".join(record(members(MACHINES["single-gpu"], number)) for number in numbers)


class Stdin:
    def __init__(self, text: str) -> None:
        self.buffer = io.BytesIO(text.encode())


def test_lines_on_standard_input(told: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Records of `collect --stdout`, a document a line, a damaged line; and one that was there before."""
    assert run(["inspect", "sample:dgx2", "-o", "json", "--output-file", str(tmp_path / "d.json")]) == 0
    document = json.dumps(json.loads((tmp_path / "d.json").read_text()))
    text = records(1, 2) + document + "\n\n" + records(3)[:900] + "\n" + records(1)
    monkeypatch.setattr(sys, "stdin", Stdin(text))
    code, out, err = told("-", "-o", "json")
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert [(one["nodes"], one["what"]["gpus"]) for one in found["shapes"]] == [(2, 1), (1, 16)]
    assert [one["source"] for one in found["unreadable"]] == ["-:5"]
    assert [[node["source"] for node in one["nodes"]] for one in found["duplicates"]] == [["-:1", "-:6"]]
    (tmp_path / "many.ndjson").write_text(text)
    _, out, _ = told(tmp_path / "many.ndjson", "-o", "json")
    assert json.loads(out)["summary"] == found["summary"]
    monkeypatch.setattr(sys, "stdin", Stdin(Path(sample_paths("dgx2")[0]).read_text()))
    assert told("-")[1].startswith("1 node of 1 product in 1 shape: none is odd\n")


def test_pods_that_cross_sockets_and_gpus_that_lie_apart(told: Any, tmp_path: Path) -> None:
    """Two sockets of four. GPUs 1 and 6 in one container of two nodes: across the sockets."""
    for name, held in (("a", ((1, 6),)), ("b", ((1, 6), (0,), (2,), (4,))), ("c", ((0, 1),))):
        folder = tmp_path / "fleet" / name
        folder.mkdir(parents=True)
        for file in sample_paths("pcie-2s-8gpu"):
            shutil.copy(file, folder)
        rows = "".join(f"GPU {at}: NVIDIA A30 (UUID: {uuid(at)})\n" for at in range(8))
        (folder / "list.txt").write_text(rows.replace("-4000-", f"-4{name * 3}-"))
        entries = []
        for at, gpus in enumerate(held):
            one = json.loads(checkpoint(gpus))["Data"]["PodDeviceEntries"][0]
            entries.append({**one, "PodUID": f"u{at}"})
        registered = {"nvidia.com/gpu": [uuid(at) for at in range(8)]}
        state = json.dumps({"Data": {"PodDeviceEntries": entries, "RegisteredDevices": registered}, "Checksum": 1})
        (folder / "kubelet_internal_checkpoint").write_text(state.replace("-4000-", f"-4{name * 3}-"))
    code, out, err = told(tmp_path / "fleet", "-o", "json", "--fail-on", "never")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["unreadable"] == []
    [crossing] = found["crossing"]
    assert (crossing["owner"], crossing["pods"], crossing["nodes"], crossing["avoidable"]) == ("not said", 2, 2, 2)
    # a: 0 2 3 | 4 5 7 are free, and no four in one socket; b: 3 | 5 7, and no three; c: 2 3 | 4 5 6 7, a whole socket
    assert found["fragmentation"] == {
        "nodes": 3, "free": 6 + 3 + 6, "lost": 1 + 1 + 0,
        "where": [{"source": str(tmp_path / "fleet" / name), "node": None} for name in "ab"],
    }  # fmt: skip
    assert {one["rule"] for one in found["distribution"]} >= {"GT402"}
    out = told(tmp_path / "fleet", "--fail-on", "never")[1]
    assert "CROSS SOCKETS" in out
    assert "15 GPUs on 3 nodes, 2 of them lost to fragmentation" in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nowhere",), "no such file or folder (nowhere)"),
        (("sample:dgx2", "--workers", "0"), "--workers takes a number from 1 to 256, not 0"),
        (("sample:dgx2", "--workers", "2", "--scheduler", "tcp://x:1"), "--workers and --scheduler exclude one"),
        (("-", "-"), "standard input can be read once (-)"),
        (("sample:dgx2", "--select", "GT9"), "no rule GT9"),
        ((), "missing argument"),
    ],
)
def test_bad_usage_is_one_line(arguments: tuple[str, ...], says: str, told: Any) -> None:
    code, out, err = told(*arguments)
    assert (code, out) == (2, "")
    assert err.splitlines()[0].startswith(f"gputopo: error: {says}")


@pytest.mark.parametrize(
    ("module", "arguments", "says"),
    [
        ("fsspec", ("s3://bucket/nodes",), "s3:// needs fsspec, which is not installed (s3://bucket/nodes)"),
        ("distributed", ("sample:dgx2", "--scheduler", "tcp://h:1"), "--scheduler needs Dask, which is not installed"),
    ],
)
def test_what_is_not_installed_is_one_line(
    module: str, arguments: tuple[str, ...], says: str, told: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    code, out, err = told(*arguments)
    assert (code, out) == (2, "")
    assert err.splitlines()[0].startswith(f"gputopo: error: {says}")
    assert "pip install 'gputopo[dask]'" in err


def test_the_commands_of_the_guide_are_ones() -> None:
    """Each command line of docs/fleet.md that calls gputopo fleet has options that it knows."""
    from gputopo.cli import load

    text = (Path(__file__).parents[2] / "docs" / "fleet.md").read_text()
    lines = [line.rpartition("gputopo fleet ")[2] for line in text.splitlines() if line.startswith("    ")
             and "gputopo fleet " in line]  # fmt: skip
    assert len(lines) >= 8
    for line in lines:
        words = line.split("   ")[0].split()
        assert load("fleet").make_context("fleet", words).params["paths"]


def test_an_object_store(told: Any) -> None:
    fsspec = pytest.importorskip("fsspec", reason="needs the extra [dask]")
    store = fsspec.filesystem("memory")
    for number in range(3):
        store.pipe(f"/nodes/rack/n{number}.tar.gz", bundle(MACHINES["single-gpu"], number))
    store.pipe("/nodes/bad.txt", b"GPU0 GPU1 went away")
    _, out, err = told("memory://nodes", "-o", "json", "--workers", "1")
    assert err == ""
    found = json.loads(out)
    assert found["summary"]["nodes"] == 3
    assert [one["source"] for one in found["unreadable"]] == ["memory:///nodes/bad.txt"]
    code, _, err = told("memory://nothing")
    assert (code, err.splitlines()[0]) == (2, "gputopo: error: nothing is there (memory://nothing)")
