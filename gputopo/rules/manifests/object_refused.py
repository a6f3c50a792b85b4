"""GT300 object-refused

What it says
    A field has a type, a place or a value that the API server does not take, or one is missing; a list is too long.

Why it matters
    The object is refused when it is applied; a field in the wrong place may be dropped in silence instead.

What to do
    Write the field as the message says. In v1beta1 the fields of a request stand directly under it, in v1beta2 and v1
    under `exactly`.

When it is silent
    Every field that gputopo reads has its type. Fields that it does not read are not looked at.

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [claim] = read('''apiVersion: resource.k8s.io/v1
    ... kind: ResourceClaim
    ... metadata: {name: c}
    ... spec: {devices: {requests: [{name: g, exactly: {deviceClassName: gpu.nvidia.com, count: two}}]}}
    ... ''')
    >>> [found] = check(claim, Context())
    >>> found.place, found.message
    (Place(line=4, column=89), 'spec.devices.requests[0].exactly.count is the string "two", not a whole number')
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gputopo.allocate.dra.fields import GROUP, VERSIONS
from gputopo.allocate.dra.read_claims import claim_of
from gputopo.allocate.dra.read_slices import class_of, slice_of
from gputopo.rules.manifests.claim_refusals import refusals
from gputopo.rules.manifests.fixes.versions import in_place
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.terms.edits import NO_MEND
from gputopo.terms.kube_object import WrongShape
from gputopo.terms.manifest import Manifest, Path

CODE = "GT300"
SEVERITY = "error"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass", "ResourceSlice")
# How fields.refuse() says that a field is that of v1beta1 in an object of a later version.
_ELSEWHERE = ("it stands under exactly", "stand directly under the device")
_STEP = re.compile(r"\[(\d+)\]|\.?([^.\[\]\s:]+)")


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    said = manifest.object.body.get("apiVersion")
    group, _, version = said.rpartition("/") if isinstance(said, str) else ("", "", "")
    try:
        if not isinstance(said, str) or group != GROUP:
            raise WrongShape(f"apiVersion is {said or 'missing'}; {manifest.kind} is of {GROUP}")
        if version not in VERSIONS:
            return  # GT301
        if manifest.kind == "ResourceSlice":
            slice_of(manifest.object)
        elif manifest.kind == "DeviceClass":
            class_of(manifest.object)
        else:
            claim_of(manifest.object)
            for path, message, remedy in refusals(manifest):
                yield problem(CODE, SEVERITY, manifest, path, message, "", remedy)
    except WrongShape as error:
        path = path_of(str(error))
        elsewhere = any(words in str(error) for words in _ELSEWHERE)
        mend = in_place(manifest) if elsewhere else NO_MEND
        yield problem(CODE, SEVERITY, manifest, path, str(error), "", "", None, mend)


def path_of(message: str) -> Path:
    """The path that a message begins with.

    >>> path_of("spec.devices.requests[0].name is a number, not a string")
    ('spec', 'devices', 'requests', 0, 'name')
    """
    head = message.partition(" ")[0].rstrip(":")
    return tuple(int(found[1]) if found[1] else found[2] for found in _STEP.finditer(head))
