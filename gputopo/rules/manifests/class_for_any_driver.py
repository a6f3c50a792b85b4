"""GT310 class-for-any-driver

What it says
    The selectors of a DeviceClass read attributes and none tests `device.driver` first: they are tried in order, and
    the first that is false ends the trial of a device.

Why it matters
    A class is tried on the devices of every driver. On those of another the key is missing, which is a runtime error:
    pods of this class are not scheduled as soon as a second driver is installed.

What to do
    Begin with `device.driver == 'gpu.nvidia.com' && ...`.

When it is silent
    The same or an earlier selector tests device.driver, or every read is guarded by has() or is optional.

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [of_class] = read('''apiVersion: resource.k8s.io/v1
    ... kind: DeviceClass
    ... metadata: {name: gpus}
    ... spec: {selectors: [{cel: {expression: "device.attributes['gpu.nvidia.com'].type == 'gpu'"}}]}
    ... ''')
    >>> [found.message for found in check(of_class, Context())]
    ["the class reads gpu.nvidia.com's type on devices of every driver"]
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.allocate.dra.published import DRIVER
from gputopo.cel.references import drivers
from gputopo.rules.manifests.asks import selectors
from gputopo.rules.manifests.attribute_names import STANDARD
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.terms.manifest import Manifest

CODE = "GT310"
SEVERITY = "warning"
KINDS = ("DeviceClass",)


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    for one, _ in selectors(manifest):
        if drivers(one.text):
            return
        for read in one.references:
            if read.name is not None and not read.guarded:
                message = f"the class reads {read.domain}'s {read.name} on devices of every driver"
                place = one.place(manifest, read.line, read.column)
                yield problem(CODE, SEVERITY, manifest, one.path, message, "", _remedy(read.domain), place)
                return


def _remedy(domain: str) -> str:
    """The driver that the domain is named for; a standard one is no driver's."""
    return f"device.driver == '{DRIVER if domain == STANDARD else domain}' && ..."
