"""GT363 cpus-not-exclusive

What it says
    A container with GPUs gets no CPUs of its own from a kubelet whose CPU manager is static.

Why it matters
    Its CPUs come from the shared pool and may be on another NUMA node than its GPUs. The Topology Manager aligns the
    GPUs all the same, and may refuse the pod for them.

What to do
    Give every container of the pod CPU and memory limits, equal to the requests, and whole CPUs to this one.

When it is silent
    No KubeletConfiguration with cpuManagerPolicy static is among the files, the pod asks for resources as a whole
    (spec.resources), or the pod is Guaranteed and the container asks for whole CPUs.

    Source: kubernetes v1.36.3 pkg/kubelet/cm/cpumanager/policy_static.go (guaranteedCPUs),
    pkg/apis/core/v1/helper/qos/qos.go; kubernetes/website topology-manager: devices are aligned in every QoS class.

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> kubelet, pod = read('''kind: KubeletConfiguration
    ... cpuManagerPolicy: static
    ... ---
    ... kind: Pod
    ... spec: {containers: [{name: c, resources: {limits: {cpu: 2, nvidia.com/gpu: 1}}}]}
    ... ''')
    >>> [found.message for found in check(pod, Context(together=(kubelet, pod)))]
    ['container c has GPUs and CPUs of the shared pool: the pod is Burstable']
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from gputopo.allocate.kubelet.config_file import read
from gputopo.allocate.kubelet.releases import Release
from gputopo.rules.manifests.objects.pod_parts import (
    POD_KINDS,
    Container,
    PodPart,
    amounts,
    containers,
    gpus_asked,
    mapping_of,
    pod_parts,
    text_of,
)
from gputopo.rules.manifests.objects.together import of_kind
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.terms.kube_object import WrongShape
from gputopo.terms.manifest import Manifest

CODE = "GT363"
SEVERITY = "info"
KINDS = POD_KINDS
_COUNTED = ("cpu", "memory")


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    kubelets = of_kind(context, "KubeletConfiguration", "")
    if not any(_static(one, context.minor) for one in kubelets):
        return
    for part in pod_parts(manifest):
        if mapping_of(part.spec, "resources"):
            continue
        quality = _quality(manifest, part)
        for container in containers(part):
            cpus = amounts(container, "limits").get("cpu")
            if not gpus_asked(container):
                continue
            name = text_of(container.body, "name")
            shared = f"container {name} has GPUs and CPUs of the shared pool: "
            if quality != "Guaranteed":
                message = f"{shared}the pod is {quality}"
            elif cpus is not None and cpus.number is not None and cpus.number.denominator != 1:
                message = f"{shared}{cpus.text} is no whole number of CPUs"
            else:
                continue
            because = "cpuManagerPolicy static gives CPUs of their own to whole CPUs of Guaranteed pods"
            path = (*container.path, "resources")
            yield problem(CODE, SEVERITY, manifest, path, message, because, "", manifest.key(path))


def _static(one: Manifest, minor: int) -> bool:
    body = one.object.body
    if isinstance(body.get("kubeletconfig"), dict):
        body = body["kubeletconfig"]
    elif one.kind != "KubeletConfiguration":
        return False
    try:
        return read(body, Release(minor)).cpu_policy == "static"
    except WrongShape:
        return False


def _quality(manifest: Manifest, part: PodPart) -> str:
    """Of service, by CPU and memory alone; a limit without a request is the request too."""
    said = mapping_of(manifest.object.body, "status").get("qosClass")
    if manifest.kind == "Pod" and isinstance(said, str):
        return said
    limits = [_numbers(one, "limits") for one in containers(part)]
    requests = [own | _numbers(one, "requests") for own, one in zip(limits, containers(part))]
    if not any(number for one in (*limits, *requests) for number in one.values()):
        return "BestEffort"
    guaranteed = all(all(own.get(name) for name in _COUNTED) for own in limits) and limits == requests
    return "Guaranteed" if guaranteed else "Burstable"


def _numbers(container: Container, key: str) -> dict[str, Fraction | None]:
    given = amounts(container, key)
    return {name: given[name].number for name in _COUNTED if name in given}
