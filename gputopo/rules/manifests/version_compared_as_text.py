"""GT305 version-compared-as-text

What it says
    A selector compares driverVersion, cudaDriverVersion or cudaComputeCapability, which are versions, with a string,
    by an operator or as `.compareTo('580')`.

Why it matters
    `==` or `<` on a version and a string is the runtime error "no such overload": the pod is not scheduled. `!=` is
    always true.

What to do
    `.compareTo(semver('580.0.0')) >= 0` or `.isGreaterThan(semver('12.8.0'))`; semver() wants three numbers.

When it is silent
    The version is compared with semver(), or by one of its own methods.

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [of_class] = read('''apiVersion: resource.k8s.io/v1
    ... kind: DeviceClass
    ... metadata: {name: new}
    ... spec: {selectors: [{cel: {expression: "device.attributes['gpu.nvidia.com'].driverVersion >= '580'"}}]}
    ... ''')
    >>> [found] = check(of_class, Context())
    >>> found.remedy
    ".compareTo(semver('580.0.0')) >= 0"
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gputopo.allocate.dra.published import DRIVER
from gputopo.cel.references import Reference
from gputopo.rules.manifests.asks import WITH_SELECTORS, Selector, selectors
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.terms.edits import NO_MEND, Edit, Mend
from gputopo.terms.manifest import Manifest

CODE = "GT305"
SEVERITY = "error"
KINDS = WITH_SELECTORS
_VERSIONS = ("driverVersion", "cudaDriverVersion", "cudaComputeCapability")
_OPERATORS = ("==", "!=", "<", "<=", ">", ">=")
_METHODS = ("compareTo", "isGreaterThan", "isLessThan")
_FULL_OR_NOT = (">=", "<")
# So many parts say the whole version: the driver publishes 9.0.0 and 13.0.0 for what CUDA calls 9.0 and 13.0.
_PARTS = {"driverVersion": 3, "cudaDriverVersion": 2, "cudaComputeCapability": 2}
_WRITTEN = re.compile(r"(['\"]?)v?([0-9]+(?:\.[0-9]+){0,2})(\.?)\1")
_OF_STRINGS = ("startsWith", "endsWith", "contains", "matches")


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    for selector, _ in selectors(manifest):
        for one in selector.references:
            if one.domain != DRIVER or one.name not in _VERSIONS or one.compared is None:
                continue
            operator, value = one.compared
            if operator in _OPERATORS and not isinstance(value, bool) and isinstance(value, (str, int, float)):
                remedy = f".compareTo(semver('{_three(str(value))}')) {operator} 0"
            elif operator in _METHODS and isinstance(value, str):
                remedy = f".{operator}(semver('{_three(value)}'))"
            elif operator in _OF_STRINGS:
                remedy = ".compareTo(semver('580.0.0')) >= 0, or .major() == 580"
            else:
                continue
            if operator == "!=":
                message, severity = f"{one.name} is a version: != {value!r} is always true", "warning"
            else:
                message, severity = f"{one.name} is a version: {operator} with {value!r} fails when it runs", SEVERITY
            place = selector.place(manifest, one.line, one.column)
            because = "" if operator == "!=" else "the runtime error keeps the pod from being scheduled"
            mend = _mend(manifest, selector, one)
            yield problem(CODE, severity, manifest, selector.path, message, because, remedy, place, mend)


def _three(text: str) -> str:
    """
    >>> _three("580"), _three("580.105.08"), _three("new")
    ('580.0.0', '580.105.8', '580.0.0')
    """
    parts = text.removeprefix("v").split(".")
    if not 1 <= len(parts) <= 3 or not all(part.isascii() and part.isdigit() for part in parts):
        return "580.0.0"
    return ".".join(str(int(part)) for part in [*parts, "0", "0"][:3])


def _mend(manifest: Manifest, selector: Selector, one: Reference) -> Mend:
    """Where the parts that are not written do not matter: `> '580'` may or may not mean 580.105.8."""
    whole, other, relation = one.spans.whole, one.spans.other, one.spans.relation
    if whole is None or other is None or relation is None or one.compared is None or other < whole:
        return NO_MEND
    said = _WRITTEN.fullmatch(selector.text[slice(*other)])
    if said is None:
        return NO_MEND
    operator, parts = one.compared[0], said[2].split(".")
    if operator == "startsWith":
        new = f".major() == {int(parts[0])}" if len(parts) == 1 else ""
    elif operator in _OPERATORS and not said[3] and (operator in _FULL_OR_NOT or len(parts) >= _PARTS[one.name or ""]):
        new = f".compareTo(semver('{_three(said[2])}')) {operator} 0"
    elif operator in _METHODS and said[1] and not said[3] and len(parts) >= _PARTS[one.name or ""]:
        return manifest.rewrite(selector.path, [Edit(*other, f"semver('{_three(said[2])}')")])
    else:
        new = ""
    return manifest.rewrite(selector.path, [Edit(whole[1], relation[1], new)]) if new else NO_MEND
