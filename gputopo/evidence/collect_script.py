"""`gputopo collect --print-script`: one POSIX sh file for nodes without Python.

It prints the same record as `gputopo collect --stdout` on its standard output and writes nothing
anywhere. It needs sh, cat, readlink and tr; od for config space, timeout where nvidia-smi or lscpu is to
be run. Values are replaced by the shell alone, numbered in order of appearance below a random number,
so that nothing of the value is in its replacement. What would need more than that is left out, and
the manifest says so. Its text is in `collect_sh/`, where @WORDS@ stand for what is filled in here.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable

from gputopo.evidence.redact import COMMON_WORDS, KINDS
from gputopo.version import __version__

PARTS = ("values.sh", "files.sh", "devices.sh", "node.sh")
FOLDER = "collect_sh"
_HEAD = """#!/bin/sh
# What gputopo collect writes, from a node without Python (gputopo @VERSION@).
#   sh collect.sh > NODE.ndjson
#   ROOT=/host sh collect.sh > NODE.ndjson        another root folder, e.g. in a container
#   gputopo inspect NODE.ndjson                   anywhere else
# Reads only; needs sh, cat, readlink and tr, no root. Names, UUIDs and ids are replaced by numbers.
"""
_FOR_EDITORS = "# shellcheck shell="


def script(keep: Iterable[str] = (), timeout: float = 10.0) -> str:
    """The text; `keep` as for `gputopo collect --keep`, `timeout` for each command."""
    kept = set(KINDS) if "all" in keep else set(keep)
    filled = {
        "@VERSION@": __version__,
        "@KEEP@": " ".join(kind for kind in KINDS if kind in kept),
        "@KINDS@": " ".join(KINDS),
        "@TIMEOUT@": str(max(1, round(timeout))),
        "@COMMON@": " ".join(sorted(COMMON_WORDS)),
    }
    text = _HEAD + "".join(f"\n{_part(name)}" for name in PARTS)
    for placeholder, value in filled.items():
        text = text.replace(placeholder, value)
    return text


def _part(name: str) -> str:
    """From beside this module, also where that is a zip."""
    data = pkgutil.get_data(__package__, f"{FOLDER}/{name}")
    assert data is not None, f"this installation has no {name}"
    lines = data.decode("ascii").splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(_FOR_EDITORS))
