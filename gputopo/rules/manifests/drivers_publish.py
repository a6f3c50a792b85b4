"""Which of the attributes that tie devices of two drivers together the drivers publish, and from which version on.

Read at source level:
- dra.net: kubernetes-sigs/dranet pkg/apis/attributes.go, pkg/inventory/db.go, v1.0.0 to v1.4.0 and main f258477
- sriovnetwork.k8snetworkplumbingwg.io: k8snetworkplumbingwg/dra-driver-sriov pkg/consts/consts.go, cd9404f
- dra.cpu: kubernetes-sigs/dra-driver-cpu pkg/device, v0.1.0, v0.2.0 and main de98098
- gpu.amd.com: ROCm/k8s-gpu-dra-driver cmd/gpu-kubeletplugin/deviceinfo.go, 2622427, and its PR 18 and issue 92
- gpu.intel.com: intel/intel-resource-drivers-for-kubernetes cmd/kubelet-gpu-plugin/node_state.go, 1da939f
- gpu.nvidia.com: attribute_names.py; here only that it publishes nothing in another driver's domain
"""

from __future__ import annotations

from typing import NamedTuple

from gputopo.allocate.dra.published import BUS, COMPUTE_DOMAIN, DRIVER, NUMA, ROOT

NET_NUMA = "dra.net/numaNode"


class Publishes(NamedTuple):
    """`always`: in every version that was read. `since`: attribute → from when on. `read`: the versions before, or all
    of them, in words."""

    always: frozenset[str]
    since: dict[str, str]
    read: str


_SRIOV = "sriovnetwork.k8snetworkplumbingwg.io"
PUBLISHES = {
    "dra.net": Publishes(frozenset({ROOT, NET_NUMA}), {NUMA: "the release after v1.4.0"}, "up to v1.4.0"),
    _SRIOV: Publishes(frozenset({ROOT, BUS, NET_NUMA}), {}, "as of August 2026"),
    "dra.cpu": Publishes(frozenset({NET_NUMA}), {NUMA: "the release after v0.2.0"}, "up to v0.2.0"),
    "gpu.amd.com": Publishes(frozenset({ROOT}), {}, "as of August 2026"),
    "gpu.intel.com": Publishes(frozenset(), {ROOT: "0.10", BUS: "0.10"}, "before 0.10"),
}
# The same thing under the driver's own name.
OWN_NUMA = {"dra.net": NET_NUMA, _SRIOV: NET_NUMA, "dra.cpu": NET_NUMA, "gpu.amd.com": "gpu.amd.com/numaNode"}
# pcieRoot as a list, which selectors and constraints take only with the gate DRAListTypeAttributes.
LISTED = {"dra.cpu": "--expose-pcie-roots"}
DRIVERS = (*PUBLISHES, DRIVER, COMPUTE_DOMAIN)


class Absent(NamedTuple):
    severity: str
    words: str


def absent(driver: str, attribute: str) -> Absent | None:
    """Why devices of a driver lack an attribute; None: they have it, or it is not known.

    >>> absent("dra.net", "resource.kubernetes.io/numaNode").words
    'dra.net up to v1.4.0 does not publish it, the release after v1.4.0 does'
    >>> absent("dra.net", "resource.kubernetes.io/pcieRoot"), absent("x.example.com", "dra.net/numaNode")
    (None, None)
    """
    domain = attribute.partition("/")[0]
    if driver not in DRIVERS or domain == driver:
        return None
    known = PUBLISHES.get(driver)
    if known is None:  # NVIDIA's: of the standard names another rule speaks
        words = f"{driver} publishes nothing in the domain {domain}"
        return Absent("error", words) if domain in DRIVERS else None
    if attribute in known.always or (driver in LISTED and attribute == ROOT):
        return None
    if attribute in known.since:
        return Absent("info", f"{driver} {known.read} does not publish it, {known.since[attribute]} does")
    if attribute in (NUMA, ROOT, BUS, NET_NUMA) or domain in DRIVERS:
        return Absent("warning", f"{driver} does not publish it ({known.read})")
    return None


def common(drivers: frozenset[str]) -> str:
    """Where the drivers' devices can be tied together instead: what all of them publish.

    >>> common(frozenset({"dra.net", "gpu.nvidia.com"})), common(frozenset({"dra.net", "dra.cpu"}))
    ('resource.kubernetes.io/pcieRoot', 'dra.net/numaNode')
    """
    for attribute in (NET_NUMA, ROOT):  # each driver's newest version
        if all(_has(driver, attribute) for driver in drivers):
            return attribute
    return ""


def _has(driver: str, attribute: str) -> bool:
    known = PUBLISHES.get(driver)
    if known is None:
        return driver == DRIVER and attribute == ROOT
    return attribute in known.always or attribute in known.since
