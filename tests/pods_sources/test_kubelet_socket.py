"""The kubelet's socket: a real gRPC server that answers as it does, and everything that may be there instead."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from gputopo.errors import GputopoError
from gputopo.evidence.live import podresources as asking
from gputopo.evidence.live.podresources import Answer, ask, socket_path
from gputopo.parsers.podresources import ALLOCATABLE, LIST, parse_bytes
from tests.pods_sources.kubelet_server import kubelet, listener
from tests.pods_sources.samples import FOLDER
from tests.pods_sources.test_podresources import ALLOCATABLE as RESOURCES
from tests.pods_sources.test_podresources import FULL, RECORDS, as_protobuf

SAMPLE = FOLDER / "podresources.list.bin"
PODS = as_protobuf(FULL)
SETTINGS = bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))


def refuses(code: str, text: str):  # type: ignore[no-untyped-def]
    import grpc

    return lambda request, context: context.abort(grpc.StatusCode[code], text)


def test_both_calls(tmp_path: Path) -> None:
    resources = as_protobuf(RESOURCES, ALLOCATABLE)
    with kubelet(tmp_path / "kubelet.sock", {LIST: PODS, ALLOCATABLE: resources}) as path:
        answer = ask(path, 10)
    assert answer == Answer(path, "v1", PODS, resources)
    assert [(piece.name, piece.where, piece.data) for piece in answer.pieces()] == [
        (path, "live: List", PODS),
        (path, "live: GetAllocatableResources", resources),
    ]
    assert parse_bytes(PODS, LIST, of_v1=True) == (RECORDS,)


@pytest.mark.skipif(not SAMPLE.is_file(), reason=f"no samples of the kubelet in {FOLDER}; GPUTOPO_SHARED")
def test_the_samples_bytes_come_as_they_are(tmp_path: Path) -> None:
    with kubelet(tmp_path / "kubelet.sock", {LIST: SAMPLE.read_bytes()}) as path:
        answer = ask(path, 10)
    assert answer.pods == SAMPLE.read_bytes()
    assert (answer.allocatable, answer.without) == (None, "this kubelet does not answer GetAllocatableResources")


def test_a_node_without_pods_is_an_answer(tmp_path: Path) -> None:
    with kubelet(tmp_path / "kubelet.sock", {LIST: b"", ALLOCATABLE: b""}) as path:
        answer = ask(path, 10)
    assert (answer.pods, answer.allocatable, answer.trouble) == (b"", b"", None)
    assert len(answer.pieces()) == 2


def test_an_old_kubelet_has_v1alpha1_only(tmp_path: Path) -> None:
    with kubelet(tmp_path / "kubelet.sock", {LIST: PODS}, "v1alpha1.PodResourcesLister") as path:
        assert ask(path, 10) == Answer(path, "v1alpha1", PODS)


def test_a_name_of_any_length_and_any_characters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A socket's address has 107 characters, and gRPC's is a URI."""
    folder = tmp_path / ("a" * 90) / "50% #1?"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    with kubelet(Path("k.sock"), {LIST: PODS}):
        assert ask(str(folder / "k.sock"), 10).pods == PODS
        assert ask("k.sock", 10).pods == PODS


def test_a_large_answer_comes_whole(tmp_path: Path) -> None:
    pods = PODS * (asking.MOST_BYTES // len(PODS))
    with kubelet(tmp_path / "kubelet.sock", {LIST: pods}) as path:
        answer = ask(path, 20)
    assert answer.pods == pods


def test_a_kubelet_that_is_asked_too_often_is_asked_again(tmp_path: Path) -> None:
    """grpc-go's limiter of kubernetes pkg/kubelet/apis/grpc: 100 calls a second."""
    refused = iter((True, True, False))

    def answer(request: bytes, context: object) -> bytes:
        return refuses("RESOURCE_EXHAUSTED", "rejected by rate limit")(request, context) if next(refused) else PODS

    with kubelet(tmp_path / "kubelet.sock", {LIST: answer}) as path:
        assert ask(path, 10).pods == PODS


def trouble(path: str, seconds: float) -> GputopoError:
    """What the user is told, in time."""
    start = time.monotonic()
    answer = ask(path, seconds)
    assert time.monotonic() - start < seconds + 1
    assert answer.pieces() == ()
    error = answer.error()
    assert error.exit_code == 3
    assert error.where == path
    assert error.hint
    assert not set("\n\r\0") & set(error.what + error.hint)
    assert len(error.what) < 300
    return error


def test_there_is_no_socket(tmp_path: Path) -> None:
    assert trouble(str(tmp_path / "none"), 5).what == "there is no such socket"
    (tmp_path / "file").touch()
    assert trouble(str(tmp_path / "file/kubelet.sock"), 5).what == "there is no such socket"
    assert trouble(str(tmp_path / "file"), 5).what == "this is no socket"
    assert "file name too long" in trouble(str(tmp_path / ("x" * 300)), 5).what
    assert ask(f"{tmp_path}\0", 5).trouble is not None


def test_a_socket_that_its_kubelet_left_behind(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "kubelet.sock"))
    assert "nobody listens" in trouble(str(tmp_path / "kubelet.sock"), 5).what


