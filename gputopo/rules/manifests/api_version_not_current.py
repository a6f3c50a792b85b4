"""GT301 api-version-not-current

What it says
    The object is written in a version of resource.k8s.io that this Kubernetes release deprecates or does not serve.

Why it matters
    From 1.34 on v1 is served by default; the beta versions need --runtime-config and v1beta1 goes with 1.38. A
    version that is not served is refused: "no matches for kind".

What to do
    Write resource.k8s.io/v1 and move the fields of a request below `exactly`. On 1.33 write v1beta2, on 1.32 v1beta1.
    A claim of v1alpha3 (1.31 to 1.33, only with --runtime-config) is written like one of v1beta1; v1alpha1 and v1alpha2
    (1.26 to 1.30) name a ResourceClass and have no requests.

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

from gputopo.allocate.dra.fields import GROUP, OLD_VERSIONS, VERSIONS
from gputopo.rules.manifests.fixes.versions import in_version
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.terms.edits import NO_MEND, Mend
from gputopo.terms.manifest import Manifest

CODE = "GT301"
SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass", "ResourceSlice")
_SINCE = {"v1beta1": 32, "v1beta2": 33, "v1": 34}
_MOVE = "the fields of a request then stand under `exactly`"
_CLASSES = "its claims name a ResourceClass and have no requests: write them anew"


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    said, version = _version(manifest)
    path = ("apiVersion",)
    newest = next((one for one in reversed(VERSIONS) if _SINCE[one] <= context.minor), VERSIONS[0])
    if version is None:
        return
    now = f"1.{context.minor} has {GROUP}/{newest}"
    move = f"; {_MOVE}" if version in ("v1beta1", "v1alpha3") and newest != "v1beta1" else ""
    remedy = f"write {GROUP}/{newest}{move}"
    mend = in_version(manifest, newest) if version != newest else NO_MEND
    if version in OLD_VERSIONS:
        yield _of_old(manifest, context, said, now, remedy, mend)
    elif version not in VERSIONS or _SINCE[version] > context.minor:
        yield problem(CODE, "error", manifest, path, f"{said} is not served: {now}", "", remedy, None, mend)
    elif version != newest:
        yield problem(CODE, SEVERITY, manifest, path, f"{said} is deprecated: {now}", "", remedy, None, mend)


def _of_old(
    manifest: Manifest, context: Context, said: str, now: str, remedy: str, mend: Mend
) -> Problem:  # fmt: skip
    first, last = OLD_VERSIONS[said.rpartition("/")[2]]
    releases = f"1.{first}" if first == last else f"1.{first} to 1.{last}"
    because = "" if first > 30 else _CLASSES
    if first <= context.minor <= last:
        message = f"{said} is served with --runtime-config only: {now}"
        return problem(CODE, SEVERITY, manifest, ("apiVersion",), message, because, remedy, None, mend)
    message = f"{said} is not served: DRA had this version in {releases}, {now}"
    return problem(CODE, "error", manifest, ("apiVersion",), message, because, remedy, None, mend)


def _version(manifest: Manifest) -> tuple[str, str | None]:
    said = manifest.object.body.get("apiVersion")
    group, _, version = said.rpartition("/") if isinstance(said, str) else ("", "", "")
    return (str(said), version) if group == GROUP else ("", None)


def unknown(manifest: Manifest) -> str | None:
    """Why an object of the group cannot be read at all: no release has its version."""
    said, version = _version(manifest)
    if version is None or version in VERSIONS or version in OLD_VERSIONS:
        return None
    known = ", ".join((*OLD_VERSIONS, *VERSIONS))
    return f"no release has {said}; {GROUP} is known as {known}"
