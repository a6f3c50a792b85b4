"""The device plugin and the kubelet as they are asked for every shape of node in a fleet."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from gputopo.allocate.answer import Answer
from gputopo.allocate.assumed import Assumed
from gputopo.allocate.device_plugin.aligned import Aligned, padded, refuses
from gputopo.allocate.device_plugin.beside import assumed as assumed_of_plugin
from gputopo.allocate.device_plugin.config import Refused
from gputopo.allocate.device_plugin.doubts import one_way_pairs
from gputopo.allocate.device_plugin.plugin import DevicePlugin
from gputopo.allocate.device_plugin.report import Report
from gputopo.allocate.kubelet.mechanism import asking
from gputopo.allocate.request import Request
from gputopo.allocate.state import State
from gputopo.commands.allocate_fleet import Said
from gputopo.commands.allocate_holdings import assumed as assumed_of_states
from gputopo.commands.allocate_kubelet_question import Question
from gputopo.commands.allocate_kubelet_question import prepared as kubelet_prepared
from gputopo.commands.allocate_plugin_asked import Asking
from gputopo.commands.allocate_plugin_asked import prepared as plugin_prepared
from gputopo.commands.allocate_plugin_config import Chosen
from gputopo.errors import GputopoError
from gputopo.fleet.marks import of_kubelet, of_plugin
from gputopo.fleet.shape import Shape, shape_of
from gputopo.fleet.verdict import Asked

if TYPE_CHECKING:
    from gputopo.commands.allocate_fleet_reading import Saved
    from gputopo.commands.allocate_reading import Reading
    from gputopo.commands.allocate_sources import Sorted
    from gputopo.commands.progress import Progress
    from gputopo.topology.node import NodeTopology

_REFUSED = 1  # exit code of an error that is an answer: the plugin does not start, or does not offer this


class OfPlugin(NamedTuple):
    """`chosen`: the plugin's configuration on a node. Raises Refused."""

    asking: Asking
    chosen: Callable[[Reading], Chosen]
    version: str
    policy: str
    platform: str
    mechanism: str = "device-plugin"
    own_clock: bool = False

    def wants(self, beside: Sorted) -> tuple[str, ...]:
        return ()

    def key(self, saved: Saved) -> Shape:
        node = _node(saved)
        try:
            plugin, state, request, _ = self._prepared(saved)
        except (Refused, GputopoError) as error:
            return shape_of(node, frame=_answering(error))
        limit = plugin.behaviour.link_limit
        made = of_plugin(state, limit, in_order=plugin.policy != "best-effort", frame=(plugin.config, request))
        return shape_of(node, marks=made.marks, ties=made.ties, frame=made.frame)

    def ask(self, saved: Saved, progress: Progress) -> Said:
        try:
            plugin, state, request, notes = self._prepared(saved)
        except (Refused, GputopoError) as error:
            return _refused(error, self.mechanism, self.version, Request(self.asking.size))
        answer, found = plugin.answer_with(state, request)
        alone = not saved.reading.beside.kubelet_configs
        report = Report(plugin, state, request, answer, found)
        assumed = (*assumed_of_plugin(report, notes, alone=alone), *assumed_of_states(saved.reading.beside.states))
        return Said(_asked(answer, state, found), request, answer.version, assumed)

    def _prepared(self, saved: Saved) -> tuple[DevicePlugin, State, Request, tuple[Assumed, ...]]:
        config, notes = self.chosen(saved.reading)
        platform = "" if self.platform == "nvml" else self.platform
        plugin = DevicePlugin(config, self.version, policy=self.policy, platform=platform)
        state, request, _ = plugin_prepared(_node(saved), plugin, self.asking, saved.reading)
        return plugin, state, request, tuple(map(Assumed, notes))


def _asked(answer: Answer, state: State, found: Aligned | None) -> Asked:
    free = set(state.free)
    one_way = [one for one in one_way_pairs(state.node) if {one.a, one.b} <= free] if answer.request.size > 1 else []
    if one_way and answer.admitted is not False:
        pair = f"{one_way[0].a}-{one_way[0].b}"
        why = f"the evidence prints NVLinks of {pair} one way only: where NVML says so too, the plugin panics"
        return Asked(answer._replace(admitted=None), state, chance=False, reason=(why,))
    chance = any(one.defect for one in answer.outcomes)
    if found is None or any(refuses(one) for one in found.outcomes):
        return Asked(answer, state, chance=chance)
    variants = tuple(
        tuple(
            tuple(found.available[at] for at in one if at is not None)
            for one in sorted(variant.outcomes, key=str) if not padded(one)
        )
        for variant in found.variants
    )  # fmt: skip
    more = len({one for variant in variants for one in variant}) > len(answer.outcomes)
    whole = answer.outcomes_complete or (more and not (found.alike or found.lopsided))
    return Asked(answer, state, variants, chance=chance, variants_complete=whole)


class OfKubelet(NamedTuple):
    question: Question
    mechanism: str = "kubelet"
    own_clock: bool = False

    def wants(self, beside: Sorted) -> tuple[str, ...]:
        return ()

    def key(self, saved: Saved) -> Shape:
        node = _node(saved)
        try:
            ready = kubelet_prepared(node, self.question, saved.reading)
        except GputopoError as error:
            return shape_of(node, frame=_answering(error))
        plugin = ready.plugin
        frame = (plugin.config, plugin.version, ready.request, ready.mechanism.plugin is None)
        base = of_plugin(ready.state, plugin.behaviour.link_limit, in_order=False, frame=frame)
        made = of_kubelet(ready.state, ready.mechanism.settings, base)
        return shape_of(node, marks=made.marks, ties=made.ties, frame=made.frame)

    def ask(self, saved: Saved, progress: Progress) -> Said:
        asked = self.question.asked
        try:
            ready = kubelet_prepared(_node(saved), self.question, saved.reading)
        except GputopoError as error:
            return _refused(error, self.mechanism, "", Request(asked.size or 0, resource=self.question.resource))
        answer = ready.mechanism.answer(ready.state, ready.request)
        pod = ready.mechanism.pod
        one = pod is None or len(asking(pod, ready.request.resource)) == 1
        said = Asked(
            answer, ready.state, groups="each" if one else "parts",
            open_evidence=ready.mechanism.plugin is not None and _is_open(ready.plugin, ready.state, ready.request),
        )  # fmt: skip
        assumed = (*ready.notes, *map(Assumed.of, answer.assumptions))
        return Said(said, ready.request, answer.version, tuple(dict.fromkeys(assumed)))


def _is_open(plugin: DevicePlugin, state: State, request: Request) -> bool:
    """Whether what the plugin prefers depends on what the evidence leaves open."""
    if request.size < 2 or not plugin.is_aligned(state) or request.size > len(state.free):
        return False
    found = plugin.answer_with(state, request._replace(required=()))[1]
    return found is not None and bool(found.undecided or found.alike)


def _node(saved: Saved) -> NodeTopology:
    assert saved.node is not None  # only DRA takes objects alone for a node
    return saved.node


def _answering(error: Exception) -> str:
    """The error as a part of the key, where it is an answer. Raises it where it is not."""
    if isinstance(error, GputopoError) and error.exit_code != _REFUSED:
        raise error
    return str(error)


def _refused(error: Exception, mechanism: str, version: str, request: Request) -> Said:
    what = _answering(error)
    if isinstance(error, GputopoError):
        what = error.what
    elif isinstance(error, Refused):
        what = f"the device plugin does not start: {error}"
    answer = Answer(mechanism, version, "gpu", request, False, message=what)
    return Said(Asked(answer, None, reason=(what,)), request, version)
