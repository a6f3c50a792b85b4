"""The CPUs that the process which read or captured the tree may use.

`/proc/self/status` says it outright. Captures by hwloc have only its cpuset (cgroup_cpuset.py).
"""

from __future__ import annotations

from gputopo.parsers.cgroup_cpuset import CPUS, allowed, group_of, mounts_of
from gputopo.parsers.sysfs_root.read import Tree, line, text
from gputopo.terms.cpu_set import CpuSet


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
    groups = group_of(text(tree, "proc/self/cgroup") or "", line(tree, "proc/self/cpuset"))
    mounts = mounts_of(text(tree, "proc/mounts") or text(tree, "proc/self/mounts") or "")
    found = allowed(tree, mounts, groups, CPUS)
    if found is None and line(tree, "proc/self/cpuset") == "/":  # the root cpuset holds every CPU
        return online
    return found
