"""The machines we ship as samples: `sample:NAME` on the command line, `samples/` in the repository.

>>> "hgx-h100" in sample_names()
True
>>> [path.rsplit("/", 1)[1] for path in sample_paths("hgx-h100")]
['topo.txt', 'lscpu.txt']
>>> sample_paths("hgx-h10")
Traceback (most recent call last):
gputopo.errors.GputopoError: no such sample (sample:hgx-h10)
hint: did you mean hgx-h100, hgx-b200, dgx-a100? `gputopo formats --samples` lists all
"""

from __future__ import annotations

import os

from gputopo.errors import GputopoError

_KIND = "nvidia-smi-topo"
# What a reader is given of a sample, in this order; the other files of the folder are about it.
_EVIDENCE = ("topo.txt", "lscpu.txt")


def sample_names() -> tuple[str, ...]:
    """Names of the shipped samples, sorted; empty where neither place has any."""
    return tuple(sorted(_folders()))


def sample_paths(name: str) -> tuple[str, ...]:
    """The files of one sample that are evidence. Raises GputopoError for a name that is none."""
    folder = _folders().get(name)
    if folder is None:
        raise GputopoError("no such sample", f"sample:{name}", _nearest(name))
    paths = (os.path.join(folder, file) for file in _EVIDENCE)
    return tuple(path for path in paths if os.path.isfile(path))


def _folders() -> dict[str, str]:
    """Name → folder. A wheel has the samples inside the package, a checkout beside it."""
    package = os.path.dirname(os.path.abspath(__file__))
    for home in (os.path.join(package, "samples"), os.path.join(os.path.dirname(package), "samples")):
        kind = os.path.join(home, _KIND)
        try:
            entries = os.listdir(kind)
        except OSError:
            continue
        found = {entry: os.path.join(kind, entry) for entry in entries}
        return {name: path for name, path in found.items() if os.path.isfile(os.path.join(path, "topo.txt"))}
    return {}


def _nearest(name: str) -> str:
    from difflib import get_close_matches

    names = sample_names()
    close = get_close_matches(name, names, n=3, cutoff=0.5) or [other for other in names if name and name in other]
    meant = f"did you mean {', '.join(close)}? " if close else ""
    return f"{meant}`gputopo formats --samples` lists all" if names else "this installation has no samples"
