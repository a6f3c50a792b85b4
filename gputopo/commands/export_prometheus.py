"""`gputopo export --to prometheus`: this node, or saved evidence of one, as metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gputopo.commands import output
from gputopo.commands.inspect import open_pieces, read_live
from gputopo.errors import GputopoError
from gputopo.version import __version__

if TYPE_CHECKING:
    from gputopo.inspection import Inspection
    from gputopo.reports.prometheus import Metric
    from gputopo.rules.pods.audit import Audit
    from gputopo.topology.node import NodeTopology


class Ask(NamedTuple):
    """What is wanted. `pods`: also how those on the node are placed."""

    node_name: str | None
    pods: bool
    timeout: float  # s, for every wait
    quiet: bool
    assume: Mapping[str, str]


def live(ask: Ask, root: str | None, driver_root: str | None) -> tuple[Metric, ...]:
    """Of this node, with GPUs or without. Raises GputopoError where it cannot be read.

    A kubelet that does not answer is no reason to say nothing of the node: `gputopo_pods_known` is 0 then.
    """
    from gputopo.inspection import inspect_reading

    reading = read_live(root, driver_root, ask.timeout, None, ask.quiet)
    inspection = inspect_reading(reading, assume=ask.assume)
    made = _of(ask, inspection)
    if not ask.pods:
        return made
    try:
        [audit] = _audits(ask, root, inspection.node)
    except GputopoError as error:
        if not ask.quiet:
            output.say(f"how pods are placed is not known: {error.what}")
        return (*made, _known(0))
    return (*made, *_placed(audit))


def saved(ask: Ask, sources: Sequence[str], as_format: str | None, merge: bool) -> tuple[Metric, ...]:
    """Of the one node that the sources speak of. Raises GputopoError."""
    from gputopo.inspection import inspect

    if ask.pods:
        return _with_pods(ask, sources)
    found = inspect(open_pieces(sources, ask.timeout, ask.quiet), as_format=as_format, merge=merge, assume=ask.assume)
    _check_one([one.node.name for one in found])
    return _of(ask, found[0])


def _with_pods(ask: Ask, sources: Sequence[str]) -> tuple[Metric, ...]:
    from gputopo.commands.pods import pieces
    from gputopo.inspection import Inspection
    from gputopo.inspection_pods import audits
    from gputopo.rules.run import run

    found = audits(pieces(sources, ask.timeout, ask.quiet), ask.assume)
    _check_one([one.node.name or one.held.name for one in found])
    node = found[0].node
    return (*_of(ask, Inspection(node, *run(node))), *_placed(found[0]))


def _check_one(names: Sequence[str | None]) -> None:
    if len(names) != 1:
        shown = ", ".join(name or "a node without a name" for name in names[:3])
        raise GputopoError(f"{len(names)} nodes in the sources: metrics are of one", shown, "--merge, or fewer sources")


def _audits(ask: Ask, root: str | None, node: NodeTopology) -> tuple[Audit, ...]:
    """From the kubelet below that root: its socket first, its files beside it."""
    from gputopo.evidence.kubelet_files import ROOT
    from gputopo.evidence.live import kubelet_root, podresources
    from gputopo.inspection_pods import audits

    folder = f"{(root or '').rstrip('/')}{ROOT}"
    answer = podresources.ask(podresources.socket_path(None, folder), ask.timeout)
    pieces = (*answer.pieces(), *kubelet_root.read(folder).pieces)
    if not pieces:
        raise answer.error()
    return audits(pieces, ask.assume, live=node)


def _of(ask: Ask, found: Inspection) -> tuple[Metric, ...]:
    from gputopo.documents.node import encode
    from gputopo.fleet.shape import shape_of
    from gputopo.reports.node_metrics import metrics

    node = found.node if ask.node_name is None else found.node._replace(name=ask.node_name)
    document = encode(node, found.findings, found.not_checked)
    return metrics(document, __version__, shape_of(node).fingerprint if node.gpus else None)


def _placed(audit: Audit) -> tuple[Metric, ...]:
    from gputopo.documents.pod_audit import encode
    from gputopo.reports.pod_metrics import totals
    from gputopo.rules.pods.run import run

    return (*totals(encode(audit, run(audit))), _known(1))


def _known(value: int) -> Metric:
    from gputopo.reports.prometheus import Metric, Sample

    return Metric("gputopo_pods_known", "1 where the kubelet said who holds what, 0 where not.", (Sample({}, value),))
