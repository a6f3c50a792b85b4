"""GT302 selector-does-not-compile

What it says
    A CEL expression has a syntax or type error; each is named at its place, also behind the first.

Why it matters
    The API server refuses the object. In an object that was stored earlier the error makes every pod that uses it
    unschedulable.

What to do
    Quantities have no operators: `device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('79Gi')) >= 0`.
    Attributes are read as `device.attributes['DOMAIN'].NAME`.

When it is silent
    The expression compiles in the environment of the release (--k8s-version). What fails only on some devices when
    it runs is another rule's matter.

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [of_class] = read('''apiVersion: resource.k8s.io/v1
    ... kind: DeviceClass
    ... metadata: {name: big}
    ... spec:
    ...   selectors:
    ...   - cel:
    ...       expression: |-
    ...         device.driver == 'a.b' &&
    ...           device.capacity['a.b'].memory >= 80Gi
    ... ''')
    >>> [(found.place.line, found.place.column) for found in check(of_class, Context())]
    [(9, 41), (9, 46)]
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.cel.mend import mended
from gputopo.cel.program import diagnose
from gputopo.rules.manifests.asks import WITH_SELECTORS, selectors
from gputopo.rules.manifests.compile_remedies import remedy
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.terms.edits import NO_MEND
from gputopo.terms.manifest import Manifest

CODE = "GT302"
SEVERITY = "error"
KINDS = WITH_SELECTORS


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    for one, _ in selectors(manifest):
        release = f"1.{context.minor}"
        faults = diagnose(one.text, release)
        reads = one.references if faults else []
        edits = mended(one.text, release) if faults else ()
        mend = manifest.rewrite(one.path, edits) if edits else NO_MEND
        for fault in faults:
            place = one.place(manifest, fault.line, fault.column)
            message = " ".join(fault.message.split())
            after = _word_at(one.text, fault.line, fault.column)
            if after and "Syntax error" in message:
                message += f" (in {after})"
            instead = remedy(one.text, fault, reads)
            yield problem(CODE, SEVERITY, manifest, one.path, message, "", instead, place, mend)


def _word_at(text: str, line: int, column: int) -> str:
    """The word around a place: `80Gi` where only `Gi` is named."""
    lines = text.split("\n")
    if not 0 < line <= len(lines):
        return ""
    here, start = lines[line - 1], column - 1
    if start >= len(here) or not here[start].isalnum():
        return ""
    end = start
    while start > 0 and here[start - 1].isalnum():
        start -= 1
    while end < len(here) and here[end].isalnum():
        end += 1
    return here[start:end][:60]
