"""A gRPC server on a unix socket that answers as the kubelet does, with given bytes; and servers that do not."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

Answer = Callable[[bytes, Any], bytes]


@contextlib.contextmanager
def kubelet(path: Path, answers: Mapping[str, bytes | Answer], service: str = "v1.PodResourcesLister") -> Iterator[str]:
    """`answers`: method → bytes, or what is called for them. The server's address is `path`."""
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")  # other tests fork
    import grpc

    pool = ThreadPoolExecutor(4)
    server = grpc.server(pool, options=[("grpc.max_send_message_length", -1)])
    handlers = {name: grpc.unary_unary_rpc_method_handler(_answering(answer)) for name, answer in answers.items()}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))
    server.add_insecure_port(f"unix:{path}")
    server.start()
    try:
        yield str(path)
    finally:
        server.stop(None).wait(2)
        pool.shutdown(wait=False)


def _answering(answer: bytes | Answer) -> Answer:
    return (lambda request, context: answer) if isinstance(answer, bytes) else answer


@contextlib.contextmanager
def listener(path: Path, serve: Callable[[socket.socket], object]) -> Iterator[str]:
    """A program that is no gRPC library: `serve` is called with each connection, in a thread of its own."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen(8)
    server.settimeout(0.05)
    ended = threading.Event()

    def run() -> None:
        while not ended.is_set():
            with contextlib.suppress(TimeoutError):
                threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield str(path)
    finally:
        ended.set()
        thread.join(2)
        server.close()
