"""The three ways of not knowing.

A record field holds a value, or `Unknown` (the source spoke and does not know: N/A, -1,
NOT_SUPPORTED, a cut cell), or `None` (the source says nothing about it). The merged model has
`None` only, beside a table that keeps the reasons.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar, Union

T = TypeVar("T")


class Unknown(NamedTuple):
    """A source's own "I do not know": why, and which evidence would settle it."""

    why: str
    settled_by: str = ""


Said = Union[T, Unknown, None]  # noqa: UP007  (a generic alias that Python 3.10 can subscript)
