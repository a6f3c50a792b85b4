"""Slurm's jobs: `scontrol show job -d`, `scontrol show node -d`, `squeue`, and the SLURM_* environment of a job.

    >>> detail = "   Nodes=n[1-2] CPU_IDs=0-7 Mem=1 GRES=gpu:h100:2(IDX:0,3)"
    >>> said = parse("JobId=7 JobName=train\\n   UserId=ann(1000)\\n   JobState=RUNNING\\n" + detail)
    >>> [(one.node, one.containers[0].pod, [held.id for held in one.containers[0].devices]) for one in said]
    [('n1', '7', ['0', '3']), ('n2', '7', ['0', '3'])]
    >>> [one] = parse("SLURM_JOB_ID=7\\nSLURMD_NODENAME=n1\\nSLURM_JOB_GPUS=4,5\\nCUDA_VISIBLE_DEVICES=0,1\\n")
    >>> [(held.id, held.space) for held in one.containers[0].devices]
    [('4', 'gres'), ('5', 'gres')]

IDX and SLURM_JOB_GPUS are places in Slurm's list of the node's GPUs, which AutoDetect puts into PCI bus order; neither
NVML indexes nor numbers of device files (SchedMD/slurm, src/plugins/gres/common/gres_common.c). CUDA_VISIBLE_DEVICES
counts from 0 where a cgroup shows the job its own GPUs only, so it is not read. CPU_IDs are Slurm's own numbers, not
Linux's (man scontrol), so they are no CPU set. `squeue` and a job without IDX say how many, not which.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gputopo.holdings import ContainerHolding, DeviceHeld, HoldingRecords
from gputopo.parsers.json_values import at, items, text, values
from gputopo.parsers.limits import at_most_hits, lines_of
from gputopo.parsers.slurm_gres import Gres, granted
from gputopo.parsers.unreadable import Unreadable
from gputopo.records import Gap
from gputopo.terms.hostlist import expand

FORMAT = "slurm-job"
NAMESPACE = "slurm"
_RECORD = re.compile(r"^[ \t]*(?:JobId|NodeName)=", re.MULTILINE)
_PAIR = re.compile(r"(?:^|\s)([A-Za-z_][\w/:]*)=(\S*)")
_DETAIL = re.compile(r"\bNodes=(\S+)\s+CPU_IDs=(\S*)\s+Mem=\S*\s+GRES(?:_IDX)?=(\S*)")
_NODE = re.compile(r"\bCPUAlloc=\d+\s+CPU(?:Efctv|Tot|Err)=")
_VARIABLE = re.compile(r"""(?:export |declare -x )?(SLURM[A-Z0-9_]*)=["']?([^"'\n]*)""")
_JOB_VARIABLE = re.compile(r"""^(?:export |declare -x )?SLURM_JOB_ID=["']?\d""", re.MULTILINE)
_QUEUE = re.compile(r"^[ \t]*JOBID\b[^\n]*\bNODELIST\b", re.MULTILINE)
_HOLDS = frozenset({
    "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT", "R", "CG", "CF", "S",
    "ST", "SI", "SO",
})  # fmt: skip
_NO_IDX = ("which of the node's GPUs it has is not said", "scontrol show job -d JOB")


def sniff(given: str) -> bool:
    """Whether a text is one of them, or has one in it."""
    if given.lstrip()[:1] == "{":
        return '"gres_detail"' in given and '"jobs"' in given
    if "JobId=" in given and "JobState=" in given:
        return True
    return bool(("NodeName=" in given and _NODE.search(given)) or _JOB_VARIABLE.search(given) or _QUEUE.search(given))


def parse(given: str) -> tuple[HoldingRecords, ...]:
    """One for each node. Raises Unreadable."""
    nodes = _Nodes()
    if given.lstrip()[:1] == "{":
        _jobs_json(given, nodes)
    else:
        lines_of(given)  # its limits
        starts = [match.start() for match in at_most_hits(_RECORD.finditer(given))]
        line, counted = 1, 0
        for begin, end in zip(starts, [*starts[1:], len(given)]):
            line += given.count("\n", counted, begin)
            counted = begin
            _record(given[begin:end], line, nodes)
        _environment(given, nodes)
        _queue(given, nodes)
    if not nodes.seen:
        raise Unreadable("no job or node of Slurm in it", None, "scontrol show job -d, scontrol show node -d")
    return nodes.records()


class _Nodes:
    """What is held, by node."""

    def __init__(self) -> None:
        self.seen = False
        self.held: dict[str, list[ContainerHolding]] = {}
        self.capacity: dict[str, tuple[tuple[str, int], ...]] = {}
        self.gaps: dict[str, list[Gap]] = {}

    def put(self, nodes: str, job: ContainerHolding, gres: Gres) -> None:
        """A job on each node of a hostlist."""
        self.seen = True
        devices = tuple(DeviceHeld(resource, id, "gres") for resource, id in gres.devices)
        one = job._replace(devices=devices or None, requests=gres.counts or None)
        for name in _expanded(nodes):
            self.held.setdefault(name, []).append(one)
            if not devices and gres.counts:
                self.gaps.setdefault(name, []).append(Gap((job.pod or "",), "gpus", *_NO_IDX))

    def records(self) -> tuple[HoldingRecords, ...]:
        names = dict.fromkeys((*self.held, *self.capacity)) or {"": None}
        return tuple(
            HoldingRecords(
                FORMAT, node=name, containers=tuple(self.held.get(name, ())), capacity=self.capacity.get(name),
                gaps=tuple(self.gaps.get(name, ())),
            )
            for name in names
        )  # fmt: skip


def _expanded(nodes: str) -> tuple[str, ...]:
    if nodes in ("", "(null)", "None", "N/A"):
        return ()
    try:
        found = expand(nodes)
    except ValueError as error:
        raise Unreadable(f"a list of nodes that Slurm cannot read: {error}") from None
    if found is None:
        raise Unreadable("a list of more nodes than are read", None, "give the jobs of one node at a time")
    return found


def _record(record: str, line: int, nodes: _Nodes) -> None:
    pairs: dict[str, str] = {}
    for match in _PAIR.finditer(record):
        pairs.setdefault(match[1], match[2])
    if "NodeName" in pairs:
        if "CPUAlloc" in pairs:
            _node(pairs, line, nodes)
        return
    nodes.seen = nodes.seen or "JobState" in pairs
    if pairs.get("JobState", "RUNNING") not in _HOLDS:
        return
    job = _job(pairs["JobId"], pairs.get("JobName", ""), line)
    details = list(_DETAIL.finditer(record))
    for match in details:
        nodes.put(match[1], job, granted(match[3]))
    if not details and pairs.get("NodeList"):
        wanted = pairs.get("TresPerNode") or (pairs.get("AllocTRES", "") if pairs.get("NumNodes", "1") == "1" else "")
        nodes.put(pairs["NodeList"], job, granted(wanted))


def _job(id: str, name: str, line: int | None) -> ContainerHolding:
    return ContainerHolding(NAMESPACE, id, None, name if name not in ("", "(null)") else "job", running=True, line=line)


def _node(pairs: dict[str, str], line: int, nodes: _Nodes) -> None:
    """What of the node is used, by whom it does not say."""
    nodes.seen = True
    name = pairs["NodeName"]
    nodes.capacity[name] = granted(pairs.get("Gres", "")).counts
    used = granted(pairs.get("GresUsed", ""))
    devices = tuple(DeviceHeld(resource, id, "gres", by="used") for resource, id in used.devices)
    if devices:
        one = ContainerHolding(container="GresUsed", devices=devices, running=True, line=line)
        nodes.held.setdefault(name, []).append(one)


def _jobs_json(given: str, nodes: _Nodes) -> None:
    """`scontrol show job --json`: gres_detail has a text for each node, in their order."""
    for line, body in values(given, "what scontrol --json prints"):
        for job in items(body, "jobs"):
            state = at(job, "job_state")
            states = state if isinstance(state, list) else [state]
            if not _HOLDS & {one for one in states if isinstance(one, str)}:
                nodes.seen = True
                continue
            details = [one for one in items(job, "gres_detail") if isinstance(one, str)]
            names = _expanded(text(job, "nodes"))
            own = _job(str(at(job, "job_id")), text(job, "name"), line)
            for place, name in enumerate(names):
                nodes.put(name, own, granted(details[place]) if len(details) == len(names) else Gres((), ()))


def _environment(given: str, nodes: _Nodes) -> None:
    """Blocks of variables: one begins where a name comes again."""
    if not _JOB_VARIABLE.search(given):
        return
    block: dict[str, str] = {}
    for word in given.split("\n"):
        match = _VARIABLE.match(word)
        if match is None:
            continue
        if match[1] in block:
            _of_variables(block, nodes)
            block = {}
        block[match[1]] = match[2].strip()
    _of_variables(block, nodes)


def _of_variables(block: dict[str, str], nodes: _Nodes) -> None:
    id = block.get("SLURM_JOB_ID") or block.get("SLURM_JOBID")
    if not id:
        return
    listed = block.get("SLURM_JOB_GPUS") or block.get("SLURM_STEP_GPUS") or ""
    count = block.get("SLURM_GPUS_ON_NODE", "")
    gres = granted(f"gpu(IDX:{listed})" if listed else f"gpu:{count}" if count else "")
    node = block.get("SLURMD_NODENAME") or block.get("SLURM_JOB_NODELIST", "")
    job = _job(id, block.get("SLURM_JOB_NAME", ""), None)
    if not block.get("SLURMD_NODENAME") and len(_expanded(node)) > 1:
        gres = gres._replace(devices=())  # those of the node where the variables were printed
    nodes.put(node, job, gres)
    if not node:
        nodes.held.setdefault("", []).append(job._replace(devices=tuple(
            DeviceHeld(resource, id, "gres") for resource, id in gres.devices) or None))  # fmt: skip


def _queue(given: str, nodes: _Nodes) -> None:
    """Rows under a header of `squeue`; one whose columns do not fit its header is left out."""
    header = _QUEUE.search(given)
    if header is None:
        return
    nodes.seen = True
    cut = "|" if "|" in header[0] else None
    lines = given[header.start() :].split("\n")
    columns = [_word(one) for one in lines[0].split(cut)]
    for row in _rows(lines[1:], columns, cut):
        state = row.get("ST") or row.get("STATE") or "R"
        places = row.get("NODELIST") or row.get("NODELIST(REASON)") or ""
        if state.upper() in _HOLDS and places and not places.startswith("("):
            wanted = row.get("TRES_PER_NODE") or row.get("GRES") or ""
            nodes.put(places, _job(row["JOBID"], row.get("NAME", ""), None), granted(wanted))


def _rows(lines: Iterable[str], columns: list[str], cut: str | None) -> Iterator[dict[str, str]]:
    if "JOBID" not in columns:  # cut otherwise than it looks
        return
    at = columns.index("JOBID")
    for line in lines:
        words = [_word(one) for one in line.split(cut)]
        if len(words) == len(columns) and words[at][:1].isdigit():
            yield dict(zip(columns, words))


def _word(text: str) -> str:
    return text.strip()
