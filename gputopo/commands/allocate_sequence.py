"""`gputopo allocate sequence [SOURCE]... --request 1,1,2,4`: what many requests leave behind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, NamedTuple, Optional

import typer

from gputopo.allocate.assumed import Assumed
from gputopo.commands import allocate_objects as given
from gputopo.commands import allocate_options as shared
from gputopo.commands import options
from gputopo.commands.allocate_holdings import assumed as assumed_of
from gputopo.commands.allocate_holdings import holding
from gputopo.commands.allocate_place import Place
from gputopo.commands.allocate_plugin_config import plugin_config_of
from gputopo.commands.allocate_reading import Files, How, Reading, read
from gputopo.errors import GputopoError
from gputopo.terms.kube_object import WrongShape

if TYPE_CHECKING:
    from gputopo.allocate.decider import Decision
    from gputopo.allocate.device_plugin.config import PluginConfig
    from gputopo.allocate.protocol import Mechanism
    from gputopo.allocate.sequence.events import Event
    from gputopo.allocate.sequence.forecast import Forecast
    from gputopo.topology.node import NodeTopology

RESOURCE = "nvidia.com/gpu"


def command(
    sources: options.Sources = None,
    request: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--request", metavar="N,N,...", help="GPUs of each pod in order; -2 ends the second one."),
    ] = None,
    pods: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--pods", metavar="FILE", help="Pods and workloads that start in this order, instead."),
    ] = None,
    all_orders: Annotated[bool, typer.Option("--all-orders", help="Try every other order of the pods, too.")] = False,
    topology_manager_policy: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="POLICY", help="The kubelet's, which may refuse a pod; default: none."),
    ] = None,
    in_use: shared.InUse = None,
    available: shared.Available = None,
    node: shared.NodeFile = None,
    classes: shared.Classes = None,
    plugin_config: shared.PluginConfigFile = None,
    config_key: shared.ConfigKey = None,
    k8s_version: shared.K8sVersion = None,
    as_format: options.As = None,
    form: options.ReportOutput = "text",
    output_file: options.OutputFile = None,
    color: options.Color = "auto",
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
    assume: options.Assume = None,
    merge: options.Merge = False,
    each: options.Each = False,
    root: options.Root = None,
    driver_root: options.DriverRoot = None,
    timeout: options.Timeout = 10.0,
) -> int:
    """What many requests, one after another, leave behind: every set each can get, which is the first that is
    refused or split, what order or placement avoids it, and the fewest restarts that repair it.

    A set is split when a better one of its size exists on the empty node.
    """
    from gputopo.allocate.device_plugin.config import Refused

    events = _events(request, pods)
    how = How(as_format, assume, merge, each, root, driver_root, timeout, quiet)
    found = read(sources, Files(None, node, None, classes, k8s_version), how, counted=True)
    place = Place(form, output_file, color, verbose, quiet)
    try:
        config, notes = plugin_config_of(plugin_config, found, config_key)
        mechanism = _mechanism(topology_manager_policy, config)
        made = [
            _Made(one, _forecast(one, mechanism, events, available, in_use, all_orders, config, found),
                  found.objects.decision(found.version, one.name))
            for one in found.nodes
        ]  # fmt: skip
    except WrongShape as error:
        raise given.shaped(error, found.where) from None
    except Refused as error:
        raise GputopoError(f"the device plugin does not start: {error}", "--plugin-config", "", 1) from error
    assumed = (*_assumed(made[0].forecast, config, notes), *assumed_of(found.beside.states))
    if found.beside.kubelet_configs:
        assumed += (Assumed("the kubelet's configuration is not looked at here", "gputopo allocate kubelet"),)
    code = max(_exit(one.forecast) for one in made)
    if place.shows_blocks:
        _show(made, assumed, place, code)
    else:
        _print(made, assumed, place)
    return code


class _Made(NamedTuple):
    node: NodeTopology
    forecast: Forecast
    decision: Decision


def _events(request: str | None, pods: str | None) -> tuple[Event, ...]:
    from gputopo.allocate.sequence.events import parse_events

    if (request is None) == (pods is None):
        what = "which requests? --request or --pods is missing" if pods is None else "--request and --pods exclude \
one another"
        raise GputopoError(what, hint="gputopo allocate sequence --request 1,1,2,4")
    if request is not None:
        return parse_events(request)
    assert pods is not None
    from gputopo.allocate.sequence.pods import MOST_PODS, starts_of
    from gputopo.parsers.kube_objects import read
    from gputopo.parsers.unreadable import Unreadable
    from gputopo.terms.kube_object import WrongShape

    where = f"--pods {pods}"
    try:
        found = starts_of(read(shared.read_text(pods, "--pods")), RESOURCE)
    except Unreadable as error:
        raise GputopoError(error.what, where, error.hint) from error
    except WrongShape as error:
        raise GputopoError(str(error), where) from error
    if not found:
        raise GputopoError(f"no pod in it asks for {RESOURCE}", where)
    if len(found) > MOST_PODS:
        raise GputopoError(f"{len(found)} pods; {MOST_PODS} are followed at most", where)
    names = [one.owner for one in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise GputopoError(f"two pods are called {twice}", where)
    return found


def _mechanism(policy: str | None, config: PluginConfig) -> Mechanism:
    """The device plugin, which is all there is under policy none; else the kubelet that asks it."""
    from gputopo.allocate.device_plugin.plugin import DevicePlugin

    if policy in (None, "none"):
        return DevicePlugin(config)
    from gputopo.allocate.kubelet.mechanism import KubeletNode
    from gputopo.allocate.kubelet.merge import POLICIES
    from gputopo.allocate.kubelet.releases import DEFAULT, Release
    from gputopo.allocate.kubelet.startup import Settings

    if policy not in POLICIES:
        raise GputopoError(f"no such policy: {policy}", "--topology-manager-policy", f"one of {', '.join(POLICIES)}")
    return KubeletNode(Settings(Release(DEFAULT), policy=policy), DevicePlugin(config))


def _forecast(
    node: NodeTopology, mechanism: Mechanism, events: Sequence[Event], available: str | None, in_use: str | None,
    all_orders: bool, config: PluginConfig, found: Reading,
) -> Forecast:  # fmt: skip
    from gputopo.allocate.device_plugin.units import offered
    from gputopo.allocate.sequence.forecast import forecast
    from gputopo.allocate.sequence.walk import Answers
    from gputopo.allocate.state import State

    units = offered(node, config).get(RESOURCE)
    if not units:
        raise GputopoError(f"the plugin does not offer {RESOURCE} here", "", "see its MIG strategy", 1)
    free, _ = shared.free_units(node, units, available, in_use)
    state = holding(State(node, units, free), RESOURCE, found.beside.states, given=available or in_use)
    return forecast(Answers(mechanism, node, RESOURCE), state, events, all_orders=all_orders)


def _assumed(forecast: Forecast, config: PluginConfig, notes: Sequence[str]) -> tuple[Assumed, ...]:
    from gputopo.allocate.device_plugin.versions import NEWEST

    sharing = "no replicas" if config.sharing is None else config.sharing.kind
    mig = "no MIG" if config.mig_strategy == "none" else f"MIG strategy {config.mig_strategy}"
    alone = forecast.mechanism == "device-plugin"
    kubelet = "Topology Manager policy none" if alone else f"kubelet {forecast.version}"
    return (
        Assumed(f"device plugin {NEWEST}"), Assumed(f"{sharing}, {mig}", "--plugin-config FILE"),
        Assumed("no exclusive CPUs"), Assumed(kubelet, "--topology-manager-policy" if alone else ""),
        *map(Assumed, notes),
    )  # fmt: skip


def _show(made: Sequence[_Made], assumed: Sequence[Assumed], place: Place, code: int) -> None:
    from gputopo.reports.forms import Picture
    from gputopo.reports.views.allocate_sequence import blocks

    reports = [
        blocks(
            one.forecast, one.decision, node=one.node.name, resource=RESOURCE, assumed=assumed,
            verbose=place.verbose, quiet=place.quiet,
        )
        for one in made
    ]  # fmt: skip
    pictures = [Picture(one.node) for one in made] if place.form == "html" else ()
    place.show(reports, code, pictures, "gputopo allocate sequence")


def _print(made: Sequence[_Made], assumed: Sequence[Assumed], place: Place) -> None:
    from gputopo.documents.forecast import encode, encode_list
    from gputopo.reports.allocate_annotations import of_forecasts

    notes = [one.note for one in assumed]
    place.print(
        [
            encode(one.forecast, one.decision, node=one.node.name, resource=RESOURCE, assumptions=notes)
            for one in made
        ],
        encode_list,
        of_forecasts,
    )


def _exit(forecast: Forecast) -> int:
    """1: a pod is refused whatever was picked before. 3: too many states to follow them all."""
    from gputopo.allocate.sequence.forecast import ALWAYS

    if any(told.refused == ALWAYS for told in forecast.told):
        return 1
    return 0 if all(told.complete for told in forecast.told) else 3
