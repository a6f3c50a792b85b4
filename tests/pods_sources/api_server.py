"""A small API server over HTTP: lists with pages, and the ways in which a real one refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

Body = dict[str, Any]
DRA = "/apis/resource.k8s.io/v1"
GROUPS = {"resource.k8s.io": ["v1", "v1beta1"]}


class ApiServer:
    """`lists`: path → objects. `status`: path → code it answers with. `silent`: paths that never answer."""

    def __init__(self, lists: Mapping[str, Sequence[Body]], groups: Mapping[str, Sequence[str]] = GROUPS) -> None:
        self.lists = dict(lists)
        self.groups = groups
        self.status: dict[str, int] = {}
        self.silent: set[str] = set()
        self.most = 500  # objects a page, whatever is asked
        self.gone = 0  # how often a later page is refused as too old
        self.raw: bytes | None = None  # what it answers to everything
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.authorization: set[str | None] = set()
        self.closing = Event()
        self.address = ""

    def answer(self, path: str, query: dict[str, str]) -> tuple[int, bytes]:
        self.asked.append((path, query))
        if path in self.silent:
            self.closing.wait(20)
        if self.raw is not None:
            return 200, self.raw
        if path in self.status:
            code = self.status[path]
            return code, json.dumps({"kind": "Status", "code": code, "message": "no such luck"}).encode()
        if path == "/apis":
            groups = [
                {"name": name, "versions": [{"groupVersion": f"{name}/{one}", "version": one} for one in versions]}
                for name, versions in self.groups.items()
            ]
            return 200, json.dumps({"kind": "APIGroupList", "groups": groups}).encode()
        if path not in self.lists:
            return 404, b"404 page not found"
        return self._page(self.lists[path], query)

    def _page(self, objects: Sequence[Body], query: dict[str, str]) -> tuple[int, bytes]:
        start = int(query.get("continue", "0"))
        if start and self.gone:
            self.gone -= 1
            return 410, b'{"kind": "Status", "reason": "Expired"}'
        end = start + min(int(query["limit"]), self.most)
        # Items of a typed list have no kind of their own.
        items = [{key: value for key, value in one.items() if key not in ("kind", "apiVersion")} for one in objects]
        more = {"continue": str(end)} if end < len(items) else {}
        body = {"kind": "AnyList", "apiVersion": "v1", "metadata": {"resourceVersion": "1", **more},
                "items": items[start:end] or None}  # fmt: skip
        return 200, json.dumps(body).encode()


@contextmanager
def serving(server: ApiServer) -> Iterator[ApiServer]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # headers and body in one packet

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            server.authorization.add(self.headers.get("Authorization"))
            code, data = server.answer(url.path, {key: values[0] for key, values in parse_qs(url.query).items()})
            try:
                self.send_response(code)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
            except OSError:
                pass  # who asked is gone

        def log_message(self, *arguments: object) -> None:
            pass

    class Http(ThreadingHTTPServer):
        daemon_threads = True

    http = Http(("127.0.0.1", 0), Handler)
    server.address = f"http://127.0.0.1:{http.server_address[1]}"
    thread = Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        http.shutdown()
        http.server_close()


def kubeconfig(folder: Path, address: str, user: Body | None = None) -> str:
    """A file of it, in JSON, which is YAML."""
    file = folder / "kubeconfig"
    file.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "here",
        "clusters": [{"name": "c", "cluster": {"server": address}}],
        "users": [{"name": "u", "user": user or {"token": "abc"}}],
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}},
                     {"name": "away", "context": {"cluster": "c", "user": "u"}}],
    }))  # fmt: skip
    return str(file)
