"""What is this text? Found by looking at it, never by its name.

A format is a row of `FORMATS`: words of which one must be in the text (a cheap test, so that only
parsers with a chance are loaded), and a module whose `sniff` decides. One text can hold several
formats (an environment report with `lscpu` and `nvidia-smi topo -m`); a JSON document of ours is
one thing whatever it quotes.

    >>> recognise('{"apiVersion": "gputopo/v1alpha1", "kind": "NodeTopology"}')
    ('gputopo-json',)
    >>> recognise("meeting at noon")
    ()
    >>> print(nearest_miss("==============NVSMI LOG=============="))
    this is `nvidia-smi -q`, which this version does not read yet
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from gputopo.errors import GputopoError
from gputopo.parsers.unreadable import Unreadable
from gputopo.records import Gap, NodeRecords

if TYPE_CHECKING:
    from gputopo.evidence.piece import Piece

API_GROUP = '"gputopo/'  # whatever the version: a newer one is refused by name


class Format(NamedTuple):
    id: str
    module: str | None  # in gputopo.parsers, with `sniff` and `parse`; None: read elsewhere
    needles: tuple[str, ...]  # one of these is in every text of this format; () = not a text
    what: str
    tells: str
    cannot: str


FORMATS: tuple[Format, ...] = (
    Format(
        "nvidia-smi-topo",
        "nvidia_smi_topo",
        ("GPU", "topology", "argument", "NVIDIA", "nvidia", "NVML"),
        "nvidia-smi topo -m / -mp, every generation, damaged or inside other text",
        "GPUs, NICs, letters of every pair, NVLink counts, CPU and NUMA affinity",
        "sockets, PCI addresses, PCIe under NV#, CPU lists past 10 characters",
    ),
    Format(
        "nccl-xml",
        "nccl_xml",
        ("<system",),
        "NCCL / RCCL topology XML (NCCL_TOPO_DUMP_FILE, vendors' files)",
        "PCI tree, GPUs with NVLinks, NICs, NUMA nodes, CPU masks, link width",
        "sockets, UUIDs, NVLink state; a vendor's file may be virtual",
    ),
    Format(
        "hwloc-xml",
        "hwloc_xml",
        ("<topology",),
        "lstopo --of xml, hwloc 1.x to 3.x",
        "sockets, NUMA nodes, CPU sets, PCI tree, link speed, device names",
        "NVLink, NVML index, driver",
    ),
    Format(
        "lscpu",
        "lscpu",
        ("NUMA", "CPU(s)", "Socket", '"lscpu"'),
        "lscpu, alone or beside other text",
        "sockets, NUMA nodes, CPUs of each node, CPU model",
        "GPUs, NICs, which node belongs to which socket when SNC/NPS is on",
    ),
    Format(
        "nvml-recording",
        "nvml_recording",
        ('"nvml', "pynvml"),
        "our recording of an NVIDIA driver's answers",
        "GPUs, UUIDs, PCI, NVLinks, P2P, affinity, fabric, MIG, PCIe link",
        "NICs, bridges, sockets",
    ),
    Format(
        "sysfs-root",
        "sysfs_root",
        (),
        "folder or archive with sys/ (and proc/): live /, /host, hwloc-gather-topology",
        "PCI tree, GPUs, NICs, NVMe, NUMA nodes, sockets, CPUs, PCIe links, drivers",
        "NVLink, UUIDs without the driver's proc files, NVML index",
    ),
    Format(
        "gputopo-json",
        None,
        (API_GROUP,),
        "what gputopo inspect -o json prints",
        "everything it was made from, sources included",
        "-",
    ),
)

# Known texts that hold something useful, or that people paste by mistake: (words of which one is
# in the text, what it is, what to do). None of them is read by this version.
_NOT_YET = "this is {}, which this version does not read yet"
MISSES: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("apiVersion: gputopo/",), "gputopo's own YAML", "save it with -o json: JSON can be read back"),
    (("\napiVersion: ", "apiVersion: v1", '"apiVersion": "'), "a Kubernetes object", ""),
    (("Start of NVIDIA bug report",), "an nvidia-bug-report log", ""),
    (("NVSMI LOG", "<nvidia_smi_log>"), "`nvidia-smi -q`", ""),
    (("| NVIDIA-SMI ", "|  GPU   GI   CI", "|    0   N/A  N/A"), "the plain `nvidia-smi` table", ""),
    (("NCCL INFO", "NCCL WARN"), "an NCCL log", ""),
    (("<graphs ",), "an NCCL graph file", "give the topology file (NCCL_TOPO_DUMP_FILE)"),
    ((" Link 0:", " Link 0,"), "`nvidia-smi nvlink`", ""),
    (("ACCESS TABLE:", "WEIGHT TABLE:"), "`amd-smi topology`", ""),
    (("ROCm System Management", "Weight between two GPUs"), "`rocm-smi --showtopo`", ""),
    (("topo -p2p", "CNS", "Chipset not supported"), "`nvidia-smi topo -p2p`", ""),
    (("GPU 0: ",), "`nvidia-smi -L`", ""),
    (("pci.bus_id", "index, name"), "`nvidia-smi --query-gpu`", ""),
    ((" ==> ",), "`ibdev2netdev`", ""),
    (("node distances:", "available: 1 nodes"), "`numactl --hardware`", ""),
    (("-[0000:", "-+-00.0", "+-00.0"), "`lspci -tv`", ""),
    (("LnkCap:", " 3D controller: ", "VGA compatible controller: "), "`lspci`", ""),
)
_ASK = "run `nvidia-smi topo -m` there and give its text, or a folder with its /sys"


def by_id(id: str) -> Format | None:
    return next((row for row in FORMATS if row.id == id), None)


def module_of(row: Format) -> ModuleType:
    """The parser's module, loaded now. Raises KeyError for a format read elsewhere."""
    if row.module is None:
        raise KeyError(row.id)
    return import_module("gputopo.parsers." + row.module)


