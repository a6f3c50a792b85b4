"""Which attributes a part of a selector asks for only where they are there, and what is left of it without one.

`has(x) && x == 1`, `!has(x) || x == 1` and `has(x) ? x == 1 : false` are all false or true where x is absent, in any
order of the terms, since && and || hold an error back as long as another term decides.

    >>> from gputopo.cel.environment import environment
    >>> from gputopo.cel.parser import parse
    >>> node, _ = parse("has(device.attributes['a.b'].x) && device.attributes['a.b'].x > 1", environment().macros)
    >>> needed(node, True, {})
    frozenset({Key(kind='attributes', domain='a.b', name='x')})
    >>> without(node, Key("attributes", "a.b", "x"), {})
    False
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import NamedTuple

from gputopo.cel.syntax import Call, Fold, Ident, ListNode, Literal, Node, Select

KINDS = ("attributes", "capacity")
OPTIONAL = frozenset({"_?._", "_[?_]"})
_FIRST = frozenset({"or", "orValue"})  # these ask for what follows only where the first has no value
LOGICAL = {"_&&_": False, "_||_": True}  # the value with which one term decides


class Key(NamedTuple):
    kind: str  # attributes or capacity
    domain: str
    name: str


# What the variables of cel.bind stand for, as far as it is one domain: kind and domain.
Bound = Mapping[str, tuple[str, str]]
# None: every key there is.
Keys = frozenset[Key] | None
_NONE: frozenset[Key] = frozenset()


class Failed(Enum):
    """The third answer beside a bool."""

    FAILED = "failed"


def step_of(node: Node) -> tuple[Node, Node, bool] | None:
    """Operand, key and whether it is optional, of a field or an index."""
    if isinstance(node, Select):
        return node.operand, Literal(node.field, node.at, node.start, node.end), False
    if isinstance(node, Call) and (node.function == "_[_]" or node.function in OPTIONAL):
        return node.args[0], node.args[1], node.function in OPTIONAL
    return None


def is_device(node: Node) -> bool:
    return isinstance(node, Ident) and node.name.removeprefix(".") == "device"


def domain_of(node: Node, bound: Bound) -> tuple[str, str] | None:
    """`device.attributes['domain']` or a variable for it, as (kind, domain)."""
    if isinstance(node, Ident):
        return bound.get(node.name)
    step = step_of(node)
    if step is None or not isinstance(step[1], Literal) or not isinstance(step[1].value, str):
        return None
    whole = step[0]
    if isinstance(whole, Select) and whole.field in KINDS and is_device(whole.operand):
        return whole.field, step[1].value
    return None


def key_of(node: Node, bound: Bound) -> Key | None:
    """What a field or an index of a domain reads."""
    step = step_of(node)
    domain = domain_of(step[0], bound) if step is not None else None
    if step is None or domain is None or not isinstance(step[1], Literal) or not isinstance(step[1].value, str):
        return None
    return Key(*domain, step[1].value)


def is_bind(node: Fold) -> bool:
    """Whether the fold is what cel.bind became."""
    return isinstance(node.source, ListNode) and not node.source.elements and node.variable == "#unused"


def bound_by(node: Fold, bound: Bound) -> Bound:
    """The variables inside a cel.bind."""
    domain = domain_of(node.init, bound)
    inner = {name: one for name, one in bound.items() if name != node.accumulator}
    return {**inner, node.accumulator: domain} if domain is not None else inner


def needed(node: Node, value: bool, bound: Bound) -> Keys:
    """The keys without any of which the node is the other value, and not an error."""
    if isinstance(node, Literal):
        return None if node.value is (not value) else _NONE
    asked = _asks_for(node, bound)
    if asked is not None:
        return frozenset({asked}) if value else _NONE
    if isinstance(node, Fold) and is_bind(node):
        return needed(node.result, value, bound_by(node, bound))
    if not isinstance(node, Call):
        return _NONE
    if node.function == "!_":
        return needed(node.args[0], not value, bound)
    if node.function in LOGICAL:
        of_terms = [needed(term, value, bound) for term in node.args]
        return common(of_terms) if value is LOGICAL[node.function] else together(of_terms)
    if node.function == "_?_:_":
        condition, yes, no = node.args
        return together((
            common((needed(condition, True, bound), needed(no, value, bound))),
            common((needed(condition, False, bound), needed(yes, value, bound))),
        ))  # fmt: skip
    return _NONE


def _asks_for(node: Node, bound: Bound) -> Key | None:
    """The key whose presence a node asks for: has(), `'x' in domain`, `domain[?'x'].hasValue()`."""
    if isinstance(node, Select):
        return key_of(node, bound) if node.test else None
    if not isinstance(node, Call):
        return None
    if node.function == "@in" and isinstance(node.args[0], Literal) and isinstance(node.args[0].value, str):
        domain = domain_of(node.args[1], bound)
        return Key(*domain, node.args[0].value) if domain is not None else None
    if node.function == "hasValue" and isinstance(node.target, Call) and node.target.function in OPTIONAL:
        return key_of(node.target, bound)
    return None


def together(many: Iterable[Keys]) -> Keys:
    """In any of them.

    >>> together((frozenset({Key("a", "b", "c")}), None)) is None
    True
    """
    found: frozenset[Key] = _NONE
    for keys in many:
        if keys is None:
            return None
        found |= keys
    return found


def common(many: Iterable[Keys]) -> Keys:
    """In all of them."""
    found: Keys = None
    for keys in many:
        if keys is not None:
            found = keys if found is None else found & keys
    return found


def has_key(keys: Keys, key: Key) -> bool:
    return keys is None or key in keys


def guards_of(node: Node, place: int, bound: Bound) -> Keys:
    """The keys without which what the part `place` of the node is does not matter."""
    if not isinstance(node, Call):
        return _NONE
    if node.function in LOGICAL:
        others = (term for index, term in enumerate(node.args) if index != place)
        return together(needed(term, not LOGICAL[node.function], bound) for term in others)
    if node.function == "_?_:_" and place > 0:
        return needed(node.args[0], place == 1, bound)
    return _NONE


def without(node: Node, key: Key, bound: Bound) -> bool | Failed | None:
    """The value where the key is absent; None where that depends on more."""
    if isinstance(node, Literal):
        return node.value if isinstance(node.value, bool) else None
    asked = _asks_for(node, bound)
    if asked is not None:
        return False if asked == key else None
    if isinstance(node, Fold) and is_bind(node):
        return without(node.result, key, bound_by(node, bound))
    if isinstance(node, Call) and node.function == "!_":
        inner = without(node.args[0], key, bound)
        return not inner if isinstance(inner, bool) else inner
    if isinstance(node, Call) and node.function in LOGICAL:
        return _joined([without(term, key, bound) for term in node.args], LOGICAL[node.function])
    if isinstance(node, Call) and node.function == "_?_:_":
        return _chosen(node, key, bound)
    if key_of(node, bound) == key:
        return None if isinstance(node, Call) and node.function in OPTIONAL else Failed.FAILED
    strict = node.parts()
    if isinstance(node, Fold) or (isinstance(node, Call) and node.function in _FIRST):
        strict = strict[:1]  # the rest may never be asked for
    failed = any(without(part, key, bound) is Failed.FAILED for part in strict)
    return Failed.FAILED if failed else None


def _joined(terms: list[bool | Failed | None], decisive: bool) -> bool | Failed | None:
    if decisive in terms:
        return decisive
    if None in terms:
        return None
    return Failed.FAILED if Failed.FAILED in terms else not decisive


def _chosen(node: Call, key: Key, bound: Bound) -> bool | Failed | None:
    condition, yes, no = (without(part, key, bound) for part in node.args)
    if isinstance(condition, bool):
        return yes if condition else no
    if condition is Failed.FAILED:
        return condition
    return yes if yes is no else None
