"""Where the kubelet keeps what it gave to whom: below its root folder on a node, in `kubelet/` of a bundle.

    ROOT/device-plugins/kubelet_internal_checkpoint   devices of device plugins
    ROOT/cpu_manager_state, memory_manager_state      exclusive CPUs, memory on NUMA nodes
    ROOT/dra_manager_state                            ResourceClaims
    ROOT/pod-resources/kubelet.sock                   the socket that is asked for all of it

(kubernetes pkg/kubelet/config/defaults.go, pkg/kubelet/cm.)
"""

from __future__ import annotations

ROOT = "/var/lib/kubelet"
FOLDER = "kubelet"
STATE_FILES = (
    "device-plugins/kubelet_internal_checkpoint",
    "cpu_manager_state",
    "memory_manager_state",
    "dra_manager_state",
)
BELOW_A_NODE = tuple(f"{ROOT[1:]}/{name}" for name in STATE_FILES)  # of the node's root folder
SOCKET = "pod-resources/kubelet.sock"
