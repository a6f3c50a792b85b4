"""The one list of rules: code → module of this folder, sorted. A new rule is one file and one line here.

    >>> name("GT112")
    'pcie-width-reduced'
    >>> matching("gt11")                                # a prefix, a code or a name, in any case
    ('GT110', 'GT111', 'GT112', 'GT113', 'GT114', 'GT115', 'GT116')
    >>> matching("pcie-width-reduced")
    ('GT112',)
    >>> matching("GT1I6")
    Traceback (most recent call last):
    gputopo.errors.GputopoError: no rule GT1I6
    hint: GT116 is nearest; `gputopo explain` lists all rules
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Protocol, cast

from gputopo.errors import GputopoError
from gputopo.rules.finding import Finding
from gputopo.topology.node import NodeTopology

MODULES: dict[str, str] = {
    "GT001": "cpu_affinity_truncated",
    "GT002": "affinity_ambiguous_or_damaged",
    "GT003": "matrix_rows_missing",
    "GT004": "matrix_not_symmetric",
    "GT005": "matrix_contradicts_itself",
    "GT006": "sources_in_conflict",
    "GT007": "sources_not_one_node",
    "GT008": "matrix_text_damaged",
    "GT010": "numa_node_unknown",
    "GT011": "nic_without_pci_parent",
    "GT012": "cpu_cell_empty_beside_known_numa",
    "GT013": "virtual_machine_pci_tree",
    "GT014": "software_rdma_device",
    "GT015": "nccl_xml_that_nccl_misreads",
    "GT016": "gpu_not_usable_by_driver",
    "GT017": "duplicate_pci_address",
    "GT018": "topology_file_near_limit",
    "GT020": "driver_did_not_answer",
    "GT021": "gpu_not_listed_by_driver",
    "GT022": "node_without_gpus",
    "GT023": "seen_from_container",
    "GT024": "sys_not_mounted",
    "GT031": "nvswitch_fabric_unseen_by_allocators",
    "GT101": "acs_on_gpu_path",
    "GT102": "gpudirect_not_ready",
    "GT103": "iommu_translates_peer_traffic",
    "GT104": "peer_copies_refused",
    "GT105": "nvlink_without_peer_copies",
    "GT110": "one_sided_nvlink",
    "GT111": "partial_nvlink",
    "GT112": "pcie_width_reduced",
    "GT113": "gpu_order_not_numa_order",
    "GT114": "sys_inside_numa_node",
    "GT115": "numa_node_is_not_socket",
    "GT116": "pcie_slow_under_load",
    "GT120": "gpu_without_near_nic",
    "GT121": "nics_unevenly_shared",
    "GT122": "nic_slower_than_peers",
    "GT130": "fabric_not_healthy",
    "GT131": "fabric_cliques_disagree",
    "GT140": "clocks_throttled",
    "GT141": "ecc_errors",
    "GT142": "gpu_reset_required",
    "GT300": "manifests.object_refused",
    "GT301": "manifests.api_version_not_current",
    "GT302": "manifests.selector_does_not_compile",
    "GT303": "manifests.attribute_not_published",
    "GT304": "manifests.comparison_never_true",
    "GT305": "manifests.version_compared_as_text",
    "GT306": "manifests.constraint_names_no_request",
    "GT307": "manifests.too_many_devices",
    "GT308": "manifests.gpus_below_one_pcie_root",
    "GT309": "manifests.distinct_attribute_not_kept",
    "GT310": "manifests.class_for_any_driver",
    "GT311": "manifests.memory_named_by_its_label",
    "GT312": "manifests.value_text_does_not_parse",
    "GT313": "manifests.attribute_of_another_driver",
    "GT314": "manifests.all_devices_under_a_constraint",
    "GT315": "manifests.admin_access_without_label",
    "GT316": "manifests.selector_over_its_limit",
    "GT317": "manifests.compute_domain",
    "GT320": "manifests.slice_not_used",
    "GT321": "manifests.cdi_spec",
    "GT330": "manifests.kubelet_does_not_start",
    "GT331": "manifests.kubelet_key_has_no_effect",
    "GT340": "manifests.plugin_configuration",
    "GT341": "manifests.cluster_policy",
    "GT350": "manifests.koordinator_table_ignored",
    "GT351": "manifests.koordinator_pod",
    "GT360": "manifests.gpu_request_refused",
    "GT361": "manifests.claim_reference_broken",
    "GT362": "manifests.allocation_overridden",
    "GT363": "manifests.cpus_not_exclusive",
    "GT370": "manifests.node_labels_disagree",
    "GT371": "manifests.ack_gpu_mode",
    "GT372": "manifests.vgpu_annotation",
    "GT373": "manifests.fake_node",
    "GT374": "manifests.fake_gpu_topology",
    "GT380": "manifests.node_resource_topology",
    "GT381": "manifests.kueue_topology",
    "GT382": "manifests.volcano_numatopology",
    "GT383": "manifests.kai_numa_placement",
    "GT384": "manifests.kai_topology",
    "GT390": "manifests.gres_conf",
    "GT391": "manifests.gres_links",
    "GT392": "manifests.nccl_xml_faults",
    "GT401": "pods.sockets_crossed_on_nvlink",
    "GT402": "pods.sockets_crossed_over_pcie",
    "GT403": "pods.numa_nodes_crossed",
    "GT404": "pods.numa_crossed_sockets_unknown",
    "GT405": "pods.nvlink_island_left",
    "GT406": "pods.gpus_and_cpus_apart",
    "GT407": "pods.memory_remote",
    "GT408": "pods.nic_far_from_gpus",
    "GT410": "pods.replicas_of_one_gpu",
    "GT411": "pods.gpu_in_two_pods",
    "GT412": "pods.sees_more_gpus_than_given",
    "GT413": "pods.not_given_by_kubelet",
    "GT420": "pods.rejected_by_kubelet",
    "GT421": "pods.gpus_lost_to_fragmentation",
    "GT422": "pods.fake_node",
    "GT423": "pods.fake_pool_differs",
    "GT501": "jobs.tensor_group_crosses_sockets",
    "GT502": "jobs.set_leaves_nvlink_island",
    "GT503": "jobs.shared_uplink",
    "GT504": "jobs.host_memory_is_the_way",
    "GT505": "jobs.cuda_device_order",
    "GT506": "jobs.ranks_in_different_pods",
    "GT507": "jobs.mig_without_peer_copies",
    "GT510": "jobs.peer_level_changed",
    "GT511": "jobs.shared_memory_for_near_gpus",
    "GT512": "jobs.nvlink_peers_denied",
    "GT513": "jobs.shared_memory_too_small",
    "GT514": "jobs.nvls_not_in_use",
    "GT515": "jobs.no_ring_found",
    "GT516": "jobs.bridge_not_seated",
    "GT520": "jobs.socket_network",
    "GT521": "jobs.gdr_too_far",
    "GT522": "jobs.gdr_disabled",
    "GT523": "jobs.relaxed_ordering_off",
    "GT524": "jobs.emulated_switch",
    "GT525": "jobs.fabric_not_one_domain",
    "GT526": "jobs.topology_too_large",
    "GT527": "jobs.topology_of_another_machine",
    "GT528": "jobs.address_translation_off",
    "GT530": "jobs.custom_all_reduce_off",
    "GT531": "jobs.ranks_off_their_cpus",
    "GT532": "jobs.numa_balancing_on",
    "GT540": "jobs.slower_than_expected",
    "GT550": "jobs.log_of_another_node",
    "GT551": "jobs.log_cut_short",
    "GT552": "jobs.several_jobs_in_log",
    "GT601": "checks.node_not_as_specified",
    "GT602": "fleet.evidence_not_read",
    "GT603": "fleet.node_twice",
    "GT604": "fleet.no_majority",
    "GT605": "fleet.node_unlike_its_peers",
}

# These have nothing to say unless the node has an observation whose kind begins so: then they need not
# even be imported, which keeps the start-up of a healthy node short.
ONLY_WHEN_OBSERVED: dict[str, tuple[str, ...]] = {
    "GT002": ("damaged-cpu-cell", "ambiguous-affinity", "gpu-numa-id-equals-numa"),
    "GT003": ("row-",),
    "GT004": ("matrix-not-symmetric",),
    "GT005": ("matrix-contradicts-itself",),
    "GT007": ("sources-not-one-node",),
    "GT008": ("cells-glued", "header-damaged"),
    "GT014": ("software-rdma-device",),
    "GT015": ("nccl-",),
    "GT017": ("duplicate-busid",),
    "GT018": ("many-elements",),
    "GT020": ("driver-", "file-did-not-come"),
    "GT024": ("pci-class-missing",),
    "GT101": ("acs-",),
    "GT102": ("gpudirect-", "nvidia-kernel-module", "acs-"),
    "GT103": ("iommu-groups",),
    "GT116": ("pcie-slow-at-p0",),
    "GT140": ("clocks-throttled",),
    "GT141": ("ecc-errors", "memory-rows-failing"),
    "GT142": ("gpu-reset-required",),
}


class Rule(Protocol):
    """What a module of the list offers. `needs(node) -> str | None` may be there too (rules/run.py)."""

    CODE: str
    SEVERITY: str

    def check(self, node: NodeTopology) -> Iterator[Finding]: ...


def name(code: str) -> str:
    return MODULES[code].rpartition(".")[2].replace("_", "-")


def is_manifest_rule(code: str) -> bool:
    """Whether it is about manifests (`gputopo lint`), not about a node."""
    return MODULES[code].startswith("manifests.")


def is_pod_rule(code: str) -> bool:
    """Whether it is about what pods hold (`gputopo pods`)."""
    return MODULES[code].startswith("pods.")


def is_job_rule(code: str) -> bool:
    """Whether it is about one job (`gputopo diagnose`)."""
    return MODULES[code].startswith("jobs.")


def is_fleet_rule(code: str) -> bool:
    """Whether it is about many nodes (`gputopo fleet`)."""
    return MODULES[code].startswith("fleet.")


def is_node_rule(code: str) -> bool:
    """Whether it is about a node's topology (`gputopo inspect`)."""
    return "." not in MODULES[code]


def load(code: str) -> Rule:
    """The module of a listed rule, imported when it is first wanted."""
    return cast(Rule, import_module(f"gputopo.rules.{MODULES[code]}"))


def matching(word: str) -> tuple[str, ...]:
    """The codes a user means by a code, a prefix of codes or a rule's name. Raises GputopoError."""
    wanted = word.strip()
    found = tuple(c for c in MODULES if wanted and c.startswith(wanted.upper()))
    found = found or tuple(c for c in MODULES if name(c) == wanted.lower().replace("_", "-"))
    if not found:
        raise GputopoError(f"no rule {wanted or repr(word)}", hint=_nearest(wanted))
    return found


def _nearest(word: str) -> str:
    where = "`gputopo explain` lists all rules"
    upper = word.upper()
    if upper.startswith("GT"):
        padded = upper.ljust(5)
        wrong = {code: [a != b for a, b in zip(code, padded)] for code in MODULES}
        near = min(MODULES, key=lambda code: (sum(wrong[code]), wrong[code], code))
        return f"{near} is nearest; {where}"
    from difflib import get_close_matches

    names = get_close_matches(word.lower(), [name(code) for code in MODULES], 1, 0.5)
    return f"{names[0]} is nearest; {where}" if names else where
