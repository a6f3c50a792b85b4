"""GT341 cluster-policy

What it says
    A ClusterPolicy of the GPU operator has a key or value that is not taken, or names a configuration of the device
    plugin that is not there; or a node does.

Why it matters
    A key that is misspelled is dropped where nobody checks strictly, and the default stays. A configuration that is
    not there keeps the device plugin from starting: the node then has no GPUs to give.

What to do
    The key that the message names; a key of the ConfigMap.

When it is silent
    Keys and values are the operator's, of those parts that bear on which GPUs a container gets: mig, devicePlugin, gfd,
    cdi, toolkit, driver, gds, gdrcopy, migManager, sandboxWorkloads. A key of another release that looks like none of
    these is passed over, and a ConfigMap that is not among the files is not looked for.

    Source: NVIDIA/gpu-operator a22dbf6 (2026-08-21) controllers/object_controls.go (TransformDevicePlugin,
    TransformGPUDiscoveryPlugin, handleDevicePluginConfig), assets/state-driver; NVIDIA/k8s-device-plugin v0.20.0
    cmd/config-manager/main.go (updateConfigName); the fields: objects/cluster_policy_fields.py.

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [own] = read('''apiVersion: nvidia.com/v1
    ... kind: ClusterPolicy
    ... metadata: {name: cluster-policy}
    ... spec: {mig: {strategy: mixt}, devicePlugin: {config: {name: plugin, defualt: any}}}
    ... ''')
    >>> [(found.place.column, found.message) for found in check(own, Context())]
    [(24, 'mig.strategy is mixt'), (69, 'devicePlugin.config.defualt is no field of a ClusterPolicy')]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gputopo.allocate.device_plugin.config import DEVICE_LIST_STRATEGIES, Refused, read_config
from gputopo.allocate.hami.devices import parse_bool
from gputopo.rules.manifests.asks import value_at
from gputopo.rules.manifests.objects.cluster_policy_fields import BOOLEAN, FIELDS, VARIABLES, Kind
from gputopo.rules.manifests.objects.node_parts import LABELS, node_part
from gputopo.rules.manifests.objects.pod_parts import listed, mapping_of, text_of
from gputopo.rules.manifests.objects.together import config_maps, of_kind
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.terms.kube_object import Body, type_name
from gputopo.terms.manifest import Manifest, Path

CODE = "GT341"
SEVERITY = "error"
KINDS = ("ClusterPolicy", "Node")
_LABEL = "nvidia.com/device-plugin.config"
_REFUSED = "the API server refuses the object"
_TYPES: dict[str, type] = {":boolean": bool, ":string": str, ":object": dict, ":array": list}
_MODULES = {"driver.rdma": "nvidia-peermem", "gds": "nvidia-fs", "gdrcopy": "gdrdrv"}


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    if manifest.kind == "Node":
        yield from _node(manifest, context)
        return
    for part, known in FIELDS.items():
        yield from _fields(manifest, part, known)
    yield from _variables(manifest)
    yield from _configuration(manifest, context)
    yield from _modules(manifest)


def _at(part: str, *last: str | int) -> Path:
    return ("spec", *filter(None, part.split(".")), *last)


def _fields(manifest: Manifest, part: str, known: Mapping[str, Kind]) -> Iterator[Problem]:
    body = value_at(manifest, _at(part))
    for key, value in body.items() if isinstance(body, dict) else ():
        path, name = _at(part, key), f"{part}.{key}".lstrip(".")
        if key not in known:
            near = _nearest(str(key), known)
            if near:
                message = f"{name} is no field of a ClusterPolicy"
                because = "kubectl refuses the object; other clients drop the field"
                yield problem(CODE, "warning", manifest, path, message, because, near, manifest.key(path))
        elif value is not None:
            yield from _value(manifest, path, name, value, known[key])


def _value(manifest: Manifest, path: Path, name: str, value: Any, kind: Kind) -> Iterator[Problem]:
    if kind[0] in _TYPES:
        if not isinstance(value, _TYPES[kind[0]]):
            message = f"{name} is {type_name(value)}, not of type {kind[0][1:]}"
            remedy = str(value).lower() if kind[0] == ":boolean" and str(value).lower() in BOOLEAN else ""
            yield problem(CODE, SEVERITY, manifest, path, message, _REFUSED, remedy)
    elif value not in kind:
        shown = value if isinstance(value, str) else type_name(value)
        yield problem(CODE, SEVERITY, manifest, path, f"{name} is {shown}", _REFUSED, ", ".join(kind))


def _nearest(key: str, known: Mapping[str, object], cutoff: float = 0.75) -> str:
    from difflib import get_close_matches

    lower = {name.lower(): name for name in known}
    near = get_close_matches(key.lower(), lower, 1, cutoff)
    return lower[near[0]] if near else ""


def _variables(manifest: Manifest) -> Iterator[Problem]:
    """Of the device plugin's container."""
    plugin = value_at(manifest, _at("devicePlugin"))
    strategy = value_at(manifest, _at("mig", "strategy"))
    for path, body in listed(plugin if isinstance(plugin, dict) else {}, "env", _at("devicePlugin")):
        name, value = text_of(body, "name"), body.get("value")
        place = (*path, "value")
        if "valueFrom" in body:
            where = (*path, "valueFrom")
            message = f"{name} is left empty: env of a ClusterPolicy has name and value only"
            yield problem(CODE, "warning", manifest, where, message, "", "value: ...", manifest.key(where))
        elif value is not None and not isinstance(value, str):
            remedy = f'"{str(value).lower()}", in quotes' if isinstance(value, (bool, int, float)) else ""
            message = f"{name} is {type_name(value)}, not of type string"
            yield problem(CODE, SEVERITY, manifest, place, message, _REFUSED, remedy)
        elif name not in VARIABLES:
            near = _nearest(name, VARIABLES, 0.85)
            if near:
                message = f"the device plugin reads no variable {name}"
                yield problem(CODE, "warning", manifest, (*path, "name"), message, "", near)
        else:
            yield from _variable(manifest, place, name, value or "")
            if name == "MIG_STRATEGY" and value and strategy and value != strategy:
                message = f"MIG_STRATEGY {value} is the device plugin's only: mig.strategy is {strategy}"
                because = "GPU Feature Discovery goes by mig.strategy, so the node's labels and resources disagree"
                yield problem(CODE, "warning", manifest, place, message, because, "leave MIG_STRATEGY out")


