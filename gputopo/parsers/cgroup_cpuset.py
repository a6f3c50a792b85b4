"""Where the CPU set of a control group is: the group in /proc/PID/cgroup, the hierarchy in /proc/mounts.

`7:cpuset:/user` is v1, `0::/user.slice/…` v2; old kernels have /proc/PID/cpuset. The files lie below the mount that
/proc/mounts names, which may be outside `sys/` (`/dev/cpuset`, `/cgroup/unified`).

    >>> group_of("11:memory:/\\n7:cpuset:/user\\n0::/x\\n", None)
    ('/user', '/x')
    >>> mounts_of("none /dev/cpuset cgroup rw,cpuset,noprefix 0 0\\ncgroup2 /sys/fs/cgroup cgroup2 rw 0 0\\n")
    ('dev/cpuset', 'sys/fs/cgroup')
"""

from __future__ import annotations

from typing import Protocol

from gputopo.terms.cpu_set import CpuSet

CPUS = (("cpuset.effective_cpus", "effective_cpus", "cpuset.cpus", "cpus"), ("cpuset.cpus.effective",))  # v1, v2
MEMS = (("cpuset.effective_mems", "effective_mems", "cpuset.mems", "mems"), ("cpuset.mems.effective",))


class Files(Protocol):
    def read(self, path: str) -> bytes | None: ...


def group_of(content: str, cpuset: str | None) -> tuple[str | None, str | None]:
    """The process's group in the v1 cpuset hierarchy and in the unified one."""
    first = second = None
    for row in content.splitlines():
        number, _, rest = row.partition(":")
        controllers, colon, group = rest.partition(":")
        if not colon:
            continue
        if "cpuset" in controllers.split(","):
            first = group
        elif number == "0" and not controllers:
            second = group
    return first if first is not None else cpuset, second if second is not None else cpuset


def mounts_of(content: str) -> tuple[str | None, str | None]:
    """Where the v1 cpuset hierarchy and the unified one are mounted, without the leading slash."""
    first = second = None
    for row in content.splitlines():
        words = row.split()
        if len(words) < 4:
            continue
        place = words[1].replace("\\040", " ").lstrip("/")
        if words[2] == "cpuset" or (words[2] == "cgroup" and "cpuset" in words[3].split(",")):
            first = place
        elif words[2] == "cgroup2":
            second = place
    return first, second


def allowed(
    tree: Files, mounts: tuple[str | None, str | None], groups: tuple[str | None, str | None],
    files: tuple[tuple[str, ...], tuple[str, ...]],
) -> CpuSet | None:  # fmt: skip
    """What the group may use, `files` being those of CPUs or of memory nodes; `None` where no file says it."""
    for mount, group, names in zip(mounts, groups, files):
        if mount is not None and group is not None:
            found = _nearest(tree, mount, group, names)
            if found is not None:
                return found
    return None


def _nearest(tree: Files, mount: str, group: str, names: tuple[str, ...]) -> CpuSet | None:
    """The group's own file, or that of the nearest group above where the controller is on."""
    parts = [part for part in group.split("/") if part]
    if ".." in parts:  # outside of the reader's cgroup namespace
        return None
    for depth in range(len(parts), -1, -1):
        folder = "/".join([mount, *parts[:depth]])
        for name in names:
            data = tree.read(f"{folder}/{name}")
            found = CpuSet.parse_list(data.partition(b"\0")[0].decode("utf-8", "replace")) if data is not None else None
            if found:
                return found
    return None
