"""How much JSON and YAML of strangers is read: a short text can ask for much memory (`[[],[],[],…`).

>>> json_is_too_large('{"gpus": []}'), json_is_too_large("[" * 500_000)
(False, True)
>>> yaml_is_too_large("kind: Pod"), yaml_is_too_large("- a\\n" * 500_000)
(False, True)
"""

from __future__ import annotations

from typing import Final

CONTAINERS_MOST: Final = 400_000  # a document of 256 devices has some 40,000 pairs
VALUES_MOST: Final = 2_000_000
YAML_VALUES_MOST: Final = 400_000  # each costs some 400 bytes until it is made: `kubectl -o json` has no such cost
_SMALL: Final = 1 << 18  # characters: shorter than this, it cannot pass any limit


def json_is_too_large(text: str) -> bool:
    """Whether a JSON text has more objects, lists or values than are read."""
    if len(text) < _SMALL:
        return False
    return text.count("{") + text.count("[") > CONTAINERS_MOST or text.count(",") > VALUES_MOST


def yaml_is_too_large(text: str) -> bool:
    """Whether a YAML text may have more values than are read: lines, commas and brackets count."""
    if len(text) < _SMALL:
        return False
    return text.count("\n") + sum(map(text.count, ",[{")) > YAML_VALUES_MOST
