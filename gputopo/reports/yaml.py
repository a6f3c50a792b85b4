"""`-o yaml`: the same document for people who read YAML. Loads back equal, with 1.1 and 1.2 readers."""

from __future__ import annotations

import re
from typing import Any


def render(document: dict[str, Any]) -> str:
    """Keys in the document's order, no anchors, foreign characters escaped."""
    import yaml

    base: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

    class Dumper(base):  # type: ignore[misc]
        def ignore_aliases(self, data: Any) -> bool:
            return True

    # Texts that are numbers to a YAML 1.2 reader (12e4, 0o17) but not to PyYAML: quoted, too.
    Dumper.add_implicit_resolver(
        "tag:yaml.org,2002:float", re.compile(r"[-+]?(\d+[eE][-+]?\d+|0o[0-7]+)\Z"), list("-+0123456789")
    )
    def dumped(body: Any) -> str:
        return str(
            yaml.dump(body, Dumper=Dumper, sort_keys=False, allow_unicode=False, width=200, default_flow_style=False)
        )

    try:
        return dumped(document)
    except UnicodeEncodeError:
        return dumped(_encodable(document))


def _encodable(body: Any) -> Any:
    """With U+FFFD for each half of a surrogate pair, which JSON of strangers may have and YAML cannot write."""
    if isinstance(body, dict):
        return {_encodable(key): _encodable(value) for key, value in body.items()}
    if isinstance(body, list):
        return [_encodable(one) for one in body]
    return body.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if isinstance(body, str) else body
