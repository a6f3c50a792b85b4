"""`gputopo check` as a user calls it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from gputopo.documents.schema import schemas
from tests.checks.cli import Said, call
from tests.checks.evidence import H100, MUTANTS, twin, write
from tests.machines import MACHINES
from tests.machines.machine import Machine
from tests.machines.render_nvml import render_nvml

KUBELET = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ntopologyManagerPolicy: {}\n"
FIVE_MINUTES = """\
gpus:
  count: 8
  nvlinks: 18
  nearestNics: 1 at PIX
pairs:
  GPU-GPU: NV18
"""


@pytest.fixture
def ask(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """`check` in a folder with spec.yaml and the texts given."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def asked(*arguments: str, spec: str | None = FIVE_MINUTES, **texts: str) -> Said:
        for name, text in texts.items():
            (tmp_path / name.replace("_", ".")).write_text(text)
        if spec is None:
            return call(capsys, "check", *arguments)
        (tmp_path / "spec.yaml").write_text(spec)
        return call(capsys, "check", "--spec", "spec.yaml", *arguments)

    return asked


def nvml(change: str | None = None, machine: Machine = H100) -> str:
    return render_nvml(MUTANTS[change][0](machine) if change else machine)


def test_a_specification_of_six_lines_and_one_line_a_node(ask, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    good, bad = write(H100, tmp_path / "a")[0], write(MUTANTS["NIC under another switch"][0](H100), tmp_path / "b")[0]
    (tmp_path / "a17.txt").write_text(Path(good).read_text())
    (tmp_path / "a18.txt").write_text(Path(bad).read_text())
    (tmp_path / "notes.txt").write_text("meeting at noon\n")
    said = ask("a17.txt", "a18.txt", "notes.txt", "gone.txt", "-o", "text")
    lines = said.out.splitlines()
    assert said.code == 1
    assert lines[0] == "a17.txt    pass"
    assert lines[1] == "a18.txt    FAIL        gpus[1].nearestNics: want 1 at PIX, found 2 at PIX   GT120 line 3"
    assert lines[2] == "                       gpus[2].nearestNics: want 1 at PIX, found 5 at NODE   GT120 line 4"
    assert "notes.txt  unreadable" in said.out
    assert "gone.txt   unreadable" in said.out
    assert lines[-1] == "4 nodes: 1 pass, 1 fail, 2 unreadable   against spec.yaml"
    assert ask("a17.txt", "gone.txt").code == 2
    assert ask("a17.txt").code == 0


def test_without_a_specification_the_model_says_how_many_links(ask, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    assert ask("n.json", spec=None, n_json=nvml()).code == 0
    said = ask("n.json", "-o", "json", spec=None, n_json=nvml("one link less"))
    assert said.code == 1
    [one] = said.json["nodes"][0]["mismatches"]
    assert (one["field"], one["want"], one["found"], one["code"]) == ("gpus[5].nvlinks.active", "18", "17", "GT111")
    # A matrix alone names no model.
    (tmp_path / "t.txt").write_text(Path(write(H100, tmp_path / "a")[0]).read_text())
    said = ask("t.txt", "-o", "json", spec=None)
    assert said.code == 3
    assert said.json["nodes"][0]["undecided"][0]["field"] == "gpus[].name"


def test_bridged_cards_have_twelve_links_or_none(ask) -> None:  # type: ignore[no-untyped-def]
    def cards(links: int) -> Machine:
        machine = MACHINES["pcie-bridged"]
        gpus = tuple(
            gpu._replace(name="NVIDIA H100 NVL", peers=tuple((peer, links) for peer, _ in gpu.peers) if links else ())
            for gpu in machine.gpus
        )
        return machine._replace(gpus=gpus)

    for links, code in ((12, 0), (0, 0), (8, 1)):
        assert ask("n.json", spec=None, n_json=nvml(machine=cards(links))).code == code, links


def test_a_finding_is_a_failure_unless_the_specification_allows_it(ask, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    files = write(MUTANTS["x8 slot"][0](H100), tmp_path / "x8")
    assert ask(*files, spec="gpus: {count: 8}\n").code == 0  # the slot's own width is not known: a warning
    said = ask(*files, "--fail-on", "warning", "-o", "json", spec="gpus: {count: 8}\n")
    assert said.code == 1
    [one] = said.json["nodes"][0]["mismatches"]
    assert (one["field"], one["code"], one["subjects"]) == ("findings", "GT112", ["GPU5"])
    for allowed in ("findings: {failOn: warning, allow: [GT112]}", "findings: {allow: [pcie-width-reduced]}"):
        assert ask(*files, spec=f"gpus: {{count: 8}}\n{allowed}\n").code == 0
    assert ask(*files, "--fail-on", "warning", "--ignore", "GT112", spec="gpus: {count: 8}\n").code == 0
    # Told once: the width is in the specification, and the rule has the same to say.
    said = ask(*files, "--fail-on", "warning", "-o", "json", spec="gpus: {pcieWidth: 16}\n")
    assert [one["field"] for one in said.json["nodes"][0]["mismatches"]] == ["gpus[5].pcie.width"]


def test_the_kubelets_policy_when_its_configuration_is_among_the_sources(ask) -> None:  # type: ignore[no-untyped-def]
    spec = "kubelet:\n  topologyManagerPolicy: single-numa-node\n"
    said = ask("n.json", spec=spec, n_json=nvml())
    assert said.code == 3
    assert "kubelet.topologyManagerPolicy is not in this evidence" in said.out
    config = {"n_json": nvml(), "kubelet_yaml": KUBELET.format("single-numa-node")}
    assert ask("n.json", "kubelet.yaml", spec=spec, **config).code == 0
    said = ask("n.json", "kubelet.yaml", spec=spec, n_json=nvml(), kubelet_yaml=KUBELET.format('""'))
    assert said.code == 1
    assert "kubelet.topologyManagerPolicy: want single-numa-node, found none" in said.out
    written = ask("--write-spec", "n.json", "kubelet.yaml", spec=None, **config)
    assert "kubelet:\n  topologyManagerPolicy: single-numa-node\n" in written.out


def test_a_manifest_is_for_lint(ask) -> None:  # type: ignore[no-untyped-def]
    said = ask("pod.yaml", pod_yaml="apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")
    assert said.code == 2
    assert "this is a manifest, not evidence of a node: use lint (gputopo lint pod.yaml)" in " ".join(said.out.split())


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        ("gpus:\n  cuont: 8\n", "no such key: gpus.cuont (did you mean count?) (spec.yaml:2:3)"),
        ("gpu: {}\n", "no such key: gpu (did you mean gpus?) (spec.yaml:1:1)"),
        ("gpus:\n  count: eight\n", "gpus.count takes a whole number, not 'eight' (spec.yaml:2:10)"),
        ("gpus:\n  nearestNics: 1 PIX\n", "gpus.nearestNics takes e.g. 1 at PIX, not '1 PIX' (spec.yaml:2:16)"),
        ("system: {driver: '>=550,=<581'}\n",
         "system.driver: '=<581' is no bound: >=, >, <=, <, == or != and a version (spec.yaml:1:18)"),
        ("gpus: {nvlinks: {18: x}}\n", "gpus.nvlinks: how many have 18? A whole number, not 'x' (spec.yaml:1:22)"),
        ("kubelet: {topologyManagerPolcy: a}\n",
         "no such key: kubelet.topologyManagerPolcy (did you mean topologyManagerPolicy?) (spec.yaml:1:11)"),
        ("findings: {allow: [GT999]}\n", "no rule GT999"),
        ("wiring:\n  matrix: [GPU0 X, GPU1 PIX]\n",
         "wiring.matrix: row 2 has a name of its own, 1 cells and X, not 'GPU1 PIX' (spec.yaml:2:20)"),
        ("kind: Pod\n", "this is a Pod, not a NodeSpec (spec.yaml:1:7)"),
        ("- a\n", "a specification is one mapping: gpus, nics, pairs … (spec.yaml:1)"),
        ("gpus: 1: 2\n", "not YAML: mapping values are not allowed in this context (spec.yaml:1)"),
        ("", "nothing in it (spec.yaml)"),
        ("a: 1\n---\nb: 2\n", "several documents in one specification (spec.yaml)"),
    ],
)  # fmt: skip
def test_a_slip_in_a_specification_is_one_line_with_its_place(ask, spec: str, error: str) -> None:  # type: ignore[no-untyped-def]
    said = ask("sample:hgx-h100", spec=spec)
    assert said.code == 2
    first, *more = said.err.splitlines()
    assert first == f"gputopo: error: {error}"
    assert len(more) <= 1


def test_a_specification_that_multiplies_itself_ends(ask) -> None:  # type: ignore[no-untyped-def]
    bomb = "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
        f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi")
    )
    said = ask("sample:hgx-h100", spec=bomb)
    assert said.code == 2
    assert said.err.startswith("gputopo: error: too deep or too large")
    deep = ask("sample:hgx-h100", spec="gpus: " + "[" * 5000 + "]" * 5000)
    assert deep.code == 2
    stars = ask("n.json", spec=f"gpus: {{name: '{'*a' * 100}'}}\n", n_json=nvml())
    assert stars.code == 1


