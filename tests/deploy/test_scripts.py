"""Scripts and units for nodes, run here with programs that stand in for gputopo, scontrol and logger."""

from __future__ import annotations

import configparser
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.deploy.kustomized import DEPLOY

SCRIPTS = sorted(DEPLOY.rglob("*.sh"))
ROOT = DEPLOY.parent
HEALTH, PROLOG = DEPLOY / "slurm/gputopo-health.sh", DEPLOY / "slurm/gputopo-prolog.sh"
FEATURES = DEPLOY / "nfd/gputopo-features.sh"
# What it was called with goes into a file of its name; what it prints and returns is in the environment.
STANDIN = """#!/bin/sh
printf '%s\\n' "$*" >> "$CALLS/$(basename "$0")"
case "$(basename "$0") $*" in
gputopo*) sleep "${HANG:-0}"; printf '%b' "${SAYS:-}"; exit "${CODE:-0}" ;;
*show*) printf '%s\\n' "NodeName=n1 State=${STATE:-IDLE} Weight=1" ;;
esac
"""


class Done(NamedTuple):
    status: int
    calls: dict[str, list[str]]
    output: str
    seconds: float


@pytest.fixture
def run(tmp_path: Path) -> Any:
    for name in ("gputopo", "scontrol", "logger"):
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).write_text(STANDIN)
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / "calls").mkdir()

    def ran(script: Path, **environment: str) -> Done:
        start = time.monotonic()
        done = subprocess.run(
            ["sh", str(script)], capture_output=True, text=True, check=False, timeout=30,
            env={"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "CALLS": str(tmp_path / "calls"),
                 "SLURMD_NODENAME": "n1", "SPEC": str(tmp_path / "node.yaml"), **environment},
        )  # fmt: skip
        calls = {path.name: path.read_text().splitlines() for path in (tmp_path / "calls").iterdir()}
        return Done(done.returncode, calls, done.stdout + done.stderr, time.monotonic() - start)

    return ran


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_a_script_is_posix_sh(script: Path) -> None:
    assert script.read_text().startswith("#!/bin/sh\n")
    assert os.access(script, os.X_OK)
    assert subprocess.run(["sh", "-n", script], check=False).returncode == 0


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_shellcheck_finds_nothing() -> None:
    done = subprocess.run(["shellcheck", "-s", "sh", *SCRIPTS], capture_output=True, text=True, check=False)
    assert done.stdout == ""


def test_a_good_node_is_left_alone(run: Any) -> None:
    done = run(HEALTH)
    assert (done.status, done.output) == (0, "")
    assert done.calls == {"gputopo": ["check --exit-style nagios --quiet --timeout 35"]}


def test_a_node_that_is_wrong_is_drained_with_the_reason(run: Any, tmp_path: Path) -> None:
    (tmp_path / "node.yaml").write_text("kind: NodeSpec\n")
    done = run(HEALTH, CODE="2", SAYS="GPUTOPO CRITICAL: GPU5 pcie.width: want 16, found 8\\nmore\\n")
    assert done.status == 0  # a first check that fails would keep the node from registering for ever
    assert done.calls["gputopo"][0].endswith(f"--spec {tmp_path / 'node.yaml'}")
    reason = "GPUTOPO CRITICAL: GPU5 pcie.width: want 16, found 8"
    assert done.calls["scontrol"] == [
        "-o show node n1", f"update nodename=n1 state=drain reason=gputopo: {reason}"
    ]  # fmt: skip
    assert done.calls["logger"] == [f"-t gputopo -p daemon.err {reason}"]


@pytest.mark.parametrize("state", ["IDLE+DRAIN", "DRAINED", "MIXED*+DRAIN", "DRAINING"])
def test_the_first_reason_stays(run: Any, state: str) -> None:
    done = run(HEALTH, CODE="2", SAYS="GPUTOPO CRITICAL\\n", STATE=state)
    assert done.calls["scontrol"] == ["-o show node n1"]


@pytest.mark.parametrize("code", ["3", "1", "127"])
def test_what_is_not_decided_or_not_read_drains_nothing(run: Any, code: str) -> None:
    done = run(HEALTH, CODE=code, SAYS="UNKNOWN: pcie.width is not in the evidence\\n")
    assert done.status == 0
    assert "scontrol" not in done.calls
    assert done.calls["logger"][0].startswith(f"-t gputopo -p daemon.warning not decided ({code}): UNKNOWN")


def test_what_a_node_says_of_itself_is_no_command_and_no_escape(run: Any) -> None:
    done = run(HEALTH, CODE="2", SAYS="GPUTOPO CRITICAL $(touch /tmp/x) `id` \\033[31m\\007" + "A" * 500)
    update = done.calls["scontrol"][1]
    reason = "GPUTOPO CRITICAL (touch /tmp/x) id [31mAAA"
    assert update.startswith(f"update nodename=n1 state=drain reason=gputopo: {reason}")
    assert len(update) < 280


