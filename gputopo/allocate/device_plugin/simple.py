"""go-gpuallocator's Simple policy: what is required, then the lowest numbers. No plugin uses it.

Upstream: NVIDIA/go-gpuallocator v0.6.0 gpuallocator/simple_policy.go.

    >>> simple(available=[7, 5, 0, 4], required=[5], size=3)
    [5, 0, 4]
"""

from __future__ import annotations

from collections.abc import Sequence


def simple(available: Sequence[int], required: Sequence[int], size: int) -> list[int]:
    """Devices by their place in NVML's order; [] where it refuses."""
    if size <= 0 or size > len(available) or len(required) > size or not set(required) <= set(available):
        return []
    rest = sorted(set(available) - set(required))
    return [*required, *rest[: size - len(required)]]
