"""GT304 comparison-never-true

What it says
    A selector compares an attribute of NVIDIA's driver with a value that it never has.

Why it matters
    No device matches, and the scheduler says only "cannot allocate all claims".

What to do
    `productName` is the whole name that NVML gives, `NVIDIA H100 80GB HBM3`: ask `.contains('H100')`. Architecture,
    brand, type and MIG profile have fixed spellings; a UUID, a PCI address and a PCIe root have a fixed form.

When it is silent
    The value is one that the driver could publish, whether or not a device of this cluster has it. What it publishes
    is named with its sources in product_names.py and published_values.py.

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
from gputopo.rules.manifests import attribute_names as names
from gputopo.rules.manifests import product_names
from gputopo.rules.manifests.asks import WITH_SELECTORS, Selector, selectors
from gputopo.rules.manifests.fixes.nearest import meant
from gputopo.rules.manifests.fixes.product_names import of_model
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.rules.manifests.published_values import LISTS, Refused, refused
from gputopo.terms.edits import NO_MEND, Edit, Mend
from gputopo.terms.manifest import Manifest

CODE = "GT304"
SEVERITY = "error"
KINDS = WITH_SELECTORS
_NAMES = ("productName", "model")


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    for selector, of_nvidia in selectors(manifest, context.together):
        for one in selector.references:
            found = _found(one, of_nvidia)
            if found is None or one.compared is None:
                continue
            severity, why, remedy = found
            operator, value = one.compared
            constant = "never" if operator != "!=" else "always"
            message = f"{one.name} {operator} {_written(value)} is {constant} true: {why}"
            place = selector.place(manifest, one.line, one.column)
            severity = "warning" if operator == "!=" else severity
            mend = _mend(manifest, selector, one, remedy)
            yield problem(CODE, severity, manifest, selector.path, message, "", remedy, place, mend)


def _found(one: Reference, of_nvidia: bool) -> Refused | None:
    if one.kind != "attributes" or one.name is None or one.compared is None:
        return None
    operator, value = one.compared
    if operator == "in" and isinstance(value, tuple) and value:
        each = [_refused(one, element, of_nvidia) for element in value]
        found = [given for given in each if given is not None]
        return found[0] if len(found) == len(value) else None
    return _refused(one, value, of_nvidia) if operator in ("==", "!=") else None


def _refused(one: Reference, value: object, of_nvidia: bool) -> Refused | None:
    if one.domain == DRIVER and one.name == "model" and isinstance(value, str) and product_names.is_model(value):
        found = product_names.refused(value)
        return found and (found[0], found[1].replace("it is", "productName is"), found[2])
    if one.domain == DRIVER and one.name is not None and names.ever(one.name):
        return refused(one.name, value)
    standard = one.domain == names.STANDARD and one.name in names.STANDARD_NAMES
    return refused(f"{one.domain}/{one.name}", value) if standard and of_nvidia else None


def _written(value: object) -> str:
    """A literal of CEL, or a list of them."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return f"'{value}'" if isinstance(value, str) else str(value)


def _mend(manifest: Manifest, selector: Selector, one: Reference, remedy: str) -> Mend:
    """For a model of GPU that is known, the words of a list, and another spelling of the same value."""
    whole, other, relation = one.spans.whole, one.spans.other, one.spans.relation
    operator, value = one.compared or ("", None)
    if whole is None or other is None or relation is None or operator == "in" or not isinstance(value, str):
        return NO_MEND
    word = meant(value, LISTS[one.name]) if one.name in LISTS else remedy[1:-1] if remedy[:1] == "'" else ""
    if word:
        inner = Edit(other[0] + 1, other[1] - 1, word)
        written = selector.text[inner.start : inner.end] == value
        return manifest.rewrite(selector.path, [inner]) if written else NO_MEND
    test = of_model(value) if one.name in _NAMES else ""
    if not test:
        return NO_MEND
    # The remedy's words are the same test, where it takes care of longer words.
    test = remedy if remedy.startswith(".matches(") else test
    edits = [Edit(whole[1], relation[1], test)]
    if other < whole:
        edits = [Edit(relation[0], whole[0], ""), Edit(whole[1], whole[1], test)]
    if operator == "!=":
        edits = [Edit(whole[0], whole[0], "!"), *edits] if whole < other else [edits[0]._replace(text="!"), edits[1]]
    return manifest.rewrite(selector.path, edits)
