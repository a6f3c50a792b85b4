"""What a print says of a process or its machine, whatever communicator it sets up: settings, network, warnings.

>>> from gputopo.nccl_records import Speaker
>>> from gputopo.parsers.nccl_log.gathered import Process
>>> process = Process(Speaker("node-a", 7), 1, Room())
>>> for text in ("NCCL_P2P_LEVEL set by environment to SYS", "NCCL version 2.26.2+cuda12.4",
...              "NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/IB [RO]; OOB eth0:192.0.2.10<0>",
...              "NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'",
...              "GPU Direct RDMA Disabled for GPU ca000 / HCA 0 (distance 7 > 4)"):
...     hear(process, text.split()[0].partition("/")[0], text, 1)
>>> process.versions, [(one.name, one.value) for one in process.env.values()]
({'2.26.2': '12.4'}, [('NCCL_P2P_LEVEL', 'SYS')])
>>> [(one.name, one.net, one.link_layer, one.gdr) for one in process.devices.values()]
[('mlx5_0', 'IB', 'RoCE', False), ('mlx5_1', 'IB', 'IB', None)]
>>> [(one.gpu, one.distance, one.limit) for one in process.gdr.values()]
[('ca000', 7, 4)]
>>> warn(process, "graph/xml.h:356", "Error : too many XML nodes (max 256)", 9)
>>> process.xml_limit, [(one.kind, one.fatal) for one in process.warnings.values()]
(256, [('xml-limit', True)])
"""

from __future__ import annotations

import re
from typing import TypeVar

from gputopo.nccl_records import (
    AffinityRecord,
    DeniedPairRecord,
    EnvRecord,
    FabricStateRecord,
    GdrDistanceRecord,
    NetDeviceRecord,
    WarningRecord,
)
from gputopo.parsers.nccl_log.gathered import Process, Room
from gputopo.parsers.nccl_log.system import bus_id
from gputopo.terms.pci_address import PciAddress

DEVICES_MOST = 256  # network devices of one process
VERSIONS_MOST = 8  # that prints without a process name
TEXT_MOST = 400  # characters kept of a warning or a value
_VERSION = re.compile(r"NCCL version (\d+\.\d+(?:\.\d+)?)[\w.-]*(?:\+cuda([\d.]+\d))?")
_ENV = re.compile(r"\b([A-Z][A-Z0-9_]{2,63}) set by environment to (.*)")
_USING = re.compile(r"\[(\d+)\]([\w.+-]{1,100}?):(\d+)(?:/(\w+))?(?:/\w+)*")
_CAPABILITY = re.compile(r"NET/([^:]{1,40}?) : GPU Direct RDMA (Enabled|Disabled) for HCA (\d+) '([^']{1,100})'")
_DISTANCE = re.compile(
    r"GPU Direct RDMA (Enabled|Disabled) for (?:GPU ([\w/-]{1,40}) / HCA (\w{1,16})"
    r"|(GPU/[\w-]{1,40}) \(rank \d+\) - (NET/[\w-]{1,40})) \(.{0,80}?distance (\d+) (?:>|<=) (\d+)"
)
_FILLED = re.compile(r"Filled ([\w.+-]{1,100}) in topo with pciPath=\S*/([0-9a-fA-F:.]{7,16})\b")
_DENIED = re.compile(
    r"P2P (not supported between GPU(\d+) and GPU(\d+)|is disabled between connected GPUs (\d+) and (\d+))"
)
_AFFINITY = re.compile(r"Setting affinity for GPU (\d+) to ([0-9a-fA-F,]{1,400})")
_FABRIC = re.compile(
    r"MNNVL busId 0x([0-9a-f]+) fabric UUID ([0-9a-f.]+) cliqueId 0x([0-9a-f]+) state (\d+) healthMask (0x[0-9a-f]+)"
)
_NVLINK_DENIED = re.compile(r"P2P is disabled between NVLINK connected GPUs (\d+) and (\d+)")
_MISSING = re.compile(r"Could not find real path of \S*?/([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])\b")
_XML_LIMIT = re.compile(r"too many XML nodes \(max (\d+)\)")
_SHM_SIZE = re.compile(r"(?:shared memory segment|failed to extend) .{0,200}?(?:\(size |to )(\d+)")
# kind, whether NCCL gives up after it, words of which one is in it. The first that fits.
_KINDS: tuple[tuple[str, bool, tuple[str, ...]], ...] = (
    ("nvlink-p2p", True, ("P2P is disabled between NVLINK connected",)),
    ("shm", True, ("posix_fallocate failed", "shared memory segment", "Error: failed to extend",
                   "Call to shm_open failed", "shared memory file")),
    ("xml-limit", True, ("too many XML nodes",)),
    ("imex", True, ("is available but not working on this system",)),
    ("internal", True, ("ncclInternalError", "internal error")),
    ("missing-device", False, ("Could not find real path of",)),
    ("cuda", False, ("Cuda failure", "CUDA failure")),
    ("net", False, ("NET/", "ibv_", "Net : ", "socket", "Connect to")),
)  # fmt: skip
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


def hear(process: Process, word: str, text: str, line: int) -> None:
    """One INFO print; `word` is its first word, or what stands before `/` in it."""
    if word == "NET":
        _net(process, text, line)
    elif word == "GPU":
        _distance(process, text, line)
    elif word == "Using" and text.startswith("Using network "):
        process.network = process.network or text[14:].strip()[:40]
    elif word == "NCCL":
        version(process, text)
    elif word == "Setting":
        _affinity(process, text, line)
    elif word == "P2P":
        _denied(process, text, line)
    elif word == "MNNVL":
        _fabric(process, text, line)
    elif word == "cudaDriverVersion":
        _driver(process, text)
    elif word == "ncclTopoPopulateNics":
        _filled(process, text, line)
    elif word == "Failed" and "libibverbs" in text:
        process.libibverbs = True
    elif "set by environment to" in text:
        _env(process, text, line)


