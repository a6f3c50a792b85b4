"""Kinds of recorded answers that tests/replay.py can replay. See tests/replay.py for how to add one."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

# kind → module in this folder, imported when the kind is asked for.
KINDS: dict[str, str] = {
    "topo-dumps": "topo_dumps",
    "sysfs-lstopo": "sysfs_lstopo",
    "hwloc-captures": "hwloc_captures",
    "letters": "letters",
    "nccl-xml": "nccl_xml",
    "nccl-logs": "nccl_logs",
    "nccl-paths": "nccl_paths",
    "smi-sisters": "smi_sisters",
    "public-reports": "public_reports",
    "gpuallocator": "gpuallocator",
    "gpuallocator-outcomes": "gpuallocator_outcomes",
    "gpuallocator-greedy": "gpuallocator_greedy",
    "kubelet-merge": "kubelet_merge",
    "kubelet-hints": "kubelet_hints",
    "kubelet-allocate": "kubelet_allocate",
    "kubelet-admit": "kubelet_admit",
    "dra-cel": "dra_cel",
    "dra-scenarios": "dra_scenarios",
}


class Case(Protocol):
    """What `cases` yields: any value with a name for messages and the recorded answer."""

    @property
    def name(self) -> str: ...

    @property
    def expected(self) -> dict[str, Any]: ...


class Kind(Protocol):
    COMPARED: frozenset[str]  # keys of a recorded answer that `compare` looks at
    IGNORED: dict[str, str]  # the other keys, each with the reason

    def cases(self, path: Path) -> Iterable[Case]:
        """The recorded cases of a path."""

    def answer(self, case: Case) -> Any:
        """Our answer. An exception counts as a mismatch."""

    def compare(self, expected: dict[str, Any], got: Any) -> list[str]:
        """The differences, one sentence each; empty when right."""


def load(kind: str) -> Kind:
    """The module of a kind. Raises KeyError for an unknown kind, ImportError for one not written yet."""
    module: Any = importlib.import_module(f"tests.replay_kinds.{KINDS[kind]}")
    return module  # type: ignore[no-any-return]
