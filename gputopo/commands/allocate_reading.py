"""What one question of `allocate` reads, the same for every mechanism: nodes, configurations, states, objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gputopo.commands import allocate_objects as given
from gputopo.commands import allocate_options as shared
from gputopo.commands import options
from gputopo.terms.kube_object import WrongShape

if TYPE_CHECKING:
    from gputopo.commands.allocate_sources import Sorted
    from gputopo.topology.node import NodeTopology


class Reading(NamedTuple):
    nodes: tuple[NodeTopology, ...]
    beside: Sorted
    objects: given.Objects
    where: str  # of the objects, for messages
    version: given.Version | None  # --k8s-version


class Files(NamedTuple):
    """Options that name objects, and the release."""

    pod: str | None = None
    node: str | None = None
    pods: str | None = None
    classes: str | None = None
    k8s_version: str | None = None


class How(NamedTuple):
    """Options that say how sources are read."""

    as_format: str | None
    assume: list[str] | None
    merge: bool
    each: bool
    root: str | None
    driver_root: str | None
    timeout: float
    quiet: bool


def read(
    sources: Sequence[str] | None, files: Files, how: How, *, counted: bool,
    speaks: Callable[[Sorted, given.Objects], bool] = lambda beside, objects: False,
) -> Reading:  # fmt: skip
    """Everything that is read. `speaks`: the objects say enough of the node, no other evidence is needed.

    Raises GputopoError. `counted`: -c is given.
    """
    as_format = options.checked_format(how.as_format)
    assumed = options.pairs(how.assume, "--assume")
    version = given.version_of(files.k8s_version)
    shared.check_live(sources, how.root, how.driver_root)
    beside = shared.sources_of(sources, how.timeout, how.quiet, as_format)
    where = files.pod or files.node or ", ".join(sources or ())
    try:
        found = given.objects(beside, files.pod, files.node, files.pods, files.classes, counted=counted)
    except WrongShape as error:
        raise given.shaped(error, where) from None
    nodes: tuple[NodeTopology, ...] = ()
    if beside.node or not speaks(beside, found):
        nodes = (
            shared.nodes_of(beside.node, as_format=as_format, assume=assumed, merge=how.merge, each=how.each)
            if sources
            else shared.live_nodes(how.root, how.driver_root, how.timeout, how.quiet, assumed)
        )
    return Reading(nodes, beside, found, where, version)
