"""`gputopo pods --kube` in a process of its own: what it says, how long it takes, how much memory it holds at most."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

PODS = ("pods", "--kube", "-A", "-o", "json")
_WAIT = 60  # s, as its own --timeout


class Done(NamedTuple):
    status: int
    output: str
    errors: str
    wall: float  # s
    cpu: float  # s, of it and its children
    peak: int  # bytes of the largest of them

    @property
    def trouble(self) -> str:
        """Why there is no answer; a traceback exits with 1, as findings do."""
        if self.status <= 1 and self.output.startswith("{"):
            return ""
        lines = self.errors.strip().splitlines() or [""]
        return f"exit {self.status}: {lines[-1 if lines[0].startswith('Traceback') else 0].strip()[:200]}"

    @property
    def items(self) -> list[dict[str, Any]]:
        """The audits of its nodes."""
        document = json.loads(self.output)
        return list(document["items"]) if document["kind"].endswith("List") else [document]


def asked(kubeconfig: Path) -> Done:
    """All pods, asked for by the user of a kubeconfig."""
    return _run((*PODS, "--kubeconfig", str(kubeconfig)))


def read(file: Path) -> Done:
    """What was saved of them."""
    return _run(("pods", str(file), "-o", "json"))


def _run(arguments: tuple[str, ...]) -> Done:
    """Nothing of this machine's own Kubernetes is seen."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("KUBE", "GPUTOPO_"))}
    command = [sys.executable, "-P", "-m", "gputopo", *arguments, f"--timeout={_WAIT}"]
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        started = time.monotonic()
        process = subprocess.Popen(command, stdout=output, stderr=errors, stdin=subprocess.DEVNULL, env=environment)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.monotonic() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        return Done(
            process.returncode, output.read().decode("utf-8", "replace"), errors.read().decode("utf-8", "replace"),
            wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024,
        )  # fmt: skip
