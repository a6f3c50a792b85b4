"""The processes that compute on GPUs: the container each is in, and what it may use and does.

The driver's list (evidence/nvml/processes.py), or who has device files open (open_devices.py), has ids of processes;
of each, below a tree of /proc:

    PID/cgroup      pod and container (proc_cgroup.py), and the group whose CPU set is looked up below the root
    PID/status      Cpus_allowed_list, Mems_allowed_list: of the process, which may have narrowed its own
    PID/environ     NVIDIA_VISIBLE_DEVICES as it was when the program started; nothing else of it is kept
    PID/numa_maps   where its memory is

    >>> class Proc(dict):
    ...     def read(self, path): return self.get(path)
    ...     def names(self, path): return tuple(key for key in self if key.startswith(f"{path}/")) or None
    >>> listed = '{"gputopo": "gpu-processes", "gpus": [{"index": 0, "uuid": "GPU-a", "processes": [{"pid": 7}]}]}'
    >>> [process] = holdings(listed, Proc({"7/status": b"Cpus_allowed_list:\\t0-3\\n"}), None).containers
    >>> process.pids, str(process.cpus_allowed), [(one.id, one.by) for one in process.devices]
    ((7,), '0-3', [('GPU-a', 'process')])

Processes of one container are one holding. A container without a process on a GPU is not in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol

from gputopo.holdings import ContainerHolding, DeviceHeld, HoldingRecords, MemoryHeld
from gputopo.parsers import numa_maps
from gputopo.parsers.cgroup_cpuset import CPUS, MEMS, allowed, group_of, mounts_of
from gputopo.parsers.open_devices import Tree as OpenTree
from gputopo.parsers.open_devices import devices_of
from gputopo.parsers.proc_cgroup import Place, place_of_process
from gputopo.parsers.told_devices import VISIBLE, of_variable
from gputopo.parsers.unreadable import Unreadable
from gputopo.records import Gap, Observation
from gputopo.terms.cpu_set import CpuSet

FORMAT = "gpu-processes"
_VISIBLE = f"{VISIBLE}=".encode()
_HIGHEST_PID = 1 << 22  # PID_MAX_LIMIT of 64-bit kernels
_CUT = 1 << 20  # bytes: what a tree of a capture hands out of one file
_ROOT_MAY = "as root"


class Tree(Protocol):
    def read(self, path: str) -> bytes | None: ...
    def names(self, path: str) -> tuple[str, ...] | None: ...


class _Process(NamedTuple):
    pid: int
    place: Place
    cpus: CpuSet | None  # of the process
    group_cpus: CpuSet | None  # of its control group
    mems: CpuSet | None
    visible: tuple[str, ...] | None
    pages: tuple[MemoryHeld, ...] | None


def holdings(listed: str, proc: Tree, root: Tree | None) -> HoldingRecords:
    """`proc` has a folder for each process, `root` the control groups' files. Raises Unreadable."""
    gaps: list[Gap] = []
    return _holdings(_devices(_gpus(listed), gaps), proc, root, gaps)


def of_open_devices(proc: OpenTree, root: Tree | None) -> HoldingRecords:
    """Of a saved /proc, which no driver tells anything of: processes with GPUs' device files open."""
    return _holdings(devices_of(proc), proc, root, [])


def _holdings(
    devices: dict[int, tuple[DeviceHeld, ...]], proc: Tree, root: Tree | None, gaps: list[Gap]
) -> HoldingRecords:  # fmt: skip
    there = {pid: proc.names(str(pid)) is not None for pid in devices}
    gone = tuple(str(pid) for pid, found in there.items() if not found)
    if gone:
        reason = "not in this /proc: ended, or of another PID namespace"
        gaps.append(Gap(gone, "container", reason, "--proc /host/proc"))
    mounts = _mounts(proc) if root is not None else (None, None)
    processes = [_process(pid, proc, root, mounts) for pid, found in there.items() if found]
    gaps += _unread(processes)
    groups: dict[object, list[_Process]] = {}
    for one in processes:
        groups.setdefault(one.place.container or one.pid, []).append(one)
    containers = [_container(group, devices) for group in groups.values()]
    containers += [ContainerHolding(devices=devices[int(pid)], pids=(int(pid),)) for pid in gone]
    return HoldingRecords(
        FORMAT, containers=tuple(containers), gaps=tuple(gaps), observations=tuple(_narrowed(groups.values()))
    )


