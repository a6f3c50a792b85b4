"""One NVML call as text, at the border between nvidia-ml-py and the C library.

nvidia-ml-py's wrappers do `getattr(pynvml.nvmlLib, symbol)(arguments)`, so an object in the
place of the `CDLL` sees every call: `byref(x)` has `_obj`, arrays come bare, handles are ctypes
pointers. The key of a call is the JSON text `[symbol, argument, …]`: a number as it is;
`["ref", C type, hex of the bytes before the call]` for what the call may fill (the bytes matter:
version tags and field ids are in there); `["h", number]` for a handle; `null`.

    >>> from ctypes import byref, c_uint
    >>> call_key("nvmlDeviceGetCount_v2", (byref(c_uint()),))
    '["nvmlDeviceGetCount_v2", ["ref", "c_uint", "00000000"]]'
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

HANDLE_TYPE = "LP_struct_c_nvmlDevice_t"


class Library(Protocol):
    def call(self, function: Function, arguments: tuple[Any, ...]) -> int | bytes: ...


class Function:
    """Stands for a ctypes function pointer; nvidia-ml-py sets `restype` on some of them."""

    def __init__(self, library: Library, name: str) -> None:
        self.library = library
        self.name = name
        self.restype: Any = ctypes.c_int

    def __call__(self, *arguments: Any) -> int | bytes:
        return self.library.call(self, arguments)


def by_reference(argument: Any) -> Any:
    """The ctypes object that the call may fill, or `None`."""
    if isinstance(argument, ctypes.Array):
        return argument
    return getattr(argument, "_obj", None)


def handle_number(argument: Any) -> int | None:
    """The address a handle holds, or `None` where the argument is no handle."""
    if isinstance(argument, ctypes._Pointer):
        return ctypes.cast(argument, ctypes.c_void_p).value or 0
    return None


def call_key(name: str, arguments: tuple[Any, ...], tokens: dict[int, int] | None = None) -> str:
    """The key of a call; `tokens` renames handles (address → token)."""
    return json.dumps([name, *(_argument_key(a, tokens) for a in arguments)])


def _argument_key(argument: Any, tokens: dict[int, int] | None) -> Any:
    filled = by_reference(argument)
    if filled is not None:
        return ["ref", type(filled).__name__, bytes(filled).hex()]
    if argument is None or isinstance(argument, int):
        return argument
    if isinstance(argument, bytes):
        return ["b", argument.decode("latin-1")]
    number = handle_number(argument)
    if number is not None:
        return ["h", number if tokens is None else tokens.setdefault(number, len(tokens) + 1)]
    if hasattr(argument, "value"):
        return argument.value
    return ["?", type(argument).__name__]


@contextmanager
def installed(pynvml: Any, library: Any) -> Iterator[None]:
    """`library` in the place of the `CDLL` of an nvidia-ml-py module; the old one afterwards.

    The wrappers cache function pointers by name, so the cache is emptied on both ways.
    """
    before = pynvml.nvmlLib
    pynvml.nvmlLib = library
    pynvml._nvmlGetFunctionPointer_cache.clear()
    try:
        yield
    finally:
        pynvml.nvmlLib = before
        pynvml._nvmlGetFunctionPointer_cache.clear()
