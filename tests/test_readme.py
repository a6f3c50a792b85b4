"""The README tells the truth: its output is the real one, and its commands exist.

`python tests/test_readme.py` puts the present output into the README.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
BLOCK = re.compile(r"(<!-- output: (.+?) -->\n```text\n)(.*?)(```\n<!-- end -->)", re.DOTALL)


def output(command: str) -> str:
    """What the command prints; `make inspect`: what it runs once .venv is there."""
    if command != "make inspect":
        return printed(shlex.split(command))
    makefile = (ROOT / "Makefile").read_text()
    sample = re.search(r"^SAMPLE = (\S+)$", makefile, re.MULTILINE)
    assert sample
    assert "gputopo inspect $(SAMPLE)" in makefile
    return printed(["inspect", sample[1]])


def printed(arguments: list[str]) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    done = subprocess.run(
        [sys.executable, "-m", "gputopo", *arguments],
        capture_output=True, text=True, check=True, cwd=ROOT, env=environment,
    )  # fmt: skip
    return done.stdout


def commands() -> list[list[str]]:
    """The arguments of every `gputopo` in the README's console blocks."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", README.read_text(), re.DOTALL):
        for line in re.findall(r"^\$ (.*)$", block, re.MULTILINE):
            words = shlex.split(line, comments=True)
            if any(word.endswith("gputopo") for word in words):
                place = next(n for n, word in enumerate(words) if word.endswith("gputopo"))
                found.append(words[place + 1 :])
    return found


def test_the_outputs_in_the_readme_are_the_real_ones() -> None:
    blocks = BLOCK.findall(README.read_text())
    assert {command.split()[0] for _, command, _, _ in blocks} == {"make", "allocate"}
    for _, command, text, _ in blocks:
        assert text == output(command)


CLAIM = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: one}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]}}
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: one}
spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: 4}}}]}
"""
SLICES = """
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec: {selectors: [{cel: {expression: "device.driver == 'gpu.example.com'"}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: node-a-gpus}
spec:
  driver: gpu.example.com
  nodeName: node-a
  pool: {name: node-a, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0}]
"""


@pytest.mark.parametrize("arguments", commands(), ids=" ".join)
def test_a_command_of_the_readme_works(arguments: list[str], tmp_path: Path) -> None:
    """With files of those names: shipped samples stand in for what a reader has."""
    from gputopo.sample_files import sample_paths

    sample = {Path(path).name: Path(path) for path in sample_paths("hgx-h100")}
    for name in ("topo.txt", "lscpu.txt"):
        (tmp_path / name).write_bytes(sample[name].read_bytes())
    cpu = tmp_path / "host/sys/devices/system/node/node0"
    cpu.mkdir(parents=True)
    (cpu / "cpulist").write_text("0-7\n")
    subprocess.run(["tar", "cf", "capture.tar.xz", "-C", "host", "sys"], cwd=tmp_path, check=True)
    if "collect" not in arguments:
        subprocess.run(["tar", "czf", "node.tar.gz", "-C", "host", "sys"], cwd=tmp_path, check=True)
    (tmp_path / "claim.yaml").write_text(CLAIM)
    (tmp_path / "slices.yaml").write_text(SLICES)
    (tmp_path / "pod.yaml").write_text(POD)
    (tmp_path / "nodes").mkdir()
    (tmp_path / "nodes" / "a17.txt").write_bytes(sample["topo.txt"].read_bytes())
    arguments = [str(tmp_path / "host") if word == "/host" else word for word in arguments]
    with (tmp_path / "topo.txt").open() as text:
        done = subprocess.run(
            [sys.executable, "-m", "gputopo", *arguments],
            capture_output=True, text=True, check=False, cwd=tmp_path, stdin=text,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
    assert done.returncode == 0
    if "collect" in arguments:
        assert done.stderr.startswith("gputopo: wrote node.tar.gz: ")
        assert (tmp_path / "node.tar.gz").stat().st_size
    else:
        assert done.stderr == ""
        assert done.stdout


def test_every_exit_code_and_format_is_there() -> None:
    text = README.read_text()
    for code in (0, 1, 2, 3, 130):
        assert f"| {code} |" in text
    assert "not related to Alibaba Cloud's gputopo-device-plugin" in text


if __name__ == "__main__":
    README.write_text(BLOCK.sub(lambda block: block[1] + output(block[2]) + block[4], README.read_text()))
