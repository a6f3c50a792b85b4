"""`gputopo allocate all [SOURCE]... -c N`: every mechanism side by side, and the best possible set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gputopo.allocate.assumed import Assumed
from gputopo.commands import allocate_objects as given
from gputopo.commands import allocate_options as shared
from gputopo.commands import options
from gputopo.commands.allocate_holdings import assumed as assumed_of
from gputopo.commands.allocate_holdings import holding
from gputopo.commands.allocate_place import Place
from gputopo.commands.allocate_reading import Files, How, Reading, read
from gputopo.errors import GputopoError
from gputopo.terms.kube_object import WrongShape

if TYPE_CHECKING:
    from gputopo.allocate.compare import Comparison
    from gputopo.reports.forms import Picture
    from gputopo.topology.node import NodeTopology

RESOURCE = "nvidia.com/gpu"


def command(
    sources: options.Sources = None,
    count: shared.Count = None,
    available: shared.Available = None,
    in_use: shared.InUse = None,
    pod: shared.PodFile = None,
    node: shared.NodeFile = None,
    classes: shared.Classes = None,
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
    """What each mechanism would give for the same request, in each setting that changes its choice, beside the
    best set that is free.
    """
    size = shared.checked_count(count)
    how = How(as_format, assume, merge, each, root, driver_root, timeout, quiet)
    found = read(sources, Files(pod, node, None, classes, k8s_version), how, counted=True)
    try:
        made = [
            (_compare(one, size, available, in_use, found), found.objects.decision(found.version, one.name))
            for one in found.nodes
        ]
    except WrongShape as error:
        raise given.shaped(error, found.where) from None
    code = max(_exit([row.answer.admitted for row in one.rows]) for one, _ in made)
    place = Place(form, output_file, color, verbose, quiet)
    if place.shows_blocks:
        from gputopo.reports.views.allocate_all import blocks

        place.show(
            [blocks(one, decision, _assumed(one, found), verbose=verbose, quiet=quiet) for one, decision in made], code,
            [_picture(one) for one, _ in made] if form == "html" else (), "gputopo allocate all",
        )  # fmt: skip
    else:
        from gputopo.documents.allocation_comparison import encode, encode_list
        from gputopo.reports.allocate_annotations import of_comparisons

        documents = [encode(one, decision, [said.note for said in _assumed(one, found)]) for one, decision in made]
        place.print(documents, encode_list, of_comparisons)
    return code


def _compare(
    node: NodeTopology, size: int, available: str | None, in_use: str | None, found: Reading
) -> Comparison:  # fmt: skip
    from gputopo.allocate.compare import compare, settings
    from gputopo.allocate.device_plugin.config import PluginConfig
    from gputopo.allocate.device_plugin.units import offered
    from gputopo.allocate.request import Request
    from gputopo.allocate.state import State

    units = offered(node, PluginConfig()).get(RESOURCE)
    if not units:
        raise GputopoError(f"the plugin does not offer {RESOURCE} here", "", "see its MIG strategy", 1)
    free, _ = shared.free_units(node, units, available, in_use)
    state = holding(State(node, units, free), RESOURCE, found.beside.states, given=available or in_use)
    return compare(state, Request(size), tuple(settings(node)))


def _picture(comparison: Comparison) -> Picture:
    """With the best set that is free, where it is certain."""
    from gputopo.reports.forms import Picture

    best = comparison.now
    return Picture(comparison.state.node, best.sets[0] if best is not None and best.decided and best.sets else ())


def _assumed(comparison: Comparison, found: Reading) -> tuple[Assumed, ...]:
    """The releases that are imitated, and what each mechanism took for granted."""
    versions = dict.fromkeys(f"{row.name} {row.answer.version}" for row in comparison.rows)
    made = [Assumed(", ".join(versions)), Assumed("no replicas, no MIG, no exclusive CPUs")]
    made += assumed_of(found.beside.states)
    if found.beside.plugin_configs or found.beside.kubelet_configs:
        made.append(Assumed("the configurations given are not looked at here", "gputopo allocate kubelet"))
    for row in comparison.rows:
        for note in map(Assumed.of, row.answer.assumptions):
            made.append(note._replace(text=f"{row.name}: {note.text}"))
    return tuple(dict.fromkeys(made))


def _exit(admitted: list[bool | None]) -> int:
    """1: every mechanism refuses. 3: none admits, and some are not decided."""
    if True in admitted:
        return 0
    return 3 if None in admitted else 1
