"""Where the NVIDIA driver's library is: libnvidia-ml.so.1.

The driver of a node is not always where the loader looks: the GPU operator's driver container keeps its root at
/run/nvidia/driver, GKE installs below /home/kubernetes/bin/nvidia and mounts that to /usr/local/nvidia of a pod,
WSL has /usr/lib/wsl/lib, and in a DaemonSet the whole host lies below /host.

    >>> driver_paths("")[:3]
    ('run/nvidia/driver/usr/lib64', 'run/nvidia/driver/usr/lib/x86_64-linux-gnu', 'run/nvidia/driver/usr/lib/aarch64-linux-gnu')
"""  # noqa: E501

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator

from gputopo.evidence.tree import FolderTree

LIBRARY = "libnvidia-ml.so.1"
ROOTS = ("run/nvidia/driver", "home/kubernetes/bin/nvidia", "usr/local/nvidia", "")
_FOLDERS = ("usr/lib64", "usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib", "lib64", "usr/lib/wsl/lib")


def libraries(root: str = "/", driver_root: str | None = None) -> tuple[str, ...]:
    """What to hand to dlopen, in order: a bare name is the loader's own search.

    A driver root that the user names is taken at his word: no other driver is tried after it.
    """
    if driver_root is not None:
        return tuple(_found((driver_root,)))
    return (LIBRARY, *_found(dict.fromkeys((root, "/"))))


def driver_paths(below: str) -> tuple[str, ...]:
    """Folders below a root in which the library may lie; the root itself last."""
    return (*(os.path.join(top, folder) for top in ROOTS for folder in _FOLDERS), below)


def _found(roots: Iterable[str]) -> Iterator[str]:
    """The libraries that are there, each file once. Links are followed inside their root."""
    seen = set()
    for root in roots:
        tree = FolderTree(root)
        for folder in driver_paths(""):
            place = tree.resolve(f"{folder}/{LIBRARY}" if folder else LIBRARY)
            path = f"{tree.root}/{place}" if place is not None else ""
            if path and path not in seen and _is_file(path):
                seen.add(path)
                yield path


def _is_file(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False
