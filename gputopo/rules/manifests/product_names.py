"""Which texts are no value of `productName`, and how the product is asked for instead.

The name of a full GPU and of its MIG devices is NVML's (cmd/gpu-kubelet-plugin/nvlib.go of
kubernetes-sigs/dra-driver-nvidia-gpu, main 95932046). The README of NVIDIA/open-gpu-kernel-modules 595.45.04 lists 222
such names, from Turing on: 207 begin with `NVIDIA `, 12 with `Quadro `, 2 with `Matrox `, one is `Tesla T4`. A vGPU is
`GRID A100-10C`, older data centre GPUs `Tesla P100-PCIE-16GB`. Of a VFIO device it is the name in go-nvlib's
pci.ids, `GH100 [H100 SXM5 80GB]`.

    >>> refused("H100")
    ('error', 'it is a whole name such as NVIDIA H100 80GB HBM3', ".contains('H100')")
    >>> refused("NVIDIA-A100-SXM4-80GB")[2], refused("A10")[2], refused("NVIDIA H100 80GB HBM3")
    ("'NVIDIA A100-SXM4-80GB'", ".matches(r'\\\\bA10\\\\b')", None)
"""

from __future__ import annotations

import re

# Of the README's names those of data centre and workstation boards.
_NAMES = (
    "NVIDIA H100 80GB HBM3", "NVIDIA H100 NVL", "NVIDIA H100 PCIe", "NVIDIA H100", "NVIDIA H200 NVL", "NVIDIA H200",
    "NVIDIA H20-3e", "NVIDIA H20 NVL16", "NVIDIA H20", "NVIDIA H800 NVL", "NVIDIA H800 PCIe", "NVIDIA H800",
    "NVIDIA B200", "NVIDIA B300 SXM6 AC", "NVIDIA GB10", "NVIDIA GB200", "NVIDIA GB300", "NVIDIA GH200 120GB",
    "NVIDIA GH200 144G HBM3e", "NVIDIA GH200 480GB", "NVIDIA A100-SXM4-80GB", "NVIDIA A100-SXM4-40GB",
    "NVIDIA A100 80GB PCIe", "NVIDIA A100-PCIE-40GB", "NVIDIA A800-SXM4-80GB", "NVIDIA A800-SXM4-40GB",
    "NVIDIA A800 80GB PCIe", "NVIDIA A800 40GB Active", "NVIDIA A10", "NVIDIA A10G", "NVIDIA A10M", "NVIDIA A16",
    "NVIDIA A2", "NVIDIA A30", "NVIDIA A40", "NVIDIA L2", "NVIDIA L20", "NVIDIA L4", "NVIDIA L40", "NVIDIA L40S",
    "NVIDIA RTX A2000 12GB", "NVIDIA RTX A2000", "NVIDIA RTX A4000", "NVIDIA RTX A4500", "NVIDIA RTX A5000",
    "NVIDIA RTX A5500", "NVIDIA RTX A6000", "NVIDIA RTX 2000 Ada Generation", "NVIDIA RTX 4000 Ada Generation",
    "NVIDIA RTX 4000 SFF Ada Generation", "NVIDIA RTX 4500 Ada Generation", "NVIDIA RTX 5000 Ada Generation",
    "NVIDIA RTX 5880 Ada Generation", "NVIDIA RTX 6000 Ada Generation",
    "NVIDIA RTX PRO 6000 Blackwell Server Edition", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
    "NVIDIA RTX PRO 5000 Blackwell", "NVIDIA RTX PRO 4500 Blackwell", "NVIDIA RTX PRO 4000 Blackwell", "Tesla T4",
)  # fmt: skip
_BEGINNINGS = ("NVIDIA ", "Quadro ", "Tesla ", "Matrox ", "GRID ")
_CHIP = re.compile(r"[A-Z]{2,3}[0-9]{2,3}[A-Z]{0,3}\Z")  # an entry of pci.ids without a product


def refused(value: str) -> tuple[str, str, str] | None:
    """Severity, why and what to ask instead for a text that no product is called."""
    same = _spelt_otherwise(value)
    if same is not None:
        return "error", f"the name is {same}", f"'{same}'"
    if value.startswith("NVIDIA-"):  # every listed name has a space there
        return "error", f"it is a whole name such as {_NAMES[0]}, with spaces", _contains(value[7:].split("-")[0])
    whole = next((name for name in _NAMES if _begins(name, value)), None)
    if whole is not None:
        return "error", f"it is a whole name such as {whole}", _contains(value)
    if value.startswith(_BEGINNINGS) or "[" in value or _CHIP.match(value):
        return None
    return "warning", "the names that NVIDIA's driver gives begin with NVIDIA, Tesla or Quadro", _contains(value)


def is_model(value: str) -> bool:
    """Whether a text is a part of a product's name that stands for it: `H100`."""
    return any(_begins(name, value) for name in _NAMES)


def _spelt_otherwise(value: str) -> str | None:
    """A listed name with dashes for spaces, as in the labels of GPU feature discovery, or in other case."""
    if value in _NAMES:
        return None
    plain = value.casefold().replace(" ", "-")
    return next((name for name in _NAMES if name.casefold().replace(" ", "-") == plain), None)


def _begins(name: str, value: str) -> bool:
    rest = name.partition(" ")[2]
    return bool(value) and (rest == value or rest.startswith((f"{value} ", f"{value}-")))


def _contains(value: str) -> str:
    """With word borders where another product's name has the text within a word."""
    word = re.compile(rf"\b{re.escape(value)}\b")
    within = any(value in name and not word.search(name) for name in _NAMES)
    return f".matches(r'\\b{value}\\b')" if within and value.isalnum() else f".contains({_quoted(value)})"


def _quoted(value: str) -> str:
    return f'"{value}"' if "'" in value else f"'{value}'"