def _gpus(listed: str) -> list[Any]:
    try:
        body = json.loads(listed)
    except (ValueError, RecursionError):
        raise Unreadable("not the driver's list of processes") from None
    gpus = body.get("gpus") if isinstance(body, dict) and body.get("gputopo") == FORMAT else None
    if not isinstance(gpus, list):
        raise Unreadable("not the driver's list of processes")
    return [gpu for gpu in gpus if isinstance(gpu, dict)]


def _devices(gpus: Iterable[dict[str, Any]], gaps: list[Gap]) -> dict[int, tuple[DeviceHeld, ...]]:
    """Process id → what it computes on; of a GPU in MIG mode the MIG device, where the driver says which."""
    found: dict[int, dict[DeviceHeld, None]] = {}
    for gpu in gpus:
        device = _device(gpu, "uuid")
        on_mig: set[int] = set()
        for part in gpu["mig"] if isinstance(gpu.get("mig"), list) else ():
            held = _device(part, "mig") if isinstance(part, dict) else None
            for pid in _pids(part, "processes", gaps) if held else ():
                on_mig.add(pid)
                found.setdefault(pid, {})[held] = None  # type: ignore[index]
        for pid in dict.fromkeys((*_pids(gpu, "processes", gaps), *_pids(gpu, "mps", []))):
            if device is not None and pid not in on_mig:
                found.setdefault(pid, {})[device] = None
    return {pid: tuple(found[pid]) for pid in sorted(found)}


def _device(said: dict[str, Any], space: str) -> DeviceHeld | None:
    uuid, index = said.get("uuid"), said.get("index")
    if isinstance(uuid, str) and uuid:
        return DeviceHeld("", uuid, space, by="process")
    if isinstance(index, int) and space == "uuid":
        return DeviceHeld("", str(index), "index", by="process")
    return None


def _pids(said: dict[str, Any], key: str, gaps: list[Gap]) -> Iterator[int]:
    listed = said.get(key)
    if isinstance(listed, dict):
        name = said.get("uuid") if isinstance(said.get("uuid"), str) else f"GPU{said.get('index')}"
        gaps.append(Gap((str(name),), "processes", f"the driver does not list them (error {listed.get('error')})"))
    for one in listed if isinstance(listed, list) else ():
        pid = one.get("pid") if isinstance(one, dict) else None
        if isinstance(pid, int) and not isinstance(pid, bool) and 0 < pid <= _HIGHEST_PID:
            yield pid


def _mounts(proc: Tree) -> tuple[str | None, str | None]:
    """The first process sees the mounts of the root folder; ours, if it hides its own."""
    text = next((found for pid in ("1", "self") if (found := _text(proc, f"{pid}/mounts"))), "")
    first, second = mounts_of(text)
    return first or (None if second else "sys/fs/cgroup/cpuset"), second or (None if first else "sys/fs/cgroup")


def _text(tree: Tree, path: str) -> str:
    return (tree.read(path) or b"").decode("utf-8", "replace")


