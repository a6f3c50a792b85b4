"""What `allocate kubelet` asks: the kubelet of a node with its settings, in its present state, and the pod."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gputopo.allocate.assumed import Assumed
from gputopo.commands import allocate_options as shared
from gputopo.commands.allocate_holdings import assumed as assumed_of
from gputopo.commands.allocate_holdings import holding
from gputopo.commands.allocate_kubelet_options import (
    Asked,
    Given,
    config_text,
    is_asked,
    pod_of,
    release_said,
    request_of,
    settings_of,
)
from gputopo.commands.allocate_plugin_config import configs_of, plugin_config_of
from gputopo.errors import GputopoError

if TYPE_CHECKING:
    from gputopo.allocate.device_plugin.config import PluginConfig
    from gputopo.allocate.device_plugin.plugin import DevicePlugin
    from gputopo.allocate.kubelet.mechanism import KubeletNode
    from gputopo.allocate.request import Request
    from gputopo.allocate.state import State
    from gputopo.commands.allocate_reading import Reading
    from gputopo.topology.node import NodeTopology


class Question(NamedTuple):
    asked: Asked
    given: Given
    resource: str
    available: str | None
    in_use: str | None
    kubelet_config: str | None
    plugin_config: str | None
    config_key: str | None
    plugin_version: str
    k8s_version: str | None


class Prepared(NamedTuple):
    """Everything but the answer. `plugin`: also where this release does not ask it."""

    mechanism: KubeletNode
    plugin: DevicePlugin
    state: State
    request: Request
    notes: tuple[Assumed, ...]


def prepared(node: NodeTopology, question: Question, found: Reading) -> Prepared:
    """Raises GputopoError, WrongShape."""
    from gputopo.allocate.device_plugin.config import Refused
    from gputopo.allocate.device_plugin.plugin import DevicePlugin
    from gputopo.allocate.device_plugin.units import offered
    from gputopo.allocate.kubelet.mechanism import KubeletNode
    from gputopo.allocate.state import State

    notes: list[Assumed] = []
    resource = question.resource
    release = release_said(question.k8s_version, found.objects, node)
    file = config_text(question.kubelet_config, found.beside)
    settings = settings_of(file, release, question.given, question.asked, notes)
    try:
        plugin = DevicePlugin(_plugin_config(question, found, notes), question.plugin_version)
        units = offered(node, plugin.config)
    except Refused as error:
        raise GputopoError(f"the device plugin does not start: {error}", "--plugin-config", "", 1) from error
    if resource not in units:
        hint = f"it offers {', '.join(units)}" if units else ""
        raise GputopoError(f"the plugin does not offer {resource} here", "--resource", hint, 1)
    own = units[resource]
    free, _ = shared.free_units(node, own, question.available, question.in_use)
    state = holding(State(node, own, free), resource, found.beside.states, given=question.available or question.in_use)
    pod = pod_of(question.asked, resource)
    request = request_of(pod, resource)
    if question.asked.pod is not None and question.asked.size is not None:
        notes.append(Assumed(f"the pod asks for {question.asked.size} instead of what its manifest says", "without -c"))
    mechanism = KubeletNode(settings, plugin if is_asked(release, notes) else None, pod)
    return Prepared(mechanism, plugin, state, request, (*notes, *assumed_of(found.beside.states)))


def _plugin_config(question: Question, found: Reading, notes: list[Assumed]) -> PluginConfig:
    from gputopo.allocate.device_plugin.config import PluginConfig

    configs = configs_of(question.plugin_config, found)
    notes.append(Assumed(f"device plugin {question.plugin_version}", "--plugin-version"))
    if not configs:
        notes.append(Assumed("no replicas, no MIG", "--plugin-config FILE"))
        return PluginConfig()
    chosen = plugin_config_of(question.plugin_config, found, question.config_key)
    notes += [Assumed(text) for text in chosen.notes]
    return chosen.config
