"""A node and what was asked → the parts of its picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gputopo.reports.picture import marks
from gputopo.reports.picture.nest import KINDS, rooms, shown, with_levels
from gputopo.reports.picture.notes import notes
from gputopo.reports.picture.parts import Asked, Box, Bundle, Fabric, Picture, cards
from gputopo.reports.picture.wires import between, wires
from gputopo.reports.views.words import Device, cut, title_of
from gputopo.rules.pods.audit import Audit
from gputopo.rules.wording import counted, listed, names, one_line
from gputopo.topology.node import Gpu, NodeTopology

_LONGEST = 80


def compose(
    node: NodeTopology, *, only: Sequence[str] = KINDS, highlight: tuple[str, ...] = (), against: tuple[str, ...] = (),
    audit: Audit | None = None,
) -> Picture:  # fmt: skip
    """highlight, against: ids of GPUs; audit: of the pods of this node."""
    devices = shown(node, only)
    gpus = [device for device in devices if isinstance(device, Gpu)]
    ids = {device.id for device in devices}
    among = [pair for pair in node.pairs if pair.a in ids and pair.b in ids]
    made, outside = with_levels(rooms(node, devices), among)
    bundles, fabrics, to_cpu = wires(node, gpus)
    sets = [marks.asked(node, made, letter, some) for letter, some in (("A", highlight), ("B", against)) if some]
    return Picture(
        title=cut(one_line(title_of(node)), _LONGEST),
        subtitle=_subtitle(node, devices),
        rooms=made,
        between=between(node, made, outside),
        bundles=bundles,
        fabrics=fabrics,
        to_cpu=to_cpu,
        asked=tuple(sets),
        verdict=marks.verdict(node, *sets) if len(sets) == 2 else "",
        holders=marks.holders(audit) if audit is not None else (),
        notes=notes(node, devices, made, among, only, bundles, fabrics),
        summary=_summary(made, bundles, fabrics, sets),
    )  # fmt: skip


def _subtitle(node: NodeTopology, devices: Sequence[Device]) -> str:
    gpus = [device for device in devices if isinstance(device, Gpu)]
    models = Counter(cut(one_line(gpu.name or ""), _LONGEST) for gpu in gpus)
    told = [f"{count}x {model}" if model else counted(count, "GPU") for model, count in models.items()]
    parts = told[:3] + ([f"{len(told) - 3} more models"] if len(told) > 3 else []) if gpus else []
    if node.packages:
        parts.append(counted(len(node.packages), "socket"))
    if node.numa_nodes:
        parts.append(counted(len(node.numa_nodes), "NUMA node"))
    nics = sum(device in (node.nics or ()) for device in devices)
    drives = sum(device in (node.nvme or ()) for device in devices)
    parts += [counted(nics, "NIC")] if nics else []
    parts += [f"{drives} NVMe"] if drives else []
    driver = node.system.driver if node.system is not None else None
    return " · ".join([*parts, *([f"driver {cut(one_line(driver), 40)}"] if driver else [])])


def _summary(
    made: Sequence[Box], bundles: Sequence[Bundle], fabrics: Sequence[Fabric], sets: Sequence[Asked]
) -> str:  # fmt: skip
    """The picture in sentences, for a screen reader."""
    said = []
    for room in made:
        ids = [id for card in cards((room,)) for id in card.ids]
        said.append(f"{room.title}: {names(ids, 24) if ids else 'no listed device'}.")
    said += [f"{names([id for id, _ in fabric.links])}: {fabric.title}." for fabric in fabrics]
    linked: dict[str, list[str]] = {}
    for bundle in bundles:
        word = "xGMI" if bundle.kind == "xgmi" else f"NV{bundle.times}"
        linked.setdefault(word, []).append(f"{bundle.a}-{bundle.b}")
    said += [f"{word}: {listed(some, 32)}." for word, some in linked.items()]
    said += [f"Set {', '.join(one.lines)}." for one in sets]
    return cut(" ".join(said), 2000)


__all__ = ["KINDS", "compose"]
