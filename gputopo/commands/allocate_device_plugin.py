"""`gputopo allocate device-plugin [SOURCE]... -c N`: which GPUs NVIDIA's device plugin would prefer, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, Optional

import typer

from gputopo.commands import allocate_objects as given
from gputopo.commands import allocate_options as shared
from gputopo.commands import options
from gputopo.commands.allocate_fleet_options import Fleet, fleet_of
from gputopo.commands.allocate_holdings import assumed as assumed_of
from gputopo.commands.allocate_place import Place, exit_code, picture_of
from gputopo.commands.allocate_plugin_asked import Asking, prepared, resource_and_size
from gputopo.commands.allocate_plugin_config import Chosen, choose, configs_of, label_of, plugin_release
from gputopo.commands.allocate_reading import Files, How, Reading, read
from gputopo.errors import GputopoError
from gputopo.terms.kube_object import WrongShape

if TYPE_CHECKING:
    from gputopo.allocate.assumed import Assumed
    from gputopo.allocate.decider import Decision
    from gputopo.allocate.device_plugin.config import Refused
    from gputopo.allocate.device_plugin.fabric import FmPartition
    from gputopo.allocate.device_plugin.plugin import DevicePlugin
    from gputopo.allocate.device_plugin.report import Report
    from gputopo.allocate.kubelet.otherwise import Otherwise
    from gputopo.topology.node import NodeTopology

Policy = Literal["best-effort", "simple", "static-dgx1p", "static-dgx1v", "static-dgx2"]


def command(
    sources: options.Sources = None,
    count: shared.Count = None,
    available: shared.Available = None,
    in_use: shared.InUse = None,
    must_include: shared.MustInclude = None,
    ordered: shared.Ordered = None,
    pod: shared.PodFile = None,
    node: shared.NodeFile = None,
    classes: shared.Classes = None,
    container: shared.ContainerName = None,
    plugin_config: shared.PluginConfigFile = None,
    config_key: shared.ConfigKey = None,
    kubelet_config: shared.KubeletConfig = None,
    k8s_version: shared.K8sVersion = None,
    plugin_version: shared.PluginVersion = None,
    resource: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--resource", metavar="NAME", help="Default nvidia.com/gpu, or the only one that is offered."),
    ] = None,
    mig_strategy: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--mig-strategy", metavar="STRATEGY", help="none, single or mixed; before the config's."),
    ] = None,
    shared_policy: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--shared-devices-allocation-policy", metavar="POLICY", help="distributed or packed."),
    ] = None,
    policy: Annotated[
        Policy, typer.Option("--policy", help="Others are in go-gpuallocator, but no plugin uses them.")
    ] = "best-effort",
    platform: Annotated[
        Literal["nvml", "wsl", "tegra"], typer.Option("--platform", help="wsl, tegra: links are never looked at.")
    ] = "nvml",
    fm_partitions: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--fm-partitions", metavar="FILE|hgx", help="Fabric Manager's partitions: `fmpm -l`, or hgx."),
    ] = None,
    fleet: shared.FleetPaths = None,
    fail_on: shared.FleetFailOn = None,
    as_format: options.As = None,
    form: shared.AnyOutput = "text",
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
    """Which GPUs NVIDIA's device plugin would prefer for a request: every set it can return, and why.

    The plugin maximises the links summed over all sets it can cut the free GPUs into, not the set you get.
    """
    from gputopo.allocate.device_plugin.config import Refused
    from gputopo.allocate.device_plugin.plugin import DevicePlugin

    version = plugin_release(plugin_version)
    partitions = _partitions(fm_partitions)
    if count is not None or not (pod or sources):
        shared.checked_count(count)
    how = How(as_format, assume, merge, each, root, driver_root, timeout, quiet)
    place = Place(form, output_file, color, verbose, quiet)
    alone = (
        ("--available", available), ("--in-use", in_use), ("--must-include", must_include), ("--ordered", ordered),
        ("--node", node), ("--fm-partitions", fm_partitions), ("--merge", merge), ("--each", each),
        ("--root", root), ("--driver-root", driver_root),
    )  # fmt: skip
    many = fleet_of(fleet, fail_on, place, timeout, as_format, assume, alone)
    files = Files(pod, node, None, classes, k8s_version)
    found = read(sources, files, how, counted=count is not None, speaks=lambda *_: many is not None)
    try:
        resource, size = resource_and_size(found.objects, resource, container, count)
        if many is not None:
            return _of_fleet(
                many, Asking(size, None, None, None, None, resource, None), found, version, policy, platform,
                _Config(plugin_config, config_key, mig_strategy, shared_policy),
            )  # fmt: skip
        configs = configs_of(plugin_config, found)
        config_key = config_key or label_of(configs, found.objects, found.nodes)
        request = Asking(size, available, in_use, must_include, ordered, resource, partitions)
        try:
            config, notes = choose(configs, config_key, mig_strategy, shared_policy)
            plugin = DevicePlugin(config, version, policy=policy, platform="" if platform == "nvml" else platform)
            reports = [_ask(one, plugin, request, found) for one in found.nodes]
        except Refused as refusal:
            return _refused(refusal, found, version, size, place)
        decisions = [_decision(one, found) for one in reports]
        beside = [_kubelet(one, found, kubelet_config, k8s_version, notes) for one in reports]
    except WrongShape as error:
        raise given.shaped(error, found.where) from None
    _print(reports, decisions, beside, place)
    return max(map(_exit, reports))


class _Config(NamedTuple):
    """The options of the plugin's configuration."""

    path: str | None
    key: str | None
    mig_strategy: str | None
    shared_policy: str | None


