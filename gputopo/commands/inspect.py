"""`gputopo inspect [SOURCE]...`: what is on this node, how is it wired, what is odd."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gputopo.commands import configuration, options, output
from gputopo.commands.output import FORMS
from gputopo.errors import GputopoError

if TYPE_CHECKING:
    from gputopo.evidence.live.node import Reading
    from gputopo.evidence.piece import Piece
    from gputopo.inspection import Inspection
    from gputopo.reports.style import Style
    from gputopo.rules.settings import Settings, Suppressed


def command(
    sources: options.Sources = None,
    as_format: options.As = None,
    form: options.ReportOutput = "text",
    output_file: options.OutputFile = None,
    color: options.Color = "auto",
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
    fail_on: options.FailOn = "never",
    select: options.Select = None,
    ignore: options.Ignore = None,
    config: options.Config = None,
    assume: options.Assume = None,
    matrix: options.MatrixOption = "auto",
    merge: options.Merge = False,
    each: options.Each = False,
    root: options.Root = None,
    driver_root: options.DriverRoot = None,
    timeout: options.Timeout = 10.0,
    bandwidth: options.Bandwidth = False,
    gpus: options.Gpus = None,
    count: options.CountOfSets = None,
    watch: options.Watch = False,
    interval: options.Interval = 5.0,
) -> int:
    """What is on this node, how is it wired, what is odd; from this node or from anything saved."""
    if merge and each:
        raise GputopoError("--merge and --each exclude one another")
    if not bandwidth and (gpus is not None or count is not None):
        option = "--gpus" if gpus is not None else "--count"
        raise GputopoError(f"{option} asks for bandwidth here", option, "add --bandwidth")
    # Every option is checked before anything is read: a typo should not wait for a slow pipe.
    as_format = options.checked_format(as_format)
    assumed = options.pairs(assume, "--assume")
    selected, ignored = options.codes(select), options.codes(ignore)
    if watch:
        _check_watch(sources, form, output_file, bandwidth, interval)
    used = configuration.settings(config)
    inspections: tuple[Inspection, ...]
    if not sources:
        from gputopo.inspection import inspect_reading

        reading = read_live(root, driver_root, options.checked_timeout(timeout), as_format, quiet)
        inspections = (inspect_reading(reading, assume=assumed, select=selected, ignore=ignored),)
    elif root is not None or driver_root is not None:
        option = "--root" if root is not None else "--driver-root"
        raise GputopoError(f"{option} is for the live node; give the folder as a source instead")
    else:
        from gputopo.inspection import inspect

        inspections = inspect(
            open_pieces(sources, options.checked_timeout(timeout), quiet), as_format=as_format, merge=merge, each=each,
            assume=assumed, select=selected, ignore=ignored,
        )  # fmt: skip
    suppressed: list[Suppressed] = []
    if used.suppressions:
        inspections = tuple(_without(one, used, suppressed) for one in inspections)
    cut = False
    if bandwidth:
        from gputopo.commands.inspect_bandwidth import with_bandwidth

        inspections, cut = with_bandwidth(inspections, gpus, count, timeout)
    if form == "text":
        from gputopo.reports.style import Style

        if not sources:
            inspections = tuple(_headed(one, _stamp(output_file)) for one in inspections)
        style = Style(*output.place(color, output_file))
        note = _exit_note(inspections, fail_on, cut) if output.on_terminal(output_file) and not quiet else None
        text = _text(inspections, style, matrix, verbose=verbose, quiet=quiet, exit_note=note)
    elif form in FORMS:
        text = _passed_on(inspections, form, matrix, verbose, timeout if bandwidth else None)
    else:
        text = _document(inspections, form, provenance=verbose, one_line=watch)
    output.write(configuration.report(text, form, suppressed, used, quiet), output_file)
    if watch:
        asked = (root, driver_root, timeout, assumed, selected, ignored, used)
        return _watch(inspections[0], asked, form, interval, quiet)
    return int(_fails(inspections, fail_on)) or (3 if cut else 0)


def _check_watch(
    sources: Sequence[str] | None, form: str, output_file: str | None, bandwidth: bool, interval: float
) -> None:  # fmt: skip
    options.checked_interval(interval)
    options.checked_watch(form, output_file)
    if sources:
        raise GputopoError("-w is for the live node, which changes", "-w", "gputopo diff A B compares two files")
    if bandwidth:
        raise GputopoError("-w and --bandwidth exclude one another")


def _watch(
    first: Inspection,
    asked: tuple[str | None, str | None, float, dict[str, str], tuple[str, ...], tuple[str, ...], Settings],
    form: str, interval: float, quiet: bool,
) -> int:  # fmt: skip
    from gputopo.commands.inspect_watch import watch
    from gputopo.evidence.live.hot_plug import HotPlug
    from gputopo.inspection import inspect_reading

    events = HotPlug()
    if events.why_not and not quiet:
        output.say(f"{events.why_not}: looking every {interval:g} s")

    root, driver_root, timeout, assumed, selected, ignored, used = asked

    def ask() -> Inspection:
        reading = read_live(root, driver_root, timeout, None, True)
        return _without(inspect_reading(reading, assume=assumed, select=selected, ignore=ignored), used, [])

    watch(first, ask, lambda text: output.write(text, None), form, lambda: events.wait(interval))
    return 0


def _without(inspection: Inspection, used: Settings, suppressed: list[Suppressed]) -> Inspection:
    kept, more = used.split(inspection.findings, lambda one: one.subjects)
    suppressed += more
    return inspection._replace(findings=tuple(kept))


def open_pieces(specs: Sequence[str], timeout: float, quiet: bool) -> tuple[Piece, ...]:
    import sys

    from gputopo.evidence.open import open_sources
    from gputopo.parsers.recognise import why_no_evidence, why_unreadable

    return open_sources(
        specs,
        stdin=sys.stdin.fileno() if "-" in specs and sys.stdin is not None else None,
        timeout=timeout,
        warn=(lambda message: None) if quiet else output.say,
        why_not=why_unreadable,
        protobuf=why_no_evidence,
    )


def read_live(
    root: str | None, driver_root: str | None, timeout: float, as_format: str | None, quiet: bool
) -> Reading:  # fmt: skip
    from gputopo.evidence.live.node import read

    def slow() -> None:
        if not quiet:
            output.say("waiting for the NVIDIA driver (without persistence mode it takes seconds a GPU to start)")

    if as_format not in (None, "sysfs-root"):
        raise GputopoError("--as is for sources; the live node is what it is", "--as", "give the file to read")
    return read(root or "/", driver_root, timeout, ask=as_format is None, slow=slow)


def _stamp(file: str | None) -> str:
    """The time for a person who looks at a terminal now; anything saved would never be the same twice."""
    from time import gmtime, strftime

    if not output.on_terminal(file):
        return ""
    return strftime(" %Y-%m-%d %H:%M:%SZ", gmtime())


def _headed(inspection: Inspection, stamp: str) -> Inspection:
    """For the sources line of the text: when, and whether the driver had a part in it."""
    sources = inspection.node.sources
    answering = tuple(source for source in sources if source.whole)
    where = f"live{stamp}" if answering == sources else f"live{stamp}, without the NVIDIA driver"
    shown = tuple(source._replace(where=where) for source in answering)
    return inspection._replace(node=inspection.node._replace(sources=shown))


def _exit_note(inspections: Sequence[Inspection], fail_on: str, cut: bool) -> str:
    """The exit code and why it is that, for who sees no code at a prompt."""
    if cut and not _fails(inspections, fail_on):
        return "3 (--timeout ended a search: a bound stands in its place)"
    if fail_on == "never":
        return "0 (inspect reports, it does not judge; --fail-on SEVERITY does)"
    if _fails(inspections, fail_on):
        return f"1 (there is a finding at or above --fail-on {fail_on})"
    return f"0 (no finding at or above --fail-on {fail_on})"


def _text(
    inspections: Sequence[Inspection], style: Style, matrix: str, *, verbose: bool, quiet: bool, exit_note: str | None
) -> str:  # fmt: skip
    """One report a node; the exit code is of them all and stands under the last."""
    from gputopo.reports.text import render
    from gputopo.reports.views.inspect import blocks

    notes = [None] * (len(inspections) - 1) + [exit_note]
    return "\n".join(
        render(blocks(one, matrix=matrix, verbose=verbose, quiet=quiet, exit_note=note), style)
        for one, note in zip(inspections, notes)
    )


def _passed_on(
    inspections: Sequence[Inspection], form: str, matrix: str, verbose: bool, seconds: float | None
) -> str:  # fmt: skip
    """A page holds everything; `seconds`: for NCCL's model, where GB/s were asked for."""
    from time import monotonic

    from gputopo.reports.forms import Picture, Shown, render
    from gputopo.reports.views.inspect import blocks
    from gputopo.reports.views.words import title_of

    page = form == "html"
    end = monotonic() + (seconds or 0)
    reports = [
        Shown(title_of(one.node), blocks(one, matrix="full" if page and matrix == "auto" else matrix,
                                         verbose=verbose or page), Picture(one.node))
        for one in inspections
    ]  # fmt: skip
    return render(form, "gputopo inspect", reports, None if seconds is None else lambda: monotonic() > end)


def _document(inspections: Sequence[Inspection], form: str, *, provenance: bool, one_line: bool = False) -> str:
    """`one_line`: JSON that is the first line of others."""
    from gputopo.documents.node import encode, encode_list

    items = [encode(one.node, one.findings, one.not_checked, provenance=provenance) for one in inspections]
    if form == "github":
        from gputopo.reports.annotations import of_documents

        return of_documents(items)
    document = items[0] if len(items) == 1 else encode_list(items)
    if one_line:
        import json

        return f"{json.dumps(document)}\n"
    if form == "json":
        from gputopo.reports.json import render
    else:
        from gputopo.reports.yaml import render
    return render(document)


def _fails(inspections: Sequence[Inspection], fail_on: str) -> bool:
    """Whether a finding is as severe as `--fail-on` says, or more."""
    if fail_on == "never":
        return False
    from gputopo.rules.finding import SEVERITIES

    worst = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    return any(finding.severity in worst for one in inspections for finding in one.findings)
