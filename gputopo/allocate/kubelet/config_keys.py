"""The keys of a KubeletConfiguration and the types of their values, by release.

Upstream: the Go type KubeletConfiguration of k8s.io/kubelet/config/v1beta1 in v0.32.13, v0.33.13, v0.34.4, v0.35.4,
v0.36.3 and v0.37.2, by reflection. The kubelet decodes strictly first; of what only that refuses (a key that it does
not know, in another case or twice) it logs "Using lenient decoding as strict decoding failed" and goes on without the
key (pkg/kubelet/kubeletconfig/util/codec). A value of another type ends it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from gputopo.terms.kube_object import type_name
from gputopo.terms.manifest import Path
from gputopo.terms.quantity import quantity

OLDEST, NEWEST = 32, 37

# key:type, and @first-last of the minors that have it where not all do. s string, b boolean, i l u whole numbers of
# 32, 64 and unsigned 32 bits, f number, q quantity, p duration, d duration that must not be null, D duration or
# nanoseconds, t time, . mapping of the keys below it, [ ] list, { } mapping with keys of one's own.
_KEYS = """
kind:s apiVersion:s enableServer:b staticPodPath:s podLogsDir:s syncFrequency:d fileCheckFrequency:d
httpCheckFrequency:d staticPodURL:s staticPodURLHeader:{[s]} address:s port:i readOnlyPort:i tlsCertFile:s
tlsPrivateKeyFile:s tlsCipherSuites:[s] tlsMinVersion:s rotateCertificates:b serverTLSBootstrap:b authentication:.
authentication.x509:. authentication.x509.clientCAFile:s authentication.webhook:. authentication.webhook.enabled:b
authentication.webhook.cacheTTL:d authentication.anonymous:. authentication.anonymous.enabled:b authorization:.
authorization.mode:s authorization.webhook:. authorization.webhook.cacheAuthorizedTTL:d
authorization.webhook.cacheUnauthorizedTTL:d registryPullQPS:i registryBurst:i eventRecordQPS:i eventBurst:i
enableDebuggingHandlers:b enableContentionProfiling:b healthzPort:i healthzBindAddress:s oomScoreAdj:i
clusterDomain:s clusterDNS:[s] streamingConnectionIdleTimeout:d nodeStatusUpdateFrequency:d
nodeStatusReportFrequency:d nodeLeaseDurationSeconds:i imageMinimumGCAge:d imageMaximumGCAge:d
imageGCHighThresholdPercent:i imageGCLowThresholdPercent:i volumeStatsAggPeriod:d kubeletCgroups:s systemCgroups:s
cgroupRoot:s cgroupsPerQOS:b cgroupDriver:s cpuManagerPolicy:s singleProcessOOMKill:b cpuManagerPolicyOptions:{s}
cpuManagerReconcilePeriod:d memoryManagerPolicy:s topologyManagerPolicy:s topologyManagerScope:s
topologyManagerPolicyOptions:{s} qosReserved:{s} runtimeRequestTimeout:d hairpinMode:s maxPods:i podCIDR:s
podPidsLimit:l resolvConf:s runOnce:b cpuCFSQuota:b cpuCFSQuotaPeriod:p nodeStatusMaxImages:i maxOpenFiles:l
contentType:s kubeAPIQPS:i kubeAPIBurst:i serializeImagePulls:b maxParallelImagePulls:i evictionHard:{s}
evictionSoft:{s} evictionSoftGracePeriod:{s} evictionPressureTransitionPeriod:d evictionMaxPodGracePeriod:i
evictionMinimumReclaim:{s} podsPerCore:i enableControllerAttachDetach:b protectKernelDefaults:b
makeIPTablesUtilChains:b iptablesMasqueradeBit:i iptablesDropBit:i featureGates:{b} failSwapOn:b memorySwap:.
memorySwap.swapBehavior:s containerLogMaxSize:s containerLogMaxFiles:i containerLogMaxWorkers:i
containerLogMonitorInterval:p configMapAndSecretChangeDetectionStrategy:s systemReserved:{s} kubeReserved:{s}
reservedSystemCPUs:s showHiddenMetricsForVersion:s systemReservedCgroup:s kubeReservedCgroup:s
enforceNodeAllocatable:[s] allowedUnsafeSysctls:[s] volumePluginDir:s providerID:s kernelMemcgNotification:b
logging:. logging.format:s logging.flushFrequency:D logging.verbosity:u logging.vmodule:[.]
logging.vmodule[].filePattern:s logging.vmodule[].verbosity:u logging.options:. logging.options.text:.
logging.options.text.splitStream:b logging.options.text.infoBufferSize:q logging.options.json:.
logging.options.json.splitStream:b logging.options.json.infoBufferSize:q enableSystemLogHandler:b
enableSystemLogQuery:b shutdownGracePeriod:d shutdownGracePeriodCriticalPods:d shutdownGracePeriodByPodPriority:[.]
shutdownGracePeriodByPodPriority[].priority:i shutdownGracePeriodByPodPriority[].shutdownGracePeriodSeconds:l
crashLoopBackOff:. crashLoopBackOff.maxContainerRestartPeriod:p reservedMemory:[.] reservedMemory[].numaNode:i
reservedMemory[].limits:{q} enableProfilingHandler:b enableDebugFlagsHandler:b seccompDefault:b
memoryThrottlingFactor:f registerWithTaints:[.] registerWithTaints[].key:s registerWithTaints[].value:s
registerWithTaints[].effect:s registerWithTaints[].timeAdded:t registerNode:b tracing:. tracing.endpoint:s
tracing.samplingRatePerMillion:i localStorageCapacityIsolation:b containerRuntimeEndpoint:s imageServiceEndpoint:s
failCgroupV1:b imagePullCredentialsVerificationPolicy:s@33- preloadedImagesVerificationAllowlist:[s]@33-
mergeDefaultEvictionSettings:b@33- userNamespaces:.@33- userNamespaces.idsPerPod:l@33- tlsCurvePreferences:[i]@36-
memoryReservationPolicy:s@36- defaultPodSysctls:{s}@37-
"""
_EXPONENT = re.compile(r"[+-]?[\d.]+[eE][+-]?\d+")  # read as text here, as a number by the kubelet, unless it is quoted
_DURATION = re.compile(r"[+-]?(0|((\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)")
_WHOLE = {"i": (-(1 << 31), (1 << 31) - 1), "l": (-(1 << 63), (1 << 63) - 1), "u": (0, (1 << 32) - 1)}
_WANTED = {"s": "a string", "b": "true or false", "f": "a number", "t": "a string", ".": "a mapping"}


class Key(NamedTuple):
    type: str
    first: int
    last: int


class Unknown(NamedTuple):
    path: Path
    known: tuple[str, ...]  # beside it, in this release


class Wrong(NamedTuple):
    """A value that the kubelet does not decode."""

    path: Path
    message: str


@cache
def keys() -> dict[str, Key]:
    """By path, a list without its place: `reservedMemory[].limits`."""
    found = {}
    for one in _KEYS.split():
        path, _, form = one.partition(":")
        form, _, span = form.partition("@")
        first, _, last = span.partition("-")
        found[path] = Key(form, int(first or OLDEST), int(last or NEWEST))
    return found


def known_in(minor: int) -> dict[str, str]:
    """Path to type. The newest release that was read answers for newer ones, the oldest for older ones."""
    release = min(max(minor, OLDEST), NEWEST)
    return {path: key.type for path, key in keys().items() if key.first <= release <= key.last}


def faults(body: dict[str, Any], minor: int) -> Iterator[Unknown | Wrong]:
    """What of a configuration is passed over, and what does not decode.

    >>> [one.path for one in faults({"maxPod": 1, "reservedMemory": [{"numaNode": "0"}]}, 36)]
    [('maxPod',), ('reservedMemory', 0, 'numaNode')]
    """
    yield from _of_mapping(body, "", (), known_in(minor))


def _of_mapping(body: dict[str, Any], above: str, path: Path, known: dict[str, str]) -> Iterator[Unknown | Wrong]:
    for key, value in body.items():
        name = f"{above}{key}"
        if name in known:
            yield from _of_value(value, known[name], name, (*path, key), known)
        elif isinstance(key, str):
            beside = (one.removeprefix(above) for one in known if one.startswith(above))
            yield Unknown((*path, key), tuple(one for one in beside if "." not in one))


def _of_value(value: Any, form: str, name: str, path: Path, known: dict[str, str]) -> Iterator[Unknown | Wrong]:
    if value is None and form != "d":
        return
    if form[0] == "[":
        if not isinstance(value, list):
            yield _wrong(path, value, "a list")
            return
        for place, one in enumerate(value):
            yield from _of_value(one, form[1:-1], name + "[]", (*path, place), known)
    elif form[0] == "{":
        if not isinstance(value, dict):
            yield _wrong(path, value, "a mapping")
            return
        for key, one in value.items():
            yield from _of_value(one, form[1:-1], name, (*path, str(key)), known)
    elif form == "." and isinstance(value, dict):
        yield from _of_mapping(value, name + ".", path, known)
    else:
        wanted = _refused(value, form)
        if wanted:
            yield _wrong(path, value, wanted)


def _refused(value: Any, form: str) -> str:
    """What is wanted instead; "": it decodes."""
    if isinstance(value, str) and _EXPONENT.fullmatch(value):
        return _WANTED.get(form, "") if form in ("b", ".") else ""
    if form in _WHOLE:
        low, high = _WHOLE[form]
        whole = isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high
        return "" if whole and value == int(value) else "a whole number"
    if form == "q":
        return "" if _is_quantity(value) else "a quantity"
    if form in ("d", "p", "D"):
        number = form == "D" and isinstance(value, (int, float)) and not isinstance(value, bool)
        right = isinstance(value, str) and _DURATION.fullmatch(value)
        return "" if number or right else "a duration such as 10s"
    decodes = {
        "s": isinstance(value, str), "t": isinstance(value, str), "b": isinstance(value, bool),
        "f": isinstance(value, (int, float)) and not isinstance(value, bool), ".": False,
    }[form]  # fmt: skip
    return "" if decodes else _WANTED[form]


def _is_quantity(value: Any) -> bool:
    try:
        quantity(value)
    except ValueError:
        return False
    return True


def _wrong(path: Path, value: Any, wanted: str) -> Wrong:
    written = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")
    return Wrong(path, f"{written} is {type_name(value)}, not {wanted}")
