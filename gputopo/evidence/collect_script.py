"""`gputopo collect --print-script`: one POSIX sh file for nodes without Python.

It prints the same record as `gputopo collect --stdout` on its standard output and writes nothing
anywhere. It needs sh, cat and readlink; od where root reads config space, timeout where nvidia-smi
or lscpu is to be run. Values are replaced by the shell alone, numbered in order of appearance below a
random number, so that nothing of the value is in its replacement. A file that would need more than
that is left out, and the manifest says so.
"""

from __future__ import annotations

from collections.abc import Iterable

from gputopo.evidence.collect_script_body import BODY
from gputopo.evidence.redact import KINDS
from gputopo.version import __version__


def script(keep: Iterable[str] = (), timeout: float = 10.0) -> str:
    """The text; `keep` as for `gputopo collect --keep`, `timeout` for each command."""
    kept = set(KINDS) if "all" in keep else set(keep)
    words = " ".join(kind for kind in KINDS if kind in kept)
    seconds = str(max(1, round(timeout)))
    return BODY.replace("@VERSION@", __version__).replace("@KEEP@", words).replace("@TIMEOUT@", seconds)
