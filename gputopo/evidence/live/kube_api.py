"""Pods, nodes, claims and slices of a cluster, asked of its API server: JSON, or why there is none.

    asked = Asked(namespace="ml")
    answer = ask(asked, timeout=10.0)

The official client (extra `kube`) reads the kubeconfig and makes the connection, in a child process (kube_child.py).
What is asked for is in kube_lists.py.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import NamedTuple

from gputopo.errors import GputopoError
from gputopo.evidence.live import command
from gputopo.evidence.live.child import command_of
from gputopo.evidence.live.kube_child import (
    ABSENT,
    FORBIDDEN,
    NO_CONFIG,
    NO_PACKAGE,
    NOBODY,
    NOT_AN_API,
    NOT_TRUSTED,
    REFUSED,
    SILENT,
    UNKNOWN_USER,
)
from gputopo.evidence.piece import Piece

MOST_BYTES = 256 << 20  # of everything, cut to what is needed: some 100,000 pods
_HINTS = {
    NO_PACKAGE: "pip install 'gputopo[kube]'; or save what kubectl get pods -A -o json prints and give the file",
    NO_CONFIG: "--kubeconfig FILE, --context NAME, or KUBECONFIG=FILE",
    NOBODY: "kubectl cluster-info; --context NAME for another cluster",
    NOT_TRUSTED: "the certificate-authority in the kubeconfig, or a proxy between",
    UNKNOWN_USER: "kubectl auth whoami; is the token or certificate expired?",
    FORBIDDEN: "deploy/rbac.yaml grants all that is asked for; or -n NAMESPACE for what you may list",
    SILENT: "--timeout SECONDS; kubectl get --raw /readyz",
    NOT_AN_API: "the server in the kubeconfig; a proxy or a login page may answer in its place",
    REFUSED: "kubectl get pods -A -o json > pods.json; gputopo pods pods.json",
    ABSENT: "the server in the kubeconfig: is it a Kubernetes API server?",
}


__all__ = ("ABSENT", "Answer", "Asked", "Note", "Trouble", "ask", "read_answer")


class Asked(NamedTuple):
    context: str | None = None
    kubeconfig: str | None = None
    namespace: str | None = None  # None: all
    node: str | None = None

    @property
    def every_pod(self) -> bool:
        """Whether all pods of the nodes are asked for."""
        return self.namespace is None


class Note(NamedTuple):
    """What is not known, since it was refused (FORBIDDEN, REFUSED) or is not there (ABSENT)."""

    kind: str
    text: str


class Trouble(NamedTuple):
    kind: str
    text: str

    @property
    def hint(self) -> str:
        return _HINTS[self.kind]


class Answer(NamedTuple):
    server: str = ""
    lists: tuple[tuple[str, tuple[bytes, ...]], ...] = ()  # (resource, pages), as far as they came
    notes: tuple[Note, ...] = ()
    trouble: Trouble | None = None

    def pieces(self) -> tuple[Piece, ...]:
        """All that the API server said, as one source."""
        data = b"\n".join(page for _, pages in self.lists for page in pages)
        return (Piece(self.server, data=data, where="live"),) if self.trouble is None else ()

    def error(self) -> GputopoError:
        """Why there is nothing."""
        assert self.trouble is not None
        return GputopoError(self.trouble.text, self.server, self.trouble.hint, exit_code=3)


def ask(asked: Asked, timeout: float = 10.0, *, slow: Callable[[], object] = lambda: None) -> Answer:
    """Never longer than `timeout` and 0.3 s. `slow` is called once when it takes 2 s."""
    if not sys.executable:
        return Answer(trouble=Trouble(NO_PACKAGE, "Python does not know its own program, so nobody can ask"))
    from tempfile import TemporaryDirectory

    # The client writes keys out of the kubeconfig into files; they go with this folder, also when it is killed.
    with TemporaryDirectory(prefix="gputopo-") as folder:
        child = command_of("kube_child", f"{timeout:.3f}", json.dumps(asked._asdict()))
        environment = {**os.environ, "TMPDIR": folder}
        done = command.run(child, timeout, environment=environment, most=MOST_BYTES, slow=slow)
    return read_answer(done, timeout)


def read_answer(done: command.Done, timeout: float) -> Answer:
    """What the child wrote."""
    output, place, last, server = done.output, 0, "", ""
    pages: dict[str, list[bytes]] = {}
    notes: list[Note] = []
    trouble: Trouble | None = None
    ended = False
    while not ended and (end := output.find(b"\n", place)) >= 0:
        kind, _, rest = output[place:end].decode("utf-8", "replace").partition(" ")
        place = end + 1
        if kind == "server":
            server = rest
        elif kind == "asks":
            last = rest
        elif kind == "page":
            name, _, size = rest.partition(" ")
            page = output[place : place + int(size)]
            place += int(size)
            if len(page) < int(size):
                break
            pages.setdefault(name, []).append(page)
        elif kind == "again":
            pages.pop(rest, None)
        elif kind == "note":
            notes.append(Note(**json.loads(rest)))
        elif kind == "failed":
            said = json.loads(rest)
            trouble = _silent(last, timeout) if said["kind"] == SILENT else Trouble(said["kind"], said["text"])
        ended = kind == "end"
    if trouble is None and not ended:
        trouble = _ended(done, last, timeout)
    return Answer(server, tuple((name, tuple(each)) for name, each in pages.items()), tuple(notes), trouble)


def _silent(last: str, timeout: float) -> Trouble:
    what = f"list {last}" if last else "the credentials of the kubeconfig"
    who = f"the API server did not answer {what}" if last else f"{what} did not come"
    return Trouble(SILENT, f"{who} within {timeout:g} s")


def _ended(done: command.Done, last: str, timeout: float) -> Trouble:
    if done.end == command.TIMEOUT:
        return _silent(last, timeout)
    if done.end == command.TOO_LONG:
        return Trouble(REFUSED, f"more than {MOST_BYTES >> 20} MiB of pods: -n NAMESPACE, or --node NAME")
    if done.end == command.NOT_STARTED:
        return Trouble(NO_PACKAGE, f"nobody can ask: {done.output.decode('utf-8', 'replace')}")
    at = last or "its start"
    return Trouble(REFUSED, f"the process that asked the API server ended (status {done.status}) at {at}")
