"""The API over HTTPS, for what the tests put there and look up themselves; what is tested has its own client."""

from __future__ import annotations

import http.client
import json
import ssl
from pathlib import Path
from typing import Any

Object = dict[str, Any]
_MERGE, _APPLY = "application/merge-patch+json", "application/apply-patch+yaml"  # JSON is YAML
_WAIT = 30.0  # s


class Refused(Exception):
    """One line: what was asked and what the API server said."""


class Api:
    """One connection, of one user. Not for several threads at a time: `another` makes one more."""

    def __init__(self, port: int, token: str, certificate: Path) -> None:
        self.port, self.token, self.certificate = port, token, certificate
        context = ssl.create_default_context(cafile=str(certificate))
        self._connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=_WAIT, context=context)

    def another(self) -> Api:
        return Api(self.port, self.token, self.certificate)

    def close(self) -> None:
        self._connection.close()

    def text(self, method: str, path: str, body: Object | None = None, patch: str = _MERGE) -> str:
        """Raises Refused."""
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json"}
        headers["Content-Type"] = patch if method == "PATCH" else "application/json"
        self._connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        response = self._connection.getresponse()
        said = response.read().decode("utf-8", "replace")
        if response.status >= 300:
            raise Refused(f"{method} {path}: {response.status}: {said[:500]}")
        return said

    def call(self, method: str, path: str, body: Object | None = None) -> Object:
        """Raises Refused."""
        answer: Object = json.loads(self.text(method, path, body))
        return answer

    def create(self, one: Object) -> Object:
        return self.call("POST", collection(one) + "?fieldValidation=Strict", one)

    def apply(self, one: Object) -> Object:
        """Made or changed on the server's side; a field that its kind does not have is an error. Raises Refused."""
        path = place(one) + "?fieldManager=gputopo-e2e&force=true&fieldValidation=Strict"
        answer: Object = json.loads(self.text("PATCH", path, one, _APPLY))
        return answer

    def kubeconfig(self, path: Path, token: str | None = None) -> Path:
        """A file for one user of this server."""
        server = {"server": f"https://127.0.0.1:{self.port}", "certificate-authority": str(self.certificate)}
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "e2e",
            "clusters": [{"name": "e2e", "cluster": server}],
            "users": [{"name": "e2e", "user": {"token": token or self.token}}],
            "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "e2e"}}],
        }))  # fmt: skip
        path.chmod(0o600)
        return path


_PLURALS = {"DeviceClass": "deviceclasses", "RuntimeClass": "runtimeclasses", "NetworkPolicy": "networkpolicies"}


def collection(one: Object) -> str:
    """Where objects of its kind are.

    >>> collection({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"namespace": "ml"}})
    '/apis/resource.k8s.io/v1/namespaces/ml/resourceclaims'
    >>> collection({"apiVersion": "v1", "kind": "Node", "metadata": {}})
    '/api/v1/nodes'
    """
    version, kind = one["apiVersion"], one["kind"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    namespace = one["metadata"].get("namespace")
    within = f"/namespaces/{namespace}" if namespace else ""
    return f"{root}{within}/{_PLURALS.get(kind, kind.lower() + 's')}"


def place(one: Object) -> str:
    return f"{collection(one)}/{one['metadata']['name']}"
