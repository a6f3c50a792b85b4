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
from gputopo.rules.manifests.asks import value_at
from gputopo.rules.manifests.fixes.nearest import meant
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.terms.edits import NO_MEND, Edit, Mend
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
                      f"one of {', '.join(error.allowed)}" if error.allowed else "", None,
                      _word(manifest, path, error))  # fmt: skip
        return
    for key in ignored:
        path = tuple(key.split("."))
        above, _, last = key.rpartition(".")
        remedy = _nearest(last, keys_of(above))
        certain = meant(last, keys_of(above))
        taken = certain in (value_at(manifest, path[:-1]) or ())
        mend = manifest.rename(path, certain) if certain and not taken else NO_MEND
        yield problem(
            CODE, "warning", manifest, path, f"{key} has no effect", "", remedy, manifest.key(path), mend
        )  # fmt: skip


def _word(manifest: Manifest, path: Path, error: Refused) -> Mend:
    """The value, or the one in a list, that can only be one of those that are allowed."""
    said = value_at(manifest, path)
    if isinstance(said, list):
        wrong = [place for place, one in enumerate(said) if one not in error.allowed]
        path, said = ((*path, wrong[0]), said[wrong[0]]) if wrong else (path, None)
    word = meant(said, error.allowed) if isinstance(said, str) else ""
    return manifest.rewrite(path, [Edit(0, len(str(said)), word)]) if word else NO_MEND


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