@pytest.mark.parametrize("closed", ["pod-resources", "pod-resources/kubelet.sock"])
def test_permission_denied(closed: str, tmp_path: Path) -> None:
    """The kubelet's folder is root's, 0750. Who is root becomes somebody else to be refused."""
    folder = tmp_path / "pod-resources"
    folder.mkdir()
    for place in (tmp_path, *tmp_path.parents[:2]):
        place.chmod(place.stat().st_mode | 0o111)
    code = (
        "import os, sys; from gputopo.evidence.live.podresources import ask\n"
        "if not os.geteuid(): os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "error = ask(sys.argv[1], 5).error()\n"
        "print(error.exit_code, error.what)\n"
    )
    with kubelet(folder / "kubelet.sock", {LIST: PODS}) as path:
        (tmp_path / closed).chmod(0)
        done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=False)
        (tmp_path / closed).chmod(0o700)
    assert done.stdout.strip() == "3 the kubelet's socket: permission denied", done.stderr


@pytest.mark.parametrize(
    "said",
    [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"", b"SSH-2.0-OpenSSH_9.6\r\n", bytes((0, 0, 0, 1, 0, 0, 0, 0, 1)), b"\0\0"],
)
def test_something_else_answers(said: bytes, tmp_path: Path) -> None:
    def serve(connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            connection.sendall(said)
            connection.recv(100)

    with listener(tmp_path / "other.sock", serve) as path:
        assert "not a kubelet: it does not speak gRPC" in trouble(path, 5).what


def test_another_grpc_server_answers(tmp_path: Path) -> None:
    with kubelet(tmp_path / "containerd.sock", {"Version": b""}, "runtime.v1.RuntimeService") as path:
        assert "not a kubelet: it has no service PodResourcesLister" in trouble(path, 5).what


def test_a_server_that_says_nothing(tmp_path: Path) -> None:
    ended = threading.Event()
    with listener(tmp_path / "silent.sock", lambda connection: bool(ended.wait(20))) as path:
        assert trouble(path, 0.5).what == "somebody listens and said nothing within 0.5 s"
    with kubelet(tmp_path / "slow.sock", {LIST: lambda request, context: b"x" * ended.wait(20)}) as path:
        assert trouble(path, 1.5).what == "the kubelet did not answer List within 1.5 s"
        ended.set()


def test_a_server_that_accepts_nobody(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server, contextlib.ExitStack() as waiting:
        server.bind(str(tmp_path / "full.sock"))
        server.listen(0)
        for _ in range(4):
            client = waiting.enter_context(socket.socket(socket.AF_UNIX))
            client.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                client.connect(str(tmp_path / "full.sock"))
        assert "said nothing within 0.5 s" in trouble(str(tmp_path / "full.sock"), 0.5).what


def test_a_server_that_dies_in_the_middle_of_its_answer(tmp_path: Path) -> None:
    """It has sent the head of a message of 1000 bytes and a few of them."""

    def serve(connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            connection.sendall(SETTINGS)
            connection.settimeout(3)
            received = b""
            while b"PodResourcesLister" not in received and len(received) < 10_000:
                part = connection.recv(4096)
                if not part:
                    return
                received += part
            headers = b"\x88\x5f\x10application/grpc"  # :status 200, content-type (RFC 7541, appendix A)
            connection.sendall(len(headers).to_bytes(3, "big") + bytes((1, 4, 0, 0, 0, 1)) + headers)
            data = b"\0" + (1000).to_bytes(4, "big") + PODS[:100]
            connection.sendall(len(data).to_bytes(3, "big") + bytes((0, 0, 0, 0, 0, 1)) + data)

    with listener(tmp_path / "dies.sock", serve) as path:
        assert trouble(path, 5).what == "the connection broke before the answer to List was whole"


def test_a_server_that_dies_after_the_list(tmp_path: Path) -> None:
    with kubelet(tmp_path / "k.sock", {LIST: PODS, ALLOCATABLE: refuses("INTERNAL", "gone\naway")}) as path:
        answer = ask(path, 5)
    assert (answer.pods, answer.allocatable) == (PODS, None)
    assert answer.without == "the kubelet answered GetAllocatableResources with INTERNAL: gone away"


def test_an_answer_of_50_mb(tmp_path: Path) -> None:
    with kubelet(tmp_path / "kubelet.sock", {LIST: bytes(50_000_000)}) as path:
        assert trouble(path, 10).what == "the answer to List is larger than 16 MiB"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("RESOURCE_EXHAUSTED", "answers no more calls now: why"),
        ("PERMISSION_DENIED", "refuses List: why"),
        ("INTERNAL", "the kubelet answered List with INTERNAL: why"),
        ("UNKNOWN", "the kubelet answered List with UNKNOWN: why"),
    ],
)
def test_a_kubelet_that_refuses(code: str, words: str, tmp_path: Path) -> None:
    with kubelet(tmp_path / "kubelet.sock", {LIST: refuses(code, "why")}) as path:
        assert words in trouble(path, 1.0).what


def test_a_child_that_dies_is_no_answer(tmp_path: Path) -> None:
    from gputopo.evidence.live.command import EXITED, NOT_STARTED, TIMEOUT, Done

    cut = b"asks List\nanswer List v1 1100\n" + PODS[:40]
    for done, kind in (
        (Done(cut, TIMEOUT, -9), asking.SILENT), (Done(cut, EXITED, -11), asking.REFUSED),
        (Done(b"", EXITED, 1), asking.REFUSED), (Done(b"no such file", NOT_STARTED, None), asking.NO_GRPC),
        (Done(b'failed {"kind": "no-grpc", "text": "grpcio cannot be imported"}\nend\n', EXITED, 0), asking.NO_GRPC),
    ):  # fmt: skip
        answer = asking.read_answer(done, "k.sock", 10.0)
        assert answer.pods is None
        assert answer.trouble is not None
        assert answer.trouble.kind == kind
    whole = f"asks List\nanswer List v1 {len(PODS)}\n".encode() + PODS
    answer = asking.read_answer(Done(whole + b"asks GetAllocatableResources\n", TIMEOUT, -9), "k.sock", 10.0)
    assert (answer.pods, answer.without) == (PODS, "the kubelet did not answer GetAllocatableResources within 10 s")


def test_every_trouble_has_a_hint() -> None:
    kinds = {value for name, value in vars(asking).items() if name.isupper() and isinstance(value, str)}
    kinds -= {asking.LIST, asking.ALLOCATABLE, asking.ROOT, asking.SOCKET, asking.NOTHING, asking.NOT_HTTP2}
    assert {kind for kind in kinds if not kind.startswith("/")} == set(asking._HINTS)


def test_where_the_socket_is() -> None:
    assert socket_path() == "/var/lib/kubelet/pod-resources/kubelet.sock"
    assert socket_path(None, "/data/kubelet") == "/data/kubelet/pod-resources/kubelet.sock"
    assert socket_path("/run/k.sock", "/data/kubelet") == "/run/k.sock"


def test_who_asks_loads_no_grpc(tmp_path: Path) -> None:
    """Nor protobuf: bytes come, and the parser is another's."""
    with kubelet(tmp_path / "kubelet.sock", {LIST: PODS}) as path:
        code = (
            "import json, sys; from gputopo.evidence.live.podresources import ask\n"
            "print(len(ask(sys.argv[1], 10).pods)); print(json.dumps(sorted(sys.modules)))"
        )
        done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    size, names = done.stdout.splitlines()
    assert int(size) == len(PODS)
    assert not {name.partition(".")[0] for name in json.loads(names)} & {"grpc", "google", "psutil", "asyncio"}


def test_one_asks_while_another_does(tmp_path: Path) -> None:
    found: list[bytes | None] = []
    with kubelet(tmp_path / "kubelet.sock", {LIST: PODS}) as path:
        threads = [threading.Thread(target=lambda: found.append(ask(path, 20).pods)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [PODS] * 3
