"""Claims for an IMEX channel of a ComputeDomain: what NVIDIA's driver prepares.

Source: kubernetes-sigs/dra-driver-nvidia-gpu, cmd/compute-domain-kubelet-plugin/{device_state,driver}.go and
api/nvidia.com/resource/v1beta1/computedomainconfig.go. The parameters are decoded strictly: an unknown field is an
error. A node publishes channel 0 only, and the class takes no other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gputopo.allocate.dra.published import COMPUTE_DOMAIN
from gputopo.rules.manifests.asks import Ask, asks, devices_path, value_at
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.terms.manifest import Manifest, Path

CLASS = "compute-domain-default-channel.nvidia.com"
_CHANNEL, _DAEMON = "ComputeDomainChannelConfig", "ComputeDomainDaemonConfig"
_VERSION = "resource.nvidia.com/v1beta1"
_UID = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_WAITS = "pods with this claim stay in ContainerCreating"
_INSTEAD = "the ResourceClaimTemplate that the ComputeDomain names: its controller makes it, with the UID"


def channel_claims(code: str, manifest: Manifest, context: Context) -> Iterator[Problem]:
    configs = list(_configs(manifest))
    for path, parameters, _ in configs:
        yield from _of_parameters(code, manifest, context, path, parameters)
    for ask in asks(manifest):
        if ask.device_class != CLASS:
            continue
        if ask.mode == "ExactCount" and ask.number > 1:
            message = f"request {ask.name} asks for {ask.number} channels, and a node has one"
            yield problem(code, "error", manifest, (*ask.path, "count"), message, "", "count: 1")
        if not any(_is_for(ask, requests, parameters) for _, parameters, requests in configs):
            message = f"request {ask.name} has no {_CHANNEL}: domainID cannot be empty"
            path = (*ask.path, "deviceClassName")
            yield problem(code, "error", manifest, path, message, _WAITS, _INSTEAD)


def _configs(manifest: Manifest) -> Iterator[tuple[Path, Any, Any]]:
    """Path and value of the parameters of the driver, and the requests that they are for."""
    path: Path = (*devices_path(manifest), "config")
    found = value_at(manifest, path)
    for place, one in enumerate(found if isinstance(found, list) else ()):
        opaque = one.get("opaque") if isinstance(one, dict) else None
        if isinstance(opaque, dict) and opaque.get("driver") == COMPUTE_DOMAIN:
            yield (*path, place, "opaque", "parameters"), opaque.get("parameters"), one.get("requests")


def _is_for(ask: Ask, requests: Any, parameters: Any) -> bool:
    """Whether a configuration applies to a request; what is wrong with it is said elsewhere."""
    if isinstance(parameters, dict) and parameters.get("kind") == _DAEMON:
        return False
    named = [one for one in requests if isinstance(one, str)] if isinstance(requests, list) else []
    return not named or ask.name in named or ask.name.partition("/")[0] in named


def _of_parameters(
    code: str, manifest: Manifest, context: Context, path: Path, parameters: Any
) -> Iterator[Problem]:  # fmt: skip
    if not isinstance(parameters, dict):
        return
    kind = parameters.get("kind")
    if kind not in (_CHANNEL, _DAEMON) or parameters.get("apiVersion") != _VERSION:
        message = f"{COMPUTE_DOMAIN} takes {_CHANNEL} or {_DAEMON} of {_VERSION} only"
        yield problem(code, "error", manifest, path, message, _WAITS)
        return
    known = {"apiVersion", "kind", "domainID"}
    if kind == _CHANNEL and context.driver != "25.3":
        known.add("allocationMode")
    for key in parameters:
        if key not in known:
            own = (*path, str(key))
            message = f"{kind} has no field {key}: the parameters do not decode"
            remedy = next((one for one in sorted(known) if one.lower() == str(key).lower()), "")
            yield problem(code, "error", manifest, own, message, _WAITS, remedy, manifest.key(own))
    yield from _of_domain_id(code, manifest, context, (*path, "domainID"), parameters.get("domainID"))


def _of_domain_id(code: str, manifest: Manifest, context: Context, path: Path, uid: Any) -> Iterator[Problem]:
    if not uid:
        yield problem(code, "error", manifest, path, "domainID cannot be empty", _WAITS, _INSTEAD)
    elif not isinstance(uid, str):
        yield problem(code, "error", manifest, path, "domainID is no text", _WAITS)
    elif not _UID.fullmatch(uid):
        names = [value_at(one, ("metadata", "name")) for one in context.together if one.kind == "ComputeDomain"]
        what = "the name of a ComputeDomain" if uid in names else "no UID"
        message = f"domainID is {what}: the driver looks a ComputeDomain up by its metadata.uid"
        yield problem(code, "error", manifest, path, message, _WAITS, _INSTEAD)
