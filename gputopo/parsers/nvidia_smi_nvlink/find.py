r"""Where a text lists NVLinks: the GPU lines and the `Link n` lines under each.

>>> lines = ["GPU 0: NVIDIA L4 (UUID: GPU-x)", "GPU 0: NVIDIA A40 (UUID: GPU-y)", "\t Link 0: 14.062 GB/s"]
>>> [(listing.kind, [(gpu.index, gpu.name) for gpu in listing.gpus]) for listing in find_listings(lines)]
[('s', [(0, 'NVIDIA A40')])]
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from gputopo.parsers.limits import at_most_nodes
from gputopo.parsers.pasted_text import words_before

_GPU = re.compile(r"(?<!\w)GPU (\d{1,3}): (.{0,200}?) ?\((?:UUID|S/N): ?([^)\s]{0,80})\)[ \t]*(.*)\Z")
_GPU_UNNAMED = re.compile(r"(?<!\w)GPU (\d{1,3}): (\S.*)\Z")
_LINK = re.compile(r"(?<!\w)Link (\d{1,2})(?:: |, )(\S.*)\Z")
_KINDS = (
    ("R", re.compile(r"Remote Device ")),
    ("s", re.compile(r"[\d.]+ ?GB/s|<\w+>")),
    ("c", re.compile(r"[A-Z][\w ]+: (?:true|false)\b")),
    ("e", re.compile(r"[A-Z][\w ]+ Errors?: ")),
)
# What nvidia-smi prints in place of links, lower case; each says which GPU by standing under it.
ALL_INACTIVE = "all links are inactive"
NOT_SUPPORTED = ("does not have or support nvlink", "nvlink is not supported", "nvlink not supported")
INVALID_LINK = "invalid nvlink id"
_ERRORS = (ALL_INACTIVE, INVALID_LINK, *NOT_SUPPORTED, "nvlink information", "nvlink link", "nvml: unable to")


class PrintedLink(NamedTuple):
    number: int
    text: str  # behind `Link n: `
    line: int


class PrintedGpu:
    """One GPU line and what stands under it. `errors` are (text, line)."""

    __slots__ = ("errors", "index", "line", "links", "name", "uuid")

    def __init__(self, index: int, name: str, uuid: str | None, line: int) -> None:
        self.index = index
        self.name = name
        self.uuid = uuid
        self.line = line
        self.links: list[PrintedLink] = []
        self.errors: list[tuple[str, int]] = []

    @property
    def says_something(self) -> bool:
        return bool(self.links or self.errors)


class Listing:
    """One output: its GPUs in order, and which option printed it (`s`, `c`, `R`, `e`; "" unknown)."""

    __slots__ = ("gpus", "kind")

    def __init__(self) -> None:
        self.gpus: list[PrintedGpu] = []
        self.kind = ""

    @property
    def line(self) -> int:
        return self.gpus[0].line


def find_listings(lines: Sequence[str]) -> list[Listing]:
    """All outputs of `nvidia-smi nvlink` in a text. GPU lines that nothing follows are those of `-L`."""
    finder = _Finder()
    for number, line in enumerate(lines, 1):
        finder.take(line, number)
    finder.end()
    return [listing for listing in finder.found if any(gpu.says_something for gpu in listing.gpus)]


class _Finder:
    def __init__(self) -> None:
        self.found: list[Listing] = []
        self.open: dict[tuple[str, ...], Listing] = {}  # by the words a log puts before each line
        self.last: tuple[str, ...] = ()
        self.unnamed: tuple[re.Match[str], int] | None = None

    def take(self, line: str, number: int) -> None:
        if "Link" in line:
            link = _LINK.search(line)
            if link:
                self.link(line, link, number)
                return
        if "GPU " in line:
            gpu = _GPU.search(line)
            if gpu:
                self.gpu(gpu, line, number)
                return
            self.unnamed = None
            bare = _GPU_UNNAMED.search(line)
            if bare:
                self.unnamed = (bare, number)
                return
        if not line.strip():
            return
        low = line.lower()
        if any(error in low for error in _ERRORS):
            self.error(line.strip(), number)
            return
        self.unnamed = None
        self.foreign()

    def gpu(self, match: re.Match[str], line: str, number: int) -> None:
        before = words_before(line, match.start())
        index = int(match[1])
        listing = self.open.get(before)
        if listing is None or index <= listing.gpus[-1].index:
            listing = self.start(before)
        listing.gpus.append(PrintedGpu(index, match[2].strip(), match[3], number))
        self.last = before
        if match[4] and any(error in match[4].lower() for error in _ERRORS):
            listing.gpus[-1].errors.append((match[4].strip(), number))

    def start(self, before: tuple[str, ...]) -> Listing:
        self.close(before)
        listing = self.open[before] = Listing()
        self.found.append(listing)
        at_most_nodes(self.found)
        return listing

    def link(self, line: str, match: re.Match[str], number: int) -> None:
        before = words_before(line, match.start())
        kind = next((kind for kind, form in _KINDS if form.match(match[2])), "")
        if self.unnamed:
            bare, at = self.unnamed
            self.unnamed = None
            listing = self.open.get(before)
            if listing is None or int(bare[1]) <= listing.gpus[-1].index:
                listing = self.start(before)
            listing.gpus.append(PrintedGpu(int(bare[1]), bare[2].strip(), None, at))
        key = before if before in self.open else self.last
        listing = self.open.get(key)
        if listing is None or not kind:
            return
        gpu = listing.gpus[-1]
        if listing.kind and kind != listing.kind:
            # The next command's output whose GPU line is lost, or the option for everything at once.
            listing = self.start(key)
            gpu = PrintedGpu(gpu.index, gpu.name, gpu.uuid, gpu.line)
            listing.gpus.append(gpu)
        listing.kind = kind
        gpu.links.append(PrintedLink(int(match[1]), match[2].strip(), number))

    def error(self, text: str, number: int) -> None:
        listing = self.open.get(self.last)
        if listing is not None:
            listing.gpus[-1].errors.append((text, number))

    def foreign(self) -> None:
        """Another line: GPU lines right before it that say nothing are not of this command."""
        for before in list(self.open):
            self.drop_silent(before)

    def drop_silent(self, before: tuple[str, ...]) -> None:
        listing = self.open[before]
        while listing.gpus and not listing.gpus[-1].says_something:
            listing.gpus.pop()
        if not listing.gpus:
            del self.open[before]

    def close(self, before: tuple[str, ...]) -> None:
        if before in self.open:
            self.drop_silent(before)
            self.open.pop(before, None)

    def end(self) -> None:
        """GPU lines at the end of the text stay only where the GPUs before them have links."""
        for listing in self.open.values():
            if not any(gpu.says_something for gpu in listing.gpus):
                listing.gpus.clear()