def _of_fleet(
    fleet: Fleet, asking: Asking, found: Reading, version: str, policy: Policy, platform: str, config: _Config
) -> int:  # fmt: skip
    from gputopo.commands.allocate_fleet import run
    from gputopo.commands.allocate_fleet_askers import OfPlugin

    def chosen(reading: Reading) -> Chosen:
        configs = configs_of(config.path, reading)
        key = config.key or label_of(configs, reading.objects, reading.nodes)
        return choose(configs, key, config.mig_strategy, config.shared_policy)

    asker = OfPlugin(asking, chosen, version, policy, platform)
    decides = found.objects.decision(found.version, None, asking.resource or "nvidia.com/gpu")
    return run(fleet, asker, found, found.objects.pod, decides)


def _ask(node: NodeTopology, plugin: DevicePlugin, asked: Asking, found: Reading) -> Report:
    from gputopo.allocate.device_plugin.report import report

    state, request, order = prepared(node, plugin, asked, found)
    return report(plugin._replace(ordered=order), state, request, asked.partitions)


def _decision(report: Report, found: Reading) -> Decision:
    return found.objects.decision(found.version, report.state.node.name, report.request.resource)


class _Beside(NamedTuple):
    assumed: tuple[Assumed, ...]
    others: tuple[Otherwise, ...]


def _kubelet(
    report: Report, found: Reading, config: str | None, version: str | None, notes: Sequence[str]
) -> _Beside:  # fmt: skip
    """What the kubelet's Topology Manager would make of the request, and what is assumed of it."""
    from gputopo.allocate.assumed import Assumed
    from gputopo.allocate.device_plugin.beside import assumed
    from gputopo.commands.allocate_otherwise import of_plugin

    own, others = of_plugin(report, found, config, version)
    said = (*(Assumed(note) for note in notes), *own, *assumed_of(found.beside.states))
    return _Beside(assumed(report, said, alone=config is None and not found.beside.kubelet_configs), others)


def _partitions(text: str | None) -> Sequence[FmPartition] | None:
    if text is None:
        return None
    from gputopo.allocate.device_plugin.fabric import HGX, read_partitions

    if text == "hgx":
        return HGX
    import json

    try:
        return read_partitions(json.loads(shared.read_text(text, "--fm-partitions")))
    except (ValueError, RecursionError) as error:
        what = "not JSON" if isinstance(error, json.JSONDecodeError) else str(error)
        raise GputopoError(what, f"--fm-partitions {text}", "give what `fmpm -l` prints, or hgx") from error


def _refused(refusal: Refused, found: Reading, version: str, size: int, place: Place) -> int:
    """The plugin would not start: exit 1, as an answer of every node."""
    from gputopo.allocate.answer import Answer
    from gputopo.allocate.assumed import Assumed
    from gputopo.allocate.request import Request
    from gputopo.allocate.state import State

    why = ["the device plugin does not start with this configuration, so the node offers no GPUs"]
    if refusal.allowed:
        why.append(f"it takes {', '.join(refusal.allowed)}")
    answer = Answer(
        "device-plugin", version, "gpu", Request(size), False, reason="plugin does not start", message=str(refusal),
        why=tuple(why),
    )
    assumed = (Assumed(f"device plugin {version}", "--plugin-version"),)
    asked = [(node, found.objects.decision(found.version, node.name)) for node in found.nodes]
    if place.shows_blocks:
        from gputopo.reports.views.allocate_refused import blocks

        place.show([blocks(answer, State(node, (), ()), one, assumed, quiet=place.quiet) for node, one in asked], 1)
    else:
        from gputopo.documents.allocation import encode, notes

        place.print([encode(answer, node=node.name, decides=one, assumptions=notes(assumed)) for node, one in asked])
    return 1


def _print(
    reports: Sequence[Report], decisions: Sequence[Decision], beside: Sequence[_Beside], place: Place
) -> None:  # fmt: skip
    made = list(zip(reports, decisions, beside))
    if place.shows_blocks:
        from gputopo.reports.views.allocate_device_plugin import blocks

        texts = [
            blocks(one, decision, more.assumed, more.others, verbose=place.verbose, quiet=place.quiet)
            for one, decision, more in made
        ]
        place.show(
            texts, max(map(_exit, reports)), [picture_of(one.state.node, one.answer, one.best) for one in reports],
            "gputopo allocate device-plugin",
        )  # fmt: skip
        return
    from gputopo.documents.allocation_device_plugin import encode
    from gputopo.rules.run import run

    fabric = ("GT031",)  # the one rule that is about what this allocator does not see
    place.print([
        encode(one, decision, more.assumed, run(one.state.node, select=fabric)[0], more.others)
        for one, decision, more in made
    ])  # fmt: skip


def _exit(report: Report) -> int:
    answer = report.answer
    return exit_code(answer, by_chance=any(one.defect for one in answer.outcomes))