def test_a_driver_that_hangs_does_not_hang_slurm(run: Any) -> None:
    done = run(HEALTH, HANG="20", LIMIT="1")
    assert done.status == 0
    assert done.seconds < 10
    assert "124" in done.calls["logger"][0]
    assert "scontrol" not in done.calls


def test_limits_are_below_those_of_slurm() -> None:
    """60 s for a HealthCheckProgram: timeout waits LIMIT, then 2 s more before it kills."""
    assert "LIMIT=${LIMIT:-45}" in HEALTH.read_text()
    assert "LIMIT=${LIMIT:-20}" in PROLOG.read_text()
    assert all("timeout -k 2" in one.read_text() for one in (HEALTH, PROLOG))


def test_a_prolog_stops_a_job_for_what_is_certain_only(run: Any) -> None:
    assert run(PROLOG, SLURM_JOB_GPUS="").calls == {}
    assert run(PROLOG, SLURM_JOB_GPUS="0,1", CODE="0").status == 0
    assert run(PROLOG, SLURM_JOB_GPUS="0,1", CODE="3").status == 0
    done = run(PROLOG, SLURM_JOB_GPUS="0,1", SLURM_JOB_ID="77", CODE="2", SAYS="GPUTOPO CRITICAL: x\\n")
    assert done.status == 1
    assert done.calls["logger"][-1] == "-t gputopo -p daemon.err job 77: 2: GPUTOPO CRITICAL: x"


def test_a_program_that_is_not_there_drains_nothing(run: Any) -> None:
    """Python exits 2 for a file that it cannot open, as gputopo does for a node that fails."""
    missing = "python3: can't open file '/opt/gputopo.pyz': [Errno 2] No such file or directory\\n"
    done = run(HEALTH, CODE="2", SAYS=missing)
    assert "scontrol" not in done.calls
    assert done.calls["logger"][0].startswith("-t gputopo -p daemon.warning not decided (2): python3: cant open file")
    assert run(PROLOG, SLURM_JOB_GPUS="0", CODE="2", SAYS=missing).status == 0
    said = "Warning: x\\nGPUTOPO CRITICAL - 1 node: 1 fail\\n"
    assert run(PROLOG, SLURM_JOB_GPUS="0", CODE="2", SAYS=said).status == 1


def test_the_feature_file_is_there_whole_or_as_it_was(run: Any, tmp_path: Path) -> None:
    folder = tmp_path / "nfd/features.d"
    folder.mkdir(parents=True)
    assert run(FEATURES, FOLDER=str(folder), SAYS="vendor.example/a=1\\n").status == 0
    assert (folder / "gputopo").read_text() == "vendor.example/a=1\n"
    assert (folder / "gputopo").stat().st_mode & 0o777 == 0o644
    assert run(FEATURES, FOLDER=str(folder), SAYS="half", CODE="2").status == 2
    assert (folder / "gputopo").read_text() == "vendor.example/a=1\n"
    assert [path.name for path in folder.parent.rglob("*")] == ["features.d", "gputopo"]
    missing = run(FEATURES, FOLDER=str(tmp_path / "none"))
    assert (missing.status, missing.output.count("\n")) == (2, 1)


def test_the_feature_rule_asks_for_what_the_export_writes(capsys: pytest.CaptureFixture[str]) -> None:
    from gputopo.cli import run as gputopo

    assert gputopo(["export", "--to", "nfd", "sample:hgx-h100"]) == 0
    written = dict(line.split("=") for line in capsys.readouterr().out.splitlines() if not line.startswith("#"))
    rule = yaml.safe_load((DEPLOY / "nfd/nodefeaturerule.yaml").read_text())
    assert rule["apiVersion"] == "nfd.k8s-sigs.io/v1alpha1"
    matches = [match["matchExpressions"] for one in rule["spec"]["rules"] for match in one["matchFeatures"]]
    assert {name for match in matches for name in match} <= set(written)
    assert matches[0]["feature.node.kubernetes.io/gputopo-gpu.nvlink"]["value"] == [
        written["feature.node.kubernetes.io/gputopo-gpu.nvlink"]
    ]


def test_node_problem_detector_would_take_its_configuration() -> None:
    """Its own Validate(): kubernetes/node-problem-detector 01a6793, pkg/custompluginmonitor/types/config.go."""
    config = json.loads((DEPLOY / "node-problem-detector/gputopo.json").read_text())
    assert config["plugin"] == "custom"
    assert set(config["pluginConfig"]) <= {
        "invoke_interval", "timeout", "max_output_length", "concurrency",
        "enable_message_change_based_condition_update", "skip_initial_status",
    }  # fmt: skip
    conditions = {one["type"] for one in config["conditions"]}
    for rule in config["rules"]:
        assert set(rule) <= {"type", "condition", "reason", "path", "args", "timeout"}
        assert rule["type"] in ("permanent", "temporary")
        assert rule["condition"] in conditions
        assert seconds(rule["timeout"]) <= seconds(config["pluginConfig"]["timeout"])
        own = float(rule["args"][rule["args"].index("--timeout") + 1])
        assert own + 10 <= seconds(rule["timeout"])  # gputopo's files come after the driver, and Python starts
        assert rule["args"][rule["args"].index("--exit-style") + 1] == "npd"


