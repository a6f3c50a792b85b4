"""GT311 memory-named-by-its-label

What it says
    A selector wants as many GiB of memory as the product's name says.

Why it matters
    NVML reports less than the label: an H100 80GB HBM3 publishes 81559Mi, 79.6 GiB, so that 80Gi never matches it. An
    A100 80GB publishes 80Gi.

What to do
    `quantity('79Gi')`, or the label in its own unit, `quantity('80G')`.

When it is silent
    The number of GiB is another than 80, it is an upper limit, or the selector names a product of another generation
    than H100.

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [of_class] = read('''apiVersion: resource.k8s.io/v1
    ... kind: DeviceClass
    ... metadata: {name: big}
    ... spec: {selectors: [{cel: {expression:
    ...   "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('80Gi')) >= 0"}}]}
    ... ''')
    >>> [found] = check(of_class, Context())
    >>> found.place, found.message
    (Place(line=5, column=65), 'an H100 80GB HBM3 publishes 81559Mi of memory (79.6 GiB): 80Gi does not match it')
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gputopo.allocate.dra.published import DRIVER
from gputopo.cel.thresholds import thresholds
from gputopo.rules.manifests.asks import WITH_SELECTORS, selectors
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.terms.edits import NO_MEND, Edit
from gputopo.terms.manifest import Manifest

CODE = "GT311"
SEVERITY = "warning"
KINDS = WITH_SELECTORS
_LABEL = "80Gi"
_AT_LEAST = (">=", ">")
_OTHERS = re.compile(r"A100|A800|H200|B200|B300")


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    for selector, _ in selectors(manifest):
        if _OTHERS.search(selector.text) or not any(
            one.kind == "capacity" and one.domain == DRIVER and one.name == "memory" for one in selector.references
        ):
            continue
        for found in thresholds(selector.text, "memory", f"1.{context.minor}"):
            if found.text != _LABEL or found.operator not in (*_AT_LEAST, "=="):
                continue
            message = f"an H100 80GB HBM3 publishes 81559Mi of memory (79.6 GiB): {_LABEL} does not match it"
            place = selector.place(manifest, found.line, found.column)
            mend = NO_MEND
            if found.span is not None and found.operator in _AT_LEAST:
                mend = manifest.rewrite(selector.path, [Edit(*found.span, "79Gi")])
            yield problem(CODE, SEVERITY, manifest, selector.path, message, "", "quantity('79Gi')", place, mend)