def recognise(text: str) -> tuple[str, ...]:
    """Ids of every format found in one text, in table order; empty when none is."""
    if is_document(text):
        return ("gputopo-json",)
    return tuple(
        row.id
        for row in FORMATS
        if row.module and any(needle in text for needle in row.needles) and module_of(row).sniff(text)
    )


def is_document(text: str) -> bool:
    """A JSON document of ours: an object whose `apiVersion` says so."""
    return text.lstrip()[:1] == "{" and '"apiVersion"' in text and API_GROUP in text


def why_unreadable(text: str) -> str:
    """Why a text is no evidence, in a few words; "" when it can be read."""
    formats = recognise(text)
    if formats == ("gputopo-json",):
        return ""
    if not formats:
        return nearest_miss(text) or "of no known format"
    try:
        _parse_text(text)
    except Unreadable as error:
        return error.what
    return ""


def parse(piece: Piece, as_format: str | None = None) -> tuple[NodeRecords, ...]:
    """What every parser with a chance says of one piece. Raises GputopoError where none can read it.

    `as_format` forces one parser. A text is UTF-8 (evidence/open.py sees to it).
    """
    try:
        if piece.tree is not None:
            return _parse_tree(piece, as_format)
        text = (piece.data or b"").decode("utf-8", "replace")
        if as_format is not None:
            return tuple(_forced(as_format).parse(text))
        return _parse_text(text)
    except Unreadable as error:
        places = (piece.name, piece.where, f"line {error.line}" if error.line else "")
        raise GputopoError(error.what, ", ".join(place for place in places if place), error.hint) from error


def _parse_tree(piece: Piece, as_format: str | None) -> tuple[NodeRecords, ...]:
    if as_format not in (None, "sysfs-root"):
        raise Unreadable(f"a folder with sys/ is read as sysfs-root, not as {as_format}")
    from gputopo.parsers import sysfs_root

    assert piece.tree is not None
    return tuple(sysfs_root.parse(piece.tree))


def _forced(as_format: str) -> ModuleType:
    row = by_id(as_format)
    if row is None or row.module is None:
        raise Unreadable(f"no parser of that name: {as_format}", hint="gputopo formats")
    if not row.needles:
        raise Unreadable(f"{as_format} is a folder or an archive, not one text")
    return module_of(row)


def _parse_text(text: str) -> tuple[NodeRecords, ...]:
    """All formats of one text. One that fails beside others is a gap, alone it is the answer."""
    found: list[NodeRecords] = []
    failures: list[tuple[str, Unreadable]] = []
    formats = recognise(text)
    for id in formats:
        try:
            found.extend(_forced(id).parse(text))
        except Unreadable as error:
            failures.append((id, error))
    if not found:
        raise failures[0][1] if failures else unrecognised(text)
    gaps = tuple(Gap((), "gpus", f"{id}: {error.what}", error.hint, error.line) for id, error in failures)
    return (found[0]._replace(gaps=found[0].gaps + gaps), *found[1:])


def unrecognised(text: str) -> Unreadable:
    """The error for a text in which nothing is found: what was looked for, and the nearest miss."""
    miss = _miss(text)
    if miss is None:
        ids = ", ".join(row.id for row in FORMATS if row.needles)
        return Unreadable(f"nothing known in this text; looked for {ids}", hint="gputopo formats")
    what, hint = miss
    return Unreadable(what, hint=hint or _ASK)


def nearest_miss(text: str) -> str | None:
    """What the text seems to be, as a sentence, or `None`."""
    miss = _miss(text)
    return miss[0] if miss else None


def _miss(text: str) -> tuple[str, str] | None:
    for words, what, hint in MISSES:
        if any(word in text for word in words):
            if what.startswith("the plain"):
                return f"no topology in this text: it is {what}", "ask for `nvidia-smi topo -m`"
            return _NOT_YET.format(what), hint
    return None
