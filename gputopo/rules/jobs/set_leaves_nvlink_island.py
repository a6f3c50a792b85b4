"""GT502 set-leaves-nvlink-island

What it says
    A tensor-parallel group (or the job's set) has a part of an NVLink island and GPUs outside it, or GPUs of a node
    with NVLink pairs that are not linked to each other.

Why it matters
    A ring passes the unlinked pair too, so all of it runs at PCIe's pace: 208 GB/s for a bridged A100 pair became 20
    with a third GPU (nccl-tests issue 178).

What to do
    Ask for multiples of the island's size; with `--tp`, order CUDA_VISIBLE_DEVICES so that each group is one island.

When it is silent
    The set lies inside one island or is made of whole islands, of which each group has its own. One NVSwitch fabric is
    one island, and so is a mesh in which every GPU is reached over NVLinks. All GPUs of the node, without groups.

Example
    >>> from gputopo.jobs.join import Asked
    >>> from gputopo.rules.jobs.example import diagnosis, node
    >>> from gputopo.topology.node import Islands
    >>> on = node()
    >>> linked = tuple(p._replace(nvlinks=12, level="NV12") if (p.a, p.b) == ("GPU0", "GPU1") else p for p in on.pairs)
    >>> on = on._replace(pairs=linked, islands=Islands(nvlink=(("GPU0", "GPU1"),)))
    >>> [found] = check(diagnosis(on, asked=Asked(gpus=("GPU0", "GPU1", "GPU2"))))
    >>> found.severity, found.message
    ('error', "the job's set leaves its NVLink island: GPU2 is linked to none of GPU0 and GPU1")
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gputopo.nccl.published import LEAVING
from gputopo.rules.finding import Evidence, Finding
from gputopo.rules.jobs.diagnosis import Diagnosis, Team
from gputopo.rules.wording import listed, names
from gputopo.topology.gpu_sets import Weakest

CODE = "GT502"
SEVERITY = "error"


def check(diagnosis: Diagnosis) -> Iterator[Finding]:
    if not diagnosis.job.narrowed and not diagnosis.job.groups:
        return
    for team in diagnosis.teams:
        if len(team) < 2 or (len(team) == len(diagnosis.node.gpus) and not diagnosis.job.groups):
            continue
        inside, outside = _split(diagnosis, team)
        if outside:
            yield _finding(diagnosis, team, inside, outside)


def _split(diagnosis: Diagnosis, team: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(the largest part that one island has, the GPUs outside it); nothing outside where all is well."""
    islands = diagnosis.node.islands.nvlink
    parts = {island: tuple(gpu for gpu in team if gpu in island) for island in islands}
    parts = {island: part for island, part in parts.items() if part}
    if not parts or diagnosis.all_nvlink(team) is not False:
        return (), ()
    broken = [island for island, part in parts.items() if len(part) < len(island)]
    alone = [gpu for gpu in team if not any(gpu in island for island in islands)]
    if not broken and not alone:
        return (), ()  # whole islands
    largest = max(parts.values(), key=len)
    outside = tuple(gpu for gpu in team if gpu not in largest)
    return largest, outside


def _finding(diagnosis: Diagnosis, team: Team, inside: tuple[str, ...], outside: tuple[str, ...]) -> Finding:
    islands = [island for island in diagnosis.node.islands.nvlink if set(island) & set(team)]
    others = [island for island in diagnosis.node.islands.nvlink if island not in islands]
    sizes = sorted({len(island) for island in (*islands, *others)})
    weakest = diagnosis.sight.see(team).weakest
    is_are = "is" if len(outside) == 1 else "are"
    message = f"{team.title} leaves its NVLink island: {names(outside)} {is_are} linked to none of {names(inside)}"
    if len(inside) == 1:
        message = f"{team.title} is no NVLink island: {names(team)} are not linked to each other"
    linked = listed([" ".join(island) for island in (*islands, *others)], 8)
    return Finding(
        CODE,
        SEVERITY,
        tuple(team),
        message,
        matters="the ring passes PCIe" + (f" ({weakest.a}-{weakest.b} {weakest.level})" if weakest else "")
        + f", and all of it runs at that pace: {LEAVING.inside:g} GB/s became {LEAVING.outside:g} with "
        f"{LEAVING.machine} ({LEAVING.source})",
        because=f"NVLink joins {linked} here" if linked else "",
        remedy=f"ask for multiples of {sizes[0]} GPUs, whole islands" if sizes else "",
        evidence=_evidence(diagnosis, team, weakest),
    )  # fmt: skip


def _evidence(diagnosis: Diagnosis, team: Sequence[str], weakest: Weakest | None) -> tuple[Evidence, ...]:
    said = [pair for pair in diagnosis.sight.pairs(team) if pair is not None and pair.level]
    said.sort(key=lambda pair: (weakest is None or (pair.a, pair.b) != (weakest.a, weakest.b), pair.nvlinks or 0))
    return tuple(Evidence(None, None, f"{pair.a}-{pair.b} {pair.level}") for pair in said[:6])
