"""The CPUs that the process which read or captured the tree may use.

`/proc/self/status` says it outright. Captures by hwloc have only its cpuset: the group is in
`/proc/self/cgroup` (v1 `7:cpuset:/user`, v2 `0::/user.slice/…`) or, on old kernels,
`/proc/self/cpuset`; the files lie below the mount that `/proc/mounts` names, which may be outside
`sys/` (`/dev/cpuset`, `/cgroup/unified`).

    >>> group_of("11:memory:/\\n7:cpuset:/user\\n0::/x\\n", None)
    ('/user', '/x')
    >>> mounts_of("none /dev/cpuset cgroup rw,cpuset,noprefix 0 0\\ncgroup2 /sys/fs/cgroup cgroup2 rw 0 0\\n")
    ('dev/cpuset', 'sys/fs/cgroup')
"""

from __future__ import annotations

from gputopo.parsers.sysfs_root.read import Tree, cpu_list, line, text
from gputopo.terms.cpu_set import CpuSet

_V1_FILES = ("cpuset.effective_cpus", "effective_cpus", "cpuset.cpus", "cpus")
_V2_FILES = ("cpuset.cpus.effective",)


def allowed_cpus(tree: Tree, online: CpuSet | None) -> CpuSet | None:
    """`None` where nothing says it."""
    said = _status(tree)
    if said is None:
        said = _cpuset(tree, online)
    if said is None:
        return None
    return said if online is None else said & online


def _status(tree: Tree) -> CpuSet | None:
    for row in (text(tree, "proc/self/status") or "").splitlines():
        key, _, value = row.partition(":")
        if key == "Cpus_allowed_list" and value.strip():
            return CpuSet.parse_list(value)
    return None


def _cpuset(tree: Tree, online: CpuSet | None) -> CpuSet | None:
    first, second = group_of(text(tree, "proc/self/cgroup") or "", line(tree, "proc/self/cpuset"))
    mounts = text(tree, "proc/mounts") or text(tree, "proc/self/mounts") or ""
    mount_v1, mount_v2 = mounts_of(mounts)
    for group, mount, files in ((first, mount_v1, _V1_FILES), (second, mount_v2, _V2_FILES)):
        if group is not None and mount is not None:
            found = _nearest(tree, mount, group, files)
            if found is not None:
                return found
    if line(tree, "proc/self/cpuset") == "/":  # the root cpuset holds every CPU
        return online
    return None


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


def _nearest(tree: Tree, mount: str, group: str, files: tuple[str, ...]) -> CpuSet | None:
    """The group's own file, or that of the nearest group above where the controller is on."""
    parts = [part for part in group.split("/") if part]
    if ".." in parts:  # outside of the reader's cgroup namespace
        return None
    for depth in range(len(parts), -1, -1):
        folder = "/".join([mount, *parts[:depth]])
        for name in files:
            found = cpu_list(tree, f"{folder}/{name}")
            if found:
                return found
    return None
