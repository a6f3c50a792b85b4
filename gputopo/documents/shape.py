"""The shape of `kind: NodeTopology`: which key holds which field, in which order (CONTRACT §3).

The only place that knows camelCase. `encode`, `decode` and the JSON schema all read these tables,
so that what is printed is what can be read back and what is described. The keys after `assumptions`
(`observations`, `sets` of --bandwidth), `gpudirect` and a link's `count` are additions: a document without them is
read as well.
"""

from __future__ import annotations

from gputopo.documents.forms import (
    Field,
    anything,
    choice,
    cpus,
    flag,
    level,
    many,
    mapping,
    nullable,
    number,
    record,
    text,
    whole,
)
from gputopo.rules.finding import SEVERITIES, Evidence, Finding, NotChecked
from gputopo.topology import node as model
from gputopo.topology.node import NvLinks  # not among the names node.py exports

API_VERSION = "gputopo/v1alpha1"
KIND, LIST_KIND = "NodeTopology", "NodeTopologyList"

_text, _flag, _whole, _number, _cpus = (nullable(form) for form in (text, flag, whole, number, cpus))
_ids, _numbers = nullable(many(text)), nullable(many(whole))

_system = record(
    model.System, "System",
    Field("product", _text), Field("kernel", _text), Field("driver", _text), Field("cuda", _text),
)  # fmt: skip
_source = record(
    model.Source, "Source",
    Field("id", text), Field("name", text), Field("format", text), Field("where", text),
    Field("whole", flag),
)  # fmt: skip
_package = record(
    model.Package, "Package",
    Field("id", text), Field("number", whole), Field("cpus", _cpus),
    Field("numaNodes", _numbers, "numa_nodes"), Field("vendor", _text), Field("family", _whole),
    Field("model", _whole), Field("arch", _text),
)  # fmt: skip
_numa_node = record(
    model.NumaNode, "NumaNode",
    Field("id", text), Field("number", whole),
    Field("kind", nullable(choice("cpu", "gpu-memory", "memory"))), Field("cpus", _cpus),
    Field("packages", _ids), Field("memoryBytes", _whole, "memory_bytes"),
    Field("distances", nullable(mapping(whole, numbered=True))),
)  # fmt: skip
_pcie = nullable(record(
    model.Pcie, "Pcie",
    Field("generation", _whole), Field("width", _whole),
    Field("maxGeneration", _whole, "max_generation"), Field("maxWidth", _whole, "max_width"),
))  # fmt: skip
_bridge = record(
    model.Bridge, "Bridge",
    Field("id", text), Field("parent", _text),
    Field("kind", nullable(choice("hostBridge", "bridge", "switch"))), Field("vendor", _text),
    Field("device", _text), Field("numaNodes", _numbers, "numa_nodes"), Field("pcie", _pcie),
)  # fmt: skip
_nvswitch = record(model.NvSwitch, "NvSwitch", Field("id", text), Field("pci", _text))
_nvlinks = nullable(record(
    NvLinks, "NvLinks",
    Field("active", _whole), Field("total", _whole),
    Field("via", nullable(choice("direct", "switch", "mixed"))),
))  # fmt: skip
_link = record(
    model.Link, "Link",
    Field("index", _whole, "number"), Field("state", _text), Field("gbps", _number),
    Field("remote", _text), Field("remoteKind", _text, "remote_kind"),
    Field("count", whole, "times", absent=1, terse=True),
)  # fmt: skip
_fabric = nullable(record(
    model.Fabric, "Fabric",
    Field("state", _text), Field("status", _text), Field("clusterUuid", _text, "cluster_uuid"),
    Field("cliqueId", _whole, "clique_id"), Field("health", _text),
))  # fmt: skip
_mig = record(
    model.Mig, "Mig",
    Field("uuid", _text), Field("profile", _text), Field("gpuInstance", _whole, "gpu_instance"),
    Field("computeInstance", _whole, "compute_instance"), Field("index", _whole, "number"),
)  # fmt: skip
_gpu = record(
    model.Gpu, "Gpu",
    Field("id", text), Field("index", _whole, "nvml_index"), Field("uuid", _text), Field("name", _text),
    Field("vendor", _text), Field("architecture", _text),
    Field("computeCapability", _text, "compute_capability"), Field("memoryBytes", _whole, "memory_bytes"),
    Field("pci", _text), Field("minor", _whole), Field("moduleId", _whole, "module_id"),
    Field("parent", _text), Field("driver", _text), Field("numaNodes", _numbers, "numa_nodes"),
    Field("packages", _ids), Field("cpus", _cpus), Field("cpusComplete", _flag, "cpus_complete"),
    Field("memoryNumaNode", _whole, "memory_numa_node"), Field("nvlinks", _nvlinks),
    Field("links", many(_link)), Field("c2c", nullable(mapping(number))), Field("fabric", _fabric),
    Field("pcie", _pcie), Field("mig", many(_mig)), Field("nearestNics", many(text), "nearest_nics"),
    Field("nearestNvme", many(text), "nearest_nvme"), Field("aliases", many(text)),
)  # fmt: skip
_nic = record(
    model.Nic, "Nic",
    Field("id", text), Field("device", _text), Field("netdevs", many(text)), Field("port", _whole),
    Field("pci", _text), Field("pcie", _pcie), Field("members", many(text)), Field("vendor", _text),
    Field("parent", _text), Field("numaNodes", _numbers, "numa_nodes"), Field("packages", _ids),
    Field("linkLayer", _text, "link_layer"), Field("rateGbps", _number, "rate_gbps"),
    Field("state", nullable(choice("up", "down"))),
    Field("virtualFunctionOf", _text, "virtual_function_of"), Field("aliases", many(text)),
)  # fmt: skip
_nvme = record(
    model.Nvme, "Nvme",
    Field("id", text), Field("pci", _text), Field("pcie", _pcie), Field("parent", _text),
    Field("numaNodes", _numbers, "numa_nodes"), Field("packages", _ids),
)  # fmt: skip
_pair_link = record(
    model.PairLink, "PairLink",
    Field("kind", text), Field("count", _whole, "times"), Field("via", nullable(choice("direct", "switch"))),
    Field("gbpsPerLink", _number, "gbps_per_link"),
)  # fmt: skip
_pair = record(
    model.Pair, "Pair",
    Field("a", text), Field("b", text), Field("level", _text), Field("pcie", nullable(level)),
    Field("pcieCandidates", many(level), "pcie_candidates"),
    Field("pcieBasis", nullable(choice("printed", "tree", "numa", "third-device")), "pcie_basis"),
    Field("nvlinks", _whole), Field("viaSwitch", _flag, "via_switch"), Field("links", many(_pair_link)),
    Field("p2p", nullable(mapping(text))), Field("crossPackage", _flag, "cross_package"),
    Field("crossNuma", _flag, "cross_numa"), Field("bandwidthGBps", _number, "bandwidth_gbytes"),
)  # fmt: skip
_groups = many(many(text))
_fabric_island = record(
    model.FabricIsland, "FabricIsland",
    Field("clusterUuid", _text, "cluster_uuid"), Field("cliqueId", _whole, "clique_id"),
    Field("gpus", many(text)),
)  # fmt: skip
_islands = record(
    model.Islands, "Islands",
    Field("nvlink", _groups), Field("fabric", many(_fabric_island)),
    Field("pcieSwitch", _groups, "pcie_switch"), Field("pcieRoot", _groups, "pcie_root"),
    Field("numa", _groups), Field("package", _groups),
)  # fmt: skip
_gpudirect = record(
    model.GpuDirect, "GpuDirect",
    Field("gpu", text), Field("device", text), Field("kind", choice("rdma", "gds")),
    Field("verdict", choice("ready", "not", "unknown")), Field("because", text), Field("missing", many(text)),
)  # fmt: skip
_set = record(
    model.SetBandwidth, "SetBandwidth",
    Field("gpus", many(text)), Field("shape", text), Field("count", whole, "times"),
    Field("gbps", _number, "gbytes"), Field("basis", text), Field("isBound", flag, "is_bound"),
    Field("ceilingGBps", _number, "ceiling_gbytes"), Field("ceilingBasis", text, "ceiling_basis"),
    Field("role", choice("asked", "ranked", "island")), Field("leaves", _groups),
)  # fmt: skip
_value = record(model.Value, "Value", Field("value", anything), Field("source", text))
_conflict = record(
    model.Conflict, "Conflict",
    Field("subjects", many(text)), Field("attribute", text), Field("used", anything),
    Field("values", many(_value)),
)  # fmt: skip
_unknown = record(
    model.NoteUnknown, "Unknown",
    Field("subjects", many(text)), Field("attribute", text), Field("reason", text),
    Field("settledBy", text, "settled_by"),
)  # fmt: skip
_assumption = record(
    model.NoteAssumption, "Assumption",
    Field("subjects", many(text)), Field("text", text), Field("source", _text),
)  # fmt: skip
_observed = record(
    model.Observed, "Observation",
    Field("kind", text), Field("subjects", many(text)), Field("text", text), Field("source", text),
    Field("line", _whole),
)  # fmt: skip

