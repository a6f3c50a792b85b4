"""Fields of `resource.k8s.io` objects: quantities, node selectors, and what a version does not have.

A field that the API server would refuse raises WrongShape with its path.
"""

from __future__ import annotations

from collections.abc import Iterable

from gputopo.allocate.dra.amount import Amount, amount
from gputopo.allocate.dra.objects import Config, NodeSelector, Requirement, Selector, SelectorTerm
from gputopo.terms.kube_object import Body, KubeObject, WrongShape, mapping, mappings, sequence, text

GROUP = "resource.k8s.io"
VERSIONS = ("v1beta1", "v1beta2", "v1")
# Known and not read, with their releases 1.x: claims of a resource class, then requests as in v1beta1.
OLD_VERSIONS = {"v1alpha1": (26, 26), "v1alpha2": (27, 30), "v1alpha3": (31, 33)}


def version_of(one: KubeObject) -> str:
    """Raises WrongShape for a version of the API that is not read."""
    group, _, version = text(one.body, "apiVersion").rpartition("/")
    if group != GROUP or version not in VERSIONS:
        known = ", ".join(f"{GROUP}/{each}" for each in VERSIONS)
        raise WrongShape(f"apiVersion {text(one.body, 'apiVersion') or 'missing'} is not one of {known}")
    return version


def strings(body: Body, key: str, path: str) -> tuple[str, ...]:
    found = sequence(body, key, path)
    for place, one in enumerate(found):
        if not isinstance(one, str):
            raise WrongShape(f"{path}[{place}] is no string")
    return tuple(found)


def quantity_of(value: object, path: str) -> Amount:
    try:
        return amount(value)
    except ValueError:
        raise WrongShape(f"{path} is no quantity: {value!r}") from None


def quantities(body: Body, path: str) -> dict[str, Amount]:
    """`{name: quantity}`."""
    return {name: quantity_of(one, f"{path}.{name}") for name, one in body.items()}


def node_selector(body: Body, key: str, path: str) -> NodeSelector | None:
    if body.get(key) is None:
        return None
    terms = mappings(mapping(body, key, path), "nodeSelectorTerms", f"{path}.nodeSelectorTerms")
    return NodeSelector(tuple(
        SelectorTerm(
            _requirements(term, "matchExpressions", f"{path}.nodeSelectorTerms[{place}].matchExpressions"),
            _requirements(term, "matchFields", f"{path}.nodeSelectorTerms[{place}].matchFields"),
        )
        for place, term in enumerate(terms)
    ))  # fmt: skip


def _requirements(term: Body, key: str, path: str) -> tuple[Requirement, ...]:
    return tuple(
        Requirement(text(one, "key", f"{path}.key"), text(one, "operator", f"{path}.operator"),
                    strings(one, "values", f"{path}.values"), one)
        for one in mappings(term, key, path)
    )  # fmt: skip


def selectors(body: Body, path: str) -> tuple[Selector, ...]:
    found = []
    for place, one in enumerate(mappings(body, "selectors", f"{path}.selectors")):
        where = f"{path}.selectors[{place}].cel"
        cel = mapping(one, "cel", where)
        known = one.get("cel") is not None
        found.append(Selector(text(cel, "expression", f"{where}.expression") if known else None))
    return tuple(found)


def configs(body: Body, path: str) -> tuple[Config, ...]:
    return tuple(
        Config(
            strings(one, "requests", f"{path}.config[{place}].requests"),
            {key: value for key, value in one.items() if key != "requests"},
        )
        for place, one in enumerate(mappings(body, "config", f"{path}.config"))
    )


def refuse(body: Body, keys: Iterable[str], path: str, instead: str) -> None:
    """Fields of another version of the API: the API server takes none of them."""
    for key in keys:
        if key in body:
            raise WrongShape(f"{path}.{key}: no such field in this version; {instead}")
