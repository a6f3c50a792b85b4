"""The ways from every vertex to one, by NCCL's breadth-first search.

Source: src/graph/paths.cc of NVIDIA/nccl v2.30.7 (ncclTopoSetPaths). A way is better when its type is nearer, or equal
and wider, or equal in both and shorter. It may pass a GPU only by NVLink on both sides (NVB).
"""

from __future__ import annotations

from typing import NamedTuple

from gputopo.nccl.file_values import RefusalError
from gputopo.nccl.path_types import PathType
from gputopo.nccl.system import LOC_GBPS, Kind, Link, System


class Path(NamedTuple):
    """`links`: numbers in System.links, from this end on; `gbps` is that of the narrowest."""

    type: PathType
    gbps: float
    links: tuple[int, ...] = ()


NO_PATH = Path(PathType.DIS, 0.0)
HERE = Path(PathType.LOC, LOC_GBPS)


def paths_to(system: System, base: int, nvb: bool = True) -> dict[int, Path]:
    """Vertex → its way to `base`; a vertex without a way is not in it.

    `nvb`: ways through another GPU (NCCL_NVB_DISABLE). Raises `RefusalError` where a link has no way back.
    """
    vertices, links = system.vertices, system.links
    is_gpu = vertices[base].kind is Kind.GPU
    longest = 2 if is_gpu else 1
    own = next((gpu.device for gpu in system.gpus if gpu.vertex == base), base)
    found = {base: HERE}
    front = [base]
    while front:
        following: dict[int, None] = {}
        for at in front:
            path = found[at]
            kind = vertices[at].kind
            hops = len(path.links)
            passes = kind is Kind.DEV and at != own
            for number in vertices[at].links:
                link = links[number]
                far = link.target
                if passes and not _may_pass(system, link, nvb and hops <= longest):
                    continue
                type = max(path.type, _type(system, link, path, hops == longest))
                gbps = min(path.gbps, link.gbps)
                known = found.get(far, NO_PATH)
                if type < known.type or (
                    type == known.type and (known.gbps < gbps or (known.gbps == gbps and len(known.links) > hops + 1))
                ):
                    found[far] = Path(type, gbps, (_back(system, link, known), *path.links))
                    following[far] = None
        front = list(following)
    return found


def _may_pass(system: System, link: Link, nvb: bool) -> bool:
    """Behind another GPU's device: into the GPU itself, or on by NVLink to a third device."""
    kind = system.vertices[link.target].kind
    if link.type is PathType.LOC and kind is Kind.GPU:
        return True
    return nvb and link.type is PathType.NVL and kind is Kind.DEV


def _type(system: System, link: Link, path: Path, is_far: bool) -> PathType:
    """What this link makes of a way."""
    source, target = system.vertices[link.source].kind, system.vertices[link.target].kind
    type = PathType.LOC if link.type is PathType.NET else link.type
    if source is Kind.PCI and target is Kind.PCI:
        type = PathType.PXB
    if link.type is PathType.PIX and Kind.CPU in (source, target):
        type = PathType.PHB
    if source is Kind.DEV and path.type is PathType.NVL and type is PathType.NVL and is_far:
        type = PathType.NVB
    return type


def _back(system: System, link: Link, known: Path) -> int:
    """The same link in the other direction, which is the first step of the way."""
    for number in system.vertices[link.target].links:
        back = system.links[number]
        if back.target == link.source and back.type is link.type:
            return number
    if known.links:
        return known.links[0]  # NCCL leaves the step that stood there
    raise RefusalError(f"Failed to find reverse path: a {link.type.name} link is there in one direction only")
