"""etcd and kube-apiserver in a temporary folder, on ports of this machine that nobody else reaches by accident.

The API server makes its own certificate, which the kubeconfig names; who may ask is told by tokens. RBAC decides, the
administrator of the tests is in system:masters.
"""

from __future__ import annotations

import base64
import secrets
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from conformance.gobuild import BuildError
from e2e.api import Api, Refused
from e2e.build import Servers

READY_WITHIN = 120.0  # s
_ORDER_OF_P256 = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


@contextmanager
def cluster(servers: Servers, folder: Path) -> Iterator[Api]:
    """The API as its administrator. Raises BuildError where a server ends or is not ready in time."""
    token = secrets.token_urlsafe(24)
    etcd_port, peer_port, port = _free_ports(3)
    (folder / "tokens.csv").write_text(f'{token},admin,admin,"system:masters"\n')
    (folder / "accounts.pem").write_text(private_key())
    for name in ("tokens.csv", "accounts.pem"):
        (folder / name).chmod(0o600)
    etcd, peer = f"http://127.0.0.1:{etcd_port}", f"http://127.0.0.1:{peer_port}"
    with (
        _server(folder, "etcd", [
            str(servers.etcd), f"--data-dir={folder / 'etcd'}", f"--listen-client-urls={etcd}",
            f"--advertise-client-urls={etcd}", f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}", "--unsafe-no-fsync", "--log-level=error",
        ]) as first,
        _server(folder, "kube-apiserver", [
            str(servers.apiserver), f"--etcd-servers={etcd}", "--bind-address=127.0.0.1", f"--secure-port={port}",
            f"--cert-dir={folder / 'certificates'}", f"--token-auth-file={folder / 'tokens.csv'}",
            "--authorization-mode=RBAC", "--service-cluster-ip-range=10.0.0.0/24", "--endpoint-reconciler-type=none",
            "--service-account-issuer=https://e2e.gputopo", f"--service-account-key-file={folder / 'accounts.pem'}",
            f"--service-account-signing-key-file={folder / 'accounts.pem'}",
        ]) as second,
    ):  # fmt: skip
        yield _ready(folder, port, token, (first, second))


def _ready(folder: Path, port: int, token: str, processes: tuple[subprocess.Popen[bytes], ...]) -> Api:
    certificate = folder / "certificates" / "apiserver.crt"
    end = time.monotonic() + READY_WITHIN
    while time.monotonic() < end:
        for process in processes:
            if process.poll() is not None:
                name = Path(str(process.args[0])).name  # type: ignore[index]
                raise BuildError(f"{name} ended: {_last_words(folder / f'{name}.log')}")
        if certificate.exists():
            api = Api(port, token, certificate)
            try:
                api.text("GET", "/readyz")
            except (OSError, ssl.SSLError, Refused):
                api.close()
            else:
                return api
        time.sleep(0.2)
    raise BuildError(f"the API server is not ready after {READY_WITHIN:g} s")


def _last_words(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1][:300] if lines else "without a word"


@contextmanager
def _server(folder: Path, name: str, command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=folder)
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _free_ports(count: int) -> list[int]:
    """Free just now; the sockets are held together, so that no two are one."""
    held = [socket.socket() for _ in range(count)]
    try:
        for one in held:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in held]
    finally:
        for one in held:
            one.close()


def private_key() -> str:
    """A key on the curve P-256 in PEM, as RFC 5915 writes it without the public half, which whoever reads it computes.

    >>> private_key().splitlines()[0]
    '-----BEGIN EC PRIVATE KEY-----'
    """
    number = secrets.randbelow(_ORDER_OF_P256 - 1) + 1
    version, curve = bytes.fromhex("020101"), bytes.fromhex("a00a06082a8648ce3d030107")
    body = version + b"\x04\x20" + number.to_bytes(32, "big") + curve
    text = base64.b64encode(b"\x30" + bytes((len(body),)) + body).decode()
    lines = [text[at : at + 64] for at in range(0, len(text), 64)]
    return "\n".join(["-----BEGIN EC PRIVATE KEY-----", *lines, "-----END EC PRIVATE KEY-----", ""])
