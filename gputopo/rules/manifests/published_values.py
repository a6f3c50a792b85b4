"""Which values the attributes of NVIDIA's DRA driver never have.

Sources: architecture, brand and addressingMode are the texts of NVIDIA/go-nvlib pkg/nvlib/device/device.go (3c161560,
vendored by the driver); MIG profiles pkg/nvlib/device/mig_profile.go; types cmd/gpu-kubelet-plugin/{types,mig}.go of
kubernetes-sigs/dra-driver-nvidia-gpu (main 95932046). A UUID is "a 5 part hexadecimal string" (nvml.h,
nvmlDeviceGetUUID), of a VFIO device it has no prefix (nvlib.go). pciBusID and pcieRoot:
k8s.io/dynamic-resource-allocation/deviceattribute/pci_linux.go.

    >>> refused("brand", "NVIDIA")
    ('error', 'the driver writes Nvidia', "'Nvidia'")
    >>> refused("resource.kubernetes.io/pciBusID", "00000000:1B:00.0")[2]
    "'0000:1b:00.0'"
    >>> refused("index", "0"), refused("architecture", "Hopper")
    (('error', 'index is a whole number', '0'), None)
"""

from __future__ import annotations

import re

from gputopo.rules.manifests import product_names
from gputopo.rules.manifests.attribute_names import STANDARD, kind_of_value
from gputopo.terms.pci_address import PciAddress

Refused = tuple[str, str, str]
LISTS = {
    "architecture": ("Kepler", "Maxwell", "Pascal", "Volta", "Turing", "Ampere", "Ada Lovelace", "Hopper", "Blackwell",
                     "Rubin", "Unknown"),
    "brand": ("Unknown", "Quadro", "Tesla", "NVS", "Grid", "GeForce", "Titan", "NvidiaVApps", "NvidiaVPC", "NvidiaVCS",
              "NvidiaVWS", "NvidiaCloudGaming", "QuadroRTX", "NvidiaRTX", "Nvidia", "GeForceRTX", "TitanRTX"),
    "addressingMode": ("HMM", "ATS", "None"),
    "type": ("gpu", "mig", "vfio"),
}  # fmt: skip
_UUID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_ADDRESS = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]\Z")
_ROOT = re.compile(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}\Z")
_PROFILE = re.compile(r"(?:[1-8]c\.)?[1-8]g\.[0-9]+gb(?:[+-].+)?\Z")
_TYPES: dict[str, type] = {"string": str, "int": int, "bool": bool}
_WORDS = {"string": "a text", "int": "a whole number", "bool": "true or false"}


def refused(name: str, value: object) -> Refused | None:
    """Severity, why and what to write instead; None: the driver may publish it. Versions are another rule's matter."""
    kind = kind_of_value(name)
    if kind == "version" or not isinstance(value, (str, int)):
        return None
    if not isinstance(value, _TYPES[kind]) or isinstance(value, bool) is not (kind == "bool"):
        return "error", f"{name} is {_WORDS[kind]}", _of_type(kind, str(value))
    return _of_text(name, value) if isinstance(value, str) else None


def _of_type(kind: str, text: str) -> str:
    """The same value as a literal of the type; "" where there is none."""
    if kind == "string":
        return f"'{text}'"
    if kind == "int":
        return text if text.isascii() and text.isdigit() else ""
    return text.lower() if text.lower() in ("true", "false") else ""


def _of_text(name: str, value: str) -> Refused | None:
    if name == "productName":
        return product_names.refused(value)
    if name in LISTS:
        return _listed(name, value)
    if name in ("uuid", "parentUUID") and not _UUID.search(value):
        return "error", "a UUID has five parts of hexadecimal digits, after GPU- or MIG-", ""
    if name == "profile" and not _PROFILE.match(value):
        fitting = value.lower().replace(" ", "").removeprefix("mig-")
        return "error", "a profile is written like 1g.10gb", f"'{fitting}'" if _PROFILE.match(fitting) else ""
    if name in (f"{STANDARD}/pciBusID", "pcieBusID") and not _ADDRESS.match(value):
        address = PciAddress.parse(value)
        return "error", "an address is written like 0000:1b:00.0", f"'{address}'" if address is not None else ""
    if name == f"{STANDARD}/pcieRoot" and not _ROOT.match(value):
        fitting = f"pci{value.lower()}"
        return "error", "a root is written like pci0000:15", f"'{fitting}'" if _ROOT.match(fitting) else ""
    return None


def _listed(name: str, value: str) -> Refused | None:
    known = LISTS[name]
    if value in known:
        return None
    near = [one for one in known if one.casefold() == value.casefold()]
    near = near or [one for one in known if value and one.casefold().startswith(value.casefold())]
    if len(near) == 1:
        return "error", f"the driver writes {near[0]}", f"'{near[0]}'"
    return "error", f"{name} is one of {', '.join(known)}", ""
