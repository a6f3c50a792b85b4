"""What a selector can use, by Kubernetes release: variable, functions, macros, limits.

The scheduler compiles with the environment for stored expressions, in which what a feature gate hides stays usable:
`allowMultipleAllocations` from 1.34 on and `includes` from 1.36 on compile with the gates off too.
Source: k8s.io/dynamic-resource-allocation/cel/compile.go, k8s.io/apiserver/pkg/cel/environment/base.go.

    >>> environment("1.33").fields.keys() - environment("1.36").fields.keys(), "sort" in environment("1.33").functions
    (set(), False)
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from gputopo.cel import macros
from gputopo.cel import static_types as types
from gputopo.cel.signatures import Overload, functions
from gputopo.cel.static_types import Type

FIRST, LAST = 32, 37
DEFAULT_RELEASE = "1.36"
# api/resource/v1/types.go: CELSelectorExpressionMaxCost and MaxLength (bytes), the same in 1.32 to 1.37.
MOST_COST = 1_000_000
MOST_BYTES = 10 * 1024


class Environment(NamedTuple):
    minor: int
    list_types: bool
    fields: dict[str, Type]
    functions: dict[str, tuple[Overload, ...]]
    macros: frozenset[str]

    @property
    def escapes(self) -> bool:
        """Whether a field may be written in backquotes; from 1.37 on."""
        return self.minor >= 37

    @property
    def dot_leads_out(self) -> bool:
        """Whether `.x` means the x outside of all macros; from 1.37 on. Before, it is the same as `x`."""
        return self.minor >= 37

    @property
    def reads_lists(self) -> bool:
        """From 1.37 on whatever the gate says; before, an attribute that is a list fails the selector without it."""
        return self.list_types or self.minor >= 37


# Names that stand for types.
NAMES: dict[str, Type] = {
    "bool": types.BOOL, "bytes": types.BYTES, "double": types.DOUBLE, "int": types.INT, "string": types.STRING,
    "uint": types.UINT, "null_type": types.NULL, "type": types.TYPE, "list": types.list_of(types.parameter("A")),
    "map": types.map_of(types.parameter("A"), types.parameter("B")), "net.IP": types.IP, "net.CIDR": types.CIDR,
    "google.protobuf.Duration": types.DURATION, "google.protobuf.Timestamp": types.TIMESTAMP,
    "optional_type": types.optional_of(types.parameter("V")),
}  # fmt: skip

# Names that the checker takes for types and the planner does not: `timestamp == type(x)` never becomes a program.
UNDEFINED: dict[str, Type] = {
    "timestamp": types.TIMESTAMP, "duration": types.DURATION, "kubernetes.DRADevice": types.DEVICE,
    "google.protobuf.Any": types.ANY,
}  # fmt: skip


def minor_of(release: str) -> int:
    """`1.36`, `v1.36.3`: 36. Raises ValueError for a release that is not known here."""
    parts = release.removeprefix("v").split(".")
    if len(parts) < 2 or parts[0] != "1" or not parts[1].isdigit() or not FIRST <= int(parts[1]) <= LAST:
        raise ValueError(f"{release!r} is no Kubernetes release from 1.{FIRST} to 1.{LAST}")
    return int(parts[1])


@lru_cache(maxsize=16)
def environment(release: str = DEFAULT_RELEASE, list_types: bool = False) -> Environment:
    """`list_types` is the gate DRAListTypeAttributes (alpha since 1.36), with which attributes may be lists.

    Raises ValueError for an unknown release."""
    minor = minor_of(release)
    # 1.37 declares the device four times and the last declaration, that of list types, is the one that counts.
    attribute = types.DYN if minor >= 37 or (list_types and minor >= 36) else types.ANY
    fields = {
        "driver": types.STRING,
        "attributes": types.map_of(types.STRING, types.map_of(types.STRING, attribute)),
        "capacity": types.map_of(types.STRING, types.map_of(types.STRING, types.QUANTITY)),
    }
    if minor >= 34:
        fields["allowMultipleAllocations"] = types.BOOL
    known = macros.ONE_VARIABLE | macros.TWO_VARIABLES | macros.OTHERS
    if minor >= 34:
        known |= macros.SORT
    return Environment(minor, list_types and minor >= 36, fields, functions(minor), known)
