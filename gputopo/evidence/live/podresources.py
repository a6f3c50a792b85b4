"""The kubelet's podresources socket: List and GetAllocatableResources, byte for byte, or why there is no answer.

Who answers is seen first, by the first frame of HTTP/2, in this process: a socket that is missing or closed to us, a
program that is no gRPC server, and one that says nothing need no gRPC to be told. The calls are made by a child
process (podresources_child.py): gRPC has threads of its own, which a later fork does not survive, and prints.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
from collections.abc import Callable
from time import monotonic
from typing import NamedTuple

from gputopo.errors import GputopoError
from gputopo.evidence.kubelet_files import ROOT, SOCKET
from gputopo.evidence.live import command
from gputopo.evidence.live.child import command_of
from gputopo.evidence.live.http2_server import NOT_HTTP2, NOTHING, first_frame
from gputopo.evidence.piece import Piece

LIST, ALLOCATABLE = "List", "GetAllocatableResources"
MOST_BYTES = 16 << 20  # of one answer, as Kubernetes' own clients of it

# Why there is no answer.
MISSING = "missing"
DENIED = "permission-denied"
NO_SOCKET = "no-socket"
NOBODY = "nobody-listens"
NOT_A_KUBELET = "not-a-kubelet"
SILENT = "silent"
DIED = "died"
TOO_LARGE = "too-large"
BUSY = "busy"
REFUSED = "refused"
NO_GRPC = "no-grpc"

_CHECKPOINT = f"{ROOT}/device-plugins/kubelet_internal_checkpoint"
_HINTS = {
    MISSING: "does a kubelet run here? --socket PATH, or --kubelet-root DIR where its root folder is another",
    DENIED: "only root may: sudo gputopo pods; in a container, mount the folder of the socket",
    NO_SOCKET: "--socket PATH names the kubelet's socket itself: pod-resources/kubelet.sock",
    NOBODY: "the kubelet has ended or starts just now: systemctl status kubelet; its files are read without it",
    NOT_A_KUBELET: "--socket PATH names the kubelet's socket: pod-resources/kubelet.sock below its root folder",
    SILENT: f"--timeout SECONDS, or read the kubelet's files instead: gputopo pods {_CHECKPOINT}",
    DIED: f"once more; the kubelet's log says why it ended; its files are read without it: gputopo pods {_CHECKPOINT}",
    TOO_LARGE: f"read the kubelet's files instead: gputopo pods {_CHECKPOINT}",
    BUSY: "other programs ask it too: once more",
    REFUSED: f"read the kubelet's files instead: gputopo pods {_CHECKPOINT}",
    NO_GRPC: "pip install grpcio; the kubelet's files are read without it",
}


class Trouble(NamedTuple):
    kind: str
    text: str  # a clause: "the kubelet did not answer List within 10 s"

    @property
    def hint(self) -> str:
        return _HINTS[self.kind]


class Answer(NamedTuple):
    """`pods` is `None` where there is trouble; `allocatable` alone may be missing, `without` says why."""

    socket: str
    version: str = ""  # of the API that answered: v1, v1alpha1
    pods: bytes | None = None
    allocatable: bytes | None = None
    trouble: Trouble | None = None
    without: str = ""

    def pieces(self) -> tuple[Piece, ...]:
        """The answers as evidence; an empty message is one, too: no pods."""
        answers = ((LIST, self.pods), (ALLOCATABLE, self.allocatable))
        version = "" if self.version == "v1" else f"{self.version} "
        return tuple(
            Piece(self.socket, data, where=f"live: {version}{call}") for call, data in answers if data is not None
        )

    def error(self) -> GputopoError:
        """What stands in the way, for who has nothing else to answer from."""
        assert self.trouble is not None
        return GputopoError(self.trouble.text, self.socket, self.trouble.hint, exit_code=3)


def socket_path(socket: str | None = None, kubelet_root: str | None = None) -> str:
    return socket or os.path.join(kubelet_root or ROOT, SOCKET)


def ask(socket: str, timeout: float = 10.0, *, slow: Callable[[], object] = lambda: None) -> Answer:
    """Never longer than `timeout` and 0.3 s. `slow` is called once when it takes 2 s."""
    end = monotonic() + timeout
    trouble = _who(socket, timeout)
    if trouble is not None:
        return Answer(socket, trouble=trouble)
    if not sys.executable:
        return Answer(socket, trouble=Trouble(NO_GRPC, "Python does not know its own program, so nobody can ask"))
    left = max(end - monotonic(), 0.1)
    child = command_of("podresources_child", f"{left:.3f}", str(MOST_BYTES), os.path.abspath(socket))
    environment = {**os.environ, "GRPC_VERBOSITY": "NONE", "GRPC_ENABLE_FORK_SUPPORT": "0"}
    done = command.run(child, left, environment=environment, most=2 * MOST_BYTES + 4096, slow=slow)
    return read_answer(done, socket, timeout)


def _who(socket: str, timeout: float) -> Trouble | None:
    """What stands in the way before anything is asked."""
    try:
        if not stat.S_ISSOCK(os.stat(socket).st_mode):
            return Trouble(NO_SOCKET, "this is no socket")
        frame = first_frame(socket, timeout)
    except (OSError, ValueError) as error:
        return _closed(error)
    if frame == NOTHING:
        return Trouble(SILENT, f"somebody listens and said nothing within {timeout:g} s")
    if frame == NOT_HTTP2:
        return Trouble(NOT_A_KUBELET, "what answers is not a kubelet: it does not speak gRPC")
    return None


def _closed(error: OSError | ValueError) -> Trouble:
    number = error.errno if isinstance(error, OSError) else None
    if number in (errno.ENOENT, errno.ENOTDIR):
        return Trouble(MISSING, "there is no such socket")
    if number in (errno.EACCES, errno.EPERM):
        return Trouble(DENIED, "the kubelet's socket: permission denied")
    if number == errno.ECONNREFUSED:
        return Trouble(NOBODY, "the kubelet's socket is there, and nobody listens")
    why = (error.strerror or "" if isinstance(error, OSError) else "").lower() or "a path that cannot be one"
    return Trouble(NO_SOCKET, f"the kubelet's socket cannot be opened: {why}")


def read_answer(done: command.Done, socket: str, timeout: float) -> Answer:
    """What the child wrote: lines, and behind each `answer` line its bytes."""
    answer, last = Answer(socket), LIST
    output, place = done.output, 0
    while (end := output.find(b"\n", place)) >= 0:
        kind, _, rest = output[place:end].decode("utf-8", "replace").partition(" ")
        place = end + 1
        if kind == "asks":
            last = rest
        elif kind == "failed":
            said = json.loads(rest)
            silent = said["kind"] == SILENT
            answer = _failed(answer, _silent(last, timeout) if silent else Trouble(said["kind"], said["text"]))
        elif kind == "answer":
            call, version, size = rest.split(" ")
            data = output[place : place + int(size)]
            place += int(size)
            if len(data) < int(size):
                break
            answer = answer._replace(pods=data) if call == LIST else answer._replace(allocatable=data)
            answer = answer._replace(version=version)
        elif kind == "end":
            return answer
    return _ended(answer, done, last, timeout)


def _silent(call: str, timeout: float) -> Trouble:
    return Trouble(SILENT, f"the kubelet did not answer {call} within {timeout:g} s")


def _failed(answer: Answer, trouble: Trouble) -> Answer:
    """Of List it is the end, of the rest a lack."""
    return answer._replace(trouble=trouble) if answer.pods is None else answer._replace(without=trouble.text)


def _ended(answer: Answer, done: command.Done, last: str, timeout: float) -> Answer:
    """The child was ended, or died."""
    if answer.trouble is not None:
        return answer
    if done.end == command.TIMEOUT:
        trouble = _silent(last, timeout)
    elif done.end == command.NOT_STARTED:
        trouble = Trouble(NO_GRPC, f"the kubelet cannot be asked: {done.output.decode('utf-8', 'replace')}")
    else:
        trouble = Trouble(REFUSED, f"the process that asked the kubelet ended (status {done.status}) at {last}")
    return _failed(answer, trouble)
