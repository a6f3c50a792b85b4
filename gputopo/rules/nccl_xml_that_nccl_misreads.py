"""GT015 nccl-xml-that-nccl-misreads

What it says
    An NCCL topology file is readable, but NCCL reads it differently than it looks, or refuses it.

Why it matters
    NCCL trusts such a file (`NCCL_TOPO_FILE`) above the machine. Seen in published files: every NVLink
    pointing at its own GPU (NCCL then finds no NVLink, 12 GB/s), a <pci> with both a <nic> and further
    <pci> (the GPUs below are never visited), link rows that add up to 126 links, an emulated switch at
    2.5 GT/s x1 above a GPU (0.19 GB/s), an XML declaration or version="2" (the file is refused).

What to do
    Make a fresh file on the machine with `NCCL_TOPO_DUMP_FILE=topo.xml`, and compare.

When it is silent
    No source is an NCCL topology file, or it has none of the listed traps. A file can be free of traps
    and describe another machine. Version 2 is information where all GPUs are AMD's: RCCL writes it.

Example
    >>> from gputopo.topology.node import Gpu, NodeTopology, Observed
    >>> seen = Observed("nccl-self-nvlink", ("GPU0",), "target is the GPU's own busid", "s1", 12)
    >>> [finding] = check(NodeTopology(gpus=(Gpu("GPU0"),), observations=(seen,)))
    >>> finding.severity, finding.message
    ('error', 'NCCL finds no NVLink for GPU0: the link targets the GPU itself')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.witness import evidence, observed, subjects
from gputopo.rules.wording import names
from gputopo.topology.node import NodeTopology

CODE = "GT015"
SEVERITY = "warning"

# kind → severity, message, why it matters, remedy. What NCCL does: src/graph/xml.cc, topo.cc.
TRAPS = {
    "nccl-self-nvlink": (
        "error", "NCCL finds no NVLink for {}: the link targets the GPU itself",
        "all pairs are modelled through PCIe or the socket link, an order of magnitude too slow",
        "write the other GPU's busid as target, or dump a fresh file with NCCL_TOPO_DUMP_FILE"),
    "nccl-pci-with-nic-and-children": (
        "error", "NCCL takes {} for a NIC and never visits the devices below it",
        "GPUs below it are lost to NCCL, and its start fails",
        "move the <nic> into a <pci> of its own"),
    "nccl-version-not-1": (
        "error", "NCCL refuses the file: version is not 1",
        "NCCL stops with `wrong version`; RCCL writes version 2",
        "dump the file again with NCCL itself: NCCL_TOPO_DUMP_FILE=topo.xml"),
    "nccl-xml-declaration": (
        "error", "NCCL refuses the file: an XML declaration (<?xml ...?>) is a parse error to it",
        "NCCL stops when it reads the file",
        "delete the first line"),
    "nccl-limit": (
        "error", "the file exceeds a limit of NCCL's XML reader",
        "NCCL stops when it reads the file (a tag holds 16 attributes and 640 children, a text 255 "
        "characters, a file 256 elements unless NCCL_TOPO_XML_MAX_NODES is larger)",
        "shorten the file, or raise NCCL_TOPO_XML_MAX_NODES"),
    "nccl-tab-in-tag": (
        SEVERITY, "NCCL reads a tab inside a tag as part of the name",
        "the element or attribute is not recognised and skipped, with all that is in it",
        "replace tabs inside tags by blanks"),
    "nccl-speed-above-hardware": (
        SEVERITY, "the file gives {} a faster PCIe link than its GPU model has",
        "NCCL's model promises a bandwidth that does not exist",
        "write the speed that the machine has, or dump a fresh file with NCCL_TOPO_DUMP_FILE"),
    "nccl-nvlink-counts-differ": (
        "error", "the NVLinks between {} are counted differently at their two ends",
        "NCCL adds the rows of either end, and its model is of a machine that there is not",
        "write the same count in both rows, or dump a fresh file with NCCL_TOPO_DUMP_FILE"),
    "nccl-nvlink-class": (
        "error", "an NVLink of {} goes to a GPU of the file that the row calls an NVSwitch",
        "NCCL joins the link with its one NVSwitch instead of that GPU",
        "write the GPU's class as tclass (0x030200), or dump a fresh file with NCCL_TOPO_DUMP_FILE"),
    "nccl-too-many-nvlinks": (
        "error", "more NVLinks in the file than hardware has: {}",
        "NCCL's model promises a bandwidth that does not exist and may choose a wrong algorithm",
        "one <nvlink> row per target, its count the number of links"),
    "nccl-unknown-speed": (
        SEVERITY, "NCCL takes {} as Gen3: it does not know the link_speed text",
        "the link is modelled at 8 GT/s, which is too slow for Gen4 and Gen5 and too fast for Gen1",
        "write it as the kernel does, `32.0 GT/s PCIe`"),
    "nccl-speed-unsaid": (
        "info", "the file names no PCIe speed of {}: NCCL takes Gen3",
        "12 GB/s at x16 is then a guess, whatever the link does; virtual machines often report none",
        "write it as the kernel does, `32.0 GT/s PCIe`"),
    "nccl-slow-switch": (
        SEVERITY, "the switch {} is modelled with a very slow uplink",
        "an emulated switch at 2.5 GT/s x1 counts as 0.19 GB/s, so NCCL avoids everything behind it",
        "set link_speed and link_width of the switch to what the host has, or take it out"),
    "nccl-gpus-on-one-busid": (
        "info", "several <gpu> elements stand on the one address of {}",
        "NCCL 2.30 writes that for parts of one GPU, older versions cannot read it; one is counted here",
        "use the file with the NCCL version that wrote it"),
    "nccl-single-quotes": (
        "info", "attributes in single quotes are read by NCCL 2.30 and later only",
        "an older NCCL stops when it reads the file",
        "write double quotes"),
    "nccl-width-zero": (
        "info", "link_width 0 of {} is taken as x16 by NCCL",
        "the link may be modelled too fast; virtual machines often report no width",
        "write the real width"),
    "nccl-amd-family": (
        "info", "the AMD CPU family in the file is wrong: {text}",
        "a later NCCL may take it for another CPU and model another socket bandwidth",
        "dump the file again with the NCCL version that is used"),
}  # fmt: skip


def check(node: NodeTopology) -> Iterator[Finding]:
    for kind, (severity, message, matters, remedy) in TRAPS.items():
        seen = observed(node, kind)
        if not seen:
            continue
        if kind == "nccl-version-not-1" and node.gpus and all(g.vendor == "amd" for g in node.gpus):
            severity = "info"
        ids = subjects(node, seen)
        yield Finding(
            CODE,
            severity,
            ids,
            message.format(names(ids) or "a device of the file", text=seen[0].text),
            matters=matters,
            because="the file was written by hand, by another program, or in a virtual machine",
            remedy=remedy,
            evidence=evidence(seen),
        )
