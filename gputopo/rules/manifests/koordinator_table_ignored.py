"""GT350 koordinator-table-ignored

What it says
    The annotation gpu-partitions of a Koordinator Device does not decode, stands on a Node instead, or has a partition
    of another size than the number that it is listed under.

Why it matters
    koord-scheduler logs "invalid gpu partition table" and goes on without the whole table: pods are then placed by the
    table it has for the GPU's model, or without one. Of a Node it does not read the annotation at all.

What to do
    Numbers without quotes: `"allocationScore": 1`. Koordinator's own proposals print it as a string. Annotate the
    Device that has the name of the node.

When it is silent
    The annotation decodes, or is not there. Whether the Device has the GPUs of the table is not looked at.

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [own] = read('''apiVersion: scheduling.koordinator.sh/v1alpha1
    ... kind: Device
    ... metadata:
    ...   name: a
    ...   annotations:
    ...     scheduling.koordinator.sh/gpu-partitions: |
    ...       {"1": [{"minors": [0], "allocationScore": "1"}]}
    ... ''')
    >>> [(found.place, found.message) for found in check(own, Context())]
    [(Place(line=7, column=49), 'allocationScore is the string "1", not a number: the whole table is ignored')]
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gputopo.allocate.koordinator.table import PARTITIONS, field, partition_table
from gputopo.errors import GputopoError
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.terms.edits import NO_MEND, Edit
from gputopo.terms.json_spots import read
from gputopo.terms.manifest import Manifest, Path, Place

CODE = "GT350"
SEVERITY = "error"
KINDS = ("Device", "Node")
_PATH: Path = ("metadata", "annotations", PARTITIONS)
_SCORE = re.compile(r'"allocationscore"\s*:\s*("[^"]*")', re.IGNORECASE)


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    metadata = manifest.object.body.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    text = annotations.get(PARTITIONS) if isinstance(annotations, dict) else None
    if not isinstance(text, str):
        return
    if manifest.kind == "Node":
        message = "gpu-partitions has no effect on a Node: koord-scheduler reads it of the Device of that name"
        yield problem(CODE, "warning", manifest, _PATH, message, place=manifest.key(_PATH))
        return
    try:
        partition_table(text, "")
        yield from _sizes(manifest, text)
    except GputopoError as error:
        scores = list(_SCORE.finditer(text))
        for found in scores:
            message = f"allocationScore is the string {found[1]}, not a number: the whole table is ignored"
            place = _place(manifest, text, found.start(1))
            number = found[1][1:-1]
            whole = number.isascii() and number.isdigit()
            mend = manifest.rewrite(_PATH, [Edit(*found.span(1), number)]) if whole else NO_MEND
            yield problem(CODE, SEVERITY, manifest, _PATH, message, "", f"write {number}", place, mend)
        if not scores:
            yield problem(CODE, SEVERITY, manifest, _PATH, error.what, "", error.hint)


def _sizes(manifest: Manifest, text: str) -> Iterator[Problem]:
    """Of a table that decodes."""
    try:
        sizes = read(text).members if text else {}
    except ValueError:  # nested too deep to be a table
        return
    for size, rows in sizes.items():
        for row in rows.members.values():
            minors = field(row.members, "minors")
            number = len(set(minors.value or ())) if minors is not None else 0
            if number != int(size):
                message = f'a partition of {number} GPUs stands under "{size}"'
                yield problem(CODE, "warning", manifest, _PATH, message, place=_place(manifest, text, row.start))


def _place(manifest: Manifest, text: str, offset: int) -> Place:
    head = text[:offset]
    return manifest.inside(_PATH, head.count("\n") + 1, len(head) - head.rfind("\n"))
