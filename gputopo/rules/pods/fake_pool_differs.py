"""GT423 fake-pool-differs

What it says
    A node of the fake-gpu-operator has another number of GPUs than its pool, or than its own ConfigMap.

Why it matters
    A pool that is changed later does not reach the nodes that are there: pods are scheduled by the old number.

What to do
    Delete the node's ConfigMap and restart status-updater, which makes it anew, then the device plugin's pod of the
    node; where only the device plugin is behind, restart that.

When it is silent
    The numbers agree, or the operator's ConfigMaps and the Node are not among the sources.

    Source: run-ai/fake-gpu-operator 3a3f644 internal/status-updater/handlers/node/topology_cm.go (a node's ConfigMap
    is made once and kept), cmd/device-plugin (reads it at its start).

Example
    >>> from gputopo.records import Observation
    >>> from gputopo.rules.pods.example import held, node
    >>> said = "nvidia.com/gpu is 2, pool default says 4"
    >>> seen = Observation("fake-pool-changed", ("n1", "topology-n1"), said)
    >>> [found] = check(Audit(held(node())._replace(observations=(seen,))))
    >>> found.message, found.remedy.partition(" and")[0]
    ('n1: nvidia.com/gpu is 2, pool default says 4', 'delete ConfigMap topology-n1')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.pods.audit import Audit
from gputopo.terms.fake_gpu_pools import mended

CODE = "GT423"
SEVERITY = "warning"
_CHANGED, _BEHIND = "fake-pool-changed", "fake-plugin-behind"


def check(audit: Audit) -> Iterator[Finding]:
    for one in audit.held.observations:
        if one.kind in (_CHANGED, _BEHIND):
            name, config_map, *kwok = one.subjects
            because, remedy = mended(config_map, one.kind == _CHANGED, bool(kwok))
            yield Finding(CODE, SEVERITY, (name,), f"{name}: {one.text}", because=because, remedy=remedy,
                          matters="pods are scheduled by a number of GPUs that nobody meant")  # fmt: skip
