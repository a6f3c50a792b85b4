"""GT390 gres-conf

What it says
    A line of Slurm's gres.conf with which slurmd does not start or which it leaves out, or that does not fit the node
    beside it: a device that is not there, cores that are no whole socket, a Type that AutoDetect does not find.

Why it matters
    slurmd ends, or the node reports fewer GPUs than slurm.conf names: slurmctld sets it invalid and drains it.

What to do
    As the message says. `slurmd -G` prints on the node what slurmd makes of the file; give its output to `gputopo lint`
    with evidence of the node beside it.

When it is silent
    slurm.conf is not read: whether GresTypes lists the name, and how many devices it counts, is not judged. Cores need
    a node whose sockets are known; where the threads of a core are not, only what is wrong with any number of them.
    SlurmdParameters may make NUMA nodes or L3 caches sockets: where the cores would fit that it is a warning.

Example
    >>> from gputopo.parsers.gres_conf import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [own] = read("Name=gpu Type=h100 File=/dev/nvidia[0-7] Count=4 Core=0-55")
    >>> for found in check(own, Context()):
    ...     print(found.place.line, found.place.column, found.message, "|", found.remedy)
    1 50 slurmd does not start: unknown key Core | Cores
    1 48 slurmd does not start: Count is 4, File names 8 devices | leave Count out

Source: SchedMD/slurm 284c3b9 (2026-08-20), src/interfaces/gres.c, src/common/parse_config.c, doc/man/man5/gres.conf.5.
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.manifests import gres_cores, gres_node, gres_together
from gputopo.rules.manifests.gres_records import (
    CONF,
    DETECTORS,
    FIRST,
    KEYS,
    PRINTED,
    Fault,
    Line,
    Pair,
    Record,
    at_key,
    at_value,
    detector,
    lines,
    may_stand_elsewhere,
    records,
)
from gputopo.rules.manifests.problem import Context, Problem
from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.hostlist import expand
from gputopo.terms.manifest import Manifest

CODE = "GT390"
SEVERITY = "error"
KINDS = (CONF, PRINTED)
_STOPS = "slurmd does not start"
_SHARED = ("mps", "shard")
_OF_GPUS = ("nvidia_gpu_env", "amd_gpu_env", "intel_gpu_env", "opencl_env")
_FLAGS = ("CountOnly", "env_uuid", "explicit", "one_sharing", "all_sharing", "no_gpu_env", *_OF_GPUS)
_SUFFIXES = {"": 1, **{f"{letter}{end}": (1000 if end == "b" else 1024) ** power
                       for power, letter in enumerate("kmgtp", 1) for end in ("", "ib", "b")}}  # fmt: skip


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    for fault in _faults(manifest, context):
        yield fault.problem(CODE, manifest)


def _faults(manifest: Manifest, context: Context) -> Iterator[Fault]:
    found = records(manifest)
    if manifest.kind == CONF:
        broken: set[int] = set()  # lines whose rest is not read: what is missing may stand there
        for line in lines(manifest):
            faults = list(_of_line(line))
            broken |= {line.number for fault in faults if fault.severity == SEVERITY}
            yield from faults
        for record in found:
            yield from _of_record(record, record.line.number in broken or may_stand_elsewhere(manifest))
        if not manifest.object.body.get("embedded"):
            yield from gres_together.faults([one for one in found if one.line.number not in broken], lines(manifest))
    if context.node is not None:
        own = gres_node.of_node(found, context.node)
        yield from gres_node.faults(own, context.node)
        yield from gres_cores.faults(own, gres_node.detections_of(manifest, context.node), context.node)


def _of_line(line: Line) -> Iterator[Fault]:
    first = line.first
    if first is None:
        yield _left_over(line)
        return
    if first.key == "autodetect":
        yield from _detector(first)
        if len(line.pairs) > 1 or line.rest is not None:
            because = "AutoDetect stands alone on its line, or behind NodeName"
            after = line.pairs[1] if len(line.pairs) > 1 else None
            said = f"{_STOPS}: {after.name if after else ''} is left over"
            fault = _left_over(line) if after is None else at_key(SEVERITY, after, said)
            yield fault._replace(because=because, remedy="two lines, or NodeName= before AutoDetect")
        return
    if first.key not in ("name", "nodename"):
        yield _unknown(first, (*KEYS, "NodeName"))
        return
    yield from _of_keys(line)


def _left_over(line: Line) -> Fault:
    rest = line.rest or ""
    shown = rest if len(rest) <= 40 else rest[:37] + "..."
    return Fault(SEVERITY, ("lines", line.number, "rest"), "", f"{_STOPS}: {shown!r} is no KEY=VALUE")


def _unknown(pair: Pair, known: tuple[str, ...]) -> Fault:
    if pair.name.lower() in (key.lower() for key in known):
        return at_key(SEVERITY, pair, f"{_STOPS}: a line begins with {' or '.join(FIRST[1:])}, not with {pair.name}")
    return at_key(SEVERITY, pair, f"{_STOPS}: unknown key {pair.name}", "", _nearest(pair.name, known))


def _nearest(word: str, known: tuple[str, ...]) -> str:
    from difflib import get_close_matches

    lower = {key.lower(): key for key in known}
    near = get_close_matches(word.lower(), sorted(lower), 1, 0.6)
    return lower[near[0]] if near else ""


def _of_keys(line: Line) -> Iterator[Fault]:
    """Behind Name or NodeName. From an unknown key on slurmd reads nothing more of the line."""
    seen = {"name"} if line.pairs[0].key == "name" else set()
    for pair in line.pairs[1:]:
        if pair.key == "nodename":
            yield at_key(SEVERITY, pair, f"{_STOPS}: NodeName stands first on its line", "", "NodeName=… Name=…")
            return
        if pair.key not in (key.lower() for key in KEYS):
            yield _unknown(pair, KEYS)
            return
        if pair.key in seen:
            yield at_key("warning", pair, f"{pair.name} stands twice; one of them is not read")
        seen.add(pair.key)
        if pair.key == "autodetect":
            yield from _detector(pair)
            if line.pairs[0].key == "name":
                message = "AutoDetect behind Name has no effect"
                yield at_key("warning", pair, message, "", "a line of its own, or NodeName= first")
    if line.rest is not None:
        yield _left_over(line)
    elif line.pairs[0].key == "nodename" and not seen & {"name", "autodetect"}:
        yield at_key(SEVERITY, line.pairs[0], "slurmd leaves the line out: it has no Name", "", "Name=gpu")


def _detector(pair: Pair) -> Iterator[Fault]:
    if not detector(pair.value):
        known = (*DETECTORS, "off")
        remedy = _nearest(pair.value, known) or f"one of {', '.join(known)}"
        yield at_value(SEVERITY, pair, f"slurmd knows no AutoDetect={pair.value} and detects nothing", "", remedy)


def _of_record(record: Record, elsewhere: bool) -> Iterator[Fault]:
    file, many = record.get("file"), record.get("multiplefiles")
    for pair in (file, many):
        if pair is not None:
            yield from _hostlist(pair)
    if file is not None and many is not None:
        yield at_key(SEVERITY, many, f"{_STOPS}: File and MultipleFiles exclude one another")
    elif many is not None and record.files is not None and len(record.files) == 1:
        yield at_value(SEVERITY, many, f"{_STOPS}: MultipleFiles names one file", "", f"File={many.value}")
    count, flags, cores = record.get("count"), record.get("flags"), record.get("cores")
    if count is not None:
        yield from _count(record, count)
    if flags is not None:
        yield from _flags(flags)
    if cores is not None and CpuSet.parse_list(cores.value) is None and ":" not in cores.value:
        yield at_value(SEVERITY, cores, f"Cores={cores.value} is no list of core numbers", "", "as 0-15,32-47")
    name = record.get("name")
    if record.is_gpu and not record.has_file and record.undetected and not elsewhere and name is not None:
        message = "slurmd drops this record: a GPU without File, and nothing detects it"
        yield at_value(SEVERITY, name, message, "", "File=/dev/nvidia[0-7], or AutoDetect=nvml on a line of its own")


def _hostlist(pair: Pair) -> Iterator[Fault]:
    try:
        expand(pair.value)
    except ValueError as error:
        yield at_value(SEVERITY, pair, f"{_STOPS}: it cannot parse {pair.name}={pair.value}", f"{error}")


def _count(record: Record, count: Pair) -> Iterator[Fault]:
    digits = len(count.value) - len(count.value.lstrip("0123456789"))
    factor = _SUFFIXES.get(count.value[digits:].lower())
    if not digits or digits > 18 or factor is None:
        yield at_value(SEVERITY, count, f"{_STOPS}: invalid count {count.value}", "", "a number, with K, M, G, T or P")
        return
    number = int(count.value[:digits]) * factor
    devices = 1 if record.get("file") is None else len(record.files or ())
    if record.has_file and record.files and number != devices and record.name not in _SHARED:
        of = "MultipleFiles is one device" if record.get("file") is None else f"File names {devices} devices"
        yield at_value(SEVERITY, count, f"{_STOPS}: Count is {count.value}, {of}", "", "leave Count out")


def _flags(flags: Pair) -> Iterator[Fault]:
    words = [word.strip().lower() for word in flags.value.split(",")]
    for word in words:
        if word and not any(known.lower() in word for known in _FLAGS):
            message = f"Flags={word} has no effect: slurmd knows no such flag"
            column = flags.value.lower().find(word) + 1
            yield at_value("warning", flags, message, "", _nearest(word, _FLAGS), column)
    if "no_gpu_env" in flags.value.lower() and any(known in word for known in _OF_GPUS for word in words):
        yield at_value(SEVERITY, flags, f"{_STOPS}: no_gpu_env excludes the other flags of the environment")
