"""`pods` as blocks: who holds how many GPUs, a line for each pod or job, what is wrong with it, what it rests on."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from gputopo.pods.kinds import INIT
from gputopo.pods.model import Container, Earlier, Held, Placed
from gputopo.pods.placed import UNSAID
from gputopo.reports.blocks import Blank, Block, Cell, Column, KeyValue, Row, Table, cell, level_cell
from gputopo.reports.views.inspect_findings import found
from gputopo.reports.views.inspect_notes import notes
from gputopo.reports.views.words import cpu_list, file_name
from gputopo.rules.finding import SEVERITIES, Finding
from gputopo.rules.pods.audit import Audit, Unit
from gputopo.rules.wording import counted, listed, names
from gputopo.topology.node import NodeTopology

_HEAD = ("JOB / POD", "GPUs", "SOCKETS", "PAIRS", "CPUs", "NIC", "VERDICT")
_MOST_ROWS = 60
_MOST_EARLIER = 20
_LONGEST_CPUS = 24
Said = Mapping[str, Sequence[Finding]]  # by subject


def blocks(
    audit: Audit, findings: Sequence[Finding], *, verbose: bool = False, quiet: bool = False,
    exit_note: str | None = None,
) -> tuple[Block, ...]:  # fmt: skip
    """The report of one node."""
    held = audit.held
    told = _told(held)
    made: list[Block] = [_head(held), Blank()]
    if not quiet:
        made += [*_table(audit, findings, verbose), Blank(), *_earlier(held)]
    made += [*found(told, findings, (), verbose=verbose, quiet=quiet)]
    if not quiet:
        made += [Blank(), *notes(told, verbose=verbose)]
    if exit_note is not None:
        code, _, text = exit_note.partition(" ")
        made += [Blank(), KeyValue(f"exit {code}", (cell(text.strip(), "dim"),), role="dim")]
    return tuple(made)


def _told(held: Held) -> NodeTopology:
    """The node with what is said of holdings in the place of what is said of its wiring."""
    return held.node._replace(
        sources=(*held.node.sources, *held.sources), conflicts=held.conflicts, unknown=held.unknown,
        assumptions=(*held.assumptions, *held.node.assumptions),
    )  # fmt: skip


def _head(held: Held) -> Block:
    """`gpu-a17   3 pods hold 6 of 8 GPUs, free 5 7   kubelet_internal_checkpoint, cpu_manager_state`."""
    pods = [pod for pod in held.pods if pod.placed.gpus != ()]
    total = len(held.node.gpus)
    own = _placed(held)
    count = f"{len(own) + len(_unplaced(held))} of {total} GPUs" if total else "GPUs"
    unsaid = [pod for pod in pods if pod.placed.gpus is None]
    if total and unsaid:
        if any(pod.placed is UNSAID for pod in unsaid):  # not even how many: it may ask for parts of GPUs
            count = f"{len(own)} of {total} GPUs and others" if own else f"some of {total} GPUs"
        count += f", {'which others is' if own else 'which is'} not said"
    verb = "holds" if len(pods) == 1 else "hold"
    none = "no pod holds a GPU" if held.whole is None else "none of the pods asked for holds a GPU"
    said = f"{counted(len(pods), 'pod')} {verb} {count}" if pods else none
    if len(held.held) > len(own):
        said += f", others {len(held.held) - len(own)}"
    free = "" if held.free is None else ", free " + (_short(held.free) or "none")
    past = cell(f"as it was{f' at {held.at}' if held.at else ''}, not as it is", "warning") if held.past else ()
    sources = cell(listed(list(dict.fromkeys(_source(one.format, one.name) for one in held.sources)), 4), "dim")
    parts = tuple(part for part in (cell(said + free), past, sources) if part)
    return Table(held.name or "node", parts, (), ())


def _placed(held: Held) -> set[str]:
    """GPUs of the pods shown, not those of a plain container or process."""
    return {gpu for one in held.containers if one.pod or one.uid for gpu in one.placed.gpus or ()}


def _unplaced(held: Held) -> set[str]:
    """The ids of GPUs that a container holds, of which it is not known which GPUs of the node they are."""
    return {each.unit for one in held.containers for each in one.devices
            if (one.pod or one.uid) and one.placed.gpus is None and each.is_gpu and each.gpu is None}  # fmt: skip


def _source(format: str, name: str) -> str:
    return format if name in ("", "-") else file_name(name)


def _short(gpus: Sequence[str]) -> str:
    """GPU numbers where all are GPUn."""
    if gpus and all(gpu.startswith("GPU") and gpu[3:].isdecimal() for gpu in gpus):
        return " ".join(gpu[3:] for gpu in gpus)
    return names(gpus) if gpus else ""


def _table(audit: Audit, findings: Sequence[Finding], verbose: bool) -> tuple[Block, ...]:
    said = _by_subject(findings)
    ids = {each.unit for one in audit.held.containers for each in one.devices}
    rows = [_row(unit, said, ids) for unit in _worst_first(audit, said)]
    if verbose:
        rows += [_row(Unit(one.title, one.placed, (one,)), said, ids) for one in _others(audit)]
    if not rows:
        return ()
    left = 0 if verbose else max(0, len(rows) - _MOST_ROWS)
    shown = rows[: len(rows) - left]
    head = Row(tuple(cell(word, "dim") for word in _HEAD))
    columns = tuple(Column(fold=at == 0) for at in range(len(_HEAD)))
    made: list[Block] = [Table("", (), columns, (head, *shown), indent=0)]
    if left:
        made.append(KeyValue("", (cell(f"and {left} more (-v)", "dim"),)))
    return tuple(made)


def _earlier(held: Held) -> tuple[Block, ...]:
    """`2026-11-29T03:12:07Z  ml/a/main held GPU0 GPU1  dcgm-metrics`: of another time, so joined to nothing."""
    if not held.earlier:
        return ()
    rows = tuple(
        Row((cell(one.at or "time not said"), cell(one.title), cell(_was(one)), cell(one.source, "dim")))
        for one in held.earlier[:_MOST_EARLIER]
    )
    left = len(held.earlier) - len(rows)
    made: list[Block] = [Table("EARLIER", (cell("at another time, joined to nothing above", "dim"),), (
        Column(), Column(fold=True), Column(), Column()), rows)]  # fmt: skip
    if left:
        made.append(KeyValue("", (cell(f"and {left} more (-o json)", "dim"),)))
    return (*made, Blank())


def _was(one: Earlier) -> str:
    ids = one.gpus if one.gpus is not None else [_cut(each.unit) for each in one.devices]
    return "held " + listed(list(ids), 8)


def _worst_first(audit: Audit, said: Said) -> list[Unit]:
    """In the order of the sources, unless not all are shown."""
    units = list(audit.units)
    if len(units) <= _MOST_ROWS:
        return units
    place = {name: at for at, name in enumerate(SEVERITIES)}
    return sorted(units, key=lambda one: min((place[f.severity] for f in _of(one, said)), default=len(place)))


def _others(audit: Audit) -> list[Container]:
    """What is not judged: init containers, CPUs without GPUs, processes."""
    judged = {id(one) for unit in audit.units for one in unit.containers}
    return [one for one in audit.held.containers if id(one) not in judged]


def _row(unit: Unit, said: Said, others: Collection[str]) -> Row:
    nics = list(dict.fromkeys(each.nic for one in unit.containers for each in one.devices if each.nic))
    kind = unit.containers[0].kind if len(unit.containers) == 1 else None
    title = f"{unit.title} ({kind})" if kind == INIT else unit.title
    return Row((
        cell(title, "strong" if unit.job else ""), _gpus(unit, others), _sockets(unit.placed), _pairs(unit),
        _cpus(unit.containers), cell(" ".join(nics) or "-"), _verdict(unit, said),
    ))  # fmt: skip


def _gpus(unit: Unit, others: Collection[str]) -> Cell:
    """With replicas and MIG devices told apart; ids where nothing resolves them."""
    if unit.placed.gpus is None:
        ids = [each.unit for one in unit.containers for each in one.devices if each.is_gpu]
        return cell(listed([_cut(id, others) for id in dict.fromkeys(ids)], 2), "dim")
    devices = [each for one in unit.containers for each in one.devices if each.is_gpu]
    shared = sum(each.replica is not None for each in devices)
    mig = sum(each.mig is not None for each in devices)
    more = f" ({counted(shared, 'replica')})" if shared else f" ({mig} MIG)" if mig else ""
    return cell(_short(unit.placed.gpus) + more if unit.placed.gpus else "-")


def _cut(id: str, others: Collection[str] = ()) -> str:
    """Short, and another than those of the others: the beginning of a UUID, else its end.

    >>> _cut("GPU-5c1d8a3e-0000-4000-8000-000000000005")
    'GPU-5c1d8a3e…'
    >>> _cut("GPU-00000000-0000-4000-8000-000000000005", ["GPU-00000000-0000-4000-8000-000000000004"])
    'GPU-…00000005'
    """
    if len(id) <= 13:
        return id
    if any(one != id and one[:12] == id[:12] for one in others):
        return f"{id[:4]}…{id[-8:]}"
    return f"{id[:12]}…"


def _sockets(placed: Placed) -> Cell:
    role = "warning" if placed.cross_package else ""
    if placed.packages:
        return cell("+".join(one.removeprefix("PKG") for one in placed.packages), role)
    if placed.numa_nodes:
        return cell(f"NUMA {'+'.join(map(str, placed.numa_nodes))}", "warning" if placed.cross_numa else "")
    return cell("?" if placed.gpus != () else "-", "dim")


def _pairs(unit: Unit) -> Cell:
    if unit.placed.gpus is not None and len(unit.placed.gpus) < 2:
        return cell("-")
    seen = unit.placed.seen
    return level_cell(seen.weakest.level if seen is not None and seen.weakest is not None else None)


def _cpus(containers: Sequence[Container]) -> Cell:
    exclusive = [one.cpus for one in containers if one.cpus]
    if exclusive:
        text = cpu_list(exclusive[0]) if len(exclusive) == 1 else f"{sum(map(len, exclusive))} exclusive"
        return cell(text if len(text) <= _LONGEST_CPUS else f"{len(exclusive[0])} exclusive")
    return cell("shared pool" if any(one.pool == "shared" for one in containers) else "-")


def _by_subject(findings: Sequence[Finding]) -> Said:
    found: dict[str, list[Finding]] = {}
    for one in findings:
        for subject in dict.fromkeys(one.subjects):
            found.setdefault(subject, []).append(one)
    return found


def _of(unit: Unit, said: Said) -> list[Finding]:
    titles = dict.fromkeys((unit.title, *(one.title for one in unit.containers)))
    return list({id(found): found for title in titles for found in said.get(title, ())}.values())


def _is_decided(placed: Placed) -> bool:
    """Whether it is known that the set crosses nothing, or that this is no harm; of one GPU it always is."""
    return len(placed.gpus or ()) < 2 or placed.cross_package is not None or placed.cross_numa is not None


def _verdict(unit: Unit, said: Said) -> Cell:
    own = _of(unit, said)
    if not own:
        return cell("-" if not unit.placed.gpus else "ok" if _is_decided(unit.placed) else "?")
    worst = min(own, key=lambda one: SEVERITIES.index(one.severity)).severity
    codes = dict.fromkeys(one.rule for one in own if one.severity == worst)
    return cell(f"{worst} {' '.join(codes)}", worst)


