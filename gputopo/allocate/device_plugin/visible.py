"""What the container would see: environment, mounts, CDI devices, annotations.

Upstream: NVIDIA/k8s-device-plugin v0.20.0 internal/plugin/server.go (getAllocateResponse) and mps.go. The
order of the devices is the kubelet's, which is random; here it is the node's.

    >>> from gputopo.topology.node import Gpu
    >>> node = NodeTopology(gpus=(Gpu("GPU0", nvml_index=0, uuid="GPU-aa"), Gpu("GPU1", nvml_index=1, uuid="GPU-bb")))
    >>> visible(node, ("GPU0", "GPU1"), PluginConfig(), unique_ids=True).env
    (('NVIDIA_VISIBLE_DEVICES', 'GPU-aa,GPU-bb'),)
    >>> config = PluginConfig(device_list_strategies=("cdi-cri",), device_id_strategy="index")
    >>> visible(node, ("GPU1",), config, unique_ids=True).cdi_devices
    ('k8s.device-plugin.nvidia.com/gpu=1',)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gputopo.allocate.device_plugin.config import PluginConfig
from gputopo.allocate.device_plugin.units import GPU, mig_unit
from gputopo.allocate.state import physical
from gputopo.topology.node import NodeTopology

LIST = "NVIDIA_VISIBLE_DEVICES"
MOUNT_ROOT = "/var/run/nvidia-container-devices"
_CDI_VENDOR = "k8s.device-plugin.nvidia.com"


class Visible(NamedTuple):
    """`None` for a device's id: the evidence does not hold it. `unset`: the image's own value stays visible."""

    ids: tuple[str | None, ...]
    env: tuple[tuple[str, str], ...] = ()
    mounts: tuple[tuple[str, str], ...] = ()  # (on the host, in the container)
    cdi_devices: tuple[str, ...] = ()
    annotations: tuple[tuple[str, str], ...] = ()
    devices: tuple[str, ...] = ()  # device nodes
    unset: bool = False


def visible(
    node: NodeTopology, units: Sequence[str], config: PluginConfig, *, unique_ids: bool, resource: str = GPU
) -> Visible:  # fmt: skip
    """unique_ids: a device of which two replicas were given is named once (since v0.18.0)."""
    own = _ids(node, config.device_id_strategy)
    ids = [own.get(physical(unit)) for unit in units]
    if unique_ids or config.device_id_strategy == "index":
        ids = list(dict.fromkeys(ids))
    named = [id if id is not None else "?" for id in ids]
    strategies = config.device_list_strategies
    env: list[tuple[str, str]] = []
    mounts: list[tuple[str, str]] = []
    cdi = [f"{_CDI_VENDOR}/gpu={id}" for id in named] if any(one.startswith("cdi-") for one in strategies) else []
    cdi += [f"{_CDI_VENDOR}/imex-channel={one}" for one in config.imex_channels] if cdi else []
    if config.sharing is not None and config.sharing.kind == "mps":
        env.append(("CUDA_MPS_PIPE_DIRECTORY", f"/mps/{resource}/pipe"))
        root = config.mps_root or "<mpsRoot>"
        mounts += [(f"{root}/{resource}/pipe", f"/mps/{resource}/pipe"), (f"{root}/shm", "/dev/shm")]
    for wanted, name in ((config.gdrcopy, "GDRCOPY"), (config.gds, "GDS"), (config.mofed, "MOFED")):
        if wanted:
            env.append((f"NVIDIA_{name}", "enabled"))
    if "volume-mounts" in strategies:
        env.append((LIST, MOUNT_ROOT))
        mounts += [("/dev/null", f"{MOUNT_ROOT}/{id}") for id in named]
        mounts += [("/dev/null", f"{MOUNT_ROOT}/imex/{one}") for one in config.imex_channels]
    elif "envvar" in strategies:
        env.append((LIST, ",".join(named)))
    if "envvar" in strategies and config.imex_channels:
        env.append(("NVIDIA_IMEX_CHANNELS", ",".join(map(str, config.imex_channels))))
    prefix = config.cdi_annotation_prefix
    return Visible(
        tuple(ids), tuple(env), tuple(mounts),
        cdi_devices=tuple(cdi) if "cdi-cri" in strategies else (),
        annotations=((f"{prefix}nvidia-device-plugin_<uuid>", ",".join(cdi)),)
        if "cdi-annotations" in strategies and cdi else (),
        devices=_nodes(node, units, config),
        unset=all(one.startswith("cdi-") for one in strategies),
    )  # fmt: skip


def _ids(node: NodeTopology, strategy: str) -> dict[str, str | None]:
    """Device → its id: the UUID, or NVML's index (`i:j` for a MIG device)."""
    found: dict[str, str | None] = {}
    for gpu in node.gpus:
        index = None if gpu.nvml_index is None else str(gpu.nvml_index)
        found[gpu.id] = gpu.uuid if strategy == "uuid" else index
        for mig in gpu.mig:
            place = None if index is None or mig.number is None else f"{index}:{mig.number}"
            found[mig_unit(gpu, mig)] = mig.uuid if strategy == "uuid" else place
    return found


def _nodes(node: NodeTopology, units: Sequence[str], config: PluginConfig) -> tuple[str, ...]:
    """passDeviceSpecs: the nodes of the GPUs, numbered by minor; the control nodes where the host has them."""
    if not config.pass_device_specs or all(one.startswith("cdi-") for one in config.device_list_strategies):
        return ()
    minors = {gpu.id: gpu.minor for gpu in node.gpus}
    of_mig = {mig_unit(gpu, mig): gpu.id for gpu in node.gpus for mig in gpu.mig}
    own = [minors.get(of_mig.get(physical(unit), physical(unit))) for unit in units]
    named = dict.fromkeys(f"/dev/nvidia{'?' if minor is None else minor}" for minor in own)
    return ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset", *named)
