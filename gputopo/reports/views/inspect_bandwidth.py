"""`inspect --bandwidth`: GB/s of every pair, the weakest of them, what a set should reach, all sets of a size."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

from gputopo.nccl.published import LEAVING
from gputopo.reports.blocks import (
    SELF,
    UNDECIDED,
    Block,
    Cell,
    Column,
    KeyValue,
    Matrix,
    Row,
    Table,
    Text,
    cell,
    level_role,
)
from gputopo.reports.views.words import PairsOf
from gputopo.rules.wording import counted
from gputopo.topology.node import NodeTopology, Pair, SetBandwidth

_MOST_ROWS = 8
_UNIT = "GB/s in one direction, as NCCL counts the narrowest link of its path: not the wire, and not measured"
_RANKED = "GB/s: bus bandwidth of an all-reduce that a set should reach; ranked by the load of the links"


def bandwidth(node: NodeTopology, pairs: PairsOf) -> tuple[Block, ...]:
    """Nothing where no bandwidth was asked for."""
    asked = next((one for one in node.sets if one.role == "asked"), None)
    ids = asked.gpus if asked is not None else tuple(gpu.id for gpu in node.gpus)
    known = [pair for pair in node.pairs if pair.a in ids and pair.b in ids and pair.bandwidth_gbytes is not None]
    if not known:
        return ()
    made: list[Block] = [KeyValue("BANDWIDTH", (cell(_UNIT),)), _matrix(ids, pairs), _weakest(known)]
    if asked is not None:
        made += _asked(asked, node.sets)
    ranked = [one for one in node.sets if one.role == "ranked"]
    if ranked and asked is None:
        made += _ranked(ranked, len(node.gpus))
    return (*made, *_leaving(node))


def _matrix(ids: Sequence[str], pairs: PairsOf) -> Matrix:
    rows = tuple((id, tuple(_gbps(id, other, pairs.get(id, {}).get(other)) for other in ids)) for id in ids)
    return Matrix(tuple(ids), rows)


def _gbps(id: str, other: str, pair: Pair | None) -> Cell:
    if id == other:
        return cell(SELF, "dim")
    if pair is None or pair.bandwidth_gbytes is None:
        return cell(UNDECIDED)
    return cell(number(pair.bandwidth_gbytes), level_role(pair.level))


def braced(ids: Sequence[str]) -> str:
    """A set, which `GPU0-GPU2` would not tell from a pair.

    >>> braced(("GPU0", "GPU1", "GPU4")), braced(("0000:41:00.0", "0000:c1:00.0"))
    ('{0,1,4}', '{0000:41:00.0,0000:c1:00.0}')
    """
    plain = all(id.startswith("GPU") and id[3:].isdecimal() for id in ids)
    return "{" + ",".join(id[3:] if plain else id for id in ids) + "}"


def number(gbps: float | None) -> str:
    """
    >>> number(370.8), number(24.0), number(0.1875), number(None)
    ('370.8', '24', '0.19', 'not known')
    """
    if gbps is None:
        return "not known"
    return f"{round(gbps, 1 if gbps >= 1 else 2):g}"


def _weakest(known: Sequence[Pair]) -> KeyValue:
    least = min(known, key=lambda pair: pair.bandwidth_gbytes or 0.0)
    alike = sum(pair.bandwidth_gbytes == least.bandwidth_gbytes for pair in known)
    level = f" ({least.level})" if least.level else ""
    if alike == len(known):
        text = f"{number(least.bandwidth_gbytes)} GB/s, as all of the {counted(alike, 'pair')}"
    else:
        more = f"; {alike} of {len(known)} pairs have no more" if alike > 1 else ""
        text = f"{least.a}-{least.b}{level} {number(least.bandwidth_gbytes)} GB/s{more}"
    return KeyValue("", (cell(text),), key="weakest")


def _asked(asked: SetBandwidth, sets: Sequence[SetBandwidth]) -> list[Block]:
    made: list[Block] = [
        KeyValue("SET", (cell(braced(asked.gpus), "strong"), cell(asked.shape))),
        KeyValue("", (_rate(asked.gbytes, asked.basis),), key="at most" if asked.is_bound else "expected"),
        KeyValue("", (_rate(asked.ceiling_gbytes, asked.ceiling_basis),), key="ceiling"),
    ]
    for one in sets:
        if one.role == "ranked":
            alike = f", one of {one.times} alike" if one.times > 1 else ""
            text = f"{number(one.gbytes)} GB/s: {braced(one.gpus)} ({one.shape}{alike})"
            made.append(KeyValue("", (cell(text),), key="better"))
    return made


def _rate(gbps: float | None, basis: str) -> Cell:
    if gbps is None:
        return cell(basis if basis.startswith("not known") else f"none: {basis}")
    return cell(f"{number(gbps)} GB/s: {basis}")


def _ranked(ranked: Sequence[SetBandwidth], gpus: int) -> list[Block]:
    size, total = len(ranked[0].gpus), sum(one.times for one in ranked)
    shown = ranked if len(ranked) <= _MOST_ROWS else [*ranked[: _MOST_ROWS - 1], ranked[-1]]
    said = counted(total, "set")
    if total < comb(gpus, size):
        said = f"the first {said} out of {comb(gpus, size)}, since the time was up,"
    head = (cell(f"{said} of {size} GPUs in {counted(len(ranked), 'group')}"), cell(_RANKED))
    rows = [
        Row((
            cell(number(one.gbytes), "strong"), cell(counted(one.times, "set")), cell(one.shape),
            cell(("e.g. " if one.times > 1 else "") + braced(one.gpus)),
        ))
        for one in shown
    ]  # fmt: skip
    made: list[Block] = [Table("SETS", head, (Column(), Column(), Column(), Column(fold=True)), tuple(rows))]
    if len(shown) < len(ranked):
        left = f"{counted(len(ranked) - len(shown), 'group')} between the last two lines: -o json"
        made.append(Text(cell(left, "dim"), indent=2))
    bases = list(dict.fromkeys(one.basis for one in shown))
    made += [KeyValue("" if place else "basis", (cell(basis),)) for place, basis in enumerate(bases)]
    limits = list(dict.fromkeys(_rate(one.ceiling_gbytes, one.ceiling_basis) for one in shown))
    which = cell("of the first line") if len(limits) > 1 else ()
    return [*made, KeyValue("ceiling", (limits[0], which))]


def _leaving(node: NodeTopology) -> tuple[Block, ...]:
    """What it costs that a set leaves an NVLink island."""
    inside = next((one for one in node.sets if one.role == "island"), None)
    out = next((one for one in node.sets if one.role != "island" and one.leaves), None)
    if inside is None or out is None:
        return ()
    islands = " ".join(braced(island) for island in out.leaves[:4])
    more = f" and {len(out.leaves) - 4} more" if len(out.leaves) > 4 else ""
    of = "the set leaves" if out.role == "asked" else f"{braced(out.gpus)} leaves"
    cost = f"{number(out.gbytes)} instead of {number(inside.gbytes)} GB/s inside of it ({braced(inside.gpus)})"
    told = f"{LEAVING.machine}: {number(LEAVING.inside)} -> {number(LEAVING.outside)} GB/s"
    parts = [cell(f"{of} the NVLink island{'s' if len(out.leaves) > 1 else ''} {islands}{more}: {cost}")]
    parts.append(cell(f"measured elsewhere on {told}, {LEAVING.source}", "dim"))
    return (KeyValue("LEAVING", tuple(parts)),)
