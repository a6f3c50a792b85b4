"""GT340 plugin-configuration

What it says
    A configuration of NVIDIA's device plugin with which it does not start, or a key in it that has no effect.

Why it matters
    The plugin is not strict: a key that it does not know is passed over in silence, and the default stays.

What to do
    The key that the message names as nearest; a value of those that are listed.

When it is silent
    Every key and value is one that k8s-device-plugin v0.20 knows. Those of a ClusterPolicy are not looked at.

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [own] = read('''version: v1
    ... flags:
    ...   migStrategi: mixed
    ... ''')
    >>> [(found.place.line, found.message, found.remedy) for found in check(own, Context())]
    [(3, 'flags.migStrategi has no effect', 'migStrategy')]
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.allocate.device_plugin.config import Refused, keys_of, read_config
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.terms.manifest import Manifest, Path

CODE = "GT340"
SEVERITY = "error"
KINDS = ("DevicePluginConfig",)


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    body = manifest.object.body
    try:
        _, ignored = read_config(body)
    except Refused as error:
        path = _path_of(body, error)
        yield problem(CODE, SEVERITY, manifest, path, f"the plugin does not start: {error}", "",
                      f"one of {', '.join(error.allowed)}" if error.allowed else "")  # fmt: skip
        return
    for key in ignored:
        path = tuple(key.split("."))
        above, _, last = key.rpartition(".")
        remedy = _nearest(last, keys_of(above))
        yield problem(
            CODE, "warning", manifest, path, f"{key} has no effect", "", remedy, manifest.key(path)
        )  # fmt: skip


def _nearest(key: str, known: frozenset[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(key, sorted(known - {key}), 1, 0.7)
    return near[0] if near else ""


def _path_of(body: dict[str, object], error: Refused) -> Path:
    """Of the value that the message ends with, where one has it."""
    said = str(error)
    for name in ("flags", "flags.plugin", "sharing", "imex"):
        part: object = body
        for step in name.split("."):
            part = part.get(step) if isinstance(part, dict) else None
        for key, value in part.items() if isinstance(part, dict) else ():
            values = value if isinstance(value, list) else [value]
            if any(isinstance(one, str) and one and said.endswith(one) for one in values):
                return (*name.split("."), str(key))
    return ("sharing",) if "replicas" in said or "resource" in said or "MPS" in said else ()
