"""Who may import whom. One direction, evidence to report; a room knows only the rooms before it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "gputopo"

# room: what of gputopo it may import beside itself. A file at the top of the package is a room.
WORDS = {"terms", "errors", "version"}
MAY: dict[str, set[str]] = {
    "errors": set(),
    "version": set(),
    "terms": set(),
    "records": {"terms"},
    "holdings": {"terms", "records"},
    "nccl_records": {"terms", "records"},
    "job_records": {"terms", "records", "nccl_records"},
    "evidence": {"terms", "errors", "version", "sample_files"},
    "protos": set(),
    "parsers": {"terms", "records", "holdings", "nccl_records", "job_records", "protos"},
    "topology": {"terms", "records", "errors"},
    "cel": {"terms", "errors"},
    "allocate": WORDS | {"topology", "cel"},
    "nccl": {"terms", "records", "topology"},
    "pods": WORDS | {"records", "holdings", "topology"},
    "jobs": WORDS | {"records", "nccl_records", "job_records", "topology"},
    "export": WORDS | {"topology", "allocate"},
    "rules": WORDS
    | {"records", "holdings", "nccl_records", "job_records", "topology", "cel", "allocate", "pods", "jobs", "nccl"},
    "fleet": WORDS | {"records", "topology", "allocate", "rules"},
    "checks": WORDS | {"records", "topology", "allocate", "rules", "fleet"},
    "documents": WORDS
    | {"records", "holdings", "topology", "allocate", "pods", "jobs", "rules", "fleet", "checks"},
    "reports": WORDS
    | {"records", "holdings", "topology", "allocate", "nccl", "pods", "jobs", "rules"}
    | {"fleet", "checks", "documents", "inspection"},
    "inspection_job": WORDS
    | {"inspection", "inspection_pods", "records", "job_records", "evidence", "parsers", "topology", "allocate", "pods"}
    | {"jobs", "rules"},
    "inspection_pods": WORDS | {"holdings", "inspection", "evidence", "parsers", "topology", "pods", "rules"},
    "inspection": WORDS | {"records", "holdings", "evidence", "parsers", "topology", "rules", "documents"},
}
EVERYTHING = {"cli", "commands", "__init__", "__main__", "sample_files"}
# The dispatcher takes a piece of evidence and answers with the error that users see.
MORE = {
    "parsers/recognise.py": {"errors", "evidence"},
    "parsers/recognise_holdings.py": set(),
    "parsers/recognise_job.py": set(),
}
# A parser's neighbours that are not formats.
NOT_FORMATS = {
    "unreadable", "limits", "formats", "xml_guard", "lscpu_sockets", "pasted_text", "pci_tree", "pci_ids",
    "nvidia_smi_values", "amd_tables", "kube_objects", "manifests", "plugin_config", "kubelet_config",
    "kubelet_state", "gres_conf", "allocate_answer", "cgroup_cpuset", "proc_cgroup", "numa_maps", "gpu_processes",
    "told_devices", "container_told", "json_values", "slurm_gres", "klog_line", "open_devices",
    "log_lines", "formats_jobs", "node_spec",
}  # fmt: skip
THIRD_PARTY = {
    "typer": {"cli", "commands"},
    "rich": {"commands", "reports"},
    "cairosvg": {"reports"},
    "yaml": {"reports", "parsers"},
    "pynvml": {"evidence", "parsers"},
    "subprocess": {"evidence"},
    "socket": {"evidence"},
    "grpc": {"evidence"},
    "kubernetes": {"evidence"},
    "urllib3": {"evidence"},
    "grpc_tools": {"protos"},
    "prometheus_client": {"commands"},
    "google.protobuf": {"parsers", "protos"},
}


def imports(source: str, package: str) -> Iterator[str]:
    """Every module a text imports, wherever in it; relative ones resolved against its package."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def forbidden(path: str, source: str) -> list[str]:
    """What this file must not import."""
    parts = path.removesuffix(".py").split("/")
    room = parts[0]
    found = list(imports(source, ".".join(["gputopo", *parts[:-1]])))
    names = {name.split(".")[1] for name in found if name.startswith("gputopo.")}
    wrong = [name for name, rooms in THIRD_PARTY.items() if room not in rooms and _imports(name, found)]
    if room not in EVERYTHING:
        wrong += sorted(names - MAY[room] - {room} - MORE.get(path, set()))
    if room == "parsers" and path not in MORE:
        own = parts[1]
        formats = {name.split(".")[2] for name in found if name.startswith("gputopo.parsers.")}
        wrong += sorted(f"parsers.{name}" for name in formats - {own} - NOT_FORMATS)
    return wrong


def _imports(name: str, found: list[str]) -> bool:
    return any(one == name or one.startswith(name + ".") for one in found)


def files() -> list[str]:
    return sorted(str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", files())
def test_a_file_imports_only_the_rooms_before_its_own(path: str) -> None:
    assert forbidden(path, (PACKAGE / path).read_text()) == []


def test_every_file_is_in_a_room() -> None:
    assert {path.split("/")[0].removesuffix(".py") for path in files()} - set(MAY) - EVERYTHING == set()


@pytest.mark.parametrize(
    ("path", "source", "wrong"),
    [
        ("terms/cpu_set.py", "from gputopo.records import Key", ["records"]),
        ("topology/join.py", "def f():\n    from gputopo import parsers", ["parsers"]),
        ("topology/join.py", "from ..reports import text", ["reports"]),
        ("parsers/lscpu.py", "from gputopo.parsers import nccl_xml", ["parsers.nccl_xml"]),
        ("parsers/lscpu.py", "import subprocess", ["subprocess"]),
        ("reports/text/render.py", "import typer", ["typer"]),
        ("rules/run.py", "from gputopo.terms.cpu_set import CpuSet", []),
    ],
)
def test_the_check_finds_what_it_should(path: str, source: str, wrong: list[str]) -> None:
    assert forbidden(path, source) == wrong


def test_no_homeless_modules() -> None:
    assert not {Path(path).stem for path in files()} & {"utils", "common", "helpers", "util", "misc"}
