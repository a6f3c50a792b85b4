"""GT304 comparison-never-true

What it says
    A selector compares an attribute of NVIDIA's driver with a value that it never has.

Why it matters
    No device matches, and the scheduler says only "cannot allocate all claims".

What to do
    `productName` is the whole name that NVML gives, `NVIDIA H100 80GB HBM3`: ask `.contains('H100')`. `type` is gpu,
    mig or vfio; a UUID begins with GPU- or MIG-.

When it is silent
    The value is one that the driver could publish, whether or not a device of this cluster has it.

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [of_class] = read('''apiVersion: resource.k8s.io/v1
    ... kind: DeviceClass
    ... metadata: {name: h100}
    ... spec: {selectors: [{cel: {expression: "device.attributes['gpu.nvidia.com'].productName == 'H100'"}}]}
    ... ''')
    >>> [found] = check(of_class, Context())
    >>> found.message
    "productName == 'H100' is never true: it is a whole name such as NVIDIA H100 80GB HBM3"
    >>> found.remedy
    ".contains('H100')"
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.allocate.dra.published import DRIVER
from gputopo.cel.references import Reference
from gputopo.rules.manifests.asks import WITH_SELECTORS, selectors
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.terms.manifest import Manifest

CODE = "GT304"
SEVERITY = "error"
KINDS = WITH_SELECTORS
# How names begin that nvidia-smi -L prints, in the dumps that were read.
_BEGINNINGS = ("NVIDIA ", "Tesla ", "Quadro ", "GRID ", "TITAN ", "GeForce ", "Orin", "Graphics Device")
_ARCHITECTURES = ("Maxwell", "Pascal", "Volta", "Turing", "Ampere", "Ada Lovelace", "Hopper", "Blackwell")
_TYPES = ("gpu", "mig", "vfio")
_NAMES = ("productName", "model")


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    for selector, _ in selectors(manifest):
        for one in selector.references:
            if one.kind != "attributes" or one.domain != DRIVER or one.compared is None:
                continue
            operator, value = one.compared
            if operator not in ("==", "!=") or not isinstance(value, str):
                continue
            why, remedy = _why(one, value)
            if why:
                constant = "never" if operator == "==" else "always"
                message = f"{one.name} {operator} '{value}' is {constant} true: {why}"
                place = selector.place(manifest, one.line, one.column)
                severity = SEVERITY if operator == "==" else "warning"
                yield problem(CODE, severity, manifest, selector.path, message, "", remedy, place)


def _why(one: Reference, value: str) -> tuple[str, str]:
    if one.name in _NAMES and not value.startswith(_BEGINNINGS):
        said = "it is" if one.name == "productName" else "productName is"
        return f"{said} a whole name such as NVIDIA H100 80GB HBM3", f".contains('{value}')"
    if one.name == "type" and value not in _TYPES:
        return "type is gpu, mig or vfio", _near(value, _TYPES)
    if one.name == "architecture" and value.lower() in [each.lower() for each in _ARCHITECTURES]:
        right = next(each for each in _ARCHITECTURES if each.lower() == value.lower())
        return ("", "") if right == value else (f"the driver writes {right}", f"'{right}'")
    if one.name in ("uuid", "parentUUID") and not value.startswith(("GPU-", "MIG-")):
        return "a UUID begins with GPU- or MIG-", ""
    return "", ""


def _near(value: str, known: tuple[str, ...]) -> str:
    return f"'{value.lower()}'" if value.lower() in known else ""
