"""`make pyz`: one file that a bare Python runs: no site-packages, no environment, nothing compiled."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from gputopo.version import __version__
from tests.pods.machines import uuid
from tests.pods.test_verb import CSV, LSCPU, checkpoint, matrix

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "samples/nvidia-smi-topo/hgx-h100/topo.txt"
EMPTY_SETTINGS = bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))  # HTTP/2, RFC 9113 section 6.5: how a gRPC server begins
OLD = "import sys, runpy; sys.version_info = (3, 9, 1); runpy.run_path(sys.argv[1], run_name='__main__')"
# Several commands in one process, since each start compiles its modules again.
MANY = """
import contextlib, io, json, sys
sys.path[:0] = [sys.argv[1]]
from gputopo.cli import run
answers = {}
for name, words in json.loads(sys.argv[2]).items():
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        try:
            status = run(words)
        except SystemExit as end:
            status = end.code
    answers[name] = [status or 0, out.getvalue(), errors.getvalue()]
print(json.dumps(answers))
"""
CONFIG = """kind: KubeletConfiguration
apiVersion: kubelet.config.k8s.io/v1beta1
topologyManagerPolicy: single-numa-nod
"""
LIST = {"podResources": [{"name": "pod-a", "namespace": "ml", "containers": [
    {"name": "c", "devices": [{"resourceName": "nvidia.com/gpu", "deviceIds": [uuid(0), uuid(2)]}]}]}]}  # fmt: skip


class Done(NamedTuple):
    status: int
    output: str
    errors: str


def python() -> str:
    """The system's where it is new enough, which has none of our packages by accident; else this one."""
    system = shutil.which("python3", path="/usr/bin:/bin:/usr/local/bin")
    if system is not None:
        new = subprocess.run([system, "-c", "import sys; sys.exit(sys.version_info < (3, 10))"], check=False)
        if new.returncode == 0:
            return system
    return sys.executable


def ran(*arguments: object) -> Done:
    """-I: no environment and no user's packages; -S: no site-packages at all."""
    done = subprocess.run(
        [python(), "-I", "-S", *map(str, arguments)], capture_output=True, text=True, check=False, cwd="/",
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}, timeout=120,
    )  # fmt: skip
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def pyz(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("pyz") / "gputopo.pyz"
    done = subprocess.run([sys.executable, ROOT / "deploy/pyz.py", file], capture_output=True, text=True, check=True)
    assert "without grpcio, psutil (compiled)" in done.stdout
    return file


@contextmanager
def kubelet(folder: Path) -> Iterator[Path]:
    """Its root folder: a checkpoint, and a socket at which somebody speaks HTTP/2."""
    for name in ("device-plugins", "pod-resources"):
        (folder / name).mkdir(parents=True)
    (folder / "device-plugins/kubelet_internal_checkpoint").write_text(checkpoint({"pod-a": [0, 2]}))
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "pod-resources/kubelet.sock"))
        server.listen()

        def speak() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                connection.sendall(EMPTY_SETTINGS)

        threading.Thread(target=speak, daemon=True).start()
        yield folder
        server.shutdown(socket.SHUT_RDWR)


@pytest.fixture(scope="module")
def answers(pyz: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Done]:
    folder = tmp_path_factory.mktemp("evidence")
    files = {"list.json": json.dumps(LIST), "topo.txt": matrix(), "gpus.csv": CSV, "lscpu.txt": LSCPU}
    for name, text in {**files, "config.yaml": CONFIG}.items():
        (folder / name).write_text(text)
    with kubelet(folder / "kubelet") as root:
        asked = {
            "version": ["--version"],
            "help": ["inspect", "--help"],
            "explain": ["explain", "GT112"],
            "yaml": ["inspect", str(SAMPLE), "-o", "yaml"],
            "lint": ["lint", str(folder / "config.yaml")],
            "script": ["collect", "--print-script"],
            "metrics": ["export", "--to", "prometheus", str(SAMPLE)],
            "pods": ["pods", *(str(folder / name) for name in files)],
            "kube": ["pods", "--kube"],
            "live": ["pods", "--kubelet-root", str(root), "--timeout", "5", "-o", "json"],
        }
        done = ran("-c", MANY, pyz, json.dumps(asked))
    assert done.errors == ""
    return {name: Done(*answer) for name, answer in json.loads(done.output).items()}


