"""GT018 topology-file-near-limit

What it says
    A topology that one rank wrote, with its own GPU only, has more than 120 elements.

Why it matters
    NCCL up to 2.30.7 fuses the topologies of all ranks of a node into one buffer of 256 elements. Rows that differ by
    rank do not merge, so eight ranks can overflow it: "too many XML nodes (max 256)", and the job does not start
    (nccl issue 2160). It is a risk and no fault: the same hardware starts in other runs.

What to do
    An NCCL with the larger buffer (pull 2386). Where it does fail, fewer ranks on a node as a test; a shorter static
    file does not always help.

When it is silent
    The file has fewer elements, or several GPUs: then the ranks' topologies are fused already and did fit. More than
    256 elements are GT015's. Files of RCCL.

Example
    >>> from gputopo.topology.node import NodeTopology, Observed
    >>> text = "126 elements in one rank's file, NCCL takes 256 of all local ranks"
    >>> seen = Observed("many-elements", (), text, "s1", 1)
    >>> [finding] = check(NodeTopology(observations=(seen,)))
    >>> finding.severity, finding.message
    ('warning', "126 elements in one rank's file, NCCL takes 256 of all local ranks")

Source: NVIDIA/nccl src/graph/topo.cc at v2.30.7-1 (ncclTopoFuseXml), issue 2160, pull 2386.
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.witness import evidence, observed
from gputopo.topology.node import NodeTopology

CODE = "GT018"
SEVERITY = "warning"


def check(node: NodeTopology) -> Iterator[Finding]:
    for seen in observed(node, "many-elements"):
        yield Finding(
            CODE,
            SEVERITY,
            (),
            seen.text,
            matters="with several ranks on the node NCCL may stop: too many XML nodes (max 256)",
            because="up to NCCL 2.30.7 all local ranks' topologies are fused into one buffer",
            remedy="an NCCL with the larger buffer (nccl pull 2386)",
            evidence=evidence((seen,)),
        )
