r"""/proc/PID/numa_maps: how much of a process's memory is on which NUMA node.

    >>> text = "7f00 bind:0 anon=8 dirty=8 N0=6 N1=2 kernelpagesize_kB=4\n"
    >>> text += "7f01 default file=/usr/lib/libc.so.6 mapped=3 N1=3 kernelpagesize_kB=4\n"
    >>> text += "7f02 default file=/anon_hugepage\\040(deleted) huge anon=1 dirty=1 N0=1 kernelpagesize_kB=2048\n"
    >>> [(one.kind, one.numa_nodes, one.size) for one in read(text)]
    [('anonymous', (0,), 24576), ('anonymous', (1,), 8192), ('file', (1,), 12288), ('huge', (0,), 2097152)]

A line is a mapping: `N<node>=` pages of kernelpagesize_kB (Linux fs/proc/task_mmu.c, show_numa_map). Pages of files,
shared libraries above all, lie where the first process that read them ran, and say little of this one. Huge pages are
apart: their line names a file, `/anon_hugepage`, that is none. Older kernels (before 3.14) print no page size.
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.holdings import MemoryHeld

ANONYMOUS, FILE, HUGE = "anonymous", "file", "huge"
_PAGE_DIGITS = 12
_SIZE_DIGITS = 8
_NODE_DIGITS = 5


def read(text: str) -> tuple[MemoryHeld, ...] | None:
    """A block for each kind and node; `None` where a line has pages of a size that it does not say."""
    found: dict[tuple[str, int], int] = {}
    for line in text.splitlines():
        words = line.split()[2:]
        pages = list(_pages(words))
        if not pages:
            continue
        size = next((_number(word[18:], _SIZE_DIGITS) for word in words if word.startswith("kernelpagesize_kB=")), None)
        if size is None:
            return None
        kind = _kind(words)
        for node, count in pages:
            found[kind, node] = found.get((kind, node), 0) + count * size * 1024
    return tuple(MemoryHeld(kind, (node,), size) for (kind, node), size in sorted(found.items()))


def _kind(words: list[str]) -> str:
    if "huge" in words:
        return HUGE
    return FILE if any(word.startswith("file=") for word in words) else ANONYMOUS


def _pages(words: list[str]) -> Iterator[tuple[int, int]]:
    """(node, pages)."""
    for word in words:
        if word[:1] == "N" and "=" in word:
            name, _, value = word[1:].partition("=")
            node, count = _number(name, _NODE_DIGITS), _number(value, _PAGE_DIGITS)
            if node is not None and count is not None:
                yield node, count


def _number(text: str, digits: int) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= digits else None
