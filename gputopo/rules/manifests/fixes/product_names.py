"""How a selector asks for a model of GPU: by a part of the whole name that NVML gives.

>>> of_model("H100"), of_model("h100"), of_model("B200"), of_model("fast one")
(".contains('H100')", ".contains('H100')", ".matches('(^|[ -])B200($|[ -])')", '')

Source of the names: NVML's names in nvidia-smi -L, such as `NVIDIA H100 80GB HBM3`, `NVIDIA A100-SXM4-80GB`,
`NVIDIA GH200 480GB`, `NVIDIA L40S`, `Tesla T4`, `Tesla V100-SXM2-16GB`: the model is a word between blanks and dashes.
"""

from __future__ import annotations

_MODELS = (
    "K80", "M60", "P4", "P40", "P100", "V100", "V100S", "T4", "A2", "A10", "A16", "A30", "A40", "A100", "A800", "H20",
    "H100", "H200", "H800", "GH200", "B200", "B300", "GB200", "GB300", "L4", "L20", "L40", "L40S",
)  # fmt: skip
# A part of other names too, of those above or of RTX A4000, T400 and Quadro P4000: these are asked for as a word.
_PARTS_OF_OTHERS = frozenset(
    one for one in _MODELS if any(one in other for other in _MODELS if other != one)
) | {"A2", "A40", "P4", "T4", "M60", "P40"}


def of_model(said: str) -> str:
    """The test that a model's name asks for; "" for what is no model's name."""
    model = said.strip().upper()
    if model not in _MODELS:
        return ""
    if model in _PARTS_OF_OTHERS:
        return f".matches('(^|[ -]){model}($|[ -])')"
    return f".contains('{model}')"
