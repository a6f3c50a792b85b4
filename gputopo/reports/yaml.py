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
    return str(
        yaml.dump(
            document, Dumper=Dumper, sort_keys=False, allow_unicode=False, width=200, default_flow_style=False
        )
    )