def test_exact_compares_order_and_addresses_too(ask, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    good, other = write(H100, tmp_path / "good"), write(twin(H100), tmp_path / "twin")
    assert ask("--write-spec", "--exact", *good, "--output-file", "exact.yaml", spec=None).code == 0
    said = {
        (exact, name): ask("--spec", "exact.yaml", *files, *(["--exact"] if exact else []), "-o", "json", spec=None)
        for exact in (False, True) for name, files in (("good", good), ("twin", other))
    }  # fmt: skip
    assert {key: one.code for key, one in said.items()} == {
        (False, "good"): 0, (False, "twin"): 0, (True, "good"): 0, (True, "twin"): 1
    }  # fmt: skip
    fields = {one["field"] for one in said[True, "twin"].json["nodes"][0]["mismatches"]}
    assert "gpus[0].pci" in fields
    assert ask("--exact", *good, spec=None).err.startswith("gputopo: error: --exact needs a specification")


def test_what_the_baseline_has_is_not_reported_again(ask, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    before = ask("n.json", "-o", "json", "--output-file", "before.json", spec=None, n_json=nvml("one link less"))
    assert before.code == 1
    again = ask("n.json", "--baseline", "before.json", spec=None)
    assert again.code == 0
    assert "known before (--baseline): 1" in again.out
    worse = ask("n.json", "--baseline", "before.json", "-o", "json", spec="gpus: {count: 4, nvlinks: 18}\n")
    assert worse.code == 1
    assert {one["field"]: one["known"] for one in worse.json["nodes"][0]["mismatches"]} == {
        "gpus.count": False, "gpus[5].nvlinks.active": True,
    }  # fmt: skip
    said = ask("n.json", "--baseline", "n.json", spec=None)
    assert said.code == 2
    assert said.err.startswith("gputopo: error: a baseline is what an earlier check printed (n.json)")


@pytest.mark.parametrize(
    ("change", "nagios", "npd", "word"),
    [(None, 0, 0, "OK"), ("one link less", 2, 1, "CRITICAL"), ("not decided", 3, 2, "UNKNOWN")],
)
def test_exit_codes_of_monitors(ask, change: str | None, nagios: int, npd: int, word: str) -> None:  # type: ignore[no-untyped-def]
    spec = "gpus: {nvlinks: 18}\n" + ("system: {kernel: '>=6'}\n" if change == "not decided" else "")
    text = nvml(None if change == "not decided" else change)
    said = ask("n.json", "--exit-style", "nagios", spec=spec, n_json=text)
    assert said.code == nagios
    assert said.out.startswith(f"GPUTOPO {word} - 1 node: 1 ")
    assert said.out.count("\n") == 1
    assert ask("n.json", "--exit-style", "npd", spec=spec).code == npd


def test_a_mistake_is_unknown_to_monitors(ask) -> None:  # type: ignore[no-untyped-def]
    assert ask("gone", "--exit-style", "nagios").code == 3
    assert ask("n.json", "--exit-style", "nagios", spec="gpu: 1\n", n_json=nvml()).code == 3
    assert ask("n.json", "--exit-style", "npd", spec="gpu: 1\n").code == 2


def test_a_mistake_of_ours_is_unknown_to_monitors(ask, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    """Exit 2 is CRITICAL to Nagios: a HealthCheckProgram would drain the node."""

    def broken(*_: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr("gputopo.checks.judge.judge", broken)
    said = ask("n.json", "--exit-style", "nagios", n_json=nvml())
    assert (said.code, said.err.splitlines()[0][:31]) == (3, "gputopo: error: internal error:")
    assert ask("n.json", "--exit-style", "npd").code == 2
    assert ask("n.json").code == 2


def pasted(model: str, *rows: str, links: str = "") -> str:
    """`topo -m` and `-L` of so many GPUs, and `nvlink -s`."""
    names = [f"GPU{at}" for at in range(len(rows))]
    listed = [f"GPU {at}: {model} (UUID: GPU-6bfbd7c6-1b6c-9c5f-2b3c-0000000000a{at})" for at in range(len(rows))]
    table = [f"{name}\t{row}\t0-31\t0" for name, row in zip(names, rows)]
    header = "\t" + "\t".join([*names, "CPU Affinity", "NUMA Affinity"])
    topo = ["$ nvidia-smi topo -m", header, *table, "", "$ nvidia-smi -L", *listed]
    return "\n".join([*topo, *(["$ nvidia-smi nvlink -s", listed[0], links] if links else [])]) + "\n"


def test_four_v100_of_a_cloud_have_cables_left_over(ask) -> None:  # type: ignore[no-untyped-def]
    """AWS p3.8xlarge: half of a cube mesh, 4 or 5 of 6 links in use, is no broken board."""
    rows = (" X \tNV1\tNV1\tNV2", "NV1\t X \tNV2\tNV1", "NV1\tNV2\t X \tNV2", "NV2\tNV1\tNV2\t X ")
    assert ask("p3.txt", spec=None, p3_txt=pasted("Tesla V100-SXM2-16GB", *rows)).code == 0


def test_one_gpu_that_may_have_been_passed_through_alone_is_not_judged(ask) -> None:  # type: ignore[no-untyped-def]
    """A partition of one GPU has its NVLinks off."""
    down = "\n".join(f"\t Link {at}: <inactive>" for at in range(18))
    said = ask("vm.txt", spec=None, vm_txt=pasted("NVIDIA H100 80GB HBM3", " X ", links=down))
    assert said.code == 3
    assert "gpus[0].nvlinks.active is 0: right for one GPU that was passed through alone" in " ".join(said.out.split())
    some = down.replace("Link 0: <inactive>", "Link 0: 26.562 GB/s")
    assert ask("vm.txt", spec=None, vm_txt=pasted("NVIDIA H100 80GB HBM3", " X ", links=some)).code == 1


def test_the_formats_of_machines(ask, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    topo = write(MUTANTS["one link less"][0](H100), tmp_path / "a")[0]
    (tmp_path / "a,1.txt").write_text(Path(topo).read_text())
    sources = ("a,1.txt", "sample:pcie-2s-8gpu", "sample:single-gpu", "gone")
    text = FIVE_MINUTES + "system: {driver: '>=1'}\n"
    report = ask(*sources, "-o", "json", spec=text).json
    jsonschema.validate(report, schemas()["CheckResult"])
    assert report["counts"] == {"pass": 0, "fail": 3, "undecided": 0, "unreadable": 1}
    suite = ElementTree.fromstring(ask(*sources, "-o", "junit", spec=text).out)[0]
    assert {key: suite.get(key) for key in ("tests", "failures", "errors")} == {
        "tests": "4", "failures": "3", "errors": "1"
    }  # fmt: skip
    github = ask("a,1.txt", "-o", "github", spec=text).out.splitlines()
    assert github[0] == (
        "::error file=a%2C1.txt,line=7,title=GT111::gpus[5].nvlinks.active: want 18, found 17"
    )
    assert github[-1].startswith("::warning file=a%2C1.txt,line=1,title=undecided::system.driver is not in this")
    sarif = ask("a,1.txt", "-o", "sarif", spec=text).json
    first = sarif["runs"][0]["results"][0]
    assert first["ruleId"] == "GT111"
    assert first["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "a%2C1.txt"}, "region": {"startLine": 7}
    }  # fmt: skip
    undecided = ask("sample:hgx-h100", "-o", "junit", spec="system: {driver: '>=1'}\n").out
    assert ElementTree.fromstring(undecided)[0].get("skipped") == "1"


def test_shares_and_ranges(ask) -> None:  # type: ignore[no-untyped-def]
    spec = "gpus: {name: {'NVIDIA H100 80GB*': 7, 'NVIDIA H100 NVL': 1}}\nsystem: {driver: '>=535, <571'}\n"
    assert ask("n.json", spec=spec, n_json=nvml("other model")).code == 0
    said = ask("n.json", spec=spec, n_json=nvml())
    assert said.code == 1
    assert "want 7 of NVIDIA H100 80GB* and 1 of NVIDIA H100 NVL, found 8 of" in " ".join(said.out.split())
    assert ask("n.json", spec="system: {driver: '<570'}\n").code == 1
    assert ask("n.json", spec="gpus: {nvlinks: [12, 18]}\n").code == 0


def test_several_nodes_in_a_collection_are_checked_each(ask, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    for name, change in (("a", None), ("b", "one GPU missing"), ("c", None)):
        (tmp_path / f"{name}.json").write_text(nvml(change))
    said = ask("a.json", "b.json", "c.json", "--each", "-o", "json", spec="gpus: {count: 8}\n")
    assert [one["status"] for one in said.json["nodes"]] == ["pass", "fail", "pass"]


def test_options_that_exclude_one_another(ask) -> None:  # type: ignore[no-untyped-def]
    assert ask("--write-spec", "sample:hgx-h100").err.startswith("gputopo: error: --write-spec and --spec exclude")
    assert ask("sample:hgx-h100", "--merge", "--each").err.startswith("gputopo: error: --merge and --each exclude")
    said = ask("sample:hgx-h100", "--root", "/x", spec=None)
    assert said.err.startswith("gputopo: error: --root is for the live node")


def test_without_a_specification_yaml_is_not_imported() -> None:
    program = (
        "import sys, io, contextlib; from gputopo.cli import run\n"
        "with contextlib.redirect_stdout(io.StringIO()): run(['check', 'sample:hgx-h100'])\n"
        "print([m for m in ('yaml', 'psutil', 'rich', 'kubernetes', 'grpc') if m in sys.modules])"
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(root)},
    )  # fmt: skip
    assert done.stdout.strip() == "[]"


def test_the_document_goes_through_json(ask) -> None:  # type: ignore[no-untyped-def]
    said = ask("sample:hgx-h100", "-o", "json")
    assert said.code == 0
    assert json.loads(said.out)["expectations"] == {"from": "file", "name": "spec.yaml"}
