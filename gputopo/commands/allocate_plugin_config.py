"""The device plugin's configuration from its file, a ConfigMap's key or a ClusterPolicy, under the options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gputopo.commands.allocate_options import read_text
from gputopo.errors import GputopoError

if TYPE_CHECKING:
    from gputopo.allocate.device_plugin.config import PluginConfig
    from gputopo.commands.allocate_objects import Objects
    from gputopo.commands.allocate_reading import Reading
    from gputopo.parsers.plugin_config import PluginConfigDocument
    from gputopo.topology.node import NodeTopology

_DEFAULT_KEY = "default"
_LABEL = "nvidia.com/device-plugin.config"  # of a Node: the key of the ConfigMap


class Chosen(NamedTuple):
    config: PluginConfig
    notes: tuple[str, ...]  # what is assumed or without effect


def plugin_release(text: str | None) -> str:
    """The version of the device plugin as its releases are named. Raises GputopoError."""
    from gputopo.allocate.device_plugin.versions import NEWEST, number

    if text is None:
        return NEWEST
    if number(text) is None:
        raise GputopoError(f"no version of the device plugin: {text!r}", "--plugin-version", f"e.g. {NEWEST}")
    return "v" + text.strip().removeprefix("v")


def read_configs(text: str, name: str) -> tuple[PluginConfigDocument, ...]:
    """Raises GputopoError."""
    from gputopo.parsers.plugin_config import parse
    from gputopo.parsers.unreadable import Unreadable

    try:
        return parse(text)
    except Unreadable as error:
        raise GputopoError(error.what, name, error.hint) from error


def label_of(
    configs: Sequence[PluginConfigDocument], objects: Objects, nodes: Sequence[NodeTopology]
) -> str | None:  # fmt: skip
    """The key of a ConfigMap that the Node object's label names. Raises GputopoError, WrongShape."""
    if not objects.nodes or not any(one.key for one in configs):
        return None
    node = objects.node(nodes[0].name if len(nodes) == 1 else None)
    return node.labels.get(_LABEL) if node is not None else None


def plugin_config_of(path: str | None, found: Reading, key: str | None) -> Chosen:
    """Of --plugin-config, else of the sources, else the defaults. Raises GputopoError, Refused, WrongShape."""
    configs = configs_of(path, found)
    return choose(configs, key or label_of(configs, found.objects, found.nodes), None, None)


def configs_of(path: str | None, found: Reading) -> tuple[PluginConfigDocument, ...]:
    """Raises GputopoError."""
    if path is not None:
        return read_configs(read_text(path, "--plugin-config"), path)
    return tuple(one for named in found.beside.plugin_configs for one in read_configs(named.text, named.name))


def choose(
    configs: Sequence[PluginConfigDocument], key: str | None, mig_strategy: str | None, shared_policy: str | None
) -> Chosen:  # fmt: skip
    """Raises GputopoError for a key that is not there, Refused where the plugin would not start."""
    from gputopo.allocate.device_plugin.config import PluginConfig, read_config, validate

    notes: list[str] = []
    config = PluginConfig()
    policies = [one for one in configs if one.kind == "ClusterPolicy"]
    files = [one for one in configs if one.kind != "ClusterPolicy"]
    if policies:
        config, _ = read_config(policies[0].document)
        notes.append("ClusterPolicy: what the operator sets beside it (CDI, driver roots) is not looked at")
        if policies[0].refers_to and not files:
            notes.append(f"the ClusterPolicy names the ConfigMap {policies[0].refers_to}, which was not given")
    if files:
        document, note = _keyed(files, key)
        config, ignored = read_config(_over(document, policies[0].document) if policies else document)
        notes += note
        if ignored:
            notes.append(f"without effect in the configuration: {', '.join(ignored)}")
    elif key is not None:
        raise GputopoError("there is no ConfigMap to choose a key of", "--config-key", "--plugin-config FILE")
    if mig_strategy is not None:
        config = config._replace(mig_strategy=mig_strategy)
    if shared_policy is not None:
        config = config._replace(shared_policy=shared_policy)
    validate(config)
    return Chosen(config, tuple(notes))


def _over(document: Mapping[str, Any], policy: Mapping[str, Any]) -> dict[str, Any]:
    """The operator sets environment variables, and those win over the file."""
    own, above = document.get("flags") or {}, policy["flags"]
    if not isinstance(own, dict) or not isinstance(own.get("plugin") or {}, dict):
        return dict(document)  # refused where it is read
    plugin = {**(own.get("plugin") or {}), **above.get("plugin", {})}
    return {**document, "flags": {**own, **above, "plugin": plugin}}


def _keyed(files: Sequence[PluginConfigDocument], key: str | None) -> tuple[dict[str, Any], list[str]]:
    """As the config manager chooses: the label's key, else `default`, else the only one."""
    keys = {one.key: one.document for one in files}
    if key is not None:
        if key not in keys:
            raise GputopoError(f"no such key: {key}", "--config-key", f"it has {', '.join(filter(None, keys))}")
        return keys[key], []
    if _DEFAULT_KEY in keys and len(keys) > 1:
        return keys[_DEFAULT_KEY], [f"the node has no label {_LABEL}: key {_DEFAULT_KEY}"]
    if len(keys) == 1:
        return next(iter(keys.values())), []
    raise GputopoError(
        f"which key? {', '.join(keys)}", "--config-key", f"the node's label {_LABEL} names it"
    )
