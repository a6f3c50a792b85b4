"""Puts a cluster of objects.py into the API server, as its controllers and kubelets would."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from e2e.api import Api, place
from e2e.objects import CLAIM_UID, NAMESPACES, Cluster, Object, PodOf

_AT_A_TIME = 4
_T = TypeVar("_T")


def load(api: Api, cluster: Cluster) -> dict[str, str]:
    """CDI names of claimed devices → UUIDs, since the API server gives the claims' UIDs. Raises Refused."""
    for namespace in NAMESPACES:
        api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        # Its controller, which makes it, does not run here; pods are not admitted without.
        account = {"name": "default", "namespace": namespace}
        api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
    for one in cluster.classes:
        api.create(one)
    each(api, _create, (*cluster.nodes, *cluster.slices))
    names: dict[str, str] = {}
    each(api, partial(_pod, names), cluster.pods)
    return names


def listed(api: Api, path: str) -> list[Object]:
    """As kubectl prints them, each with its kind. Raises Refused."""
    found = api.call("GET", path)
    typed = {"kind": found["kind"].removesuffix("List"), "apiVersion": found["apiVersion"]}
    return [typed | item for item in found["items"]]


def _create(api: Api, one: Object) -> None:
    api.create(one)


def each(api: Api, put: Callable[[Api, _T], None], things: Sequence[_T]) -> None:
    """Some at a time, each share over a connection of its own."""

    def some(start: int) -> None:
        own = api.another()
        try:
            for one in things[start::_AT_A_TIME]:
                put(own, one)
        finally:
            own.close()

    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        list(pool.map(some, range(_AT_A_TIME)))


def _pod(names: dict[str, str], api: Api, pod: PodOf) -> None:
    """The claim first, as its controller; then the pod, what it was given, and at last what its kubelet says."""
    claim = api.create(pod.claim)["metadata"]["uid"] if pod.claim is not None else ""
    made = api.create(pod.body)
    if pod.claim is not None:
        user = {"resource": "pods", "name": made["metadata"]["name"], "uid": made["metadata"]["uid"]}
        allocated = {"status": {"allocation": pod.allocation, "reservedFor": [user]}}
        api.call("PATCH", place(pod.claim) + "/status", allocated)
    names.update((one.replace(CLAIM_UID, claim), uuid) for one, uuid in pod.names.items())
    status = json.loads(json.dumps(pod.status).replace(CLAIM_UID, claim))
    api.call("PATCH", place(pod.body) + "/status", {"status": status})