def version(process: Process, text: str) -> None:
    """`NCCL version 2.28.9+cuda12.4`, wherever it stands in a text."""
    match = _VERSION.search(text)
    if match is not None and len(process.versions) < VERSIONS_MOST:
        process.versions.setdefault(match[1][:20], match[2])


def _put(room: Room, table: dict[_Key, _Value], key: _Key, value: _Value) -> None:
    if key not in table and room.take(TEXT_MOST):
        table[key] = value


def _env(process: Process, text: str, line: int) -> None:
    match = _ENV.search(text)
    if match is None:
        return
    value = match[2].strip()[:TEXT_MOST]
    if value.endswith(".") and value[:-1].lstrip("-").isdecimal():  # integers end with a full stop
        value = value[:-1]
    _put(process.room, process.env, (match[1], value), EnvRecord(match[1], value, process.speaker, line=line))


def _net(process: Process, text: str, line: int) -> None:
    if (match := _CAPABILITY.search(text)) is not None:
        number, name = int(match[3][:9]), match[4]
        if (device := _device(process, name, match[1], number, line)) is not None:
            process.devices[name, number] = device._replace(gdr=match[2] == "Enabled")
    elif " : Using " in text:
        net = text[4:].partition(" ")[0]
        if net == "IB":
            process.relaxed = "[RO]" in text
        for found in _USING.finditer(text.partition("; OOB")[0]):
            number, name = int(found[1][:9]), found[2]
            if (device := _device(process, name, net, number, line)) is not None:
                layer = found[4] if net == "IB" else None
                process.devices[name, number] = device._replace(port=int(found[3][:9]), link_layer=layer)
    elif "libibverbs" in text and "ailed" in text:
        process.libibverbs = True


def _device(process: Process, name: str, net: str, number: int, line: int) -> NetDeviceRecord | None:
    """The device as it is known so far; None where there is no room for another."""
    if len(process.devices) < DEVICES_MOST:
        _put(process.room, process.devices, (name, number), NetDeviceRecord(name, net, number, line=line))
    return process.devices.get((name, number))


def _distance(process: Process, text: str, line: int) -> None:
    match = _DISTANCE.search(text)
    if match is None:
        return
    gpu, hca = match[2] or match[4], match[3] or match[5]
    distance, limit = int(match[6][:9]), int(match[7][:9])
    record = GdrDistanceRecord(gpu, hca, distance, limit, match[1] == "Enabled", process.speaker, line)
    _put(process.room, process.gdr, (gpu, hca, distance, limit), record)


def _filled(process: Process, text: str, line: int) -> None:
    match = _FILLED.search(text)
    address = PciAddress.parse(match[2]) if match is not None else None
    if match is None or address is None:
        return
    for key, device in process.devices.items():
        if device.name == match[1] and device.pci is None:
            process.devices[key] = device._replace(pci=address)


def _denied(process: Process, text: str, line: int) -> None:
    match = _DENIED.search(text)
    if match is None:
        return
    numbers = "cudaDev" if match[2] else "nvmlDev"
    a, b = (int(one[:9]) for one in match.groups()[1:] if one)
    _put(process.room, process.denied, (numbers, a, b), DeniedPairRecord(a, b, numbers, False, process.speaker, line))


def _affinity(process: Process, text: str, line: int) -> None:
    match = _AFFINITY.search(text)
    if match is not None:
        key = (int(match[1][:9]), match[2])
        _put(process.room, process.affinity, key, AffinityRecord(*key, process.speaker, line))


def _fabric(process: Process, text: str, line: int) -> None:
    match = _FABRIC.search(text)
    if match is not None:
        pci = bus_id(int(match[1][-16:], 16))
        clique, state = int(match[3][-16:], 16), int(match[4][:9])
        record = FabricStateRecord(pci, match[2][:64], clique, state, match[5], process.speaker, line)
        _put(process.room, process.fabric, record[:5], record)


def _driver(process: Process, text: str) -> None:
    """`cudaDriverVersion 12040` is CUDA 12.4."""
    number = text.split()[1:2]
    if number and number[0].isdecimal():
        value = int(number[0][:9])
        process.cuda_driver = f"{value // 1000}.{value % 1000 // 10}"


def warn(process: Process, code: str, text: str, line: int) -> None:
    """One WARN; `code` is file:line of NCCL's source, "" where it is not printed."""
    kind, fatal = next(
        ((kind, fatal) for kind, fatal, words in _KINDS if any(word in text for word in words)), ("", False)
    )
    if code.startswith("transport/nvls.cc"):
        kind = "nvls"
    if kind == "nvlink-p2p" and (match := _NVLINK_DENIED.search(text)) is not None:
        a, b = int(match[1][:9]), int(match[2][:9])
        _put(
            process.room,
            process.denied,
            ("nvmlDev", a, b),
            DeniedPairRecord(a, b, "nvmlDev", True, process.speaker, line),
        )
    elif kind == "shm" and (match := _SHM_SIZE.search(text)) is not None:
        process.shm_bytes = process.shm_bytes or int(match[1][:18])
    elif kind == "xml-limit" and (match := _XML_LIMIT.search(text)) is not None:
        process.xml_limit = int(match[1][:9])
    elif kind == "missing-device" and (match := _MISSING.search(text)) is not None:
        _put(process.room, process.missing, match[1].lower(), line)
    elif "libibverbs" in text:
        process.libibverbs = True
    version(process, text)
    text = text.strip()[:TEXT_MOST]
    _put(process.room, process.warnings, (code, text), WarningRecord(text, code, kind, fatal, process.speaker, line))
