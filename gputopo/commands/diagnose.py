"""`gputopo diagnose [SOURCE]...`: why is this job slow: the verdict, what the set should reach, what to change."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from gputopo.commands import configuration, options, output
from gputopo.commands.diagnose_logs import LogFiles
from gputopo.errors import GputopoError

if TYPE_CHECKING:
    from gputopo.evidence.piece import Piece
    from gputopo.inspection_job import Wanted
    from gputopo.rules.jobs.diagnosis import Diagnosis
    from gputopo.rules.jobs.told import Told

Logs = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(
        "--nccl-log",
        metavar="FILE",
        help="A job's log (NCCL_DEBUG=INFO), or a folder of its processes' logs; read line by line, repeatable.",
    ),
]
Gpus = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--gpus", metavar="SET", help="The job's GPUs, rank 0 first: 0,1,4-5, UUIDs, PCI addresses."),
]
Pod = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--pod", metavar="NS/NAME", help="The pod whose GPUs are the job's; or its UID."),
]
TensorParallel = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option("--tp", metavar="K", help="Tensor-parallel size: consecutive ranks work as one."),
]
PipelineParallel = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option("--pp", metavar="P", help="Pipeline-parallel size; TP groups are what is judged."),
]
Measured = Annotated[
    Optional[float],  # noqa: UP045
    typer.Option("--measured", metavar="GB/s", help="All-reduce bus bandwidth that the job reached."),
]


def command(
    sources: options.Sources = None,
    nccl_log: Logs = None,
    pod: Pod = None,
    gpus: Gpus = None,
    tp: TensorParallel = None,
    pp: PipelineParallel = None,
    measured: Measured = None,
    form: options.ReportOutput = "text",
    output_file: options.OutputFile = None,
    color: options.Color = "auto",
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
    fail_on: options.FailOn = "error",
    select: options.Select = None,
    ignore: options.Ignore = None,
    config: options.Config = None,
    assume: options.Assume = None,
    timeout: options.Timeout = 10.0,
) -> int:
    """Why is this job slow: the verdict, the weakest pair, what the set should reach, what to change.

    From any mixture of a topology (topo -m, a sysfs root, NCCL's XML), an NCCL log, nccl-tests, a launcher's log, and
    what says which GPUs a pod has. With --nccl-log alone the node is not read.
    """
    from gputopo.inspection_job import Wanted, diagnoses, sorted_evidence
    from gputopo.rules.jobs.told import tell

    assumed = options.pairs(assume, "--assume")
    selected, ignored = options.codes(select), options.codes(ignore)
    used = configuration.settings(config)
    seconds = options.checked_timeout(timeout)
    wanted = Wanted(gpus, pod, _positive(tp, "--tp"), _positive(pp, "--pp"), _rate(measured))
    if gpus is not None and pod is not None:
        raise GputopoError("--gpus and --pod exclude one another")
    logs = LogFiles(nccl_log or (), quiet)
    evidence = sorted_evidence(_pieces(sources or (), seconds, quiet), logs.read(seconds))
    logs.heard(evidence.silent)
    live = _live(seconds, quiet) if not sources and not nccl_log else None
    end = time.monotonic() + seconds
    told = [
        tell(one, selected, ignored, lambda: time.monotonic() >= end, used)
        for one in _checked(diagnoses(evidence, wanted, assumed, live), wanted)
    ]
    code = _exit(told, fail_on)
    note = _note(code, fail_on) if output.on_terminal(output_file) and not quiet else None
    text = _text(told, form, output_file, color, verbose, quiet, note)
    suppressed = [one for each in told for one in each.suppressed]
    output.write(configuration.report(text, form, suppressed, used, quiet), output_file)
    return code


def _positive(number: int | None, option: str) -> int | None:
    if number is not None and not 1 <= number <= 1_000_000:
        raise GputopoError(f"{option} takes a positive number, not {number}")
    return number


def _rate(measured: float | None) -> float | None:
    if measured is not None and not 0 < measured < 1e6:
        raise GputopoError(f"--measured takes GB/s of bus bandwidth, not {measured:g}")
    return measured


def _pieces(specs: Sequence[str], timeout: float, quiet: bool) -> tuple[Piece, ...]:
    if not specs:
        return ()
    from gputopo.evidence.open import open_sources
    from gputopo.parsers import recognise_holdings, recognise_job
    from gputopo.parsers.recognise import why_unreadable

    def why_not(text: str) -> str:
        if recognise_job.recognise(text) or recognise_holdings.recognise(text.encode("utf-8", "replace")):
            return ""
        return why_unreadable(text)

    return open_sources(
        specs,
        stdin=sys.stdin.fileno() if "-" in specs and sys.stdin is not None else None,
        timeout=timeout,
        warn=(lambda message: None) if quiet else output.say,
        why_not=why_not,
        protobuf=recognise_holdings.why_not_message,
        kubelet=True,
    )


def _live(timeout: float, quiet: bool) -> Any:
    from gputopo.commands.inspect import read_live
    from gputopo.inspection import live_node

    return live_node(read_live(None, None, timeout, None, quiet))


def _checked(made: Sequence[Diagnosis], wanted: Wanted) -> Sequence[Diagnosis]:
    """--tp must cut the set into whole groups, where all of it is on this node."""
    size = wanted.tensor_parallel
    for one in made:
        if size and one.job.one_node is not False and one.job.gpus and len(one.job.gpus) % size:
            count = len(one.job.gpus)
            raise GputopoError(
                f"--tp {size} does not divide the job's {count} GPUs", "--tp", "a size that does, or --gpus"
            )
    return made


def _exit(told: Sequence[Told], fail_on: str) -> int:
    from gputopo.rules.finding import SEVERITIES

    if fail_on != "never":
        worst = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
        if any(one.severity in worst for each in told for one in each.findings):
            return 1
    return 0 if all(one.decided for one in told) else 3


def _note(code: int, fail_on: str) -> str:
    said = {
        0: f"0 (no finding at or above --fail-on {fail_on})",
        1: f"1 (there is a finding at or above --fail-on {fail_on})",
        3: "3 (undecided: see what was not checked)",
    }
    return said[code]


def _text(
    told: Sequence[Told], form: str, file: str | None, color: str, verbose: bool, quiet: bool, note: str | None
) -> str:  # fmt: skip
    if form in output.FORMS:
        return _passed_on(told, form, verbose)
    if form != "text":
        return _document(told, form)
    from gputopo.reports.style import Style
    from gputopo.reports.text import render
    from gputopo.reports.views.diagnose import blocks

    style = Style(*output.place(color, file))
    notes = [None] * (len(told) - 1) + [note]
    return "\n".join(
        render(blocks(one, verbose=verbose, quiet=quiet, exit_note=each), style) for one, each in zip(told, notes)
    )


def _passed_on(told: Sequence[Told], form: str, verbose: bool) -> str:
    from gputopo.reports.forms import Picture, Shown, render
    from gputopo.reports.views.diagnose import blocks
    from gputopo.reports.views.words import title_of

    reports = []
    for one in told:
        job = one.diagnosis.job
        asked = tuple(gpu.id for gpu in job.node.gpus if gpu.id in job.gpus) if job.narrowed else ()
        picture = Picture(job.node, asked, tuple(one.best or ()))
        reports.append(Shown(title_of(job.node), blocks(one, verbose=verbose or form == "html"), picture))
    return render(form, "gputopo diagnose", reports)


def _document(told: Sequence[Told], form: str) -> str:
    from gputopo.documents.diagnosis import encode, encode_list

    items = [encode(one) for one in told]
    if form == "github":
        from gputopo.reports.annotations import of_documents

        return of_documents(items)
    document = items[0] if len(items) == 1 else encode_list(items)
    if form == "json":
        from gputopo.reports.json import render
    else:
        from gputopo.reports.yaml import render
    return render(document)