def test_a_bare_python_reads_a_dump(pyz: Path) -> None:
    status, output, errors = ran(pyz, "inspect", SAMPLE)
    assert (status, errors) == (0, "")
    assert "28 of 28 NV18" in output


def test_it_says_who_it_is_and_helps(answers: dict[str, Done]) -> None:
    assert answers["version"] == (0, f"gputopo {__version__}\n", "")
    assert answers["help"].status == 0
    assert "What is on this node" in answers["help"].output  # drawn by rich
    assert answers["explain"].output.startswith("GT112 pcie-width-reduced")


def test_yaml_is_read_and_written_without_its_compiled_half(answers: dict[str, Done]) -> None:
    assert answers["yaml"].output.startswith("apiVersion: gputopo/v1alpha1\n")
    assert answers["lint"].status == 1
    assert "single-numa-nod" in answers["lint"].output


def test_what_lies_beside_modules_is_there(answers: dict[str, Done]) -> None:
    script = answers["script"].output
    assert script.startswith("#!/bin/sh\n")
    assert subprocess.run(["sh", "-n"], input=script, text=True, check=False).returncode == 0


def test_metrics_need_nothing_more(answers: dict[str, Done]) -> None:
    assert 'gputopo_gpus{product=""} 8\n' in answers["metrics"].output


def test_without_grpcio_it_says_so_in_one_line_and_reads_the_kubelet_s_files(answers: dict[str, Done]) -> None:
    live = answers["live"]
    assert [line for line in live.errors.splitlines() if "grpc" in line] == [
        "gputopo: grpcio cannot be imported (ModuleNotFoundError: No module named 'grpc'); "
        "its files are read without it"
    ]
    assert '"podUID": "pod-a"' in live.output


def test_a_saved_answer_of_the_kubelet_is_read_by_protobuf_s_pure_half(answers: dict[str, Done]) -> None:
    assert answers["pods"].status == 1
    assert "error GT402  ml/pod-a crosses sockets over PCIe: GPU0 | GPU2" in answers["pods"].output


def test_without_the_cluster_s_client_it_says_what_to_do(answers: dict[str, Done]) -> None:
    assert answers["kube"].status == 3
    assert answers["kube"].errors.splitlines()[1].startswith("hint: pip install 'gputopo[kube]'; or save what kubectl")


def test_an_old_python_gets_one_line(pyz: Path) -> None:
    assert ran("-c", OLD, pyz) == (1, "", "gputopo: error: this is Python 3.9, gputopo needs 3.10 or later\n")


def test_nothing_compiled_is_inside_and_every_package_has_its_licence(pyz: Path) -> None:
    with zipfile.ZipFile(pyz) as packed:
        names = packed.namelist()
    assert not [name for name in names if name.endswith((".so", ".pyc", ".pyd"))]
    packages = {name.split("/")[0] for name in names if ".dist-info/" in name}
    licensed = {name.split("/")[0] for name in names if ".dist-info/" in name and name[-1] != "/"
                and not name.endswith("/METADATA")}  # fmt: skip
    assert {name.split("-")[0] for name in packages} >= {"typer", "rich", "pyyaml", "protobuf", "nvidia_ml_py"}
    assert {name.split("-")[0] for name in packages - licensed} <= {"nvidia_ml_py"}  # PyPI's has it in METADATA
    assert all("\\" not in name and not name.startswith(("/", "../")) for name in names)
    assert pyz.stat().st_size < 4_000_000
    assert os.access(pyz, os.X_OK)
