"""The one word that a misspelled one must mean.

>>> meant("single-numa", ("none", "best-effort", "restricted", "single-numa-node"))
'single-numa-node'
>>> meant("Static", ("none", "static")), meant("dynamic", ("none", "static"))
('static', '')
>>> meant("partition", ("partition1", "partition2"))
''
"""

from __future__ import annotations

from collections.abc import Iterable

_LEAST, _AHEAD = 0.75, 0.08


def meant(word: str, known: Iterable[str]) -> str:
    """Another case of it, else the only one that is near; "" where none is, or a second is nearly as near."""
    from difflib import SequenceMatcher

    words = [one for one in dict.fromkeys(known) if one != word and _digits(one) == _digits(word)]
    alike = [one for one in words if one.lower() == word.lower()]
    if alike:
        return alike[0] if len(alike) == 1 else ""
    ranked = sorted(((SequenceMatcher(None, word, one, False).ratio(), one) for one in words), reverse=True)
    if not ranked or ranked[0][0] < _LEAST:
        return ""
    return ranked[0][1] if len(ranked) == 1 or ranked[0][0] - ranked[1][0] >= _AHEAD else ""


def _digits(word: str) -> str:
    """`gpu-0` is no misspelled `gpu-1`."""
    return "".join(filter(str.isdigit, word))
