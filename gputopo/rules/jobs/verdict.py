"""The one answer: what is the cause, or that nothing wrong is in the evidence.

The worst finding leads; of equals, what the log shows goes before what the wiring allows, and a cause of the whole job
before one of a pair. Placement is not the cause while every pair has NVLinks.
"""

from __future__ import annotations

from collections.abc import Sequence

from gputopo.rules.finding import SEVERITIES, Finding, NotChecked
from gputopo.rules.jobs.diagnosis import Diagnosis
from gputopo.rules.wording import names

# Of findings of one severity, which explains more: what stops a job, what NCCL does, the fabric, then the set.
_FIRST = (
    "GT526", "GT513", "GT512", "GT515", "GT511", "GT510", "GT506", "GT520", "GT130", "GT525", "GT111", "GT105", "GT015",
    "GT502", "GT501", "GT522", "GT101", "GT103", "GT112", "GT116",
)  # fmt: skip
_ABOUT_EVIDENCE = ("GT550", "GT551", "GT552", "GT540")
_NO_CAUSE = (*_ABOUT_EVIDENCE, "GT018")  # that is a risk of what did not happen


def verdict(diagnosis: Diagnosis, findings: Sequence[Finding], not_checked: Sequence[NotChecked]) -> str:
    causes = [one for one in findings if one.severity in ("error", "warning") and one.rule not in _NO_CAUSE]
    causes.sort(key=lambda one: (SEVERITIES.index(one.severity), _rank(one.rule)))
    if causes:
        return _cause(diagnosis, causes)
    foreign = next((one for one in findings if one.rule == "GT550"), None)
    if foreign is not None:
        return f"Undecided: {foreign.message}."
    return _nothing(diagnosis, findings, not_checked)


def is_decided(diagnosis: Diagnosis, findings: Sequence[Finding]) -> bool:
    """Whether there was enough to judge: a finding that names a cause, the set's wiring, or how NCCL connected it."""
    if any(one.severity == "error" for one in findings):
        return True
    if diagnosis.job.foreign and diagnosis.job.communicator is None:
        return False
    return bool(diagnosis.pairs) or bool(diagnosis.job.hops) or any(one.severity == "warning" for one in findings)


def _rank(code: str) -> int:
    return _FIRST.index(code) if code in _FIRST else len(_FIRST)


def _cause(diagnosis: Diagnosis, causes: Sequence[Finding]) -> str:
    first = causes[0]
    parts = [_sentence(first.message)]
    if first.matters:
        parts.append(_sentence(first.matters))
    rates = _rates(diagnosis)
    if rates:
        parts.append(rates)
    ordered = diagnosis.order is not None
    named = ordered and "CUDA_VISIBLE_DEVICES" in first.remedy  # then the order is what comes next
    if first.remedy:
        parts.append(_sentence(f"Next: {first.remedy}{' (ORDER)' if named else ''}"))
    if diagnosis.seen.cross_package and diagnosis.all_nvlink(diagnosis.job.gpus):
        parts.append("The set crosses sockets, which is not the cause: every pair has NVLink.")
    more = len([one for one in causes[1:] if one.severity == first.severity])
    if ordered and not named:
        parts.append("An order of CUDA_VISIBLE_DEVICES mends it without rescheduling (ORDER).")
    if more:
        parts.append(f"{more} more of this weight below.")
    return " ".join(parts)


def _nothing(diagnosis: Diagnosis, findings: Sequence[Finding], not_checked: Sequence[NotChecked]) -> str:
    """No fault among what was looked at; what that was, and what it rests on."""
    job = diagnosis.job
    what = names(job.gpus) if job.gpus else "this job"
    if not is_decided(diagnosis, findings) and len(job.gpus) != 1:
        seen = "".join(f". {_sentence(one.message)}"[:-1] for one in findings if one.rule in ("GT510", "GT551"))
        shown = "neither how its GPUs are wired nor how NCCL connects them"
        return f"Undecided: of {what} the evidence shows {shown}{seen}."
    rates = diagnosis.rates
    if not job.gpus and not job.logs:
        return "Undecided: no GPU is in the evidence."
    if rates.measured is not None and rates.expected:
        share = rates.measured / rates.expected
        if share >= diagnosis.settings.threshold("slower_than_expected"):
            return f"No fault found: {what} measures {rates.measured:.4g} GB/s of {rates.expected:.4g} to be expected."
        return (
            f"Undecided: {what} measures {rates.measured:.4g} of {rates.expected:.4g} GB/s, and the evidence names no "
            "cause. See what was not checked."
        )
    limits = [one.message for one in findings if one.rule in ("GT504", "GT503", "GT507", "GT530")]
    found = f"No fault found in the evidence for {what}"
    if limits:
        found += f"; what limits it: {limits[0]}"
    if not job.narrowed:
        found += "; which GPUs the job has is not known"
    said = _rates(diagnosis)
    return f"{found}. {said}".strip() if said else f"{found}; nothing was measured."


def _rates(diagnosis: Diagnosis) -> str:
    rates = diagnosis.rates
    if rates.measured is None:
        return ""
    of = f" of about {rates.expected:.4g}" if rates.expected else ""
    return f"Measured {rates.measured:.4g}{of} GB/s."


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith(".") else ".")
