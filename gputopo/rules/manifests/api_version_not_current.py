"""GT301 api-version-not-current

What it says
    The object is written in a version of resource.k8s.io that this Kubernetes release deprecates or does not serve.

Why it matters
    From 1.34 on v1 is served by default; the beta versions need --runtime-config and v1beta1 goes with 1.38. A
    version that is not served is refused: "no matches for kind".

What to do
    Write resource.k8s.io/v1 and move the fields of a request below `exactly`. On 1.33 write v1beta2, on 1.32 v1beta1.

When it is silent
    The version is the newest that the release (--k8s-version) serves, or v1beta2 on a release where it is current.

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [claim] = read("apiVersion: resource.k8s.io/v1beta1\\nkind: ResourceClaim\\nmetadata: {name: c}\\n")
    >>> [found] = check(claim, Context())
    >>> found.place.line, found.message
    (1, 'resource.k8s.io/v1beta1 is deprecated: 1.36 has resource.k8s.io/v1')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.allocate.dra.fields import GROUP, VERSIONS
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.terms.manifest import Manifest

CODE = "GT301"
SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass", "ResourceSlice")
_SINCE = {"v1beta1": 32, "v1beta2": 33, "v1": 34}
_MOVE = "the fields of a request then stand under `exactly`"


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    said = manifest.object.body.get("apiVersion")
    group, _, version = said.rpartition("/") if isinstance(said, str) else ("", "", "")
    path = ("apiVersion",)
    newest = next((one for one in reversed(VERSIONS) if _SINCE[one] <= context.minor), VERSIONS[0])
    if group != GROUP:
        return
    now = f"1.{context.minor} has {GROUP}/{newest}"
    if version not in VERSIONS or _SINCE[version] > context.minor:
        yield problem(CODE, "error", manifest, path, f"{said} is not served: {now}", "", f"write {GROUP}/{newest}")
    elif version != newest:
        remedy = f"write {GROUP}/{newest}" + (f"; {_MOVE}" if version == "v1beta1" else "")
        yield problem(CODE, SEVERITY, manifest, path, f"{said} is deprecated: {now}", "", remedy)
