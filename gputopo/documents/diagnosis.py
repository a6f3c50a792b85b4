"""`kind: Diagnosis`: the verdict on one job, with the set, its rates, groups and ranks, findings and what was not seen.

rates: measured (by the job), expected (published, or NCCL's model: see `basis`), ceiling (wire); each may be null
order: CUDA_VISIBLE_DEVICES for better groups, null where there is none or none was asked
best:  the best set of the job's size on an empty node, null where the job's own is as good
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from gputopo.documents import shape
from gputopo.documents.forms import Field, Schema, document_schema, flag, many, nullable, number, record
from gputopo.documents.forms import text as text_form
from gputopo.documents.forms import whole as whole_form
from gputopo.jobs.log_lines import place
from gputopo.jobs.model import Hop, Job, RankPlace
from gputopo.rules.jobs.diagnosis import Diagnosis
from gputopo.rules.jobs.rates import Rates
from gputopo.rules.jobs.told import Told

KIND, LIST_KIND = "Diagnosis", "DiagnosisList"
Document = dict[str, Any]


class _Weakest(NamedTuple):
    a: str
    b: str
    level: str
    via: str | None
    gbps: float | None


class _Group(NamedTuple):
    number: int
    gpus: tuple[str, ...]
    packages: tuple[str, ...] | None
    island: bool | None
    weakest: _Weakest | None
    gbps: float | None


class _Rank(NamedTuple):
    rank: int
    gpu: str | None
    group: int | None
    host: str | None


class _Best(NamedTuple):
    gpus: tuple[str, ...]
    expected: float | None


class _Run(NamedTuple):
    source: str
    ranks: int
    busbw: float | None


_text, _flag, _ids = nullable(text_form), nullable(flag), nullable(many(text_form))
_rate = nullable(number)
_rates = record(
    Rates, "JobRates",
    Field("measuredGBps", _rate, "measured"), Field("expectedGBps", _rate, "expected"),
    Field("ceilingGBps", _rate, "ceiling"), Field("basis", text_form),
    Field("ceilingBasis", text_form, "ceiling_basis"),
)  # fmt: skip
_weakest = nullable(record(
    _Weakest, "JobWeakest",
    Field("a", text_form), Field("b", text_form), Field("level", text_form), Field("via", _text), Field("gbps", _rate),
))  # fmt: skip
_group = record(
    _Group, "JobGroup",
    Field("index", whole_form, "number"), Field("gpus", many(text_form)), Field("packages", _ids),
    Field("island", _flag), Field("weakest", _weakest), Field("gbps", _rate),
)  # fmt: skip
_rank = record(
    _Rank, "JobRank",
    Field("rank", whole_form), Field("gpu", _text), Field("group", nullable(whole_form)), Field("host", _text),
)  # fmt: skip
_hop = record(
    Hop, "JobHop",
    Field("a", text_form), Field("b", text_form), Field("kind", text_form), Field("transport", text_form),
    Field("source", text_form), Field("line", whole_form),
)  # fmt: skip
_best = nullable(record(_Best, "BestSet", Field("gpus", many(text_form)), Field("expectedGBps", _rate, "expected")))
_run = record(_Run, "JobRun", Field("source", text_form), Field("ranks", whole_form), Field("busGBps", _rate, "busbw"))
_FIELDS = (
    ("node", _text), ("verdict", text_form), ("decided", flag), ("sources", shape.sources), ("set", many(text_form)),
    ("setBasis", text_form), ("rates", _rates), ("weakest", _weakest), ("groups", many(_group)), ("order", _ids),
    ("ranks", many(_rank)), ("hops", many(_hop)), ("runs", many(_run)), ("ncclVersion", _text),
    ("crossPackage", _flag), ("best", _best), ("findings", shape.findings), ("notChecked", shape.not_checked),
    ("unknown", shape.unknown), ("assumptions", shape.assumptions),
)  # fmt: skip


def encode(told: Told) -> Document:
    diagnosis, job = told.diagnosis, told.diagnosis.job
    sources = {source.id: source for source in (*job.node.sources, *(one.source for one in job.logs))}
    values: dict[str, Any] = {
        "node": job.node.name, "verdict": told.verdict, "decided": told.decided, "sources": tuple(sources.values()),
        "set": job.gpus, "setBasis": job.basis, "rates": diagnosis.rates, "weakest": _of_weakest(told, job.gpus),
        "groups": [
            _Group(one.number, one.gpus, one.seen.packages, diagnosis.all_nvlink(one.gpus),
                   _of_weakest(told, one.gpus), told.group_rates.get(one.gpus))
            for one in job.groups
        ],
        "order": told.order, "ranks": [_of_rank(one, diagnosis) for one in job.ranks],
        "hops": [_of_hop(one, job) for one in job.hops],
        "runs": [_Run(source, len(run.ranks), told.busbw(run)) for source, run in job.runs],
        "ncclVersion": job.nccl.version if job.nccl else None, "crossPackage": diagnosis.seen.cross_package,
        "best": _Best(told.best, told.best_rate) if told.best else None, "findings": told.findings,
        "notChecked": told.not_checked, "unknown": told.unknown, "assumptions": told.assumptions,
    }  # fmt: skip
    return {
        "apiVersion": shape.API_VERSION,
        "kind": KIND,
        **{name: form.encode(values[name]) for name, form in _FIELDS},
    }


def encode_list(items: Sequence[Document]) -> Document:
    return {"apiVersion": shape.API_VERSION, "kind": LIST_KIND, "items": list(items)}


def parts() -> tuple[Schema, dict[str, Schema]]:
    """The schema of a Diagnosis and the definitions it refers to."""
    return document_schema(shape.API_VERSION, KIND, _FIELDS)


def _of_weakest(told: Told, gpus: Sequence[str]) -> _Weakest | None:
    weakest = told.diagnosis.sight.see(gpus).weakest
    if weakest is None:
        return None
    hop = next((one for one in told.diagnosis.job.hops if {one.a, one.b} == {weakest.a, weakest.b}), None)
    rate = told.pair_rate(weakest.a, weakest.b)
    return _Weakest(weakest.a, weakest.b, weakest.level, hop.transport if hop else None, rate)


def _of_hop(one: Hop, job: Job) -> Hop:
    source, line = place(job.logs, one.source, one.line)
    return one if source is None or line is None else one._replace(source=source, line=line)


def _of_rank(one: RankPlace, diagnosis: Diagnosis) -> _Rank:
    group = next((each.number for each in diagnosis.job.groups if one.rank in each.ranks), None)
    return _Rank(one.rank, one.gpu, group, one.host)
