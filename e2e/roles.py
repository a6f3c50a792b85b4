"""The objects of deploy/rbac.yaml, the account they make, and its role less one permission at a time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from e2e.api import Api, Refused, collection, place

Object = dict[str, Any]
FILE = Path(__file__).resolve().parent.parent / "deploy" / "rbac.yaml"
_KNOWN_WITHIN = 20.0  # s, until the API server decides by what was changed


class Permission(NamedTuple):
    group: str
    resource: str  # or a path of the server: /version
    verb: str
    namespace: str = ""  # of a Role

    @property
    def rule(self) -> Object:
        if self.resource.startswith("/"):
            return {"nonResourceURLs": [self.resource], "verbs": [self.verb]}
        return {"apiGroups": [self.group], "resources": [self.resource], "verbs": [self.verb]}

    def __str__(self) -> str:
        group, where = f".{self.group}" if self.group else "", f" in {self.namespace}" if self.namespace else ""
        return f"{self.verb} {self.resource}{group}{where}"


class Role(NamedTuple):
    """A role of the file, and who has it."""

    body: Object
    permissions: tuple[Permission, ...]


class Account(NamedTuple):
    namespace: str
    name: str

    @property
    def user(self) -> str:
        return f"system:serviceaccount:{self.namespace}:{self.name}"


def read(path: Path = FILE) -> list[Object]:
    with path.open(encoding="utf-8") as text:
        return [one for one in yaml.safe_load_all(text) if one]


def apply(api: Api, objects: list[Object]) -> tuple[Account, list[Role]]:
    """Creates all of them. Raises Refused, and ValueError where they do not give one account a role."""
    accounts = [one["metadata"] for one in objects if one["kind"] == "ServiceAccount"]
    roles = [one for one in objects if one["kind"] in ("ClusterRole", "Role")]
    if len(accounts) != 1 or not roles:
        raise ValueError(f"{len(accounts)} service accounts and {len(roles)} roles: one account with a role is tested")
    [account] = accounts
    namespaces = {one["metadata"]["namespace"] for one in objects if one["metadata"].get("namespace")}
    namespaces -= {one["metadata"]["name"] for one in objects if one["kind"] == "Namespace"}
    for name in sorted(namespaces):
        try:
            api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        except Refused as refused:
            if ": 409:" not in str(refused):
                raise
    for one in sorted(objects, key=lambda one: one["kind"] != "Namespace"):
        api.create(one)
    found = [Role(one, tuple(_permissions(one["rules"], one["metadata"].get("namespace", "")))) for one in roles]
    return Account(account["namespace"], account["name"]), found


def _permissions(rules: list[Object], namespace: str) -> Iterator[Permission]:
    for rule in rules:
        for verb in rule["verbs"]:
            yield from (Permission("", path, verb) for path in rule.get("nonResourceURLs", ()))
            for group in rule.get("apiGroups", ()):
                yield from (Permission(group, resource, verb, namespace) for resource in rule.get("resources", ()))


def token(api: Api, account: Account) -> str:
    """As a pod of the account has it."""
    path = f"/api/v1/namespaces/{account.namespace}/serviceaccounts/{account.name}/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    return str(api.call("POST", path, body)["status"]["token"])


def grant(api: Api, account: Account, role: Role, without: Permission | None) -> None:
    """The role with all its permissions but one, once the API server decides by it. Raises Refused, TimeoutError."""
    rules = [one.rule for one in role.permissions if one != without]
    api.call("PATCH", place(role.body), {"rules": rules})
    for one in role.permissions:
        _wait(api, account, one, one != without)


def _wait(api: Api, account: Account, permission: Permission, allowed: bool) -> None:
    group, resource, verb, namespace = permission
    attributes: Object = (
        {"nonResourceAttributes": {"path": resource, "verb": verb}}
        if resource.startswith("/")
        else {"resourceAttributes": {"group": group, "resource": resource, "verb": verb, "namespace": namespace}}
    )
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{account.namespace}", "system:authenticated"]
    review = {
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "metadata": {},
        "spec": {"user": account.user, "groups": groups, **attributes},
    }  # fmt: skip
    end = time.monotonic() + _KNOWN_WITHIN
    while bool(api.call("POST", collection(review), review)["status"].get("allowed")) != allowed:
        if time.monotonic() > end:
            raise TimeoutError(f"{permission} is still {'refused' if allowed else 'allowed'}")
        time.sleep(0.05)
