"""`gputopo pods` itself, in a process of its own, on the kubelet's socket alone and with its root folder."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conformance.pods.said import cpu_list
from gputopo.evidence.live.podresources import socket_path
from gputopo.pods.model import Held

Row = tuple["str | None", "str | None", "str | None", frozenset[str], frozenset[int]]
_WAIT = 60.0  # s


def differences(root: Path, listed: Held, joined: Held) -> Iterator[str]:
    """`listed`, `joined`: what its options should show, --socket and --kubelet-root."""
    for option, value, right in (
        ("--socket", socket_path(None, str(root)), listed),
        ("--kubelet-root", str(root), joined),
    ):
        command = [sys.executable, "-P", "-m", "gputopo", "pods", option, value, "-o", "json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_WAIT)
        if done.returncode > 1 or not done.stdout.startswith("{"):  # a traceback exits with 1, too
            yield f"gputopo pods {option}: exit {done.returncode}: {done.stderr.strip()[-300:]}"
            continue
        document = json.loads(done.stdout)
        if {_of_document(one) for one in document["containers"]} != _of(right):
            yield f"gputopo pods {option}: {document['containers']}"


def _of(held: Held) -> set[Row]:
    return {
        (one.namespace, one.pod, one.name, frozenset(device.id for device in one.devices), frozenset(one.cpus or ()))
        for one in held.containers
    }


def _of_document(one: dict[str, Any]) -> Row:
    ids = frozenset(device["id"] for device in one["devices"])
    return one["namespace"], one["pod"], one["container"], ids, cpu_list(one["cpus"] or "")
