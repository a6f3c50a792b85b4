"""What is asked for, the same for every mechanism.

    >>> Request(size=2, required=("GPU3",)).resource
    'nvidia.com/gpu'
"""

from __future__ import annotations

from typing import NamedTuple


class Request(NamedTuple):
    """One container's (or claim's) request. Ids are those of `State.free`."""

    size: int  # units of the resource; 0 and less are passed on, since upstream answers them too
    required: tuple[str, ...] = ()  # must be in the answer (the kubelet's mustIncludeDeviceIDs)
    resource: str = "nvidia.com/gpu"
    owner: str = ""  # whose it is: the name under which `step` records what was given
    cpus: int | None = None  # exclusive CPUs; None: no exclusive ones
    memory_bytes: int | None = None  # pinned memory; None: none
