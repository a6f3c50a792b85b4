"""The process that asks the API server: `… kube_child SECONDS ASKED`, ASKED being JSON (kube_api.Asked).

A credential plugin of the kubeconfig (`exec:`) may wait for ever or ask a question, and a name server may not answer;
here both die with the process. On standard output, lines; behind a `page` line as many bytes as it says:

    server https://10.0.0.1:6443
    asks pods
    page pods 23423
    again pods                    what was paged of it so far is void: the list went on too long for the server
    note {"kind": "forbidden", "text": "…"}
    failed {"kind": "forbidden", "text": "may not list pods in all namespaces"}
    end

Pages are cut to what is needed (kube_kept.py); an environment of a pod is never handed on.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from time import monotonic
from typing import Any, NamedTuple

from gputopo.evidence.live.kube_kept import kept
from gputopo.evidence.live.kube_lists import LISTS, Listed

# Why there is no answer, or none to one of the questions.
NO_PACKAGE = "no-package"
NO_CONFIG = "no-config"
NOBODY = "nobody-listens"
NOT_TRUSTED = "not-trusted"
UNKNOWN_USER = "unauthorized"
FORBIDDEN = "forbidden"
SILENT = "silent"
NOT_AN_API = "not-an-api-server"
REFUSED = "refused"
ABSENT = "absent"

PAGE = 500  # objects, as kubectl's
_PAGE_MOST = 64 << 20  # bytes of one page
_SPARE = 0.1  # s, before the parent ends this process, to say that nothing came
_FAKE = b'"run.ai/fake.gpu"'
_GONE = 410


class Trouble(Exception):
    def __init__(self, kind: str, text: str) -> None:
        super().__init__(kind, text)
        self.kind = kind
        self.text = text


class _Answer(NamedTuple):
    status: int
    body: Any


def main(arguments: Sequence[str]) -> None:
    seconds, asked = arguments
    # The parent kills this process in time; if the parent itself is killed, the kernel does.
    signal.setitimer(signal.ITIMER_REAL, float(seconds) + 1.0)
    end = monotonic() + float(seconds) - _SPARE
    out = os.dup(1)
    os.dup2(2, 1)  # a credential plugin may print
    answer(json.loads(asked), end, out)


def answer(asks: dict[str, Any], end: float, out: int) -> None:
    """Writes all of it. `end`: when to have come to it, by the clock that does not jump."""
    try:
        _ask(_Server(asks, end), asks, out)
    except Trouble as trouble:
        _line(out, f"failed {json.dumps({'kind': trouble.kind, 'text': trouble.text})}")
    _line(out, "end")


def _ask(server: _Server, asks: dict[str, Any], out: int) -> None:
    _line(out, f"server {server.host}")
    _line(out, "asks its API groups")
    groups = server.groups()
    fake = False
    for one in LISTS:
        if one.on_fake and not fake:
            continue
        version = _version(one, groups)
        if version is None:
            _note(out, ABSENT, f"the API server has no {one.plural} of {one.group}")
            continue
        _line(out, f"asks {one.plural}")
        try:
            for page in server.pages(one, version, asks):
                fake = fake or (one.kind == "Node" and _FAKE in page)
                _line(out, f"page {one.plural} {len(page)}" if page else f"again {one.plural}")
                _write(out, page)
        except Trouble as trouble:
            if one.needed or trouble.kind not in (FORBIDDEN, ABSENT, REFUSED):
                raise
            _note(out, trouble.kind, f"{trouble.text}: {one.without}")


def _version(one: Listed, groups: dict[str, list[str]] | None) -> str | None:
    if not one.group or groups is None:
        return one.versions[0]
    served = groups.get(one.group, [])
    return next((version for version in one.versions if version in served), None)


class _Server:
    """The API server that a kubeconfig, or the pod in which this runs, names."""

    def __init__(self, asks: dict[str, Any], end: float) -> None:
        try:
            import urllib3
            from kubernetes import client, config
        except Exception as error:  # missing, or a broken installation
            raise Trouble(NO_PACKAGE, f"the package kubernetes cannot be imported ({_short(error)})") from None
        self._urllib3 = urllib3
        self._end = end
        self._configuration = client.Configuration()
        self._load(config, asks)
        self._configuration.retries = False
        self.host = str(self._configuration.host).rstrip("/")
        self._pool = client.ApiClient(self._configuration).rest_client.pool_manager

    def _load(self, config: Any, asks: dict[str, Any]) -> None:
        file, context = asks.get("kubeconfig"), asks.get("context")
        home = os.environ.get("KUBECONFIG") or os.path.expanduser("~/.kube/config")
        in_pod = not file and not context and "KUBERNETES_SERVICE_HOST" in os.environ
        try:
            if in_pod and not any(os.path.exists(one) for one in home.split(os.pathsep) if one):
                config.load_incluster_config(client_configuration=self._configuration)
            else:
                # persist_config: a token that a plugin renewed is not written back.
                config.load_kube_config(file, context, self._configuration, persist_config=False)
        except Exception as error:  # ConfigException, and whatever YAML or a plugin raises
            where = file or home
            missing = not any(os.path.exists(one) for one in where.split(os.pathsep) if one)
            what = "there is no kubeconfig" if missing else f"the kubeconfig cannot be used: {_short(error)}"
            raise Trouble(NO_CONFIG, f"{what} ({where})") from None

    def groups(self) -> dict[str, list[str]] | None:
        """Group: its versions. `None`: it does not say."""
        answer = self._get("/apis", {})
        if answer.status != 200:
            self._refused(answer, "list API groups", needed=False)
            return None
        listed = answer.body.get("groups")
        if not isinstance(listed, list):
            raise Trouble(NOT_AN_API, "what answers is not a Kubernetes API server")
        return {
            str(one.get("name")): [str(each.get("version")) for each in one.get("versions") or ()] for one in listed
        }

    def pages(self, one: Listed, version: str, asks: dict[str, Any]) -> Iterator[bytes]:
        """JSON of each page; an empty one says that it begins anew."""
        for fields in one.fields or ("",):
            yield from self._paged(one, version, asks, fields)

    def _paged(self, one: Listed, version: str, asks: dict[str, Any], fields: str) -> Iterator[bytes]:
        path, where = _path(one, version, asks.get("namespace"))
        fields = ",".join(part for part in (fields, _of_node(one, asks.get("node"))) if part)
        query = {"limit": str(PAGE), **({"fieldSelector": fields} if fields else {})}
        next_page, again = "", False
        while True:
            answer = self._get(path, {**query, **({"continue": next_page} if next_page else {})})
            if answer.status == _GONE and next_page and not again and not one.fields:
                next_page, again = "", True
                yield b""
                continue
            if answer.status != 200:
                self._refused(answer, f"list {one.plural}{where}")
            items = answer.body.get("items")
            if not isinstance(items, list):
                items = []
            typed = {"kind": one.kind, "apiVersion": f"{one.group}/{version}".lstrip("/")}
            objects = [typed | kept(one.kind, item) for item in items if isinstance(item, dict)]
            yield json.dumps({"kind": "List", "apiVersion": "v1", "items": objects}, separators=(",", ":")).encode()
            metadata = answer.body.get("metadata")
            next_page = metadata.get("continue") or "" if isinstance(metadata, dict) else ""
            if not next_page:
                return

    def _get(self, path: str, query: dict[str, str]) -> _Answer:
        errors = self._urllib3.exceptions
        left = self._end - monotonic()
        if left <= 0:
            raise Trouble(SILENT, "")
        headers = {"Accept": "application/json", "User-Agent": "gputopo"}
        settings: Any = self._configuration.auth_settings()
        for setting in settings.values():
            if setting.get("in") == "header" and setting.get("value"):
                headers[setting["key"]] = setting["value"]
        try:
            response = self._pool.request(
                "GET", self.host + path, fields=query, headers=headers, retries=False, redirect=False,
                timeout=self._urllib3.Timeout(connect=left, read=left), preload_content=False,
            )  # fmt: skip
            data = response.read(_PAGE_MOST + 1, decode_content=True)
            response.release_conn()
        except errors.NewConnectionError as error:  # a TimeoutError by its class, refusals included
            raise Trouble(NOBODY, f"the API server cannot be reached: {_reason(error)}") from None
        except errors.TimeoutError:
            raise Trouble(SILENT, "") from None
        except errors.SSLError as error:
            raise Trouble(NOT_TRUSTED, f"the server's certificate: {_short(error)}") from None
        except errors.HTTPError as error:
            raise Trouble(NOBODY, f"the API server cannot be reached: {_reason(error)}") from None
        except (OSError, ValueError) as error:
            raise Trouble(NOBODY, f"the API server cannot be asked: {_short(error)}") from None
        if len(data) > _PAGE_MOST:
            raise Trouble(REFUSED, f"an answer of more than {_PAGE_MOST >> 20} MiB")
        try:
            body = json.loads(data)
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            if response.status == 200:
                raise Trouble(NOT_AN_API, "what answers is not a Kubernetes API server")
            body = {}
        return _Answer(int(response.status), body)

    def _refused(self, answer: _Answer, what: str, needed: bool = True) -> None:
        if answer.status == 401:
            raise Trouble(UNKNOWN_USER, "the API server does not know who asks (401)")
        if not needed:
            return
        if answer.status == 403:
            raise Trouble(FORBIDDEN, f"may not {what} (403)")
        if answer.status == 404:
            raise Trouble(ABSENT, f"the API server cannot {what} (404)")
        said = answer.body.get("message")
        more = f": {' '.join(said.split())[:200]}" if isinstance(said, str) else ""
        raise Trouble(REFUSED, f"the API server answered {answer.status} to {what}{more}")


def _path(one: Listed, version: str, namespace: str | None) -> tuple[str, str]:
    """(path, where in words)"""
    from urllib.parse import quote

    base = f"/apis/{one.group}/{version}" if one.group else f"/api/{version}"
    where = one.namespace or (namespace if one.namespaced else "")
    if where:
        return f"{base}/namespaces/{quote(where, safe='')}/{one.plural}", f" in namespace {where}"
    return f"{base}/{one.plural}", " in all namespaces" if one.namespaced else ""


def _of_node(one: Listed, node: str | None) -> str:
    """What the server can leave out where one node is wanted."""
    if not node:
        return ""
    return {"pods": f"spec.nodeName={node}", "nodes": f"metadata.name={node}"}.get(one.plural, "")


def _reason(error: Exception) -> str:
    """The system's word out of urllib3's: `connection refused`."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror.lower()
        cause = cause.__cause__ or cause.__context__
    return _short(error)


def _short(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


def _note(out: int, kind: str, text: str) -> None:
    _line(out, f"note {json.dumps({'kind': kind, 'text': text})}")


def _line(out: int, text: str) -> None:
    _write(out, " ".join(text.split("\n")).encode("utf-8", "replace") + b"\n")


def _write(out: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(out, view) :]


if __name__ == "__main__":
    main(sys.argv[1:])
