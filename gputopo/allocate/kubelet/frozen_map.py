"""A mapping that never changes, so that states can be compared and collected in sets.

    >>> one = FrozenMap({"a": 1})
    >>> two = one.put("b", 2)
    >>> two.drop("b") == one, hash(two.drop("b")) == hash(one)
    (True, True)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class FrozenMap(Mapping[K, V], Generic[K, V]):
    __slots__ = ("_hash", "_items")

    def __init__(self, items: Mapping[K, V] | None = None) -> None:
        self._items: dict[K, V] = dict(items or {})
        self._hash: int | None = None

    def __getitem__(self, key: K) -> V:
        return self._items[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._items.items()))
        return self._hash

    def __repr__(self) -> str:
        return f"FrozenMap({self._items!r})"

    def put(self, key: K, value: V) -> FrozenMap[K, V]:
        return FrozenMap({**self._items, key: value})

    def drop(self, *keys: K) -> FrozenMap[K, V]:
        return FrozenMap({key: value for key, value in self._items.items() if key not in keys})
