"""The device plugin's configuration: what its config.yaml says, defaults, and when it refuses to start.

Upstream: NVIDIA/k8s-device-plugin v0.20.0 api/config/v1/*.go and cmd/nvidia-device-plugin/main.go
(validateFlags). Unknown keys are passed over upstream (sigs.k8s.io/yaml is not strict), so they are only
reported; `rename` and `devices` of shared resources are ignored there with a warning.

    >>> config, ignored = read_config({"version": "v1", "flags": {"migStrategy": "mixed", "migStrategi": "none"}})
    >>> config.mig_strategy, ignored
    ('mixed', ('flags.migStrategi',))
    >>> read_config({"sharing": {"timeSlicing": {"resources": [{"name": "nvidia.com/gpu", "replicas": 1}]}}})
    Traceback (most recent call last):
    gputopo.allocate.device_plugin.config.Refused: number of replicas must be >= 2
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from gputopo.allocate.device_plugin.greedy import POLICIES

MIG_STRATEGIES = ("none", "single", "mixed")
DEVICE_LIST_STRATEGIES = ("envvar", "volume-mounts", "cdi-annotations", "cdi-cri")
DEVICE_ID_STRATEGIES = ("uuid", "index")
DISCOVERY_STRATEGIES = ("auto", "nvml", "tegra")
_PREFIX = "nvidia.com"
_LONGEST_NAME = 63


class Refused(ValueError):
    """The plugin does not start with this configuration; the text is upstream's, `allowed` ours."""

    def __init__(self, text: str, allowed: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        self.allowed = allowed


class Shared(NamedTuple):
    resource: str
    replicas: int


class Sharing(NamedTuple):
    kind: str  # "time-slicing" | "mps"
    resources: tuple[Shared, ...]
    rename: bool = False  # renameByDefault: the suffix `.shared`
    fail_requests_above_one: bool = False

    def replicas(self, resource: str) -> int | None:
        return next((one.replicas for one in self.resources if one.resource == resource), None)


class PluginConfig(NamedTuple):
    mig_strategy: str = "none"
    device_list_strategies: tuple[str, ...] = ("envvar",)
    device_id_strategy: str = "uuid"
    sharing: Sharing | None = None
    shared_policy: str = "distributed"
    pass_device_specs: bool = False
    cdi_annotation_prefix: str = "cdi.k8s.io/"
    mps_root: str = ""
    gdrcopy: bool = False
    gds: bool = False
    mofed: bool = False
    imex_channels: tuple[int, ...] = ()
    discovery: str = "auto"


_FLAGS = {
    "migStrategy", "failOnInitError", "mpsRoot", "nvidiaDriverRoot", "nvidiaDevRoot", "gdrcopyEnabled",
    "gdsEnabled", "mofedEnabled", "useNodeFeatureAPI", "deviceDiscoveryStrategy", "plugin", "gfd",
}  # fmt: skip
_PLUGIN = {
    "passDeviceSpecs", "deviceListStrategy", "deviceIDStrategy", "cdiAnnotationPrefix", "nvidiaCTKPath",
    "containerDriverRoot", "sharedDevicesAllocationPolicy",
}  # fmt: skip
_SHARING = {"renameByDefault", "failRequestsGreaterThanOne", "resources"}
_KNOWN: dict[str, set[str]] = {
    "": {"version", "flags", "resources", "sharing", "imex"},
    "flags": _FLAGS,
    "flags.plugin": _PLUGIN,
    "sharing": {"timeSlicing", "mps"},
    "sharing.timeSlicing": _SHARING,
    "sharing.mps": _SHARING,
    "imex": {"channelIDs", "required"},
}


def keys_of(part: str) -> frozenset[str]:
    """The keys that the plugin knows in a part of its configuration, `flags.plugin`; of the whole: ""."""
    return frozenset(_KNOWN.get(part, ()))


def read_config(document: Mapping[str, Any]) -> tuple[PluginConfig, tuple[str, ...]]:
    """The configuration and the keys that have no effect. Raises Refused where the plugin would not start."""
    version = document.get("version") or "v1"
    if version != "v1":
        raise Refused(f"unknown version: {version}")
    flags, sharing, imex = (_part(document, name) for name in ("flags", "sharing", "imex"))
    plugin = _part(flags, "plugin", "flags.")
    config = PluginConfig(
        mig_strategy=_text(flags, "migStrategy", "none"),
        device_list_strategies=_strategies(plugin.get("deviceListStrategy")),
        device_id_strategy=_text(plugin, "deviceIDStrategy", "uuid"),
        sharing=_sharing(sharing),
        shared_policy=_text(plugin, "sharedDevicesAllocationPolicy", "distributed"),
        pass_device_specs=_flag(plugin, "passDeviceSpecs"),
        cdi_annotation_prefix=_text(plugin, "cdiAnnotationPrefix", "cdi.k8s.io/"),
        mps_root=_text(flags, "mpsRoot", ""),
        gdrcopy=_flag(flags, "gdrcopyEnabled"),
        gds=_flag(flags, "gdsEnabled"),
        mofed=_flag(flags, "mofedEnabled"),
        imex_channels=_channels(imex),
        discovery=_text(flags, "deviceDiscoveryStrategy", "auto"),
    )
    validate(config)
    return config, tuple(_without_effect(document))


def validate(config: PluginConfig) -> None:
    """Raises Refused as the plugin's start does. MPS without mpsRoot: the Helm chart and the operator set it."""
    for strategy in config.device_list_strategies:
        if strategy not in DEVICE_LIST_STRATEGIES:
            text = f"invalid --device-list-strategy option: invalid strategy: {strategy}"
            raise Refused(text, DEVICE_LIST_STRATEGIES)
    if config.device_id_strategy not in DEVICE_ID_STRATEGIES:
        raise Refused(f"invalid --device-id-strategy option: {config.device_id_strategy}", DEVICE_ID_STRATEGIES)
    if config.shared_policy not in POLICIES:
        raise Refused(f"invalid --shared-devices-allocation-policy option: {config.shared_policy}", POLICIES)
    if config.sharing is not None and config.sharing.kind == "mps" and config.mig_strategy == "mixed":
        raise Refused("using --mig-strategy=mixed is not supported with MPS")
    if config.discovery not in DISCOVERY_STRATEGIES:
        raise Refused(f"invalid --device-discovery-strategy option {config.discovery}", DISCOVERY_STRATEGIES)
    if config.mig_strategy not in MIG_STRATEGIES:
        raise Refused(f"unknown MIG strategy: {config.mig_strategy}", MIG_STRATEGIES)
    if config.imex_channels not in ((), (0,)):
        found = " ".join(map(str, config.imex_channels))
        raise Refused(f"invalid IMEX channel IDs: invalid IMEX config: channelIDs must be [] or [0]; found [{found}]")


def _sharing(sharing: Mapping[str, Any]) -> Sharing | None:
    """MPS, where it is given, hides time-slicing (Sharing.ReplicatedResources)."""
    for kind, name in (("mps", "mps"), ("time-slicing", "timeSlicing")):
        given = sharing.get(name)
        if given is None:
            continue
        part = _part(sharing, name, "sharing.")
        listed = part.get("resources")
        if not isinstance(listed, list) or not listed:
            if kind == "time-slicing" and not part:
                continue
            raise Refused("no resources specified")
        above_one = part.get("failRequestsGreaterThanOne")
        return Sharing(
            kind,
            tuple(_shared(one) for one in listed),
            rename=_flag(part, "renameByDefault"),
            fail_requests_above_one=kind == "mps" if above_one is None else _flag(part, "failRequestsGreaterThanOne"),
        )
    return None


def _shared(one: Any) -> Shared:
    if not isinstance(one, dict) or not isinstance(one.get("name"), str):
        raise Refused("no resource name specified")
    replicas = one.get("replicas")
    if replicas is None:
        raise Refused("no replicas specified")
    if isinstance(replicas, bool) or not isinstance(replicas, int):
        raise Refused(f"cannot unmarshal {type(replicas).__name__} into replicas of type int")
    if replicas < 2:
        raise Refused("number of replicas must be >= 2")
    name = one["name"] if one["name"].startswith(_PREFIX + "/") else f"{_PREFIX}/{one['name']}"
    if len(name) > _LONGEST_NAME:
        raise Refused(f"fully-qualified resource name must be {_LONGEST_NAME} characters or less: {name}")
    return Shared(name, replicas)


def _strategies(given: Any) -> tuple[str, ...]:
    if given is None:
        return ("envvar",)
    if isinstance(given, str):
        return (given,)
    if isinstance(given, list) and all(isinstance(one, str) for one in given):
        return tuple(given)
    raise Refused(f"invalid deviceListStrategy: {given}")


def _channels(imex: Mapping[str, Any]) -> tuple[int, ...]:
    given = imex.get("channelIDs") or []
    if not isinstance(given, list) or not all(isinstance(one, int) and not isinstance(one, bool) for one in given):
        raise Refused(f"cannot unmarshal {given} into imex.channelIDs of type []int")
    return tuple(given)


def _part(document: Mapping[str, Any], name: str, above: str = "") -> Mapping[str, Any]:
    part = document.get(name)
    if part is None:
        return {}
    if not isinstance(part, dict):
        raise Refused(f"cannot unmarshal {type(part).__name__} into {above}{name}")
    return part


def _text(part: Mapping[str, Any], name: str, default: str) -> str:
    value = part.get(name)
    if value is None:
        return default
    if not isinstance(value, str):
        raise Refused(f"cannot unmarshal {type(value).__name__} into {name} of type string")
    return value


def _flag(part: Mapping[str, Any], name: str) -> bool:
    value = part.get(name)
    if value is not None and not isinstance(value, bool):
        raise Refused(f"cannot unmarshal {type(value).__name__} into {name} of type bool")
    return bool(value)


def _without_effect(document: Mapping[str, Any]) -> list[str]:
    """Keys that the plugin does not know, and those that it says it ignores."""
    found = []
    for path, known in _KNOWN.items():
        part: Any = document
        for name in filter(None, path.split(".")):
            part = part.get(name) if isinstance(part, dict) else None
        for key in part if isinstance(part, dict) else ():
            if key not in known:
                found.append(f"{path}.{key}" if path else str(key))
    if document.get("resources"):
        found.append("resources")
    for name in ("timeSlicing", "mps"):
        part = (document.get("sharing") or {}).get(name) or {}
        for one in part.get("resources") or ():
            if one.get("devices", "all") != "all":
                found.append(f"sharing.{name}.resources.devices")
            if one.get("rename"):
                found.append(f"sharing.{name}.resources.rename")
    return list(dict.fromkeys(found))
