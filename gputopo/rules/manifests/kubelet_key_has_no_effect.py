"""GT331 kubelet-key-has-no-effect

What it says
    A key of a KubeletConfiguration that the kubelet does not know: misspelled, in another case, at a wrong place, or
    of another release.

Why it matters
    The kubelet logs "Using lenient decoding as strict decoding failed" and goes on without the key: the default stays
    in force. topologyManagerPolicy, misspelled, is none.

What to do
    Write the key that is named as nearest, where it belongs.

When it is silent
    Every key is one that the release (--k8s-version) knows at this place. What /configz answers is not looked at, nor
    are keys of one's own, such as the names of options, of feature gates and of reserved resources (GT330).

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [own] = read('''apiVersion: kubelet.config.k8s.io/v1beta1
    ... kind: KubeletConfiguration
    ... topologyManagerPolcy: restricted
    ... ''')
    >>> [(found.place.line, found.message, found.remedy) for found in check(own, Context())]
    [(3, 'topologyManagerPolcy has no effect: the kubelet does not know it', 'topologyManagerPolicy')]
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.allocate.kubelet.config_keys import Unknown, faults, keys, known_in
from gputopo.rules.manifests.kubelet_does_not_start import configuration
from gputopo.rules.manifests.problem import Context, Problem, problem, written
from gputopo.terms.manifest import Manifest, Path

CODE = "GT331"
SEVERITY = "warning"
KINDS = ("KubeletConfiguration",)
_BECAUSE = "it logs that strict decoding failed and goes on without the key"


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    body, above = configuration(manifest)
    if above:
        return
    for one in faults(body, context.minor):
        if isinstance(one, Unknown):
            yield _problem(manifest, one, context)


def _problem(manifest: Manifest, one: Unknown, context: Context) -> Problem:
    said = written(one.path)
    place = manifest.key(one.path)
    key = keys().get(_general(one.path))
    if key is not None:  # another release has it
        severity = SEVERITY if context.minor_said else "info"
        words = f"since 1.{key.first}" if key.first > context.minor else f"until 1.{key.last}"
        message = f"{said} has no effect: the kubelet knows it {words}, this is 1.{context.minor}"
        return problem(CODE, severity, manifest, one.path, message, _BECAUSE, "", place)
    message = f"{said} has no effect: the kubelet does not know it"
    if any(isinstance(step, int) for step in one.path) or len(one.path) > 1:
        message += " here"
    return problem(CODE, SEVERITY, manifest, one.path, message, _BECAUSE, _meant(one, context.minor), place)


def _general(path: Path) -> str:
    """As the table writes it: `reservedMemory[].limits`."""
    return "".join("[]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def _meant(one: Unknown, minor: int) -> str:
    """The key beside it in another case or nearly so; else the place where a key of this name belongs."""
    from difflib import get_close_matches

    name = str(one.path[-1])
    for known in one.known:
        if known.lower() == name.lower():
            return known
    near = get_close_matches(name, one.known, 1, 0.8)
    if near:
        return near[0]
    elsewhere = [path for path in known_in(minor) if path.rpartition(".")[2].lower() == name.lower()]
    return elsewhere[0] if len(elsewhere) == 1 else ""
