"""Refusals: what a format needs and the evidence lacks, and what would settle it."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from gputopo.errors import GputopoError
from gputopo.topology.node import Gpu, NodeTopology

NOT_ENOUGH = 3
_NVIDIA = (None, "nvidia", "0x10de", "10de")


def missing(what: str, subjects: Collection[str], settled_by: str) -> GputopoError:
    """
    >>> print(missing("device minor unknown", ["GPU0", "GPU1"], "nvidia-smi -q -x"))
    device minor unknown (GPU0, GPU1)
    hint: nvidia-smi -q -x settles it
    """
    names = list(subjects)
    shown = names if len(names) <= 4 else [*names[:3], f"and {len(names) - 3} more"]
    return GputopoError(what, ", ".join(shown), f"{settled_by} settles it", NOT_ENOUGH)


def need(gpus: Iterable[Gpu], field: str, what: str, settled_by: str) -> None:
    """Raises GputopoError where a GPU's field is not known."""
    silent = [gpu.id for gpu in gpus if getattr(gpu, field) is None]
    if silent:
        raise missing(f"{what} unknown", silent, settled_by)


def need_distinct(gpus: Iterable[Gpu], field: str, what: str, settled_by: str) -> None:
    """Raises GputopoError where the field is unknown, or where two GPUs have one value."""
    listed = tuple(gpus)
    need(listed, field, what, settled_by)
    values = [getattr(gpu, field) for gpu in listed]
    twice = [gpu.id for gpu in listed if values.count(getattr(gpu, field)) > 1]
    if twice:
        raise missing(f"{what} is the same for several GPUs", twice, settled_by)


def need_nvidia(node: NodeTopology, format: str) -> None:
    others = [gpu.id for gpu in node.gpus if gpu.vendor not in _NVIDIA]
    if others:
        raise GputopoError(f"{format} is for NVIDIA GPUs", ", ".join(others[:4]), exit_code=NOT_ENOUGH)


def need_name(node: NodeTopology) -> str:
    """The node's name. Raises GputopoError."""
    if not node.name:
        hint = "--node-name NAME, as kubectl get nodes prints it"
        raise GputopoError("the node's name is unknown", "", hint, NOT_ENOUGH)
    return node.name


def need_no_mig(node: NodeTopology, why: str) -> None:
    divided = [gpu.id for gpu in node.gpus if gpu.mig]
    if divided:
        raise GputopoError(f"GPUs with MIG devices: {why}", ", ".join(divided[:4]), exit_code=NOT_ENOUGH)
