"""The replay harness: no kind can pass by comparing nothing."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from tests.replay import main, replay
from tests.replay_kinds import KINDS, load

ROOT = Path(__file__).parents[1]
SHARED = Path(os.environ.get("GPUTOPO_SHARED") or ROOT.parent / "shared")
DATA = {
    "topo-dumps": "data/topo-dumps/index.jsonl",
    "sysfs-lstopo": "data/sysfs/hwloc",
    "hwloc-captures": "data/sysfs/hwloc",
    "letters": "data/sysfs/letters/evidence.json",
    "nccl-xml": "data/nccl/xml/index.jsonl",
    "nccl-logs": "data/nccl/logs/index.jsonl",
    "nccl-paths": "data/nccl/oracle",
    "smi-sisters": "data/topo-dumps/other/index.jsonl",
    "public-reports": "data/public-reports/index.jsonl",
    "gpuallocator": "data/gpuallocator/random.json",
    "gpuallocator-outcomes": "data/gpuallocator/outcomes.json",
    "gpuallocator-greedy": "data/gpuallocator/greedy.json",
    "kubelet-merge": "data/kubelet/merge.jsonl",
    "kubelet-hints": "data/kubelet/hints.jsonl",
    "kubelet-allocate": "data/kubelet/allocate.jsonl",
    "kubelet-admit": "data/kubelet/admit.jsonl",
    "dra-cel": "data/dra/golden_cel_k8s1.36.json",
    "dra-scenarios": "data/dra/golden_gpu_scenarios_k8s1.36.json",
}


def present(kind: str) -> tuple[Any, Path]:
    """The module of a kind and its data; skips where one of them is not there."""
    if importlib.util.find_spec(f"tests.replay_kinds.{KINDS[kind]}") is None:
        pytest.skip(f"the kind {kind} has no module yet")
    path = SHARED / DATA[kind]
    if not path.exists():
        pytest.skip(f"no recorded answers at {path}; set GPUTOPO_SHARED")
    return load(kind), path


def test_every_kind_of_the_table_has_a_place_of_its_data() -> None:
    assert KINDS.keys() == DATA.keys()


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_key_of_a_recorded_answer_is_compared_or_ignored_with_a_reason(kind: str) -> None:
    module, path = present(kind)
    cases = list(islice(module.cases(path), 400))
    assert cases
    keys = {key for case in cases for key in case.expected}
    assert keys <= module.COMPARED | module.IGNORED.keys()
    assert not module.COMPARED & module.IGNORED.keys()
    assert all(module.IGNORED.values())


def test_an_altered_answer_is_a_mismatch_for_every_compared_key() -> None:
    module, path = present("topo-dumps")
    altered: set[str] = set()
    for case in module.cases(path):
        got = module.answer(case)
        for key in module.COMPARED & case.expected.keys() - altered:
            value = case.expected[key]
            if value and module.compare({**case.expected, key: alter(value)}, got):
                altered.add(key)
    assert altered == module.COMPARED


def test_an_altered_fact_of_a_log_is_a_mismatch() -> None:
    module, path = present("nccl-logs")
    for case in module.cases(path):
        got = module.answer(case)
        assert module.compare(case.expected, got) == []
        for key, value in case.expected.items():
            other = value + 1.0 if isinstance(value, float) else "x" if isinstance(value, str) else alter(value)
            assert module.compare({**case.expected, key: other}, got), key
        assert module.compare({**case.expected, "new": 1}, got) == ["new is no known key"]


def alter(value: Any) -> Any:
    """Another answer of the same shape."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, list):
        return value[:-1] if value and "=" not in str(value[-1]) and " is " not in str(value[-1]) else ["(0,0)=SYS"]
    if isinstance(value, dict):
        first = next(iter(value))
        return {**value, first: alter(value[first])}
    return {"X": "SYS"}.get(value, "7-9")


def test_replay_prints_a_line_a_path_and_fails_on_zero_cases(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index = tmp_path / "index.jsonl"
    index.write_text("")
    assert main(["topo-dumps", str(index)]) == 1
    assert capsys.readouterr().out == f"topo-dumps {index}: 0 cases, 0 mismatches\n"


def test_replay_fails_and_shows_the_mismatch_when_an_answer_differs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index = write_one_dump(tmp_path, numa="1")
    assert main(["topo-dumps", str(index)]) == 1
    printed = capsys.readouterr()
    assert printed.out.endswith("1 cases, 1 mismatches\n")
    assert "one.txt: NUMA of GPU0: expected '1', got '0'" in printed.err


def test_replay_passes_when_the_answer_is_right(tmp_path: Path) -> None:
    assert main(["topo-dumps", str(write_one_dump(tmp_path, numa="0"))]) == 0


def test_a_crash_in_one_case_is_a_mismatch_and_the_others_still_count(tmp_path: Path) -> None:
    index = write_one_dump(tmp_path, numa="0")
    (tmp_path / "none.txt").write_text("no matrix\n")
    with index.open("a") as lines:
        lines.write('{"file": "none.txt", "expected": {}}\n')
    count, mismatches = replay(load("topo-dumps"), index)
    assert (count, len(mismatches)) == (2, 1)
    assert mismatches[0].startswith("none.txt: Unreadable")


def test_replay_runs_from_another_folder(tmp_path: Path) -> None:
    index = write_one_dump(tmp_path, numa="0")
    command = [sys.executable, str(ROOT / "tests/replay.py"), "topo-dumps", str(index)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, f"topo-dumps {index}: 1 cases, 0 mismatches\n")


def write_one_dump(folder: Path, numa: str) -> Path:
    (folder / "one.txt").write_text("\tGPU0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \t0-7\t0\n")
    index = folder / "index.jsonl"
    index.write_text(
        '{"file": "one.txt", "expected": {"gpus": ["GPU0"], "nic_columns": [], "matrix": {"GPU0": {"GPU0": "X"}},'
        f' "matrix_complete": true, "cpu_affinity": {{"GPU0": "0-7"}}, "numa_affinity": {{"GPU0": "{numa}"}}}}}}\n'
    )
    return index
