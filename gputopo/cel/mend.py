"""How a selector that does not compile is written rightly, where only one right way is meant.

    >>> from gputopo.terms.edits import apply
    >>> def shown(text): return apply(text, mended(text))
    >>> shown("device.capacity['gpu.nvidia.com'].memory >= 80Gi")
    "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('80Gi')) >= 0"
    >>> shown("device.attributes['resource.kubernetes.io/pcieRoot'] = 'pci0000:15'")
    "device.attributes['resource.kubernetes.io'].pcieRoot == 'pci0000:15'"
    >>> mended("device.capacity['gpu.nvidia.com'].memory >= 80")      # 80 bytes, or which unit?
    ()

The result compiles, or nothing is mended: next to what cannot be read nothing is certain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gputopo.cel import static_types as types
from gputopo.cel.checker import check
from gputopo.cel.environment import DEFAULT_RELEASE, MOST_BYTES, environment
from gputopo.cel.parser import parse
from gputopo.cel.program import deep_recursion, diagnose
from gputopo.cel.quantities import parse as quantity
from gputopo.cel.repair import UNITS, repaired
from gputopo.cel.syntax import Call, Fold, Ident, Literal, Node, Select
from gputopo.cel.values import CelError, Uint
from gputopo.terms.edits import Edit

_RELATIONS = frozenset({"_<_", "_<=_", "_>_", "_>=_"})
_EQUALITIES = frozenset({"_==_", "_!=_"})
_OF_QUANTITY = frozenset({"compareTo", "isGreaterThan", "isLessThan"})
_LABEL = re.compile(r"([0-9.]+) ?([A-Za-z]+)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LEAST_BYTES = 1 << 20  # no memory is smaller, so a smaller number has a unit that is not written


def mended(text: str, release: str = DEFAULT_RELEASE) -> tuple[Edit, ...]:
    """The changes of a selector, none where it compiles or what is meant is not certain."""
    if len(text) > MOST_BYTES:
        return ()
    env = environment(release)
    mapped = repaired(text)
    with deep_recursion():
        node, faults = parse(mapped.text, env.macros, env.escapes)
        if faults:
            return ()
        check(node, env)
        mapped = mapped.replaced(_typed(node, mapped.text))
    return () if mapped.text == text or diagnose(mapped.text, release) else mapped.edits()


def _typed(node: Node, text: str) -> Iterator[Edit]:
    """Changes for what the checker refuses, from the outside inwards."""
    if isinstance(node, Call) and len(node.parts()) == 2:
        first, second = node.parts()
        made: list[Edit] = []
        if node.function in _RELATIONS:
            made = _relation(first, second, text)
        elif node.function in _EQUALITIES:
            made = _equality(first, second, text)
        elif node.target is not None and node.function in _OF_QUANTITY and first.type == types.QUANTITY:
            made = _wrapped(second, first, text)
        elif node.function == "_[_]":
            made = _two_levels(first, second, text)
        if made:
            yield from made
            return
    for part in node.parts():
        yield from _typed(part, text)


def _relation(left: Node, right: Node, text: str) -> list[Edit]:
    """`a >= b` of quantities becomes `a.compareTo(b) >= 0`."""
    one, other = _as_quantity(left, right, text), _as_quantity(right, left, text)
    if one is None or other is None or types.QUANTITY not in (left.type, right.type):
        return []
    if _is_operation(left, text):
        return []
    if one != text[left.start : left.end]:
        return [Edit(left.start, left.end, f"{one}.compareTo({other})"), Edit(right.start, right.end, "0")]
    return [Edit(left.end, left.end, f".compareTo({other})"), Edit(right.start, right.end, "0")]


def _equality(left: Node, right: Node, text: str) -> list[Edit]:
    """Two quantities can be compared by `==`."""
    if left.type == types.QUANTITY:
        return _wrapped(right, left, text)
    return _wrapped(left, right, text) if right.type == types.QUANTITY else []


def _wrapped(node: Node, beside: Node, text: str) -> list[Edit]:
    new = _as_quantity(node, beside, text)
    return [] if new is None or node.type == types.QUANTITY else [Edit(node.start, node.end, new)]


def _as_quantity(node: Node, beside: Node, text: str) -> str | None:
    """A quantity as it stands, a literal as a quantity; None for what is none."""
    written = text[node.start : node.end]
    if node.type == types.QUANTITY:
        return written
    value = node.value if isinstance(node, Literal) else None
    if isinstance(value, str):
        said = quantity_text(value)
        return None if said is None else f"quantity({written if said == value else repr(said)})"
    if isinstance(value, (int, float)) and not isinstance(value, (bool, Uint)):
        bytes_meant = isinstance(beside, Select) and "memory" in beside.field.lower()
        fine = not bytes_meant or value >= _LEAST_BYTES or value == 0
        return f"quantity('{written}')" if fine and quantity_text(written) == written else None
    return None


def quantity_text(said: str) -> str | None:
    """As Kubernetes writes it: `80 GB` is 80G; None for what is no quantity.

    >>> quantity_text("80Gi"), quantity_text("80GB"), quantity_text("80 GiB"), quantity_text("much")
    ('80Gi', '80G', '80Gi', None)
    """
    label = _LABEL.fullmatch(said.strip())
    text = label[1] + UNITS[label[2]] if label is not None and label[2] in UNITS else said
    try:
        quantity(text)
    except CelError:
        return None
    return text


def _is_operation(node: Node, text: str) -> bool:
    """Whether a method cannot simply be called on it: an operator that is in no brackets."""
    if text[node.start : node.start + 1] == "(":
        return False
    if isinstance(node, Call):
        return node.target is None and node.function[:1] in "_!-@" and node.function not in ("_[_]", "_?._", "_[?_]")
    return isinstance(node, Fold)


def _two_levels(operand: Node, key: Node, text: str) -> list[Edit]:
    """`device.attributes['domain/name']`: domain and name are two levels."""
    value = key.value if isinstance(key, Literal) else None
    of_device = isinstance(operand, Select) and isinstance(operand.operand, Ident) and operand.operand.name == "device"
    if not isinstance(operand, Select) or not of_device or operand.field not in ("attributes", "capacity"):
        return []
    domain, slash, name = value.partition("/") if isinstance(value, str) else ("", "", "")
    behind = text[key.end :].lstrip()
    alone = behind[:1] == "]" and behind[1:].lstrip()[:1] not in (".", "[")
    if not slash or not domain or not _NAME.fullmatch(name) or not alone:
        return []
    quote = text[key.start : key.start + 1]
    if quote not in "'\"":
        return []
    end = text.index("]", key.end)
    return [Edit(key.start, key.end, f"{quote}{domain}{quote}"), Edit(end + 1, end + 1, f".{name}")]
