"""A GPU's product name as Slurm's AutoDetect makes a `Type` of it."""

from __future__ import annotations

import string

_LOWER = str.maketrans(string.ascii_uppercase + " ", string.ascii_lowercase + "_")


def gres_type(name: str) -> str:
    """SchedMD/slurm 284c3b9, src/plugins/gpu/common/gpu_common.c, gpu_common_underscorify_tolower.

    >>> gres_type("NVIDIA A100-PCIE-40GB"), gres_type("Quadro RTX 6000/8000")
    ('nvidia_a100-pcie-40gb', 'quadro_rtx_6000/8000')
    """
    return name.translate(_LOWER)
