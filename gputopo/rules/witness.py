"""What a finding rests on: the observations of a kind, their subjects in node order, as evidence."""

from __future__ import annotations

from collections.abc import Iterable

from gputopo.rules.finding import Evidence
from gputopo.rules.wording import names
from gputopo.topology.node import NodeTopology, Observed

MOST_EVIDENCE = 12


def observed(node: NodeTopology, *kinds: str) -> tuple[Observed, ...]:
    """The observations of these kinds, in the node's order."""
    return tuple(o for o in node.observations if o.kind in kinds)


def in_node_order(node: NodeTopology, ids: Iterable[str]) -> tuple[str, ...]:
    """Each id once: GPUs, then NICs, then the rest (labels of lost rows) by name and number."""
    wanted = set(ids)
    known = [g.id for g in node.gpus] + [n.id for n in node.nics or ()]
    rest = wanted.difference(known)
    return (*(id for id in known if id in wanted), *sorted(rest, key=_name_then_number))


def _name_then_number(id: str) -> tuple[str, int, str]:
    stem = id.rstrip("0123456789")
    return stem, int(id[len(stem) :] or -1), id


def subjects(node: NodeTopology, observations: Iterable[Observed]) -> tuple[str, ...]:
    return in_node_order(node, (id for o in observations for id in o.subjects))


def evidence(observations: Iterable[Observed], most: int = MOST_EVIDENCE) -> tuple[Evidence, ...]:
    """Each witness once. What exceeds `most` is counted in a last entry, never dropped silently."""
    found = tuple(dict.fromkeys(Evidence(o.source, o.line, _said(o)) for o in observations))
    if len(found) <= most:
        return found
    return (*found[:most], Evidence(None, None, f"and {len(found) - most} more of this kind"))


def _said(observation: Observed) -> str:
    """The observed text, with the subjects in front where it does not name one of them."""
    text = observation.text or observation.kind
    if not observation.subjects or any(id in text for id in observation.subjects):
        return text
    return f"{names(observation.subjects)}: {text}"


def claimed(node: NodeTopology, text: str) -> Evidence:
    """A value of the model as evidence, with the source when there is only one.

    Not from `provenance`: a saved document has it only with -v, and must give the same findings.
    """
    return Evidence(node.sources[0].id if len(node.sources) == 1 else None, None, text)
