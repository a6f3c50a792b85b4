"""GT306 constraint-names-no-request

What it says
    A constraint or a configuration lists a request that the claim does not have.

Why it matters
    The API server refuses the claim.

What to do
    Name a request, or an alternative of firstAvailable as `request/alternative`.

When it is silent
    Every name is that of a request or of an alternative, or the list is empty, which means all requests.

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [claim] = read('''apiVersion: resource.k8s.io/v1
    ... kind: ResourceClaim
    ... metadata: {name: c}
    ... spec:
    ...   devices:
    ...     requests: [{name: gpus, exactly: {deviceClassName: gpu.nvidia.com}}]
    ...     constraints: [{matchAttribute: resource.kubernetes.io/pcieRoot, requests: [gpu]}]
    ... ''')
    >>> [found] = check(claim, Context())
    >>> found.place, found.message
    (Place(line=7, column=80), 'the constraint names gpu, and there is no such request')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.manifests.asks import CLAIMS, asks, devices_path, value_at
from gputopo.rules.manifests.fixes.nearest import meant
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.terms.edits import NO_MEND, Edit
from gputopo.terms.manifest import Manifest, Path

CODE = "GT306"
SEVERITY = "error"
KINDS = CLAIMS


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    full = {ask.name for ask in asks(manifest)}
    known = full | {name.partition("/")[0] for name in full}
    alternatives = {name.partition("/")[2]: name for name in full if "/" in name}
    for what, path in _named(manifest):
        name = value_at(manifest, path)
        if not isinstance(name, str) or name in known:
            continue
        message = f"the {what} names {name}, and there is no such request"
        remedy = alternatives.get(name) or f"there are {', '.join(sorted(known)) or 'none'}"
        word = alternatives.get(name) or meant(name, known)
        certain = word and word not in value_at(manifest, path[:-1])
        mend = manifest.rewrite(path, [Edit(0, len(name), word)]) if certain else NO_MEND
        yield problem(CODE, SEVERITY, manifest, path, message, "", remedy, None, mend)


def _named(manifest: Manifest) -> Iterator[tuple[str, Path]]:
    """Where requests are named."""
    for key, what in (("constraints", "constraint"), ("config", "configuration")):
        path: Path = (*devices_path(manifest), key)
        found = value_at(manifest, path)
        for place, one in enumerate(found if isinstance(found, list) else ()):
            names = one.get("requests") if isinstance(one, dict) else None
            for index in range(len(names) if isinstance(names, list) else 0):
                yield what, (*path, place, "requests", index)
