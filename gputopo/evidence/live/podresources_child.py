"""The process that asks the kubelet: `… podresources_child SECONDS BYTES SOCKET`.

On standard output, lines; behind an `answer` line as many bytes of the answer as it says:

    asks List                     about to call
    answer List v1 1100           version of the API, size
    failed {"kind": "silent", "text": "no answer to List in time"}
    end

Requests have no content, and answers are handed on as they came, so no message is needed here, only names.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Sequence
from time import monotonic, sleep
from typing import Any, NoReturn

from gputopo.evidence.live.http2_server import Short
from gputopo.evidence.live.podresources import (
    ALLOCATABLE,
    BUSY,
    DENIED,
    DIED,
    LIST,
    NO_GRPC,
    NOT_A_KUBELET,
    REFUSED,
    SILENT,
    TOO_LARGE,
)

SERVICE = "PodResourcesLister"
_VERSIONS = ("v1", "v1alpha1")
_MIB = 1 << 20
_SPARE = 0.1  # s, before the parent ends this process, to say that nothing came
_PAUSE = 0.1  # s, before a kubelet that has too many callers is asked again


def main(arguments: Sequence[str]) -> NoReturn:
    seconds, most, socket = arguments
    end = monotonic() + float(seconds)
    # The parent kills this process in time; if the parent itself is killed, the kernel does.
    signal.setitimer(signal.ITIMER_REAL, float(seconds) + 1.0)
    out = os.dup(1)
    os.dup2(2, 1)  # gRPC may print
    _ask(socket, end, int(most), out)
    _write(out, b"end\n")
    os._exit(0)  # threads of gRPC may hang, and nobody needs them


def _ask(socket: str, end: float, most: int, out: int) -> None:
    try:
        import grpc
    except Exception as error:  # a broken installation
        return _failed(out, NO_GRPC, f"grpcio cannot be imported ({type(error).__name__}: {error})")
    with Short(socket) as short:
        channel = grpc.insecure_channel(_target(short), _options(most))
        for version in _VERSIONS:
            refusal = _call(grpc, channel, version, LIST, end, most, out)
            if refusal is None or refusal.code() != grpc.StatusCode.UNIMPLEMENTED:
                break
        else:
            return _failed(out, NOT_A_KUBELET, f"what answers is not a kubelet: it has no service {SERVICE}")
        if refusal is None and version == "v1":
            _call(grpc, channel, version, ALLOCATABLE, end, most, out)
    return None


def _target(path: str) -> str:
    """A URI: what means something in one is escaped."""
    from urllib.parse import quote

    return f"unix:{quote(path)}"


def _options(most: int) -> list[tuple[str, Any]]:
    return [
        ("grpc.max_receive_message_length", most),
        ("grpc.enable_retries", 0),
        ("grpc.enable_http_proxy", 0),
        ("grpc.default_authority", "localhost"),  # else the path, which servers in Go refuse
    ]


def _call(grpc: Any, channel: Any, version: str, call: str, end: float, most: int, out: int) -> Any:
    """`None` where the answer was written; the refusal, written unless it may be another version's."""
    _write(out, f"asks {call}\n".encode())
    while True:
        left = max(end - monotonic() - _SPARE, 0.05)
        try:
            data = channel.unary_unary(f"/{version}.{SERVICE}/{call}")(b"", timeout=left)
        except grpc.RpcError as error:
            kind, text = _reason(grpc, error, call, most)
            if kind == BUSY and left > 2 * _PAUSE:
                sleep(_PAUSE)  # 100 calls a second are let through (kubernetes pkg/kubelet/apis/podresources)
                continue
            if call != LIST or error.code() != grpc.StatusCode.UNIMPLEMENTED:
                _failed(out, kind, text)
            return error
        _write(out, f"answer {call} {version} {len(data)}\n".encode() + data)
        return None


def _reason(grpc: Any, error: Any, call: str, most: int) -> tuple[str, str]:
    code, details = error.code(), " ".join(str(error.details() or "").split())[:200]
    status = grpc.StatusCode
    if code == status.DEADLINE_EXCEEDED:
        return SILENT, f"no answer to {call} in time"
    if code == status.RESOURCE_EXHAUSTED:
        if "larger than max" in details:
            return TOO_LARGE, f"the answer to {call} is larger than {most // _MIB} MiB"
        return BUSY, f"the kubelet answers no more calls now: {details}"
    if code in (status.UNAVAILABLE, status.CANCELLED) or (code == status.INTERNAL and "RST_STREAM" in details):
        return DIED, f"the connection broke before the answer to {call} was whole"
    if code in (status.PERMISSION_DENIED, status.UNAUTHENTICATED):
        return DENIED, f"the socket's server refuses {call}: {details}"
    if code == status.UNIMPLEMENTED:
        return NOT_A_KUBELET, f"this kubelet does not answer {call}"
    return REFUSED, f"the kubelet answered {call} with {code.name}: {details}"


def _failed(out: int, kind: str, text: str) -> None:
    _write(out, f"failed {json.dumps({'kind': kind, 'text': text})}\n".encode())


def _write(out: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(out, view) :]


if __name__ == "__main__":
    main(sys.argv[1:])
