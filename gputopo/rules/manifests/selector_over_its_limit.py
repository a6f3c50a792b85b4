"""GT316 selector-over-its-limit

What it says
    A selector is longer than 10 KiB, or costs more than 1,000,000 whenever it runs.

Why it matters
    The API server refuses a longer one. One that costs more is cancelled when the scheduler runs it, and the pod is
    not scheduled. The limits are CELSelectorExpressionMaxLength and CELSelectorExpressionMaxCost of
    k8s.io/api/resource/v1 types.go, the same from 1.32 to 1.37.

What to do
    Several selectors: each has limits of its own, and all have to be true.

When it is silent
    What the selector costs depends on the device. That a new object is refused for its estimated cost is not said
    here: the estimate is the API server's.

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [of_class] = read('''apiVersion: resource.k8s.io/v1
    ... kind: DeviceClass
    ... metadata: {name: big}
    ... spec: {selectors: [{cel: {expression: "device.driver == '%s'"}}]}
    ... ''' % ("x" * 10240))
    >>> [found.message for found in check(of_class, Context())]
    ['the selector has 10259 bytes, and the API server takes 10240']
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.cel.constants import failing
from gputopo.cel.environment import MOST_BYTES, MOST_COST
from gputopo.rules.manifests.asks import WITH_SELECTORS, selectors
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.terms.manifest import Manifest

CODE = "GT316"
SEVERITY = "error"
KINDS = WITH_SELECTORS
_CANCELLED = "the scheduler cancels it, and every pod that uses the selector is not scheduled"


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    for selector, _ in selectors(manifest, context.together):
        size = len(selector.text.encode("utf-8", "surrogatepass"))
        if size > MOST_BYTES:
            message = f"the selector has {size} bytes, and the API server takes {MOST_BYTES}"
            yield problem(CODE, SEVERITY, manifest, selector.path, message, "", "several selectors")
            continue
        for one in failing(selector.text, f"1.{context.minor}"):
            if one.too_dear:
                message = f"this part alone costs more than {MOST_COST} whenever it runs"
                place = selector.place(manifest, one.line, one.column)
                yield problem(CODE, SEVERITY, manifest, selector.path, message, _CANCELLED, "", place)
