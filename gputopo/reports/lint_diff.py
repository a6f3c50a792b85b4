"""What `lint --fix` would change, as a unified diff that patch and git apply take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import unified_diff
from typing import Any

from gputopo.reports.lint_lines import mended
from gputopo.reports.sanitise import clean

_NO_LINE_END = "\n\\ No newline at end of file\n"


def unified(file: str, before: str, after: str) -> str:
    r"""The lines as they are, with their own ends.

    >>> print(unified("a.yaml", "a: 1\r\nb: 2", "a: 1\r\nb: 3").replace("\r", "<CR>"), end="")
    --- a.yaml
    +++ a.yaml
    @@ -1,2 +1,2 @@
     a: 1<CR>
    -b: 2
    \ No newline at end of file
    +b: 3
    \ No newline at end of file
    """
    name = clean(file)
    lines = unified_diff(list(_lines(before)), list(_lines(after)), name, name)
    return "".join(line if line.endswith("\n") else line + _NO_LINE_END for line in lines)


def _lines(text: str) -> Iterator[str]:
    place = 0
    while place < len(text):
        end = text.find("\n", place) + 1 or len(text)
        yield text[place:end]
        place = end


def diffs(report: Mapping[str, Any], quiet: bool, terminal: bool) -> str:
    """All files; above each what it mends, in a line that patch passes over. On a terminal nothing that it obeys."""
    parts = []
    for one in report["mended"]:
        text = one["diff"]
        if terminal:
            text = "".join(clean(line.rstrip("\r\n")) + "\n" for line in _lines(text))
        parts.append(text if quiet else f"# {clean(mended(one))}\n{text}")
    return "".join(parts)
