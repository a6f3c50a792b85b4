"""`python -m tests.machines.write [--check]`: (re)write samples/ from the machines, and from jobs and pods on them.

`--check` writes nothing; it names every file that is missing, old or left over, and exits 1.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.machines.catalogue import MACHINES
from tests.machines.expected import render_expected
from tests.machines.jobs_and_pods import job_files, pod_files
from tests.machines.machine import Machine
from tests.machines.render_lscpu import render_lscpu
from tests.machines.render_topo import render_topo

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
NODES = "nvidia-smi-topo"
KINDS = (NODES, "jobs", "pods")  # the folders that are written; samples/README.md is not


def sample_files(machine: Machine) -> dict[str, str]:
    """The files of one sample: name → text."""
    files = {
        "topo.txt": render_topo(machine),
        "expected.json": render_expected(machine),
        "README.md": f"# {machine.name}\n\n{machine.title}. Shape: {machine.shape_from}.\n",
    }
    if machine.sockets_matter:
        files["lscpu.txt"] = render_lscpu(machine)
    return files


def wanted() -> dict[Path, str]:
    nodes = {
        f"{NODES}/{machine.name}/{name}": text
        for machine in MACHINES.values()
        for name, text in sample_files(machine).items()
    }
    return {SAMPLES / path: text for path, text in (nodes | job_files() | pod_files()).items()}


def differences() -> list[str]:
    """What the folders lack, have in another state, or have too much."""
    files = wanted()
    found = []
    for path, text in files.items():
        if not path.is_file():
            found.append(f"missing: {path}")
        elif path.read_bytes() != text.encode():
            found.append(f"not current: {path}")
    present = {path for kind in KINDS for path in (SAMPLES / kind).rglob("*") if path.is_file()}
    return found + [f"left over: {path}" for path in sorted(present - set(files))]


def main(arguments: list[str]) -> int:
    if arguments == ["--check"]:
        found = differences()
        print("\n".join(found) or "samples are current", file=sys.stderr if found else sys.stdout)
        return 1 if found else 0
    if arguments:
        print("usage: python -m tests.machines.write [--check]", file=sys.stderr)
        return 2
    for path, text in wanted().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