def seconds(text: str) -> float:
    return float(text[:-1]) * {"s": 1, "m": 60}[text[-1]]


def unit(name: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(DEPLOY / "prometheus" / name)
    return parser


def test_the_units_belong_together_and_end_in_time() -> None:
    service, timer = unit("gputopo-metrics.service"), unit("gputopo-metrics.timer")
    assert service["Service"]["Type"] == "oneshot"
    words = service["Service"]["ExecStart"].split()
    file = words[words.index("--output-file") + 1]
    assert file.endswith(".prom")  # what the textfile collector reads
    assert os.path.dirname(file) == service["Service"]["ReadWritePaths"]
    assert float(words[words.index("--timeout") + 1]) + 10 < float(service["Service"]["TimeoutStartSec"])
    assert service["Service"]["ProtectSystem"] == "strict"
    assert "PrivateNetwork" not in service["Service"]  # /sys/class/net would be another one
    assert timer["Install"]["WantedBy"] == "timers.target"
    if shutil.which("systemd-analyze"):
        done = subprocess.run(["systemd-analyze", "verify", DEPLOY / "prometheus/gputopo-metrics.timer"],
                              capture_output=True, text=True, check=False)  # fmt: skip
        assert "Unknown key" not in done.stderr


def test_the_playbook_leaves_nothing_behind_and_takes_undecided_for_no_failure() -> None:
    [play] = yaml.safe_load((DEPLOY / "ansible/collect.yml").read_text())
    place, work = play["tasks"]
    assert "ansible.builtin.tempfile" in place
    tasks = [place, *work["block"], *work["always"]]
    modules = {key for task in tasks for key in task if "." in key}
    assert modules == {"ansible.builtin.tempfile", "ansible.builtin.copy", "ansible.builtin.command",
                       "ansible.builtin.file"}  # fmt: skip
    assert all(task["name"] and task["changed_when"] is False for task in tasks)
    assert work["always"][0]["ansible.builtin.file"] == {"path": "{{ place.path }}", "state": "absent"}
    check = next(task for task in work["block"] if task["name"].startswith("Has the node"))
    assert check["failed_when"] == "checked.rc not in [0, 3]"
    copies = [task["ansible.builtin.copy"] for task in work["block"] if "ansible.builtin.copy" in task]
    assert [one["dest"].startswith("{{ place.path }}") for one in copies] == [True, False, True]
    assert copies[1]["mode"] == "0600"  # a bundle is nobody else's
    assert "become" not in play  # no root


def test_the_action_gives_inputs_to_the_shell_as_variables() -> None:
    """An expression inside of `run` would be text of the script: whoever names a file could write commands."""
    action = yaml.safe_load((DEPLOY / "github-action/action.yml").read_text())
    assert action["runs"]["using"] == "composite"
    for step in action["runs"]["steps"]:
        assert step["shell"] == "bash"
        assert "${{" not in step["run"]
        assert "uses" not in step  # no code of others
        for value in step["env"].values():
            name = value.removeprefix("${{ ").split(" ")[0]
            assert name == "github.action_path" or name.removeprefix("inputs.") in action["inputs"]
    assert all(one["description"] for one in action["inputs"].values())


def test_the_action_s_lint_step_annotates_a_file(tmp_path: Path) -> None:
    """Its script, with an installation that stands in for the one its first step makes."""
    steps = yaml.safe_load((DEPLOY / "github-action/action.yml").read_text())["runs"]["steps"]
    program = tmp_path / "gputopo/bin/gputopo"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m gputopo "$@"\n')
    program.chmod(0o755)
    (tmp_path / "kubelet.yaml").write_text("kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\n"
                                           "topologyManagerPolicy: single-numa-nod\n")  # fmt: skip
    lint = next(step for step in steps if step["name"] == "lint")
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", lint["run"]], capture_output=True, text=True, check=False, cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "RUNNER_TEMP": str(tmp_path), "FILES": "kube*.yaml", "FAIL_ON": "error"},
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stdout.startswith("::error ")
    assert "file=kubelet.yaml,line=3" in done.stdout


def test_the_hook_is_for_files_that_gputopo_knows() -> None:
    import re

    [hook] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert set(hook) >= {"id", "name", "description", "entry", "language", "files"}
    assert hook["language"] == "python"
    pattern = re.compile(hook["files"])
    assert all(pattern.search(name) for name in ("a/gpu-pod.yaml", "claim.yml", "gres.conf", "deviceclass.yaml"))
    assert not any(pattern.search(name) for name in ("kustomization.yaml", "README.md", "values.yaml", "gpu/x.yaml"))