TAKEN = (Field("at", _text, "taken_at"), Field("bootId", _text, "boot_id"))
taken = nullable(record(dict, "Taken", *TAKEN))

BODY = (
    Field("view", nullable(choice("host", "container"))),
    Field("virtual", _flag),
    Field("system", nullable(_system)),
    Field("allowedCpus", _cpus, "allowed_cpus"),
    Field("sources", many(_source)),
    Field("packages", nullable(many(_package))),
    Field("numaNodes", nullable(many(_numa_node)), "numa_nodes"),
    Field("bridges", many(_bridge)),
    Field("nvswitches", nullable(many(_nvswitch))),
    Field("gpus", many(_gpu)),
    Field("nics", nullable(many(_nic))),
    Field("nvme", nullable(many(_nvme))),
    Field("pairs", many(_pair)),
    Field("islands", _islands),
    Field("gpudirect", many(_gpudirect), absent=()),
    Field("conflicts", many(_conflict)),
    Field("unknown", many(_unknown)),
    Field("assumptions", many(_assumption)),
    Field("observations", many(_observed), absent=()),
    Field("sets", many(_set), absent=(), terse=True),
)
PROVENANCE = Field("provenance", mapping(mapping(text)), absent={}, terse=True)

_evidence = record(
    Evidence, "Evidence",
    Field("source", _text), Field("line", _whole), Field("text", text),
)  # fmt: skip
findings = many(record(
    Finding, "Finding",
    Field("rule", text), Field("severity", choice(*SEVERITIES)), Field("subjects", many(text)),
    Field("message", text), Field("matters", text), Field("because", text), Field("remedy", text),
    Field("evidence", many(_evidence)),
))  # fmt: skip
not_checked = many(record(NotChecked, "NotChecked", Field("rule", text), Field("needs", text)))
sources, conflicts, unknown, assumptions = many(_source), many(_conflict), many(_unknown), many(_assumption)
node_name = Field("name", _text)
