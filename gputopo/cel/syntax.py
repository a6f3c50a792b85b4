"""The syntax tree. Offsets count code points from 0; `at` is where cel-go places an error of the node."""

from __future__ import annotations

from typing import Any, NamedTuple

from gputopo.cel.static_types import ERROR, Type

NOWHERE = -1
# Where cel-go places what it lost the place of: line 1, column 0.
FIRST = -2

# No names, though the grammar takes them for such.
RESERVED = frozenset(
    {"as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop",
     "package", "namespace", "null", "return", "true", "var", "void", "while"}
)  # fmt: skip


class Fault(NamedTuple):
    """One error of a compilation. `line` counts from 1 and `column` code points from 1, as Kubernetes prints them;
    line -1 and column 0 where the whole text is at fault."""

    line: int
    column: int
    message: str


class Node:
    """`start`..`end` is the span of the text, `deep` the nesting as cel-go's visitor counts it, `type` set by the
    checker."""

    __slots__ = ("at", "deep", "end", "start", "type")

    def __init__(self, at: int, start: int, end: int, deep: int = 0) -> None:
        self.at, self.start, self.end, self.deep = at, start, end, deep
        self.type: Type = ERROR

    def parts(self) -> list[Node]:
        """The nodes directly below, in text order as far as there is one."""
        return []


class Literal(Node):
    __slots__ = ("value",)

    def __init__(self, value: Any, at: int, start: int, end: int) -> None:
        super().__init__(at, start, end)
        self.value = value


class Ident(Node):
    __slots__ = ("constant", "name")

    def __init__(self, name: str, at: int, start: int, end: int) -> None:
        super().__init__(at, start, end)
        self.name = name
        # The type a name such as `int` or `net.IP` stands for.
        self.constant: Type | None = None


class Select(Node):
    """`operand.field`, or with `test` what has() asks."""

    __slots__ = ("constant", "field", "operand", "test")

    def __init__(self, operand: Node, field: str, test: bool, at: int, start: int, end: int) -> None:
        super().__init__(at, start, end, operand.deep + 1)
        self.operand, self.field, self.test = operand, field, test
        self.constant: Type | None = None

    def parts(self) -> list[Node]:
        return [self.operand]


class Call(Node):
    """A function, operator (`_<_`) or method. `overloads` are the ones that the checker found possible."""

    __slots__ = ("args", "function", "overloads", "target")

    def __init__(self, function: str, target: Node | None, args: list[Node], at: int, start: int, end: int) -> None:
        super().__init__(at, start, end)
        self.function, self.target, self.args = function, target, args
        self.deep = max((each.deep for each in self.parts()), default=0)
        self.overloads: tuple[Any, ...] = ()

    def parts(self) -> list[Node]:
        return [self.target, *self.args] if self.target is not None else list(self.args)


class ListNode(Node):
    __slots__ = ("elements", "optional")

    def __init__(self, elements: list[Node], optional: frozenset[int], at: int, start: int, end: int) -> None:
        super().__init__(at, start, end, max((each.deep for each in elements), default=0))
        self.elements, self.optional = elements, optional

    def parts(self) -> list[Node]:
        return list(self.elements)


class Entry(NamedTuple):
    key: Node
    value: Node
    optional: bool


class MapNode(Node):
    __slots__ = ("entries",)

    def __init__(self, entries: list[Entry], at: int, start: int, end: int) -> None:
        super().__init__(at, start, end)
        self.entries = entries
        self.deep = max((each.deep for each in self.parts()), default=0)

    def parts(self) -> list[Node]:
        return [node for entry in self.entries for node in (entry.key, entry.value)]


class StructNode(Node):
    """`Name{field: value}`. No type of the selector environment can be built so, but cel-go parses it."""

    __slots__ = ("fields", "name")

    def __init__(self, name: str, fields: list[Node], at: int, start: int, end: int) -> None:
        super().__init__(at, start, end, max((each.deep for each in fields), default=0))
        self.name, self.fields = name, fields

    def parts(self) -> list[Node]:
        return list(self.fields)


class Fold(Node):
    """What every macro over a range becomes (and cel.bind, over an empty one)."""

    __slots__ = ("accumulator", "condition", "init", "result", "source", "step", "variable", "variable2")

    def __init__(
        self,
        source: Node,
        variables: tuple[str, str],
        accumulator: str,
        nodes: tuple[Node, Node, Node, Node],
        like: Node,
    ) -> None:
        super().__init__(like.at, like.start, like.end)
        self.source, self.accumulator = source, accumulator
        self.variable, self.variable2 = variables
        self.init, self.condition, self.step, self.result = nodes
        self.deep = max(each.deep for each in self.parts())

    def parts(self) -> list[Node]:
        return [self.source, self.init, self.condition, self.step, self.result]


class Hole(Node):
    """What could not be read; `found` are the parts around it that could."""

    __slots__ = ("found",)

    def __init__(self, found: list[Node], at: int, start: int, end: int) -> None:
        super().__init__(at, start, end, max((each.deep for each in found), default=0))
        self.found = found

    def parts(self) -> list[Node]:
        return list(self.found)


def fault_at(text: str, offset: int, message: str) -> Fault:
    """A fault at an offset. cel-go prints an error without a place as -1:0, and the end of an empty text as 1:0."""
    if offset == NOWHERE:
        return Fault(-1, 0, message)
    if not text or offset == FIRST:
        return Fault(1, 0, message)
    before = text.rfind("\n", 0, offset)
    return Fault(text.count("\n", 0, offset) + 1, offset - before, message)
