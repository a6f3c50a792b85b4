"""What holds of every source alike: known by looking, bounded, and safe to print whatever strangers name their pods."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from gputopo.cli import run
from gputopo.parsers.recognise_holdings import parse, recognise
from tests.pods.machines import uuid
from tests.pods_sources.samples import FOLDER, needs_samples
from tests.pods_sources.test_cdi_spec import spec
from tests.pods_sources.test_dcgm_metrics import POD, sample
from tests.pods_sources.test_kubelet_log import asked, denied
from tests.pods_sources.test_runtimes import crictl, docker
from tests.pods_sources.test_slurm_job import JOB, NODE, QUEUE

TEXTS = {
    "crictl-inspect": [crictl("NVIDIA_VISIBLE_DEVICES=GPU-1")],
    "docker-inspect": [docker()],
    "cdi-spec": [spec({"0": ["/dev/nvidia0"]}), "cdiVersion: 0.6.0\nkind: a.b/c\ndevices: []\n"],
    "slurm-job": [JOB, NODE, QUEUE, "SLURM_JOB_ID=1\nSLURM_JOB_GPUS=0\n"],
    "dcgm-metrics": [sample(0, POD)],
    "kubelet-log": [asked("ml/a", 0), denied("ml/a")],
}
EACH = [(id, text) for id, texts in TEXTS.items() for text in texts]
EVIL = "\x1b[31m\u202e[bold]<b>&" + "x" * 10_000


@pytest.mark.parametrize(("id", "text"), EACH)
def test_a_text_is_known_and_inspect_says_who_reads_it(
    id: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert recognise(text.encode()) == (id,)
    assert {records.format for records in parse(text.encode())} == {id}
    (tmp_path / "file").write_text(text)
    assert run(["inspect", str(tmp_path / "file")]) == 2
    err = capsys.readouterr().err
    if id != "slurm-job" or "JOBID" not in text:
        assert "gputopo pods" in err


@pytest.mark.parametrize("form", ["text", "json", "yaml", "prometheus", "sarif"])
@pytest.mark.parametrize(
    "text",
    [
        crictl("NVIDIA_VISIBLE_DEVICES=" + EVIL).replace(': "a"', f": {json.dumps(EVIL)}"),
        docker(Name=EVIL, HostConfig={"DeviceRequests": [{"Driver": "nvidia", "DeviceIDs": [EVIL, "0"]}]}),
        JOB.replace("train-7b", EVIL.replace(" ", "")), sample(0, {**POD, "pod": EVIL}), asked("ml/" + EVIL, 0),
        denied(EVIL, reason=EVIL),
    ],
    ids=["crictl", "docker", "slurm", "dcgm", "log", "denied"],
)  # fmt: skip
def test_names_of_strangers_are_safe_in_every_form(
    text: str, form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text(text)
    assert run(["pods", str(tmp_path / "file"), "-o", form, "--fail-on", "never"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\u202e" not in out
    if form in ("json", "sarif"):
        json.loads(out)


def test_five_thousand_containers_take_no_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where each was compared with all, it took 14 s."""
    (tmp_path / "dcgm").write_text("".join(sample(at % 4, {**POD, "pod": f"p{at}"}) for at in range(5000)))
    begun = time.process_time()
    run(["pods", str(tmp_path / "dcgm"), "-o", "text"])
    assert time.process_time() - begun < 3
    assert uuid(0)[:12] in capsys.readouterr().out


@needs_samples
def test_every_sample_of_a_runtime_is_known() -> None:
    for path in sorted(FOLDER.glob("*-inspect*.json")):
        assert recognise(path.read_bytes()) == (path.name.partition(".")[0],), path.name
