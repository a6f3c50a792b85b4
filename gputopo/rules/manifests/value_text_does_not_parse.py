"""GT312 value-text-does-not-parse

What it says
    A part of a selector that does not depend on the device fails whenever it runs, such as `quantity('80GB')`: there
    is no suffix GB. It was evaluated to find out.

Why it matters
    The expression compiles, so the API server takes it. When the scheduler runs it on a device for which no other
    term decides, the error keeps the pod from being scheduled.

What to do
    Quantities have the suffixes of Kubernetes: `quantity('80G')` or `quantity('80Gi')`. Versions have three numbers
    without a `v`: `semver('12.8.0')`, or `semver('v12.8', true)`, which fills up and cuts off.

When it is silent
    The part works, or another term decides before its error counts, or it stands in a loop that may never run.

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [of_class] = read('''apiVersion: resource.k8s.io/v1
    ... kind: DeviceClass
    ... metadata: {name: big}
    ... spec: {selectors: [{cel: {expression:
    ...   "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('80GB')) >= 0"}}]}
    ... ''')
    >>> [found] = check(of_class, Context())
    >>> found.place, found.message
    (Place(line=5, column=55), "quantity('80GB') fails when it runs: no such quantity")
    >>> found.remedy
    "quantity('80G')"
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.cel.constants import Failing, failing
from gputopo.rules.manifests import literal_texts
from gputopo.rules.manifests.asks import WITH_SELECTORS, selectors
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.terms.manifest import Manifest

CODE = "GT312"
SEVERITY = "error"
KINDS = WITH_SELECTORS
_ABORTS = "where nothing else decides, the runtime error keeps the pod from being scheduled"
_MOST_SHOWN = 80


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    release = f"1.{context.minor}"
    for selector, _ in selectors(manifest, context.together):
        for one in failing(selector.text, release):
            if one.too_dear:
                continue  # GT316
            place = selector.place(manifest, one.line, one.column)
            shown = one.text if len(one.text) <= _MOST_SHOWN else f"{one.text[:_MOST_SHOWN]}…"
            message = f"{shown} fails when it runs: {_said(one.error)}"
            yield problem(CODE, SEVERITY, manifest, selector.path, message, _ABORTS, _remedy(one, release), place)


def _said(error: str) -> str:
    """Kubernetes' words; of a quantity the regular expression is left out."""
    return "no such quantity" if error.startswith("quantities must match") else error


def _remedy(one: Failing, release: str) -> str:
    text = one.literals[0] if one.literals else None
    if not isinstance(text, str):
        return ""
    if one.function == "quantity":
        found = literal_texts.quantity(text, release)
        return f"quantity({literal_texts.quoted(found)})" if found else ""
    found = literal_texts.version(text, release) if one.function == "semver" else ""
    return f"semver({found})" if found else ""
