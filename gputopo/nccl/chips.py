"""Which chip a GPU is: its compute capability, as printed or by its model or architecture.

    >>> capability(Gpu("GPU0", name="NVIDIA H100 80GB HBM3"))
    Capability(sm=90, basis='model')
    >>> capability(Gpu("GPU0", compute_capability="8.6")), capability(Gpu("GPU0"))
    (Capability(sm=86, basis='printed'), None)

Source: NVIDIA's table of compute capabilities (developer.nvidia.com/cuda-gpus).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from gputopo.topology.node import Gpu

_ARCHITECTURES = {"Pascal": 60, "Volta": 70, "Turing": 75, "Ampere": 80, "Ada Lovelace": 89, "Hopper": 90,
                  "Blackwell": 100}  # fmt: skip
# What a word of the model says; workstation cards are Ada or Blackwell by another word and stand before.
_MODELS = (
    (re.compile(r"\bG?B300\b"), 103),
    (re.compile(r"\b(G?B200|B100)\b"), 100),
    (re.compile(r"\b(G?H200|GH200|H100|H800|H20)\b"), 90),
    (re.compile(r"\b(L4|L20|L40S?|RTX 40\d\d|RTX \d000 Ada|RTX 4000 SFF Ada)\b"), 89),
    (re.compile(r"\b(RTX 50\d\d|RTX PRO \d000)\b"), 120),
    (re.compile(r"\b(A100|A800|A30)\b"), 80),
    (re.compile(r"\b(A40|A10G?|A16|A2|RTX A\d000|RTX 30\d\d)\b"), 86),
    (re.compile(r"\b(T4|RTX 20\d\d|Quadro RTX \d000|TITAN RTX)\b"), 75),
    (re.compile(r"\bV100\b"), 70),
    (re.compile(r"\b(P40|P4|GTX 10\d\d)\b"), 61),
    (re.compile(r"\bP100\b"), 60),
)


class Capability(NamedTuple):
    """`sm`: 90 is 9.0. `basis`: printed · model · architecture (of which Ampere is 8.0 and 8.6)."""

    sm: int
    basis: str


def capability(gpu: Gpu) -> Capability | None:
    major, dot, minor = (gpu.compute_capability or "").partition(".")
    if dot and major.isdecimal() and minor.isdecimal() and len(major) < 4 and len(minor) < 3:
        return Capability(int(major) * 10 + int(minor), "printed")
    for pattern, sm in _MODELS:
        if gpu.name is not None and pattern.search(gpu.name):
            return Capability(sm, "model")
    if gpu.architecture in _ARCHITECTURES:
        return Capability(_ARCHITECTURES[gpu.architecture], "architecture")
    return None
