"""A specification from one sample passes on its twin and fails on each mutant; `diff` names exactly the mutation."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from gputopo.checks.align import align
from gputopo.checks.differences import compare
from gputopo.checks.judge import Ask, judge
from gputopo.checks.spec import Spec, read
from gputopo.checks.write_spec import write_spec
from gputopo.evidence.open import open_sources
from gputopo.inspection import Inspection, inspect
from gputopo.parsers import node_spec
from gputopo.sample_files import sample_names
from gputopo.terms.path_level import PathLevel
from gputopo.topology.node import Gpu, Mig, NodeTopology, Pair
from tests.checks.cli import call
from tests.checks.evidence import H100, MUTANTS, twin, write
from tests.fleet.relabel import relabelled


def seen(paths: list[str]) -> Inspection:
    [found] = inspect(open_sources(paths))
    return found


def spec_of(good: Inspection) -> Spec:
    """As --spec reads what --write-spec wrote."""
    return read(node_spec.read(write_spec(good.node, good.findings, False)).object.body)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Inspection:
    return seen(write(H100, tmp_path_factory.mktemp("good")))


@pytest.fixture(scope="module")
def spec(good: Inspection) -> Spec:
    return spec_of(good)


Mutant = Callable[[str], Inspection]


@pytest.fixture(scope="module")
def mutant(tmp_path_factory: pytest.TempPathFactory) -> Mutant:
    """Each mutant, printed and read once."""
    folder = tmp_path_factory.mktemp("mutants")
    return cache(lambda name: seen(write(MUTANTS[name][0](H100), folder / name)))


def bare(field: str) -> str:
    return re.sub(r"\[[^\]]*\]", "[]", field)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_specification_passes_on_a_renumbered_twin_and_the_two_do_not_differ(
    good: Inspection, spec: Spec, tmp_path: Path, seed: int
) -> None:
    other = seen(write(twin(H100, seed), tmp_path))
    assert [gpu.pci for gpu in other.node.gpus] != [gpu.pci for gpu in good.node.gpus]
    assert judge(other.node, other.findings, None, Ask(spec)) == ((), ())
    found = compare(good.node, other.node, align(good.node, other.node, "shape"))
    assert found.differences == ()
    assert found.not_compared == {}
    assert found.fields > 100


@pytest.mark.parametrize("name", MUTANTS)
def test_check_names_the_field_of_a_mutant(spec: Spec, mutant: Mutant, name: str) -> None:
    _, fields, _ = MUTANTS[name]
    bad = mutant(name)
    mismatches, _ = judge(bad.node, bad.findings, None, Ask(spec))
    assert {one.field for one in mismatches} == fields


@pytest.mark.parametrize("name", MUTANTS)
def test_check_names_it_too_where_the_mutant_is_renumbered(spec: Spec, tmp_path: Path, name: str) -> None:
    """Which number the device has there is another one; the kind of field and how many are the same."""
    change, fields, _ = MUTANTS[name]
    bad = seen(write(twin(change(H100)), tmp_path / "bad"))
    mismatches, _ = judge(bad.node, bad.findings, None, Ask(spec))
    assert sorted(bare(one.field) for one in mismatches) == sorted(map(bare, fields))


@pytest.mark.parametrize("by", ["", "shape"])
@pytest.mark.parametrize("name", MUTANTS)
def test_diff_of_a_mutant_is_exactly_the_mutation(good: Inspection, mutant: Mutant, name: str, by: str) -> None:
    _, _, devices = MUTANTS[name]
    bad = mutant(name)
    alignment = align(good.node, bad.node, by)
    found = compare(good.node, bad.node, alignment).differences
    assert found
    wanted = {"old driver": {"system.driver"}, "x8 slot": {"gpus[].pcie.width"}, "other model": {"gpus[].name"},
              "one link less": {"gpus[].nvlinks.active", "gpus[].nvlinks.total"}, "one GPU missing": {"gpus[]"},
              "one NIC missing": {"nics[]"}, "swapped sockets": {"gpus[].numaNodes"},
              "NUMA layout": {"numaNodes[].cpus", "numaNodes[]"}}.get(name, {"pairs[].pcie"})  # fmt: skip
    assert {bare(one.field) for one in found} == wanted
    subjects = {id for one in found for id in one.subjects}
    if not by:
        assert alignment.by == "uuid"
        assert subjects <= devices
    else:
        assert len(subjects) <= max(1, len(devices))


@pytest.mark.parametrize("name", sample_names())
def test_every_sample_passes_its_own_specification_and_so_does_its_shuffled_self(name: str) -> None:
    found = seen([f"sample:{name}"])
    spec = spec_of(found)
    other = relabelled(found.node, 5)[0]
    assert judge(found.node, (), None, Ask(spec)) == ((), ())
    # Made by hand, so without what follows from levels; its wiring has them.
    expects = {key: value for key, value in spec.expects.items() if key != "gpus.nearestNics"}
    assert judge(other, (), None, Ask(spec._replace(expects=expects))) == ((), ())
    assert compare(found.node, other, align(found.node, other)).differences == ()


SHARED = Path(os.environ.get("GPUTOPO_SHARED", Path(__file__).resolve().parents[2].parent / "shared"))
DUMPS = sorted((SHARED / "data" / "topo-dumps").glob("*.txt"))


@pytest.mark.skipif(not DUMPS, reason="the recorded dumps (../shared/data/topo-dumps) are not here")
def test_recorded_dumps_pass_their_own_specification_and_do_not_differ_from_themselves() -> None:
    """Of every third one; damaged, cut and redacted texts are among them."""
    for path in DUMPS[::3]:
        for found in inspect(open_sources([str(path)])):
            node = found.node
            assert judge(node, found.findings, None, Ask(spec_of(found))) == ((), ()), path.name
            assert compare(node, node, align(node, node)).differences == (), path.name
            assert compare(node, node, align(node, node, "shape")).differences == (), path.name


def test_a_topo_m_that_cannot_tell_is_undecided(
    capsys: pytest.CaptureFixture[str], good: Inspection, tmp_path: Path
) -> None:
    """Levels, links and NUMA nodes are in it and right; models, widths, driver and sockets are not in it."""
    spec = tmp_path / "spec.yaml"
    spec.write_text(write_spec(good.node, good.findings, False))
    topo = write(H100, tmp_path / "node")[0]
    said = call(capsys, "check", "--spec", str(spec), topo, "-o", "json")
    assert said.code == 3
    [node] = said.json["nodes"]
    assert (node["status"], node["mismatches"]) == ("undecided", [])
    fields = {one["field"]: one["settledBy"] for one in node["undecided"]}
    assert fields["gpus[].pcie.width"] == "nvidia-smi -q -x"
    assert fields["packages.count"] == "lscpu"
    assert not {"gpus[].nvlinks.active", "gpus[].nearestNics", "pairs[].pcie"} & set(fields)


def test_what_a_topo_m_does_tell_fails_with_its_line(
    capsys: pytest.CaptureFixture[str], good: Inspection, tmp_path: Path
) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text(write_spec(good.node, good.findings, False))
    change, _, _ = MUTANTS["one link less"]
    topo = write(change(H100), tmp_path / "node")[0]
    said = call(capsys, "check", "--spec", str(spec), topo, "-o", "json")
    assert said.code == 1
    [one] = said.json["nodes"][0]["mismatches"]
    line = next(at for at, text in enumerate(Path(topo).read_text().splitlines(), 1) if text.startswith("GPU5"))
    assert one == {
        "field": "gpus[5].nvlinks.active", "subjects": ["GPU5"], "want": "18", "found": "17", "code": "GT111",
        "message": "", "source": topo, "line": line, "known": False,
    }  # fmt: skip


def test_a_bond_a_virtual_function_and_mig_are_no_wiring(good: Inspection) -> None:
    """A specification says nothing of them, so a node that has them passes on its own."""
    nics = good.node.nics or ()
    nics = (nics[0]._replace(members=("0000:01:00.0", "0000:01:00.1")), nics[1]._replace(virtual_function_of="NIC0"),
            *nics[2:])  # fmt: skip
    gpus = (good.node.gpus[0]._replace(mig=(Mig("MIG-1", "1g.10gb", 1, 0, 0),)), *good.node.gpus[1:])
    other = good._replace(node=good.node._replace(nics=nics, gpus=gpus))
    assert judge(other.node, other.findings, None, Ask(spec_of(other))) == ((), ())


CUT = """\
\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity
GPU0\t X \tNV4\tSYS\tSYS\t0-15\t0
GPU1\tNV4\t X \tSYS\tSYS\t16-31\t1
"""
UNEVEN = """\
\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity
GPU0\t X \tNV18\tNV18\tNV18\t0-71\t0
GPU1\tNV18\tX\tNV18 NV18
"""


@pytest.mark.parametrize("text", [CUT, UNEVEN])
def test_a_specification_passes_on_the_matrix_that_it_was_written_from_also_where_that_is_cut(
    text: str, tmp_path: Path
) -> None:
    """What is not known of NVLinks is `?/SYS`, not none."""
    (tmp_path / "topo.txt").write_text(text)
    found = seen([str(tmp_path / "topo.txt")])
    assert judge(found.node, (), None, Ask(spec_of(found))) == ((), ())


NO_LEGEND = """\
$ nvidia-smi topo -m
\tGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity
GPU0\t X \tPIX\tPIX\tSYS\t0-31\t0
GPU1\tPIX\t X \tPIX\tSYS\t0-31\t0
NIC0\tPIX\tPIX\t X \tSYS
NIC1\tSYS\tSYS\tSYS\t X

