"""Builds kube-apiserver and etcd from the Go modules of one Kubernetes release, etcd as that release requires it.

Nothing is copied or changed: a go.mod of ours names the modules, and `go build` takes their commands. Once built they
stay in build/e2e/ (or GPUTOPO_BUILD/e2e/) until the release here is another.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

from conformance.gobuild import KUBELET, RELEASES, BuildError, go, module_folder, sister_modules

BUILD = Path(os.environ.get("GPUTOPO_BUILD") or Path(__file__).resolve().parent.parent / "build") / "e2e"
RELEASE = RELEASES[KUBELET][-1]
MODULE = KUBELET.module
ETCD = "go.etcd.io/etcd/server/v3"
_COMMANDS = {"etcd": ETCD, "kube-apiserver": f"{MODULE}/cmd/kube-apiserver"}


class Servers(NamedTuple):
    etcd: Path
    apiserver: Path


def build(release: str = RELEASE) -> Servers:
    """The executables; the first time it compiles for some minutes on two cores. Raises BuildError."""
    folder = BUILD / release
    servers = Servers(folder / "etcd", folder / "kube-apiserver")
    stamp = folder / "stamp"
    if stamp.exists() and stamp.read_text() == release:
        return servers
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["module gputopo.e2e/servers", "go 1.22", f"require {MODULE} {release}"]
    lines += [
        f"replace {name} => {name} {own}" for name, own in sister_modules(module_folder(MODULE, release), release)
    ]
    (folder / "go.mod").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "go.sum").unlink(missing_ok=True)
    for name, package in _COMMANDS.items():
        print(f"e2e: building {name} of Kubernetes {release}", flush=True)
        # Two compilers beside each other take more memory than small machines have.
        _run([go(), "build", "-mod=mod", "-p", "1", "-ldflags=-s -w", "-o", name, package], folder)
    stamp.write_text(release)
    return servers


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if not line.startswith(("go: downloading", "#"))]
        raise BuildError(f"{command[-1]}: {said[0] if said else 'go build failed'}")
