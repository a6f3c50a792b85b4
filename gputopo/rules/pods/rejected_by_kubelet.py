"""GT420 rejected-by-kubelet

What it says
    The kubelet refused a pod at its door: Topology Manager could not align it, or a device could not be had.

Why it matters
    The pod is Failed for good; a controller makes a new one, which is refused again while nothing changes.

What to do
    As the cause says: fewer GPUs or CPUs a pod, another policy, or pods moved so that one NUMA node has room.

When it is silent
    No pod object with such a status, and no line of the kubelet's log, is among the sources.

Example
    >>> from gputopo.pods.model import Pod
    >>> from gputopo.pods.placed import NOWHERE
    >>> from gputopo.rules.pods.example import held, node
    >>> why = ("TopologyAffinityError", "Resources cannot be allocated with Topology locality")
    >>> failed = Pod("ml", "big", None, (), NOWHERE, (), "Failed", None, why)
    >>> [found] = check(Audit(held(node())._replace(rejected=(failed,))))
    >>> found.message
    'ml/big was refused: TopologyAffinityError: Resources cannot be allocated with Topology locality'
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.pods.audit import Audit
from gputopo.rules.wording import one_line

CODE = "GT420"
SEVERITY = "warning"
_WHY = {
    "TopologyAffinityError": "no set of NUMA nodes that the policy accepts has all that the pod asks for",
    "UnexpectedAdmissionError": "a device, CPUs or memory could not be given when the pod was admitted",
    "SMTAlignmentError": "full-pcpus-only: the CPUs asked for are no whole cores",
}
_DO = {
    "TopologyAffinityError": "gputopo allocate kubelet --pod FILE says what is missing where, and what is admitted",
    "UnexpectedAdmissionError": "delete the pod once devices are free; after a kubelet restart wait for the plugin",
    "SMTAlignmentError": "ask for a multiple of the threads of a core",
}


_MOST_HINTS = 6


def check(audit: Audit) -> Iterator[Finding]:
    for pod in audit.held.rejected:
        if pod.rejected is None:
            continue
        reason, message = pod.rejected
        causes = (_WHY.get(reason, ""), *pod.why[:_MOST_HINTS], audit.refusal(pod))
        yield Finding(
            CODE,
            SEVERITY,
            (pod.title,),
            f"{pod.title} was refused{f' at {pod.started}' if pod.started else ''}: {reason}: {one_line(message)}",
            matters="it stays Failed; a controller's next try meets the same node",
            because="; ".join(part for part in causes if part),
            remedy=_DO.get(reason, ""),
        )