$ nvidia-smi -L
GPU 0: Tesla T4 (UUID: GPU-6bfbd7c6-1b6c-9c5f-2b3c-0000000000a1)
GPU 1: Tesla T4 (UUID: GPU-6bfbd7c6-1b6c-9c5f-2b3c-0000000000a2)
"""


def test_nics_of_a_matrix_without_its_legend_are_those_of_the_same_number(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(NO_LEGEND)
    (tmp_path / "b").write_text(NO_LEGEND.replace("NIC0\tPIX\tPIX", "NIC0\tPIX\tPHB").replace(
        "GPU1\tPIX\t X \tPIX", "GPU1\tPIX\t X \tPHB"))  # fmt: skip
    one, other = seen([str(tmp_path / "a")]).node, seen([str(tmp_path / "b")]).node
    assert compare(one, one, align(one, one)).differences == ()
    assert {bare(each.field) for each in compare(one, other, align(one, other)).differences} == {"pairs[].pcie"}


def test_a_gpu_without_a_number_is_no_nic_of_the_specification() -> None:
    """It is called by its PCI address, as a NIC without a name is."""
    pairs = (Pair("GPU0", "0000:35:00.0", "PIX", PathLevel.PIX, (PathLevel.PIX,)),)
    node = NodeTopology(gpus=(Gpu("GPU0"), Gpu("0000:35:00.0", pci="0000:35:00.0")), pairs=pairs)
    assert judge(node, (), None, Ask(spec_of(Inspection(node, (), ())))) == ((), ())
