"""Beside an answer of the device plugin: what the kubelet's Topology Manager would make of the same request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gputopo.commands.allocate_kubelet_options import Given, config_text, release_said, settings_of

if TYPE_CHECKING:
    from gputopo.allocate.assumed import Assumed
    from gputopo.allocate.device_plugin.report import Report
    from gputopo.allocate.kubelet.otherwise import Otherwise
    from gputopo.commands.allocate_reading import Reading


def of_plugin(
    report: Report, found: Reading, config: str | None, version: str | None
) -> tuple[tuple[Assumed, ...], tuple[Otherwise, ...]]:  # fmt: skip
    """(what is assumed of the kubelet, its other policies). Nothing where its request could not be this one."""
    from gputopo.allocate.assumed import Assumed
    from gputopo.allocate.kubelet.mechanism import KubeletNode
    from gputopo.allocate.kubelet.merge import NONE, POLICIES
    from gputopo.allocate.kubelet.otherwise import otherwise

    plugin, state, request = report.plugin, report.state, report.request
    file = config_text(config, found.beside)
    assumed: list[Assumed] = []
    settings = settings_of(file, release_said(version, found.objects, state.node), Given(), None, assumed)
    made = [one for one in assumed if one.settle == "--k8s-version"]
    if file is not None and settings.policy != NONE:
        text = f"every free unit is handed over, as under policy none; this kubelet has {settings.policy}"
        made.append(Assumed(text, "gputopo allocate kubelet"))
    special = plugin.ordered is not None or request.required or plugin.policy != "best-effort"
    if special or report.answer.admitted is False or not report.answer.outcomes:
        return tuple(made[1:] if not file else made), ()
    policies = [policy for policy in POLICIES if policy != NONE]
    in_force = settings.policy if file is not None else None
    return tuple(made), otherwise(KubeletNode(settings, plugin), state, request, policies, in_force)
