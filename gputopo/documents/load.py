"""What `inspect -o json` printed → the node again, losslessly; findings are made anew by the rules."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from gputopo.documents import shape
from gputopo.documents.forms import bad, read_fields
from gputopo.errors import GputopoError
from gputopo.terms.structured_text import json_is_too_large
from gputopo.topology.node import NodeTopology

_OURS = re.compile(r'"apiVersion"\s*:\s*"gputopo/')
_FIELDS = (shape.node_name, *shape.BODY, shape.PROVENANCE)


def is_gputopo_json(text: str) -> bool:
    """Whether the text looks like one of our documents, whatever its version."""
    return text.lstrip("\ufeff \t\r\n")[:1] == "{" and _OURS.search(text) is not None


def loads(text: str, where: str = "") -> tuple[NodeTopology, ...]:
    """`decode` of a text. Raises GputopoError for what is no JSON."""
    if json_is_too_large(text):
        raise GputopoError("the JSON has more values than a document of nodes", where, "give fewer nodes at a time")
    try:
        document = json.loads(text.lstrip("\ufeff"))
    except RecursionError:
        raise GputopoError("the JSON is nested too deeply", where) from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}"
        raise GputopoError(f"not valid JSON: {error.msg} at {place}", where) from None
    except ValueError:  # a number of more than 4,300 digits
        raise GputopoError("not valid JSON: a number is too long", where) from None
    return decode(document, where)


def decode(document: Any, where: str = "") -> tuple[NodeTopology, ...]:
    """The nodes of a `NodeTopology` or `NodeTopologyList`.

    Raises GputopoError that names the path of what is wrong (`gpus[3].numaNodes`).
    """
    try:
        return _nodes(document)
    except GputopoError as error:
        raise GputopoError(error.what, where or error.where, error.hint) from None


def _nodes(document: Any) -> tuple[NodeTopology, ...]:
    if _kind(document, "") == shape.KIND:
        return (_node(document, ""),)
    items = document.get("items")
    if not isinstance(items, list):
        bad("items", "a list", items)
    nodes = []
    for place, item in enumerate(items):
        path = f"items[{place}]"
        if _kind(item, path) != shape.KIND:
            bad(f"{path}.kind", shape.KIND, item["kind"])
        nodes.append(_node(item, path))
    return tuple(nodes)


def _kind(document: Any, path: str) -> str:
    if not isinstance(document, dict):
        bad(path, "an object", document)
    version, kind = document.get("apiVersion"), document.get("kind")
    prefix = f"{path}." if path else ""
    if version != shape.API_VERSION:
        raise GputopoError(
            f"{prefix}apiVersion {json.dumps(version)} cannot be read, only {shape.API_VERSION}",
            hint="read it with the gputopo that wrote it, or inspect the evidence again",
        )
    if kind not in (shape.KIND, shape.LIST_KIND):
        raise GputopoError(
            f"{prefix}kind {json.dumps(kind)} does not describe a node",
            hint=f"{shape.KIND} and {shape.LIST_KIND} do (gputopo inspect -o json)",
        )
    return str(kind)


def _node(document: dict[str, Any], path: str) -> NodeTopology:
    prefix = f"{path}." if path else ""
    if "taken" not in document:
        raise GputopoError(f"{prefix}taken: missing")
    taken = shape.taken.decode(document["taken"], f"{prefix}taken") or {}
    node = NodeTopology(**read_fields(_FIELDS, document, path), **taken)
    _check_ids(node, prefix)
    return node


def _check_ids(node: NodeTopology, prefix: str) -> None:
    """An id names one thing, and what is named is there: the rest of the program relies on it."""
    tables: dict[str, Iterable[Any]] = {
        "sources": node.sources, "packages": node.packages or (), "numaNodes": node.numa_nodes or (),
        "bridges": node.bridges, "nvswitches": node.nvswitches or (), "nvme": node.nvme or (),
        "gpus": node.gpus, "nics": node.nics or (),
    }  # fmt: skip
    ids: dict[str, set[str]] = {}
    for name, table in tables.items():
        ids[name] = set()
        for place, item in enumerate(table):
            _new(item.id, ids[name], f"{prefix}{name}[{place}].id")
    for place, nic in enumerate(node.nics or ()):
        _new(nic.id, set(ids["gpus"]), f"{prefix}nics[{place}].id")
    for place, gpu in enumerate(node.gpus):
        at = f"{prefix}gpus[{place}]"
        _known(gpu.nearest_nics, ids["nics"], f"{at}.nearestNics", "a NIC")
        _known(gpu.nearest_nvme, ids["nvme"], f"{at}.nearestNvme", "an NVMe device")
    _check_pairs(node, ids["gpus"] | ids["nics"], prefix)
    _check_islands(node, ids["gpus"], prefix)
    for place, one in enumerate(node.sets):
        _known(one.gpus, ids["gpus"], f"{prefix}sets[{place}].gpus", "a GPU")


def _check_pairs(node: NodeTopology, devices: set[str], prefix: str) -> None:
    seen: set[frozenset[str]] = set()
    for place, pair in enumerate(node.pairs):
        at = f"{prefix}pairs[{place}]"
        _known((pair.a,), devices, f"{at}.a", "a GPU or NIC")
        _known((pair.b,), devices, f"{at}.b", "a GPU or NIC")
        both = frozenset((pair.a, pair.b))
        if len(both) == 1 or both in seen:
            bad(at, "each pair of two devices once", [pair.a, pair.b])
        seen.add(both)


def _check_islands(node: NodeTopology, gpus: set[str], prefix: str) -> None:
    at = f"{prefix}islands"
    islands = node.islands
    named = {"nvlink": islands.nvlink, "pcieSwitch": islands.pcie_switch, "pcieRoot": islands.pcie_root,
             "numa": islands.numa, "package": islands.package}  # fmt: skip
    for name, groups in named.items():
        for place, group in enumerate(groups):
            _known(group, gpus, f"{at}.{name}[{place}]", "a GPU")
    for place, island in enumerate(islands.fabric):
        _known(island.gpus, gpus, f"{at}.fabric[{place}].gpus", "a GPU")


def _new(id: str, known: set[str], path: str) -> None:
    if id in known:
        bad(path, "an id that no other device has", id)
    known.add(id)


def _known(wanted: Iterable[str], known: set[str], path: str, what: str) -> None:
    for id in wanted:
        if id not in known:
            bad(path, f"{what} of this document", id)
