"""`allocate device-plugin` as blocks: the answer first, then why, what it costs, what would be better."""

from __future__ import annotations

from collections.abc import Sequence

from gputopo.allocate.assumed import Assumed
from gputopo.allocate.decider import Decision
from gputopo.allocate.device_plugin.beside import after
from gputopo.allocate.device_plugin.report import Report
from gputopo.allocate.device_plugin.units import label
from gputopo.allocate.device_plugin.why import GOAL, sentences
from gputopo.allocate.kubelet.otherwise import Otherwise
from gputopo.reports.blocks import Blank, Block, Column, KeyValue, Row, Table, cell
from gputopo.reports.views import allocate_parts as parts
from gputopo.reports.views.allocate_beside import better, cost, otherwise
from gputopo.rules.wording import counted

_INDENT = 12  # under a section's title
_SHOWN, _SHOWN_WAYS = 6, 6
_COLUMNS = (Column(),) * 6


def blocks(
    report: Report, decision: Decision | None = None, assumed: Sequence[Assumed] = (),
    others: Sequence[Otherwise] = (), *, verbose: bool = False, quiet: bool = False,
) -> tuple[Block, ...]:  # fmt: skip
    """`others`: what the kubelet makes of it under policies of the Topology Manager."""
    answer, state = report.answer, report.state
    node = state.node
    made: list[Block] = [*parts.decides(decision, answer.mechanism), parts.head(answer, state), Blank()]
    made += parts.sets(answer, node, chance=_chance(report), verbose=verbose)
    if answer.admitted is None and answer.outcomes:
        made.append(KeyValue("", (cell("whether the pod is admitted is not certain, see WHY", "warning"),)))
    ends = after(report)
    if answer.admitted is False:
        made += parts.largest_now(ends.largest)
    if quiet:
        return tuple(made)
    if answer.admitted is False:
        made += parts.why(sentences(report))
    else:
        made += _why(report)
    made += [*cost(answer, node), *better(answer, state, report.best, report.remedies)]
    made += otherwise(others, answer, node)
    made += [*fabric(report, verbose=verbose), *seen(report, verbose=verbose)]
    if answer.admitted is not False:
        made += parts.left(ends.left, ends.largest, answer.unit)
    made += [Blank(), *parts.notes(assumed, state)]
    made.append(KeyValue("more", (cell("-o json | gputopo allocate kubelet | gputopo inspect", "dim"),), role="dim"))
    return tuple(made)


def _chance(report: Report) -> str:
    if report.plugin.ordered is not None:
        return "for the order given"
    return f"which of them cannot be predicted: {parts.RANDOM}"


def _why(report: Report) -> list[Block]:
    made: list[Block] = []
    title = "WHY"
    for line in (*_fits(report), *sentences(report)):
        text = f"{line[0].upper()}{line[1:]}" if line == GOAL else line
        made.append(KeyValue(title, (cell(text),)))
        title = ""
        if line == GOAL:
            made += _ways(report)
    return made


def _fits(report: Report) -> list[str]:
    """`4 do not fit: 3 are free per socket`, where no group holds the request."""
    groups, size = report.grouping, report.request.size
    if groups is None or size < 2 or not report.ways:
        return []
    free = [list(groups.of.values()).count(name) for name in set(groups.of.values())]
    if max(free) >= size:
        return []
    per = f"{free[0]} are free per {groups.noun}" if len(set(free)) == 1 else f"at most {max(free)} are free in one"
    return [f"{size} do not fit into one {groups.noun}: {per}"]


def _ways(report: Report) -> list[Block]:
    if len(report.ways) < 2:
        return []
    total = sum(way.sets for way in report.ways)
    best = report.ways[0].total
    second = next((way.total for way in report.ways if way.total < best), None)
    rows: list[Row] = []
    for at, way in enumerate(report.ways[:_SHOWN_WAYS]):
        shape = "+".join(map(str, way.shape)) if way.shape is not None else "sets"
        left = f", leaves {'+'.join(map(str, way.left))}" if way.left is not None and any(way.left) else ""
        wins = ""
        if way.wins:
            wins = f"<- wins by {best - second}" if at == 0 and second is not None else "<- wins"
        rows.append(Row((
            cell(f"{shape}{left}" if way.shape is not None else ""), cell(f"set {way.score}"),
            cell(f"+ rest {way.rest}"), cell(f"= {way.total}"),
            cell(f"{way.sets} of {counted(total, 'way')}"), cell(wins, "strong"),
        )))  # fmt: skip
    made: list[Block] = [Table("", (), _COLUMNS, tuple(rows), _INDENT)]
    if len(report.ways) > _SHOWN_WAYS:
        made.append(KeyValue("", (cell(f"and {len(report.ways) - _SHOWN_WAYS} lower kinds of ways"),)))
    return made


def fabric(report: Report, *, verbose: bool) -> list[Block]:
    """Fabric Manager: is each outcome one of its partitions, and which are free afterwards."""
    if report.modules_unknown:
        text = "module ids are not in this evidence, so sets and partitions cannot be joined"
        return [KeyValue("PARTITION", (cell(text), cell("settle it: nvidia-smi -q (GPU Module Id)")))]
    if report.fits is None:
        return []
    made: list[Block] = []
    title = "PARTITION"
    pairs = list(zip(report.answer.outcomes, report.fits))
    for outcome, fit in pairs if verbose else pairs[: 2 * _SHOWN]:
        free = ", ".join(map(str, fit.free_after)) or "none"
        name = parts.set_name(report.state.node, outcome.gpus)
        if fit.partition is None:
            said = f"{name} is no Fabric Manager partition: no NVLink in shared NVSwitch mode"
        else:
            said = f"{name} is partition {fit.partition}"
        role = "" if fit.partition is not None else "warning"
        made.append(KeyValue(title, (cell(said, role), cell(f"free after: {free}"))))
        title = ""
    if len(pairs) > len(made):
        made.append(KeyValue("", (cell(f"and {len(pairs) - len(made)} sets more (-v)"),)))
    return made


def seen(report: Report, *, verbose: bool) -> list[Block]:
    """What a container with the first outcome sees."""
    look = report.visible
    if look is None:
        return []
    shown = [f"{name}={value}" for name, value in look.env]
    shown += [f"CDI {name}" for name in look.cdi_devices]
    shown += [f"annotation {name}: {value}" for name, value in look.annotations]
    shown += [f"mount {host} at {inside}" for host, inside in look.mounts]
    shown += [f"device {path}" for path in look.devices]
    if look.unset:
        shown.append("NVIDIA_VISIBLE_DEVICES is not set: the image's own value, often all, is seen but means nothing")
    if any(id is None for id in look.ids) and not verbose:
        what = "UUIDs" if report.plugin.config.device_id_strategy == "uuid" else "indices"
        kinds = ", ".join(dict.fromkeys(part.split("=")[0].split(" ")[0] for part in shown))
        missing = f"{kinds}; the {what} are not in this evidence"
        return [KeyValue("SEES", (cell(missing), cell("settle it: nvidia-smi -L")))]
    units = [label(report.state.node, unit) for unit in report.answer.outcomes[0].devices]
    first = "" if len(report.answer.outcomes) == 1 else f"(with {parts.set_name(report.state.node, units)})"
    return [KeyValue("SEES", (*(cell(part) for part in shown), cell(first)))]
