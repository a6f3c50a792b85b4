"""`gputopo allocate device-plugin [SOURCE]... -c N`: which GPUs NVIDIA's device plugin would prefer, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional

import typer

from gputopo.commands import allocate_options as shared
from gputopo.commands import options, output
from gputopo.commands.allocate_holdings import holding
from gputopo.commands.allocate_plugin_config import choose, read_configs
from gputopo.errors import GputopoError

if TYPE_CHECKING:
    from gputopo.allocate.device_plugin.config import Refused
    from gputopo.allocate.device_plugin.fabric import FmPartition
    from gputopo.allocate.device_plugin.plugin import DevicePlugin
    from gputopo.allocate.device_plugin.report import Report
    from gputopo.parsers.kubelet_state import KubeletState
    from gputopo.reports.blocks import Block
    from gputopo.topology.node import NodeTopology

Policy = Literal["best-effort", "simple", "static-dgx1p", "static-dgx1v", "static-dgx2"]


def command(
    sources: options.Sources = None,
    count: shared.Count = None,
    available: shared.Available = None,
    in_use: shared.InUse = None,
    must_include: shared.MustInclude = None,
    ordered: shared.Ordered = None,
    plugin_config: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--plugin-config", metavar="FILE", help="config.yaml, its ConfigMap, or a ClusterPolicy."),
    ] = None,
    config_key: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--config-key", metavar="KEY", help="Of a ConfigMap; the node label names it."),
    ] = None,
    plugin_version: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--plugin-version", metavar="VERSION", help="Of the plugin, e.g. v0.17.1; newest: v0.20.0."),
    ] = None,
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
    as_format: options.As = None,
    form: options.Output = "text",
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
    from gputopo.allocate.device_plugin.plugin import DevicePlugin

    size = shared.checked_count(count)
    as_format = options.checked_format(as_format)
    assumed = options.pairs(assume, "--assume")
    version = _version(plugin_version)
    partitions = _partitions(fm_partitions)
    shared.check_live(sources, root, driver_root)
    beside = shared.sources_of(sources, timeout, quiet)
    configs = tuple(one for named in beside.plugin_configs for one in read_configs(named.text, named.name))
    if plugin_config is not None:
        configs = read_configs(shared.read_text(plugin_config, "--plugin-config"), plugin_config)
    nodes = (
        shared.nodes_of(beside.node, as_format=as_format, assume=assumed, merge=merge, each=each)
        if sources
        else shared.live_nodes(root, driver_root, timeout, quiet, assumed)
    )
    from gputopo.allocate.device_plugin.config import Refused

    place = _Place(form, output_file, color, verbose, quiet)
    asked = _Asked(size, available, in_use, must_include, ordered, resource, partitions, beside.states)
    try:
        config, notes = choose(configs, config_key, mig_strategy, shared_policy)
        plugin = DevicePlugin(config, version, policy=policy, platform="" if platform == "nvml" else platform)
        reports = [_ask(node, plugin, asked) for node in nodes]
    except Refused as refusal:
        return _refused(refusal, nodes, version, size, place)
    _print(reports, notes, place)
    return max(_exit(one) for one in reports)


class _Asked:
    """The request as the options give it."""

    __slots__ = ("available", "in_use", "must_include", "ordered", "partitions", "resource", "size", "states")

    def __init__(
        self, size: int, available: str | None, in_use: str | None, must_include: str | None, ordered: str | None,
        resource: str | None, partitions: Sequence[FmPartition] | None, states: Sequence[KubeletState],
    ) -> None:  # fmt: skip
        self.size = size
        self.available = available
        self.in_use = in_use
        self.must_include = must_include
        self.ordered = ordered
        self.resource = resource
        self.partitions = partitions
        self.states = states


def _ask(node: NodeTopology, plugin: DevicePlugin, asked: _Asked) -> Report:
    from gputopo.allocate.device_plugin.report import report
    from gputopo.allocate.device_plugin.units import offered
    from gputopo.allocate.gpu_set import resolve
    from gputopo.allocate.request import Request
    from gputopo.allocate.state import State

    units = offered(node, plugin.config)
    name = _resource(asked.resource, tuple(units))
    own = units[name]
    free, order = shared.free_units(node, own, asked.available, asked.in_use, asked.ordered)
    given = asked.available or asked.in_use or asked.ordered
    state = holding(State(node, own, free), name, asked.states, given=given)
    must = resolve(node, asked.must_include, "--must-include", own) if asked.must_include is not None else ()
    lost = [one for one in must if one not in state.free]
    if lost:
        raise GputopoError(f"not among the free ones: {', '.join(lost)}", "--must-include")
    if len(must) > asked.size:
        raise GputopoError(f"{len(must)} are required and {asked.size} asked for", "--must-include")
    return report(plugin._replace(ordered=order), state, Request(asked.size, must, name), asked.partitions)


def _resource(name: str | None, offered: Sequence[str]) -> str:
    from gputopo.allocate.device_plugin.units import GPU

    if not offered:
        raise GputopoError("the plugin offers nothing on this node", "", "see its MIG strategy", 1)
    if name is None:
        if GPU in offered or len(offered) == 1:
            return GPU if GPU in offered else offered[0]
        raise GputopoError(f"which resource? {', '.join(offered)}", "--resource")
    if "/" not in name:
        name = f"nvidia.com/{name}"
    if name not in offered:
        raise GputopoError(f"the plugin does not offer {name} here", "--resource", f"it offers {', '.join(offered)}", 1)
    return name


def _version(text: str | None) -> str:
    from gputopo.allocate.device_plugin.versions import NEWEST, number

    if text is None:
        return NEWEST
    if number(text) is None:
        raise GputopoError(f"no version of the device plugin: {text!r}", "--plugin-version", f"e.g. {NEWEST}")
    return "v" + text.strip().removeprefix("v")


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


def _refused(refusal: Refused, nodes: Sequence[NodeTopology], version: str, size: int, place: _Place) -> int:
    """The plugin would not start: exit 1, as an answer of every node."""
    from gputopo.allocate.answer import Answer
    from gputopo.allocate.request import Request

    why = ["the device plugin does not start with this configuration, so the node offers no GPUs"]
    if refusal.allowed:
        why.append(f"it takes {', '.join(refusal.allowed)}")
    answer = Answer(
        "device-plugin", version, "gpu", Request(size), False, reason="plugin does not start", message=str(refusal),
        why=tuple(why),
    )
    if place.form == "text":
        from gputopo.reports.views.allocate_refused import blocks

        place.show([blocks(answer, node.name) for node in nodes], 1)
    else:
        from gputopo.documents.allocation import encode

        place.print([encode(answer, node=node.name) for node in nodes])
    return 1


class _Place:
    """Where and how the answer goes."""

    __slots__ = ("color", "file", "form", "quiet", "verbose")

    def __init__(self, form: str, file: str | None, color: str, verbose: bool, quiet: bool) -> None:
        self.form = form
        self.file = file
        self.color = color
        self.verbose = verbose
        self.quiet = quiet

    def show(self, reports: Sequence[Sequence[Block]], code: int) -> None:
        """Blocks as text; the exit code is explained on a terminal only."""
        from gputopo.reports.style import Style
        from gputopo.reports.text import render

        style = Style(*output.place(self.color, self.file))
        output.write("\n".join(render(blocks, style) for blocks in reports), self.file)

    def print(self, documents: Sequence[dict[str, Any]]) -> None:
        from gputopo.documents.allocation import encode_list

        document = documents[0] if len(documents) == 1 else encode_list(documents)
        if self.form == "json":
            from gputopo.reports.json import render
        else:
            from gputopo.reports.yaml import render
        output.write(render(document), self.file)


def _print(reports: Sequence[Report], notes: Sequence[str], place: _Place) -> None:
    if place.form == "text":
        from gputopo.reports.views.allocate_device_plugin import blocks

        made = [blocks(one, notes, verbose=place.verbose, quiet=place.quiet) for one in reports]
        place.show(made, max(_exit(one) for one in reports))
    else:
        from gputopo.documents.allocation_device_plugin import encode
        from gputopo.rules.run import run

        fabric = ("GT031",)  # the one rule that is about what this allocator does not see
        place.print([encode(one, notes, run(one.state.node, select=fabric)[0]) for one in reports])


def _exit(report: Report) -> int:
    """1: refused. 3: the evidence leaves open whether it is; what only chance decides is an answer."""
    answer = report.answer
    if answer.admitted is False:
        return 1
    undecided = answer.admitted is None and not any(one.defect for one in answer.outcomes)
    return 3 if undecided else 0
