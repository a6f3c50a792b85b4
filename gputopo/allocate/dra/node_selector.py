"""Whether a node selector matches a node, and the selector that an allocation ends up with.

Source: k8s.io/component-helpers/scheduling/corev1/nodeaffinity; terms are ORed, requirements of a term ANDed; a term
without requirements matches nothing.

    >>> from gputopo.allocate.dra.objects import Requirement, SelectorTerm
    >>> zone = Requirement("zone", "In", ("a", "b"), {})
    >>> matches(NodeSelector((SelectorTerm((zone,)),)), KubeNode("n", {"zone": "b"}))
    True
    >>> matches(NodeSelector((SelectorTerm(),)), KubeNode("n"))
    False
"""

from __future__ import annotations

from collections.abc import Mapping

from gputopo.allocate.dra.failure import Failure
from gputopo.allocate.dra.objects import KubeNode, NodeSelector, Requirement


def node_matches(
    node: KubeNode, name: str | None, all_nodes: bool, selector: NodeSelector | None
) -> bool:
    if name:
        return name == node.name
    return all_nodes or (selector is not None and matches(selector, node))


def matches(selector: NodeSelector, node: KubeNode) -> bool:
    fields = {"metadata.name": node.name}
    return any(
        (term.expressions or term.fields)
        and all(_holds(one, node.labels) for one in term.expressions)
        and all(_holds(one, fields) for one in term.fields)
        for term in selector.terms
    )


def _holds(one: Requirement, labels: Mapping[str, str]) -> bool:
    present = one.key in labels
    if one.operator == "In":
        return present and labels[one.key] in one.values
    if one.operator == "NotIn":
        return not present or labels[one.key] not in one.values
    if one.operator == "Exists":
        return present
    if one.operator == "DoesNotExist":
        return not present
    if one.operator in ("Gt", "Lt"):
        return present and _compares(labels[one.key], one)
    raise Failure("node-selector", "failed to parse node selector", f'"{one.operator}" is not a valid operator')


def _compares(text: str, one: Requirement) -> bool:
    try:
        value, bound = int(text), int(one.values[0])
    except (ValueError, IndexError):
        return False
    return value > bound if one.operator == "Gt" else value < bound


def only(node: str) -> dict[str, object]:
    """The selector of an allocation with something local to a node."""
    return {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]}


def merged(selectors: list[NodeSelector]) -> dict[str, object] | None:
    """All requirements of the slices' selectors in one term, each once. `None`: available everywhere."""
    fields: list[Requirement] = []
    expressions: list[Requirement] = []
    for selector in selectors:
        if len(selector.terms) > 1:
            what = f"unsupported ResourceSlice.NodeSelector with {len(selector.terms)} terms"
            raise Failure("node-selector", "create NodeSelector", what)
        for term in selector.terms:
            # Upstream puts both kinds where they belong, and leaves out what is there already.
            fields += [one for one in term.fields if one not in fields]
            expressions += [one for one in term.expressions if one not in expressions]
    if not fields and not expressions:
        return None
    made: dict[str, object] = {}
    if expressions:
        made["matchExpressions"] = [dict(one.body) for one in expressions]
    if fields:
        made["matchFields"] = [dict(one.body) for one in fields]
    return {"nodeSelectorTerms": [made]}
