"""Fields of the GPU operator's ClusterPolicy that bear on which GPUs a container gets; variables of the device plugin.

Source: NVIDIA/gpu-operator a22dbf6 (2026-08-21) deployments/gpu-operator/crds/nvidia.com_clusterpolicies.yaml;
NVIDIA/k8s-device-plugin v0.20.0 cmd/nvidia-device-plugin/main.go (EnvVars).
"""

from __future__ import annotations

from gputopo.allocate.device_plugin.config import DEVICE_ID_STRATEGIES, DISCOVERY_STRATEGIES, MIG_STRATEGIES
from gputopo.allocate.device_plugin.greedy import POLICIES

Kind = tuple[str, ...]  # one of these words, or a type of JSON in one word with a colon before it
FLAG, TEXT, MAPPING, LIST = (":boolean",), (":string",), (":object",), (":array",)
_COMPONENT: dict[str, Kind] = {
    "enabled": FLAG, "repository": TEXT, "image": TEXT, "version": TEXT, "imagePullPolicy": TEXT,
    "imagePullSecrets": LIST, "resources": MAPPING, "args": LIST, "env": LIST, "hostNetwork": FLAG,
}  # fmt: skip
_PARTS = (
    "cdi", "mig", "daemonsets", "operator", "sandboxWorkloads", "hostPaths", "psa", "psp", "dcgm", "dcgmExporter",
    "gfd", "nodeStatusExporter", "toolkit", "devicePlugin", "driver", "migManager", "gds", "gdrcopy", "validator",
    "vgpuManager", "vgpuDeviceManager", "vfioManager", "sandboxDevicePlugin", "kataSandboxDevicePlugin",
    "kataManager", "ccManager",
)  # fmt: skip
FIELDS: dict[str, dict[str, Kind]] = {
    "": dict.fromkeys(_PARTS, MAPPING),
    "mig": {"strategy": MIG_STRATEGIES},
    "cdi": {"enabled": FLAG, "default": FLAG, "nriPluginEnabled": FLAG},
    "devicePlugin": {**_COMPONENT, "config": MAPPING, "mps": MAPPING},
    "devicePlugin.config": {"name": TEXT, "default": TEXT},
    "devicePlugin.mps": {"root": TEXT},
    "gfd": _COMPONENT,
    "toolkit": {**_COMPONENT, "installDir": TEXT},
    "migManager": {**_COMPONENT, "config": MAPPING, "gpuClientsConfig": MAPPING},
    "migManager.config": {"name": TEXT, "default": TEXT},
    "driver": {
        **_COMPONENT, "rdma": MAPPING, "manager": MAPPING, "upgradePolicy": MAPPING, "certConfig": MAPPING,
        "repoConfig": MAPPING, "licensingConfig": MAPPING, "virtualTopology": MAPPING, "kernelModuleConfig": MAPPING,
        "kernelModuleType": ("auto", "open", "proprietary"), "useNvidiaDriverCRD": FLAG, "usePrecompiled": FLAG,
        "useOpenKernelModules": FLAG, "startupProbe": MAPPING, "livenessProbe": MAPPING, "readinessProbe": MAPPING,
        "secretEnv": TEXT,
    },
    "driver.rdma": {"enabled": FLAG, "useHostMofed": FLAG},
    "gds": _COMPONENT,
    "gdrcopy": _COMPONENT,
    "sandboxWorkloads": {
        "enabled": FLAG, "defaultWorkload": ("container", "vm-passthrough", "vm-vgpu"), "mode": ("kubevirt", "kata"),
    },
}  # fmt: skip

BOOLEAN = ("true", "false")
_BOOLEANS = (
    "FAIL_ON_INIT_ERROR", "PASS_DEVICE_SPECS", "GDRCOPY_ENABLED", "GDS_ENABLED", "MOFED_ENABLED", "IMEX_REQUIRED",
)  # fmt: skip
_OTHERS = (
    "DEVICE_LIST_STRATEGY", "CDI_ANNOTATION_PREFIX", "CDI_DISABLE_HOOKS", "CDI_FEATURE_FLAGS", "CONFIG_FILE",
    "KUBELET_SOCKET", "DRIVER_ROOT_CTR_PATH", "CONTAINER_DRIVER_ROOT", "IMEX_CHANNEL_IDS", "MPS_ROOT",
    "NVIDIA_CDI_HOOK_PATH", "NVIDIA_CTK_PATH", "NVIDIA_DEV_ROOT", "NVIDIA_DRIVER_ROOT", "DP_DISABLE_HEALTHCHECKS",
    "DP_ENABLE_HEALTHCHECKS", "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", "NVIDIA_MIG_MONITOR_DEVICES",
    "CDI_ENABLED",
)  # fmt: skip
# Variable of the plugin → the words it may have; BOOLEAN is what Go's ParseBool takes; empty: anything.
VARIABLES: dict[str, tuple[str, ...]] = {
    "MIG_STRATEGY": MIG_STRATEGIES,
    "DEVICE_ID_STRATEGY": DEVICE_ID_STRATEGIES,
    "DEVICE_DISCOVERY_STRATEGY": DISCOVERY_STRATEGIES,
    "SHARED_DEVICES_ALLOCATION_POLICY": tuple(POLICIES),
    **dict.fromkeys(_BOOLEANS, BOOLEAN),
    **dict.fromkeys(_OTHERS, ()),
}
