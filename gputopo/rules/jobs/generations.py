"""Which GPUs have NVLink SHARP: Hopper and later.

    >>> from gputopo.topology.node import Gpu
    >>> [has_nvls(Gpu("GPU0", name=name)) for name in ("NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB", "GB300")]
    [True, False, True]
    >>> has_nvls(Gpu("GPU0", compute_capability="9.0")), has_nvls(Gpu("GPU0"))
    (True, False)
"""

from __future__ import annotations

import re

from gputopo.topology.node import Gpu

_NAMES = re.compile(r"\b(G?H(100|200|800|20)|G?B(100|200|300))\b")


def has_nvls(gpu: Gpu) -> bool:
    """False also where nothing tells the model."""
    if gpu.name is not None:
        return _NAMES.search(gpu.name) is not None
    major = (gpu.compute_capability or "").split(".")[0]
    return major.isdigit() and int(major) in (9, 10)
