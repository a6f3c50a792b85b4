"""What the API server refuses of a claim although every field has its type: k8s.io/kubernetes v1.36.3
pkg/apis/resource/validation/validation.go (validateDeviceClaim and below), the same rules in 1.32 to 1.37.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from gputopo.rules.manifests.asks import devices_path, value_at
from gputopo.terms.manifest import Manifest, Path

_MOST = {"requests": 32, "constraints": 32, "config": 32}
_MOST_SELECTORS, _MOST_ALTERNATIVES = 32, 8
_NAME = re.compile("[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")


class Refusal(NamedTuple):
    path: Path
    message: str
    remedy: str = ""


def refusals(manifest: Manifest) -> Iterator[Refusal]:
    """Only of an object whose fields have their types."""
    devices = devices_path(manifest)
    for key, most in _MOST.items():
        count = len(_list(value_at(manifest, (*devices, key))))
        if count > most:
            yield Refusal((*devices, key), f"{count} {key}, and the API server takes {most}")
    flat = str(manifest.object.body.get("apiVersion")).endswith("/v1beta1")
    seen: set[str] = set()
    for place, request in enumerate(_list(value_at(manifest, (*devices, "requests")))):
        path: Path = (*devices, "requests", place)
        yield from _of_name(request, path, seen, "request")
        yield from _of_request(request, path, flat)
    for place, constraint in enumerate(_list(value_at(manifest, (*devices, "constraints")))):
        if not constraint.get("matchAttribute") and not constraint.get("distinctAttribute"):
            yield Refusal((*devices, "constraints", place), "a constraint without an attribute", "matchAttribute: ...")


def _of_request(request: dict[str, Any], path: Path, flat: bool) -> Iterator[Refusal]:
    alternatives = _list(request.get("firstAvailable"))
    own = request if flat else request.get("exactly")
    if len(alternatives) > _MOST_ALTERNATIVES:
        message = f"{len(alternatives)} alternatives, and the API server takes {_MOST_ALTERNATIVES}"
        yield Refusal((*path, "firstAvailable"), message)
    seen: set[str] = set()
    for place, one in enumerate(alternatives):
        yield from _of_name(one, (*path, "firstAvailable", place), seen, "alternative")
        yield from _of_ask(one, (*path, "firstAvailable", place))
    if flat and alternatives and not request.get("deviceClassName"):
        return
    if alternatives and own is not None:
        yield Refusal(path, "a request has either its own device class or firstAvailable, not both")
    elif not alternatives and own is None:
        yield Refusal(path, "a request without exactly or firstAvailable", "exactly: {deviceClassName: ...}")
    elif isinstance(own, dict):
        yield from _of_ask(own, path if flat else (*path, "exactly"))


def _of_ask(ask: dict[str, Any], path: Path) -> Iterator[Refusal]:
    if not ask.get("deviceClassName"):
        yield Refusal(path, "deviceClassName is required")
    mode = ask.get("allocationMode")
    if mode not in (None, "", "All", "ExactCount"):
        near = next((one for one in ("All", "ExactCount") if one.lower() == str(mode).lower()), "")
        yield Refusal((*path, "allocationMode"), "allocationMode is ExactCount or All", near)
    if mode == "All" and ask.get("count"):
        message = "count must not be given with allocationMode: All"
        yield Refusal((*path, "count"), message, "allocationMode: ExactCount, or no count")
    selectors = _list(ask.get("selectors"))
    if len(selectors) > _MOST_SELECTORS:
        message = f"{len(selectors)} selectors, and the API server takes {_MOST_SELECTORS}"
        yield Refusal((*path, "selectors"), message)
    for place, one in enumerate(selectors):
        if one.get("cel") is None:
            yield Refusal((*path, "selectors", place), "a selector without cel", "cel: {expression: ...}")


def _of_name(one: dict[str, Any], path: Path, seen: set[str], what: str) -> Iterator[Refusal]:
    name = one.get("name")
    if not name:
        yield Refusal(path, f"{what} without a name")
    elif name in seen:
        yield Refusal((*path, "name"), f"a second {what} {name}")
    elif not _NAME.fullmatch(name):
        yield Refusal((*path, "name"), f"the name {name} is not of small letters, digits and '-', at most 63")
    if isinstance(name, str):
        seen.add(name)


def _list(found: Any) -> list[dict[str, Any]]:
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
