"""How a good node is wired, as text in a specification, and what of it another node has otherwise.

    wiring:
      places:                       # near which NUMA node, in which socket; who is not named is unknown
        NUMA0 PKG0: GPU0 GPU1 NIC0
        NUMA1 PKG1: GPU2 GPU3
      matrix:                       # a row a device: NVLinks, PCIe level underneath, `?` where it is not known
        - GPU0 X
        - GPU1 NV12/NODE X
        - NIC0 PIX NODE X

Which device of the node is which of the specification is found by shape: names, order and addresses play no part.

    >>> node = template({"places": {"NUMA0": "GPU0 GPU1"}, "matrix": ["GPU0 X", "GPU1 NV4/PHB|NODE X"]})
    >>> [pair] = node.pairs
    >>> node.gpus[1].numa_nodes, pair.nvlinks, [one.name for one in pair.pcie_candidates]
    ((0,), 4, ['PHB', 'NODE'])
    >>> template({"matrix": ["GPU0 X", "GPU1 NVX X"]})
    Traceback (most recent call last):
    gputopo.checks.spec.WrongSpec: wiring.matrix: NVX is no cell: NV4, PIX, NV4/NODE, PHB|NODE, ?/PIX, ?
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gputopo.checks.spec import WrongSpec
from gputopo.terms.path_level import BY_NAME
from gputopo.topology.node import Gpu, Nic, NodeTopology, Package, Pair

_MOST = 256  # devices


def template(wiring: Mapping[str, Any]) -> NodeTopology:
    """The node of a specification, with nothing but its wiring. Raises WrongSpec."""
    for key in wiring:
        if key not in ("places", "matrix"):
            raise WrongSpec(f"no such key: wiring.{key[:60]} (known: places, matrix)", ("wiring", key), key=True)
    rows = wiring.get("matrix")
    if not isinstance(rows, list) or not rows or len(rows) > _MOST:
        raise WrongSpec(f"wiring.matrix takes a list of rows, at most {_MOST}", ("wiring", "matrix"))
    ids, pairs = _matrix(rows)
    numa, packages = _places(wiring.get("places") or {}, ids)
    known = tuple(dict.fromkeys(id for found in packages.values() for id in found))
    return NodeTopology(
        packages=tuple(Package(id, at, None, None) for at, id in enumerate(known)) or None,
        gpus=tuple(
            Gpu(id, numa_nodes=numa.get(id), packages=packages.get(id)) for id in ids if id.startswith("GPU")
        ),
        nics=tuple(
            Nic(id, numa_nodes=numa.get(id), packages=packages.get(id)) for id in ids if not id.startswith("GPU")
        ) or None,
        pairs=tuple(pairs),
    )  # fmt: skip


def written(node: NodeTopology) -> dict[str, Any]:
    """The wiring of a node, in these words."""
    ids = [gpu.id for gpu in node.gpus] + [nic.id for nic in node.nics or ()]
    gpus = {gpu.id for gpu in node.gpus}
    cables = any(_cable(pair) for pair in node.pairs)
    cells = {
        frozenset((pair.a, pair.b)): _cell(pair, cables and pair.a in gpus and pair.b in gpus) for pair in node.pairs
    }
    names = {id: _plain(id, at, id in gpus) for at, id in enumerate(ids)}
    rows = []
    for at, id in enumerate(ids):
        rows.append(" ".join([names[id], *(cells.get(frozenset((id, other)), "?") for other in ids[:at]), "X"]))
    homes: dict[str, list[str]] = {}
    devices: tuple[Gpu | Nic, ...] = (*node.gpus, *(node.nics or ()))
    for device in devices:
        numa = [f"NUMA{number}" for number in device.numa_nodes or ()]
        home = " ".join([*numa, *(device.packages or ())])
        if home:
            homes.setdefault(home, []).append(names[device.id])
    found: dict[str, Any] = {"places": {home: " ".join(members) for home, members in homes.items()}} if homes else {}
    return {**found, "matrix": rows}


def _plain(id: str, at: int, gpu: bool) -> str:
    """An id without blanks, which stand between the words of a row, and by which a GPU is told from a NIC.

    >>> _plain("GPU0", 0, True), _plain("0000:35:00.0", 1, True), _plain("0000:35:00.0", 2, False)
    ('GPU0', 'GPU-1', '0000:35:00.0')
    """
    plain = id.isprintable() and " " not in id and len(id) < 64
    return id if plain and id.startswith("GPU") == gpu else f"{'GPU' if gpu else 'NIC'}-{at}"


def _cell(pair: Pair, cables: bool = False) -> str:
    """`cables`: other GPUs have some, so that no NV is none; `?/` then says that nothing is said of them.

    >>> _cell(Pair("GPU0", "GPU1", nvlinks=4, via_switch=False))
    'NV4/?'
    >>> _cell(Pair("GPU0", "GPU1", pcie=BY_NAME["PIX"])), _cell(Pair("GPU0", "GPU1", pcie=BY_NAME["PIX"]), True)
    ('PIX', '?/PIX')
    """
    levels = "|".join(level.name for level in sorted(pair.pcie_candidates)) or "?"
    if pair.pcie is not None:
        levels = pair.pcie.name
    if _cable(pair):
        return f"NV{pair.nvlinks}/{levels}"
    return f"?/{levels}" if cables and pair.nvlinks != 0 and levels != "?" else levels


def _cable(pair: Pair) -> bool:
    return bool(pair.nvlinks and not pair.via_switch)


def _matrix(rows: Sequence[Any]) -> tuple[list[str], list[Pair]]:
    ids: list[str] = []
    pairs: list[Pair] = []
    # Without a cable in the whole text nothing is said of cables: links into NVSwitches are each GPU's own.
    cables = any(isinstance(row, str) and "NV" in row for row in rows)
    for at, row in enumerate(rows):
        if not isinstance(row, str) or len(row) > 16_384:
            raise WrongSpec("wiring.matrix: a row is a text: GPU1 NV12/NODE X", ("wiring", "matrix", at))
        id, *cells = row.split() or [""]
        if not id or id in ids or len(cells) != at + 1 or cells[-1] != "X":
            what = f"row {at + 1} has a name of its own, {at} cells and X, not {row[:40]!r}"
            raise WrongSpec(f"wiring.matrix: {what}", ("wiring", "matrix", at))
        for other, cell in zip(ids, cells):
            both_gpus = id.startswith("GPU") and other.startswith("GPU")
            pairs.append(_pair(other, id, cell, at, cables and both_gpus))
        ids.append(id)
    return ids, pairs


def _pair(a: str, b: str, cell: str, at: int, no_cable: bool) -> Pair:
    links, slash, under = cell.partition("/")
    if not slash and not cell.startswith("NV"):
        links, under = "", cell
    count = int(links[2:]) if links.startswith("NV") and links[2:].isdigit() and len(links) < 8 else None
    levels = [BY_NAME.get(one) for one in under.split("|")] if under not in ("", "?") else []
    if (links not in ("", "?") and count is None) or None in levels:
        raise WrongSpec(
            f"wiring.matrix: {cell[:40]} is no cell: NV4, PIX, NV4/NODE, PHB|NODE, ?/PIX, ?", ("wiring", "matrix", at)
        )
    found = tuple(sorted(level for level in levels if level is not None))
    return Pair(
        a, b, pcie=found[0] if len(found) == 1 else None, pcie_candidates=found,
        nvlinks=count if count is not None else 0 if no_cable and "?" not in (links, cell) else None, via_switch=None,
    )  # fmt: skip


def _places(
    places: Any, ids: Sequence[str]
) -> tuple[dict[str, tuple[int, ...]], dict[str, tuple[str, ...]]]:  # fmt: skip
    if not isinstance(places, dict) or len(places) > _MOST:
        raise WrongSpec("wiring.places takes e.g. NUMA0 PKG0: GPU0 GPU1", ("wiring", "places"))
    numa: dict[str, tuple[int, ...]] = {}
    packages: dict[str, tuple[str, ...]] = {}
    for home, members in places.items():
        path = ("wiring", "places", home)
        devices = members.split() if isinstance(members, str) else None
        if devices is None or not set(devices) <= set(ids):
            raise WrongSpec(f"wiring.places.{home[:40]} takes names of the matrix: GPU0 GPU1", path)
        numbers, sockets = [], []
        for word in _words(home, path):
            if word.startswith("NUMA"):
                numbers.append(int(word[4:]))
            else:
                sockets.append(word)
        for id in devices:
            numa |= {id: tuple(numbers)} if numbers else {}
            packages |= {id: tuple(sockets)} if sockets else {}
    return numa, packages


def _words(home: str, path: tuple[str, ...]) -> Iterator[str]:
    for word in home.split():
        stem = "NUMA" if word.startswith("NUMA") else "PKG"
        if not (word.startswith(stem) and word[len(stem) :].isdigit() and len(word) < 16):
            raise WrongSpec(f"wiring.places: {word[:40]} is no NUMA0 and no PKG0", path)
        yield word
