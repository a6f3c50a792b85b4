"""A folder, an archive or a list of saved nodes: what is one node, what is many, what is lost alone."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from gputopo.evidence.fleet import Failed, Unit, Ways, of_kubelet, opened
from gputopo.evidence.fleet import units as units_of
from gputopo.evidence.fleet_plan import plan
from gputopo.parsers.recognise import why_unreadable

TOPO = "\tGPU0\tGPU1\nGPU0\t X \tPIX\nGPU1\tPIX\t X \n"


def units(*paths: Path | str) -> list[Unit | Failed]:
    ways = Ways(1.0, lambda message: None, why_unreadable)
    return [one for later in plan([str(path) for path in paths]) for one in units_of(later, ways)]


def names(*paths: Path | str) -> list[str]:
    """Each unit, below the first path, with the number of its files where there are several."""
    base = f"{paths[0]}/"
    found = []
    for one in units(*paths):
        mark = "!" if isinstance(one, Failed) else f" x{len(one.parts)}" if len(one.parts) > 1 else ""
        found.append(one.name.removeprefix(base).removeprefix(f"{paths[0]}: ") + mark)
    return found


def root(path: Path) -> Path:
    """A captured root with nothing in it but what says so."""
    (path / "sys" / "bus" / "pci" / "devices").mkdir(parents=True)
    return path


def bundle(path: Path, held: str = "") -> Path:
    root(path / "root")
    manifest = {"gputopo": "bundle", "version": 1, "evidence": ["root"], "live": {}}
    (path / "manifest.json").write_text(json.dumps(manifest))
    if held:
        (path / "kubelet").mkdir()
        (path / "kubelet" / "cpu_manager_state").write_text(held)
    return path


def packed(path: Path, **members: Path) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, member in members.items():
            tar.add(member, arcname=name)
    return path


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text(TOPO)
    for name in ("topo.txt", "lscpu.txt"):
        (tmp_path / "b").mkdir(exist_ok=True)
        (tmp_path / "b" / name).write_text(TOPO)
    root(tmp_path / "c")
    bundle(tmp_path / "d")
    (tmp_path / "rack" / "e").mkdir(parents=True)
    (tmp_path / "rack" / "e" / "topo.txt").write_text(TOPO)
    (tmp_path / "rack" / "f.txt").write_text(TOPO)
    (tmp_path / ".hidden").write_text(TOPO)
    return tmp_path


def test_files_captured_roots_bundles_and_folders_of_a_node(fleet: Path) -> None:
    assert names(fleet) == ["a.txt", "b x2", "c", "d", "rack/f.txt", "rack/e/topo.txt"]


def test_an_archive_of_them_says_the_same(fleet: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    out = packed(tmp_path_factory.mktemp("out") / "all.tar.gz", **{one.name: one for one in fleet.iterdir()})
    assert names(out) == ["a.txt", "b x2", "c", "d", "rack/f.txt", "rack/e/topo.txt"]


def test_an_archive_of_one_node_is_one(fleet: Path) -> None:
    for name in ("c", "d"):
        alone = packed(fleet / f"{name}.tar.gz", **{one.name: one for one in (fleet / name).iterdir()})
        assert names(alone) == [str(alone)]
        below = packed(fleet / f"{name}-below.tar.gz", **{name: fleet / name})
        assert names(below) == [name]


def test_archives_in_an_archive(fleet: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    out = tmp_path_factory.mktemp("out")
    inner = packed(out / "inner.tar.gz", d=fleet / "d", a=fleet / "a.txt")
    outer = packed(out / "outer.tar.gz", **{"x.tar.gz": inner, "y.txt": fleet / "a.txt"})
    found = units(outer)
    assert [one.name.removeprefix(f"{outer}: ") for one in found] == ["x.tar.gz: a", "x.tar.gz: d", "y.txt"]
    assert isinstance(found[1], Unit)
    pieces, failed = opened(found[1])
    assert [piece.where for piece in pieces[0]] == ["root"]
    assert failed == []


def test_a_list_names_paths_beside_it_or_from_here(fleet: Path) -> None:
    (fleet / "list").write_text("# ours\na.txt\n\nrack\n")
    assert names(fleet / "list") == [str(fleet / "a.txt"), str(fleet / "rack/f.txt"), str(fleet / "rack/e/topo.txt")]
    (fleet / "no-list").write_text("a.txt\nnot-there.txt\n")
    assert names(fleet / "no-list") == [str(fleet / "no-list")]


def test_lists_that_name_one_another_end(fleet: Path) -> None:
    (fleet / "one").write_text("other\n")
    (fleet / "other").write_text("one\n")
    [found] = units(fleet / "one")
    assert isinstance(found, Failed)
    assert "a list of lists, or of itself" in str(found.error)
    (fleet / "outer").write_text("inner\na.txt\n")
    (fleet / "inner").write_text("a.txt\n")
    assert names(fleet / "outer") == [str(fleet / "a.txt")] * 2


def test_several_paths_and_samples(fleet: Path) -> None:
    assert [one.name for one in units(fleet / "a.txt", "sample:dgx2", fleet / "d")] == [
        str(fleet / "a.txt"), "sample:dgx2", str(fleet / "d"),
    ]  # fmt: skip


def test_a_folder_that_links_to_itself_ends(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TOPO)
    (tmp_path / "loop").symlink_to(tmp_path)
    assert names(tmp_path) == ["a.txt"]


def test_what_cannot_be_opened_is_lost_alone(tmp_path: Path) -> None:
    (tmp_path / "zero").write_bytes(bytes(5000))
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    packed(tmp_path / "cut.tar.gz", **{"a.txt": Path(__file__)})
    (tmp_path / "cut.tar.gz").write_bytes((tmp_path / "cut.tar.gz").read_bytes()[:200])
    found = {one.name.rpartition("/")[2]: one for one in units(tmp_path)}
    lost = {name for name, one in found.items() if isinstance(one, Failed)}
    assert lost == {"zero", "gone", "cut.tar.gz"}
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "a.txt").write_text(TOPO)
    (tmp_path / "two" / "b.txt").write_text("")
    [unit] = [one for one in units(tmp_path) if one.name.endswith("two")]
    assert isinstance(unit, Unit)
    groups, failed = opened(unit)
    assert [[piece.name for piece in group] for group in groups] == [[str(tmp_path / "two" / "a.txt")]]
    assert [(one.name, one.error.what) for one in failed] == [(str(tmp_path / "two" / "b.txt"), "the file is empty")]


def test_a_damaged_line_of_records_costs_itself(tmp_path: Path) -> None:
    good = json.dumps({"gputopo": "bundle", "members": {
        "manifest.json": json.dumps({"gputopo": "bundle", "version": 1, "evidence": ["lscpu.txt"]}),
        "lscpu.txt": "Architecture: x86_64",
    }})  # fmt: skip
    (tmp_path / "all.ndjson").write_text(f"{good}\n{good[:60]}\n{good}\n")
    found = units(tmp_path / "all.ndjson")
    assert [one.name.rpartition(":")[2] for one in found] == ["1", "2", "3"]
    results = [opened(one) for one in found if isinstance(one, Unit)]
    assert [bool(failed) for _, failed in results] == [False, True, False]


def test_several_roots_of_one_unit_are_several_nodes(tmp_path: Path) -> None:
    """A folder of bundles in archives: each with what is its own, a text beside them apart."""
    for name in ("a", "b"):
        packed(tmp_path / f"{name}.tar.gz", **{one.name: one for one in bundle(tmp_path / name, "{}").iterdir()})
    for name in ("a", "b"):
        (tmp_path / "rack").mkdir(exist_ok=True)
        (tmp_path / f"{name}.tar.gz").rename(tmp_path / "rack" / f"{name}.tar.gz")
    (tmp_path / "rack" / "note.txt").write_text(TOPO)
    [unit] = [one for one in units(tmp_path) if one.name.endswith("rack")]
    assert isinstance(unit, Unit)
    groups, _ = opened(unit)
    assert [[piece.where for piece in group] for group in groups] == [["root"], ["root"], [""]]


def test_the_kubelet_s_files_of_bundles_and_roots(tmp_path: Path) -> None:
    state = '{"policyName":"static","defaultCpuSet":"0","entries":{},"checksum":1}'
    bundle(tmp_path / "a", state)
    root(tmp_path / "b")
    (tmp_path / "b" / "var" / "lib" / "kubelet").mkdir(parents=True)
    (tmp_path / "b" / "var" / "lib" / "kubelet" / "config.yaml").write_text("kind: KubeletConfiguration\n")
    found = {}
    for one in units(tmp_path):
        assert isinstance(one, Unit)
        [pieces], _ = opened(one)
        found[one.name.rpartition("/")[2]] = [piece.where for piece in of_kubelet(pieces)]
    assert found == {"a": ["kubelet/cpu_manager_state"], "b": ["var/lib/kubelet/config.yaml"]}
