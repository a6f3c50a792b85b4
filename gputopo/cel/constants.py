"""Parts of a selector that depend on no device and fail whenever they run: `quantity('80GB')`, `1 / 0`.

>>> [(one.text, one.function, one.error) for one in failing("device.driver == 'a' && semver('12.8').major() > 1")]
[("semver('12.8')", 'semver', 'No Major.Minor.Patch elements found')]
>>> failing("device.driver == 'a' || true || quantity('80GB').isInteger()")
()
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from gputopo.cel.costs import EXCEEDED, Meter
from gputopo.cel.environment import DEFAULT_RELEASE, MOST_BYTES, MOST_COST, Environment, environment
from gputopo.cel.parser import MOST_DEEP
from gputopo.cel.planner import PlanError, plan
from gputopo.cel.presence import LOGICAL, is_bind
from gputopo.cel.scopes import Scope
from gputopo.cel.static_types import ERROR
from gputopo.cel.syntax import Call, Fold, Hole, Ident, Literal, Node, StructNode, fault_at
from gputopo.cel.values import Cancelled, CelError, Refused

_MOST = 20  # of one selector; nobody reads more


class Failing(NamedTuple):
    """`literals`: the arguments, where each is a literal. `too_dear`: it ends over the limit of cost."""

    text: str
    function: str
    literals: tuple[object, ...] | None
    error: str
    line: int
    column: int
    too_dear: bool


@lru_cache(maxsize=64)
def failing(text: str, release: str = DEFAULT_RELEASE) -> tuple[Failing, ...]:
    """In text order; the innermost part that fails, where nothing around it holds the error back. Nothing of a text
    that is longer or nests deeper than Kubernetes takes."""
    if len(text.encode("utf-8", "surrogatepass")) > MOST_BYTES:
        return ()
    from gputopo.cel.program import analysed, deep_recursion

    env = environment(release)
    with deep_recursion():
        node, _, _ = analysed(text, env)
        found = _Search(text, env).failing(node) if node.deep <= MOST_DEEP else ()
        return tuple(sorted(islice(found, _MOST), key=lambda one: (one.line, one.column)))


class _Search:
    """`known`: whether a node was found constant, by identity: each is asked about several times."""

    def __init__(self, text: str, env: Environment) -> None:
        self.text, self.env = text, env
        self.known: dict[int, tuple[bool, frozenset[str]]] = {}

    def failing(self, node: Node) -> Iterator[Failing]:
        if not self.constant(node):
            for part in () if self._decided(node) else self._tried(node):
                yield from self.failing(part)
            return
        error = self.value(node)
        if not isinstance(error, (CelError, Cancelled)) or isinstance(error, Refused):
            return
        inner = False
        for part in node.parts():
            for one in self.failing(part) if self.constant(part) else ():
                inner = True
                yield one
        if not inner:
            yield self._described(node, error)

    def _described(self, node: Node, error: CelError | Cancelled) -> Failing:
        place = fault_at(self.text, max(node.start, 0), "")
        shown = " ".join(self.text[node.start : node.end].split())
        said = " ".join(error.text.split())
        function = node.function if isinstance(node, Call) else ""
        too_dear = isinstance(error, Cancelled) and error.text == EXCEEDED
        return Failing(shown, function, _literals(node), said, place.line, place.column, too_dear)

    def _decided(self, node: Node) -> bool:
        """Whether one constant term of && or || decides, so that no error of another counts."""
        if not isinstance(node, Call) or node.function not in LOGICAL:
            return False
        terms = [term for term in node.args if isinstance(term, Literal) or self.constant(term)]
        return any(self.value(term) is LOGICAL[node.function] for term in terms)

    def _tried(self, node: Node) -> list[Node]:
        """The parts that some device may reach; what stands in a loop may never run."""
        if isinstance(node, Fold) and not is_bind(node):
            return [node.source]
        if isinstance(node, Call) and node.function == "_?_:_":
            condition, yes, no = node.args
            known = isinstance(condition, Literal) or self.constant(condition)
            decided = self.value(condition) if known else None
            return node.args if not isinstance(decided, bool) else [yes if decided else no]
        return node.parts()

    def constant(self, node: Node) -> bool:
        """Whether it can be evaluated alone: no variable of outside in it, read and typed whole, something to run."""
        whole, free = self._read(node)
        return whole and not free and not isinstance(node, Literal)

    def _read(self, node: Node) -> tuple[bool, frozenset[str]]:
        """Whether it was read and typed whole, and the variables that it takes from outside."""
        found = self.known.get(id(node))
        if found is None:
            parts = [self._read(part) for part in node.parts()]
            whole = all(one for one, _ in parts) and not isinstance(node, (Hole, StructNode)) and node.type != ERROR
            free = frozenset().union(*(names for _, names in parts))
            if isinstance(node, Ident) and node.constant is None:
                free |= {node.name}
            elif isinstance(node, Fold):
                free -= {node.variable, node.variable2, node.accumulator}
            found = self.known[id(node)] = (whole, free)
        return found

    def value(self, node: Node) -> object:
        """The value or the error. None where there is no program: the selector does not compile then."""
        try:
            return plan(node, self.env).run(Scope(Meter(MOST_COST), {}))
        except (CelError, Cancelled) as error:
            return error
        except PlanError:
            return None


def _literals(node: Node) -> tuple[object, ...] | None:
    if not isinstance(node, Call) or node.target is not None:
        return None
    values = tuple(one.value for one in node.args if isinstance(one, Literal))
    return values if len(values) == len(node.args) else None
