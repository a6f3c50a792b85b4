"""NVLinks of a node as they are to be drawn: cables between two GPUs, fabrics, links whose far end nobody names.

NV# of an NVSwitch machine counts a GPU's links into the fabric, so that it is one bar with a line from each GPU. Equal
counts between all of five or more GPUs, where cables or switches is not known, are drawn as one dashed bar too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gputopo.reports.picture.parts import Between, Box, Bundle, Fabric, ToCpu
from gputopo.rules.wording import counted
from gputopo.topology.node import Gpu, NodeTopology, Pair

_FEW = 5  # GPUs from which an unclear mesh is one bar


def wires(
    node: NodeTopology, gpus: Sequence[Gpu]
) -> tuple[tuple[Bundle, ...], tuple[Fabric, ...], tuple[ToCpu, ...]]:  # fmt: skip
    ids = [gpu.id for gpu in gpus]
    known = set(ids)
    among = [pair for pair in node.pairs if pair.a in known and pair.b in known]
    switched = [pair for pair in among if pair.via_switch and pair.nvlinks != 0]
    fabrics = [_fabric(node, gpus, members, switched) for members in _components(ids, switched)]
    unclear = [pair for pair in among if pair.nvlinks and pair.via_switch is None]
    mesh = _mesh(ids, unclear)
    if mesh is not None:
        count = unclear[0].nvlinks
        title = f"NV{count} between all {len(mesh)} GPUs; cables or NVSwitches: not in this evidence"
        fabrics.append(Fabric("unclear", tuple((id, count) for id in mesh), (), title))
        unclear = []
    direct = [pair for pair in among if pair.nvlinks and pair.via_switch is False]
    bundles = [Bundle(pair.a, pair.b, "nvlink", pair.nvlinks, pair.via_switch is False) for pair in (*direct, *unclear)]
    bundles += [
        Bundle(pair.a, pair.b, link.kind, link.times, True)
        for pair in among if not pair.nvlinks for link in pair.links if link.kind == "xgmi" and link.times != 0
    ]  # fmt: skip
    inside = {id for fabric in fabrics for id, _ in fabric.links} | {id for one in bundles for id in (one.a, one.b)}
    to_cpu = _to_cpu(gpus)
    blind = _blind([gpu for gpu in gpus if gpu.id not in inside], {one.gpu for one in to_cpu})
    order = {id: at for at, id in enumerate(ids)}
    bundles.sort(key=lambda one: (order[one.a], order[one.b]))
    return tuple(bundles), (*fabrics, *blind), to_cpu


def between(node: NodeTopology, rooms: Sequence[Box], levels: tuple[str, ...]) -> Between | None:
    """What connects the rooms; `None` where there is one, or nothing is known of their connection."""
    real = [room for room in rooms if room.kind not in ("unknown", "idle")]
    if len(rooms) < 2 or (not levels and len(real) < 2):
        return None
    sockets = node.packages is not None and len(real) > 1
    distance = _distances(node, real)
    if len(real) > 1:
        what = "between sockets" if sockets else "between NUMA nodes"
    else:
        what = f"between {real[0].title} and what has no known place" if real else "between places not known"
    title = f"{what}, distance {distance}" if distance else what
    return Between(title, levels, tuple(room.id for room in rooms if room.kind != "idle"), sockets)


def _components(ids: Sequence[str], pairs: Iterable[Pair]) -> list[list[str]]:
    group = {id: id for id in ids}

    def root(id: str) -> str:
        while group[id] != id:
            id = group[id]
        return id

    joined = set()
    for pair in pairs:
        group[root(pair.b)] = root(pair.a)
        joined |= {pair.a, pair.b}
    members: dict[str, list[str]] = {}
    for id in ids:
        if id in joined:
            members.setdefault(root(id), []).append(id)
    return list(members.values())


def _fabric(node: NodeTopology, gpus: Sequence[Gpu], members: Sequence[str], switched: Sequence[Pair]) -> Fabric:
    links = tuple((gpu.id, _into_fabric(gpu, switched)) for gpu in gpus if gpu.id in members)
    counts = sorted({count for _, count in links if count is not None})
    if any(count is None for _, count in links) or not counts:
        each = "links from each GPU"
    elif len(counts) == 1:
        each = f"{counted(counts[0], 'link')} from each GPU"
    else:
        each = f"{counts[0]} to {counts[-1]} links from each GPU"
    addresses = {link.remote for gpu in gpus if gpu.id in members for link in gpu.links if link.remote_kind == "switch"}
    listed = node.nvswitches or ()
    own = tuple(one.id for one in listed if one.pci in addresses or one.id in addresses)
    switches = own or (tuple(one.id for one in listed) if len(members) == len(gpus) else ())
    if len(switches) == 1:
        name = "NVSwitch"
    else:
        name = f"{len(switches)} NVSwitches" if switches else "NVSwitch fabric"
    return Fabric("switch", links, switches, f"{name}: {each}")


def _into_fabric(gpu: Gpu, switched: Sequence[Pair]) -> int | None:
    """Links of a GPU into the fabric: by its list, else by what a matrix prints, else all of its active ones."""
    listed = sum(link.times for link in gpu.links if link.remote_kind == "switch" and link.state in (None, "active"))
    if listed:
        return listed
    printed = [pair.nvlinks for pair in switched if gpu.id in (pair.a, pair.b) and pair.nvlinks]
    if printed:
        return max(printed)
    return gpu.nvlinks.active if gpu.nvlinks is not None and gpu.nvlinks.via == "switch" else None


def _mesh(ids: Sequence[str], unclear: Sequence[Pair]) -> list[str] | None:
    """The GPUs of pairs that all print the same number, where every pair of them does and they are not few."""
    members = [id for id in ids if any(id in (pair.a, pair.b) for pair in unclear)]
    whole = len(unclear) == len(members) * (len(members) - 1) // 2
    return members if len(members) >= _FEW and whole and len({pair.nvlinks for pair in unclear}) == 1 else None


def _to_cpu(gpus: Sequence[Gpu]) -> tuple[ToCpu, ...]:
    found = []
    for gpu in gpus:
        if gpu.c2c:
            count = gpu.c2c.get("count")
            found.append(ToCpu(gpu.id, "c2c", int(count) if count else None))
        near = sum(link.times for link in gpu.links if link.remote_kind in ("cpu", "npu") and link.state != "inactive")
        if near:
            found.append(ToCpu(gpu.id, "nvlink", near))
    return tuple(found)


def _blind(gpus: Sequence[Gpu], to_cpu: set[str]) -> list[Fabric]:
    """Active links without a far end in the evidence, GPUs with the same number together."""
    alike: dict[int, list[str]] = {}
    for gpu in gpus:
        active = gpu.nvlinks.active if gpu.nvlinks is not None else None
        if active and gpu.id not in to_cpu:
            alike.setdefault(active, []).append(gpu.id)
    return [
        Fabric("blind", tuple((id, count) for id in ids), (),
               f"{counted(count, 'NVLink')}{' each' if len(ids) > 1 else ''}, far ends not in this evidence")
        for count, ids in alike.items()
    ]  # fmt: skip


def _distances(node: NodeTopology, rooms: Sequence[Box]) -> str:
    """The NUMA distances between the rooms, as the firmware says them: `21`, or `21-32`."""
    place = {}
    for room in rooms:
        for numa in node.numa_nodes or ():
            mine = numa.packages is not None and set(numa.packages) == set(room.id.split("+"))
            if (room.kind == "package" and mine) or (room.kind == "numa" and room.id.split("+")[0] == numa.id):
                place[numa.number] = room.id
    said = {
        distance
        for numa in node.numa_nodes or ()
        for other, distance in (numa.distances or {}).items()
        if numa.cpus and place.get(numa.number, "") != place.get(other, place.get(numa.number, ""))
    }
    if not said:
        return ""
    return str(min(said)) if len(said) == 1 else f"{min(said)} to {max(said)}"
