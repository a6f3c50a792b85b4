"""GT540 slower-than-expected

What it says
    The measured bus bandwidth is less than half of what this set reaches by NCCL's model or a published figure.

Why it matters
    Something takes the rest; where no other finding names it, it is not in the evidence.

What to do
    Look at what was not checked: clocks and throttling (nvidia-smi -q), ACS, CPU masks, /dev/shm, and NCCL's log.

When it is silent
    Nothing was measured, or nothing is expected. Above half it is no finding: models miss by a third. Another share:
    `slower_than_expected` in gputopo.toml.

Example
    >>> from gputopo.rules.jobs.example import diagnosis
    >>> from gputopo.rules.jobs.rates import Rates
    >>> seen = diagnosis()
    >>> seen.rates = Rates(20.0, 240.0, 300.0, "NCCL's model")
    >>> [found] = check(seen)
    >>> found.severity, found.message
    ('warning', 'measured 20 GB/s is 8 % of the 240 GB/s to be expected')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Evidence, Finding
from gputopo.rules.jobs.diagnosis import Diagnosis

CODE = "GT540"
SEVERITY = "warning"


def check(diagnosis: Diagnosis) -> Iterator[Finding]:
    rates, share_wanted = diagnosis.rates, diagnosis.settings.threshold("slower_than_expected")
    if rates.measured is None or not rates.expected or rates.measured >= share_wanted * rates.expected:
        return
    share = round(100 * rates.measured / rates.expected)
    yield Finding(
        CODE,
        SEVERITY,
        diagnosis.job.gpus,
        f"measured {rates.measured:.4g} GB/s is {share} % of the {rates.expected:.4g} GB/s to be expected",
        matters="something takes the rest: what else was found, or what was not checked",
        because=f"expected: {rates.basis}" if rates.basis else "",
        remedy="nvidia-smi -q (clocks, throttling), lspci -vvv (ACS), NCCL_DEBUG=INFO of the job",
        evidence=(Evidence(None, None, f"measured by {diagnosis.job.measured_by or 'the job'}"),),
    )
