"""Builds the Go programs of this folder over the real modules.

Upstream keeps what we have to ask unexported. So a module is copied out of the module cache into
build/conformance/, our files of PROGRAM/inside/PACKAGE are put beside its own, and the program is built over
that copy. Nothing of upstream is changed or kept in this repository. A program is built again only when our
Go files change. GPUTOPO_BUILD names another folder than build/, for several working trees to share.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ.get("GPUTOPO_BUILD") or HERE.parent / "build") / "conformance"
_STAGED = re.compile(r"(k8s\.io/\S+) => \./staging")
_GO_MINOR = re.compile(r"^go 1\.(\d+)", re.MULTILINE)
OLDEST_LANGUAGE = 22  # our programs range over integers
_LEFT_OUT = ("_test.go",)  # our copy of a module needs no tests


class BuildError(Exception):
    """One line: what could not be built and why."""


class Program(NamedTuple):
    folder: str
    module: str
    package_parent: str  # where in the module the packages of inside/ are


GPUALLOCATOR = Program("gpuallocator", "github.com/NVIDIA/go-gpuallocator", "")
KUBELET = Program("kubelet", "k8s.io/kubernetes", "pkg/kubelet/cm")
DRA = Program("dra", "k8s.io/dynamic-resource-allocation", "")

# The newest releases that the Go module proxy served when this was written, oldest first.
RELEASES = {GPUALLOCATOR: ("v0.6.0",), KUBELET: ("v1.36.3", "v1.37.2"), DRA: ("v0.36.6", "v0.37.2")}


def go() -> str:
    """The go command. Raises BuildError where there is none."""
    found = shutil.which("go")
    if found is None:
        raise BuildError("go is not installed")
    return found


def build(program: Program, version: str) -> Path:
    """The executable of a program over one release of its module."""
    folder = BUILD / f"{program.folder}-{version}"
    executable = folder / "ask"
    if is_built(program, version):
        return executable
    source = module_folder(program.module, version)
    copy = folder / "module"
    _copy_module(source, copy)
    for file in _own_files(program, "inside"):
        shutil.copyfile(file, copy / program.package_parent / file.relative_to(HERE / program.folder / "inside"))
    for file in _own_files(program, ""):
        shutil.copyfile(file, folder / file.name)
    _write_go_mod(program, version, source, folder)
    _run([go(), "build", "-mod=mod", f"-tags={tags(program, version)}", "-o", str(executable), "."], folder)
    (folder / "stamp").write_text(_fingerprint(program))
    return executable


def is_built(program: Program, version: str) -> bool:
    folder = BUILD / f"{program.folder}-{version}"
    stamp = folder / "stamp"
    return (folder / "ask").exists() and stamp.exists() and stamp.read_text() == _fingerprint(program)


def tags(program: Program, version: str) -> str:
    """`since_1_37` for a kubelet of 1.37 or later, whose functions take other arguments.

    >>> tags(KUBELET, "v1.37.2"), tags(KUBELET, "v1.36.3"), tags(GPUALLOCATOR, "v0.6.0")
    ('since_1_37', '', '')
    """
    return "since_1_37" if program is KUBELET and int(version.split(".")[1]) >= 37 else ""


def _own_files(program: Program, below: str) -> Iterator[Path]:
    root = HERE / program.folder / below
    return iter(sorted(root.rglob("*.go") if below else root.glob("*.go")))


def _fingerprint(program: Program) -> str:
    digest = hashlib.sha256()
    for below in ("", "inside"):
        for file in _own_files(program, below):
            digest.update(str(file.relative_to(HERE)).encode() + file.read_bytes())
    return digest.hexdigest()


def module_folder(module: str, version: str) -> Path:
    """Where the module cache has it. Raises BuildError."""
    text = _run([go(), "mod", "download", "-json", f"{module}@{version}"], HERE, check=False)
    try:
        said = json.loads(text)
    except ValueError:
        raise BuildError(f"{module}@{version}: {text.strip() or 'no answer'}") from None
    if "Error" in said:
        raise BuildError(f"{module}@{version} cannot be had: {said['Error']}")
    return Path(said["Dir"])


def _copy_module(source: Path, target: Path) -> None:
    """Hard links where the file system allows; the cache's own folders cannot be written to."""
    shutil.rmtree(target, ignore_errors=True)
    for folder, _, names in os.walk(source):
        there = target / Path(folder).relative_to(source)
        there.mkdir(parents=True)
        for name in names:
            if not name.endswith(_LEFT_OUT):
                _link(Path(folder) / name, there / name)


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _write_go_mod(program: Program, version: str, source: Path, folder: Path) -> None:
    """A module over the copy. The kubelet's go.mod names its sister modules by folder: they are published as v0.x."""
    upstream = (source / "go.mod").read_text(encoding="utf-8")
    language = _GO_MINOR.search(upstream)
    lines = [
        f"module gputopo.conformance/{program.folder}",
        f"go 1.{max(int(language[1]) if language else 0, OLDEST_LANGUAGE)}",
        f"require {program.module} {version}",
        f"replace {program.module} => ./module",
        *(f"replace {name} => {name} {own}" for name, own in sister_modules(source, version)),
    ]
    (folder / "go.mod").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "go.sum").unlink(missing_ok=True)


def sister_modules(source: Path, version: str) -> list[tuple[str, str]]:
    """The modules that a go.mod names by folder, with the version under which they are published."""
    names = _STAGED.findall((source / "go.mod").read_text(encoding="utf-8"))
    return [(name, "v0." + version.split(".", 1)[1]) for name in names]


def _run(command: list[str], folder: Path, check: bool = True) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if check and done.returncode:
        said = [line for line in done.stderr.splitlines() if not line.startswith(("go: downloading", "#"))]
        raise BuildError(f"{' '.join(command[:2])} in {folder.name}: {said[0] if said else 'failed'}")
    return done.stdout or done.stderr