def _variable(manifest: Manifest, path: Path, name: str, value: str) -> Iterator[Problem]:
    allowed = DEVICE_LIST_STRATEGIES if name == "DEVICE_LIST_STRATEGY" else VARIABLES[name]
    words = [word.strip() for word in value.split(",")] if name == "DEVICE_LIST_STRATEGY" else [value]
    for word in words:
        good = parse_bool(word) is not None if allowed == BOOLEAN else word in allowed
        if value and allowed and not good:
            message = f"the device plugin does not start: {name} is {word}"
            yield problem(CODE, SEVERITY, manifest, path, message, "", ", ".join(allowed))


def _configuration(manifest: Manifest, context: Context) -> Iterator[Problem]:
    above = _at("devicePlugin", "config")
    config = value_at(manifest, above)
    if not isinstance(config, dict):
        return
    name, key = text_of(config, "name"), text_of(config, "default")
    path = (*above, "default")
    if key and not name:
        message = "devicePlugin.config.default has no effect without devicePlugin.config.name"
        yield problem(CODE, "warning", manifest, path, message, "", "name: of the ConfigMap", manifest.key(path))
    keys = _keys(name, context)
    if key and keys and key not in keys:
        message = f"ConfigMap {name} has no key {key}: the device plugin does not start"
        because = f"on every node without the label {_LABEL}"
        yield problem(CODE, SEVERITY, manifest, path, message, because, ", ".join(sorted(keys)))
    yield from _with_strategy(manifest, context, name, key)


def _with_strategy(manifest: Manifest, context: Context, name: str, key: str) -> Iterator[Problem]:
    """What the plugin refuses only together: the operator passes mig.strategy as a variable, which wins."""
    strategy = value_at(manifest, _at("mig", "strategy"))
    for one in of_kind(context, ""):
        if not isinstance(strategy, str) or one.outer is None or one.outer[1] != ("data", key):
            continue
        body = one.object.body
        flags = {**mapping_of(body, "flags"), "migStrategy": strategy}
        if _map_name(one.outer[0].object.body) == name and _refusal(body) is None:
            refused = _refusal({**body, "flags": flags})
            if refused:
                message = f"with configuration {key} of {name} the device plugin does not start: {refused}"
                yield problem(CODE, SEVERITY, manifest, _at("mig", "strategy"), message)


def _refusal(body: Body) -> str | None:
    try:
        read_config(body)
    except Refused as error:
        return str(error)
    return None


def _node(manifest: Manifest, context: Context) -> Iterator[Problem]:
    node = node_part(manifest)
    key = node.labels.get(_LABEL) if node is not None else None
    for policy in of_kind(context, "ClusterPolicy") if key else ():
        name = text_of(mapping_of(mapping_of(mapping_of(policy.object.body, "spec"), "devicePlugin"), "config"), "name")
        keys = _keys(name, context)
        if key and keys and key not in keys:
            message = f"ConfigMap {name} has no key {key}: the device plugin does not start on this node"
            yield problem(CODE, SEVERITY, manifest, (*LABELS, _LABEL), message, "", ", ".join(sorted(keys)))


def _keys(name: str, context: Context) -> set[str]:
    """Of the ConfigMap of this name; empty: it is not among the files."""
    found: set[str] = set()
    for own in config_maps(context) if name else ():
        if _map_name(own) == name:
            found |= {str(key) for key in mapping_of(own, "data")}
    return found


def _map_name(body: Body) -> str:
    return text_of(mapping_of(body, "metadata"), "name")


def _modules(manifest: Manifest) -> Iterator[Problem]:
    if value_at(manifest, _at("driver", "enabled")) is not False:
        return
    for part, module in _MODULES.items():
        if value_at(manifest, _at(part, "enabled")) is True:
            message = f"{part}.enabled loads nothing while driver.enabled is false"
            because = f"{module} comes with the driver's DaemonSet: the host has to load it"
            yield problem(CODE, "info", manifest, _at(part, "enabled"), message, because)