def _process(pid: int, proc: Tree, root: Tree | None, mounts: tuple[str | None, str | None]) -> _Process:
    cgroup = _text(proc, f"{pid}/cgroup")
    status = dict(line.partition(":")[::2] for line in _text(proc, f"{pid}/status").splitlines())
    groups = group_of(cgroup, None)
    group_cpus = allowed(root, mounts, groups, CPUS) if root is not None else None
    group_mems = allowed(root, mounts, groups, MEMS) if root is not None else None
    own_mems = _set(status, "Mems_allowed_list")
    maps = proc.read(f"{pid}/numa_maps")
    return _Process(
        pid,
        place_of_process(cgroup),
        _set(status, "Cpus_allowed_list"),
        group_cpus,
        group_mems if own_mems is None else own_mems,
        _visible(proc.read(f"{pid}/environ")),
        None if not maps or len(maps) == _CUT else numa_maps.read(maps.decode("utf-8", "replace")),
    )


def _set(status: dict[str, str], key: str) -> CpuSet | None:
    return CpuSet.parse_list(status[key]) if status.get(key, "").strip() else None


def _visible(environ: bytes | None) -> tuple[str, ...] | None:
    """The first of two is what a program sees."""
    values = (word[len(_VISIBLE) :] for word in (environ or b"").split(b"\0") if word.startswith(_VISIBLE))
    value = next(values, None)
    return None if value is None else tuple(value.decode("utf-8", "replace").split(","))


def _container(processes: list[_Process], devices: dict[int, tuple[DeviceHeld, ...]]) -> ContainerHolding:
    """What its processes do together. Its CPUs are the group's; those of a process may be the program's own choice."""
    place = processes[0].place
    own = _union(one.cpus for one in processes)
    group = _union(one.group_cpus for one in processes) if place.container else None
    mems = _union(one.mems for one in processes)
    told = [one.visible for one in processes if one.visible is not None]
    visible = tuple(dict.fromkeys(word for words in told for word in words)) if told else None
    held = [device for one in processes for device in devices[one.pid]]
    if visible and place.container and any(one.by == "open" for one in held):
        held += [DeviceHeld("gpu", *named, by="env") for word in visible for named in of_variable(VISIBLE, word)]
    return ContainerHolding(
        uid=place.pod,
        container_id=place.container,
        devices=tuple(dict.fromkeys(held)),
        cpus_allowed=own if group is None else group,
        mems_allowed=None if mems is None else tuple(mems),
        pages=_sum(one.pages for one in processes),
        visible=visible,
        pids=tuple(one.pid for one in processes),
        running=True,
    )


def _union(sets: Iterable[CpuSet | None]) -> CpuSet | None:
    known = [one for one in sets if one is not None]
    mask = 0
    for one in known:
        mask |= one.mask
    return CpuSet(mask) if known else None


def _sum(blocks: Iterable[tuple[MemoryHeld, ...] | None]) -> tuple[MemoryHeld, ...] | None:
    """Pages that processes share are counted in each of them."""
    known = [one for one in blocks if one is not None]
    found: dict[tuple[str, tuple[int, ...]], int] = {}
    for block in (block for one in known for block in one):
        key = (block.kind, block.numa_nodes)
        found[key] = found.get(key, 0) + block.size
    return tuple(MemoryHeld(*key, size) for key, size in sorted(found.items())) if known else None


def _unread(processes: Iterable[_Process]) -> Iterator[Gap]:
    """One gap an attribute: as a rule it is the same right that lacks for all."""
    processes = tuple(processes)
    for attribute, unread in (
        ("pages", [one.pid for one in processes if one.pages is None]),
        ("cpusAllowed", [one.pid for one in processes if one.cpus is None and one.group_cpus is None]),
    ):
        if unread:
            reason = f"of {len(unread)} of {len(processes)} processes it cannot be read"
            yield Gap(tuple(map(str, unread)), attribute, reason, _ROOT_MAY)


def _narrowed(groups: Iterable[list[_Process]]) -> Iterator[Observation]:
    for processes in groups:
        for one in processes:
            if one.place.container and one.cpus and one.group_cpus and not one.group_cpus <= one.cpus:
                text = f"process {one.pid} runs on CPUs {one.cpus} of {one.group_cpus}"
                yield Observation("process-affinity", (str(one.pid),), text)
