"""The device plugin's configuration: config.yaml, its ConfigMap with one configuration a key, ClusterPolicy.

Upstream: NVIDIA/k8s-device-plugin v0.20.0 api/config/v1 and cmd/config-manager; NVIDIA/gpu-operator's
ClusterPolicy (spec.mig.strategy, spec.devicePlugin.env, .config). Keys of a ConfigMap are chosen by the node
label nvidia.com/device-plugin.config; without it the key `default`, else the only one.

    >>> [one] = parse('''version: v1
    ... flags:
    ...   migStrategy: mixed
    ... ''')
    >>> one.key, one.document["flags"]
    ('', {'migStrategy': 'mixed'})
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gputopo.parsers.unreadable import Unreadable
from gputopo.terms.structured_text import yaml_is_too_large

# Environment variable of the plugin's container → the key of its flag; they win over the file.
_ENVIRONMENT = {
    "MIG_STRATEGY": ("migStrategy", ""),
    "MPS_ROOT": ("mpsRoot", ""),
    "GDRCOPY_ENABLED": ("gdrcopyEnabled", ""),
    "GDS_ENABLED": ("gdsEnabled", ""),
    "MOFED_ENABLED": ("mofedEnabled", ""),
    "DEVICE_DISCOVERY_STRATEGY": ("deviceDiscoveryStrategy", ""),
    "PASS_DEVICE_SPECS": ("passDeviceSpecs", "plugin"),
    "DEVICE_LIST_STRATEGY": ("deviceListStrategy", "plugin"),
    "DEVICE_ID_STRATEGY": ("deviceIDStrategy", "plugin"),
    "CDI_ANNOTATION_PREFIX": ("cdiAnnotationPrefix", "plugin"),
    "SHARED_DEVICES_ALLOCATION_POLICY": ("sharedDevicesAllocationPolicy", "plugin"),
}
_FLAGS = {"gdrcopyEnabled", "gdsEnabled", "mofedEnabled", "passDeviceSpecs"}
_TRUE, _FALSE = {"1", "t", "true"}, {"0", "f", "false"}
_OWN_KEYS = {"version", "flags", "sharing", "resources", "imex"}


class PluginConfigDocument(NamedTuple):
    key: str  # of the ConfigMap; "" where there is one configuration only
    document: dict[str, Any]  # as config.yaml would hold it
    kind: str  # "config" | "ConfigMap" | "ClusterPolicy"
    refers_to: str = ""  # ClusterPolicy: the ConfigMap it names, which holds the rest


def sniff(text: str) -> bool:
    """Whether a text looks like one of the three, without loading it."""
    lines = [line.split("#", 1)[0].rstrip() for line in text.splitlines()]
    starts = {line.split(":", 1)[0] for line in lines if line and not line[0].isspace() and ":" in line}
    if "kind: ClusterPolicy" in lines:
        return True
    if "kind: ConfigMap" in lines:
        return "sharing:" in text or "migStrategy" in text or "flags:" in text
    return "version" in starts and bool({"flags", "sharing", "imex"} & starts) and "apiVersion" not in starts


def parse(text: str) -> tuple[PluginConfigDocument, ...]:
    """Every configuration of the text. Raises Unreadable."""
    found: list[PluginConfigDocument] = []
    for document in _load(text):
        if document is None:
            continue
        if not isinstance(document, dict):
            raise Unreadable("not a device plugin configuration: the document is no mapping")
        found += _document(document)
    if not found:
        raise Unreadable("not a device plugin configuration: nothing in it")
    return tuple(found)


def _document(document: dict[str, Any]) -> list[PluginConfigDocument]:
    kind = document.get("kind")
    if kind == "ConfigMap":
        return _config_map(document)
    if kind == "ClusterPolicy":
        return [_cluster_policy(document)]
    if kind is not None:
        raise Unreadable(f"not a device plugin configuration: kind {kind}")
    if not _OWN_KEYS & document.keys():
        raise Unreadable("not a device plugin configuration: none of version, flags, sharing, resources, imex")
    return [PluginConfigDocument("", document, "config")]


def _config_map(document: dict[str, Any]) -> list[PluginConfigDocument]:
    data = document.get("data")
    found = []
    for key, text in data.items() if isinstance(data, dict) else ():
        if not isinstance(text, str):
            continue
        for inner in _load(text):
            if isinstance(inner, dict) and "kind" not in inner:
                found.append(PluginConfigDocument(str(key), inner, "ConfigMap"))
            elif inner is None:
                found.append(PluginConfigDocument(str(key), {}, "ConfigMap"))
    if not found:
        raise Unreadable("this ConfigMap holds no device plugin configuration")
    return found


def _cluster_policy(document: dict[str, Any]) -> PluginConfigDocument:
    spec = _part(document, "spec")
    plugin = _part(spec, "devicePlugin")
    flags: dict[str, Any] = {"migStrategy": _part(spec, "mig").get("strategy", "single")}
    mps_root = _part(plugin, "mps").get("root")
    if mps_root is not None:
        flags["mpsRoot"] = mps_root
    own: dict[str, Any] = {}
    variables = plugin.get("env")
    for variable in variables if isinstance(variables, list) else ():
        name, value = (variable.get("name"), variable.get("value")) if isinstance(variable, dict) else (None, None)
        if isinstance(name, str) and isinstance(value, str) and name in _ENVIRONMENT:
            flag, under = _ENVIRONMENT[name]
            (own if under else flags)[flag] = _value(flag, value)
    if own:
        flags["plugin"] = own
    config = _part(plugin, "config").get("name")
    return PluginConfigDocument("", {"version": "v1", "flags": flags}, "ClusterPolicy", config or "")


def _value(flag: str, value: str) -> Any:
    if flag == "deviceListStrategy":
        return value.split(",")
    if flag in _FLAGS and value.lower() in _TRUE | _FALSE:
        return value.lower() in _TRUE
    return value


def _part(document: dict[str, Any], name: str) -> dict[str, Any]:
    part = document.get(name)
    return part if isinstance(part, dict) else {}


def _load(text: str) -> list[Any]:
    import yaml

    if yaml_is_too_large(text):
        raise Unreadable("YAML of more than 400,000 values is no configuration")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return list(yaml.load_all(text, Loader=loader))
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark is not None else ""
        raise Unreadable(f"not YAML{where}: {getattr(error, 'problem', None) or 'too deep'}") from error
    except ValueError as error:  # a date that is none, a number that is too long
        raise Unreadable(f"not YAML: {error}") from error
