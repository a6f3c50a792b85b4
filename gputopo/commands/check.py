"""`gputopo check [--spec FILE] [SOURCE]...`: has the node the shape it should have.

What is read is sorted out in check_reading.py.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional

import typer

from gputopo.commands import options, output
from gputopo.errors import GputopoError

if TYPE_CHECKING:
    from gputopo.checks.judge import Ask
    from gputopo.checks.result import Checked
    from gputopo.checks.spec import Spec
    from gputopo.commands.check_reading import Failed, How, Read

Format = Annotated[
    Literal["text", "json", "yaml", "markdown", "html", "junit", "sarif", "github"],
    typer.Option("-o", "--output", help="How to print it; html: one page; github: annotations."),
]
SpecFile = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--spec", metavar="FILE", help="What a node must have; none: what its GPUs' models always have."),
]
WriteSpec = Annotated[bool, typer.Option("--write-spec", help="Print a specification of this node, a good one.")]
Exact = Annotated[bool, typer.Option("--exact", help="Also names, order and PCI addresses, not only the shape.")]
ExitStyle = Annotated[
    Optional[Literal["nagios", "npd"]],  # noqa: UP045
    typer.Option("--exit-style", help="One line, and the exit codes of Nagios or of node-problem-detector."),
]
Baseline = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--baseline", metavar="FILE", help="Of an earlier `check -o json`: what it found is not reported."),
]
# worst of all nodes → exit code
_EXIT = {"pass": 0, "fail": 1, "undecided": 3, "unreadable": 2}
_WORST = ("fail", "unreadable", "undecided", "pass")
_NAGIOS = {0: 0, 1: 2, 2: 3, 3: 3}
_NPD = {0: 0, 1: 1, 2: 2, 3: 2}
_NOTES = {
    0: "0 (every node has the shape it should have)",
    1: "1 (a node is not as it should be)",
    2: "2 (a source cannot be read, and no node fails)",
    3: "3 (a node is not decided: evidence is missing, and none fails)",
}


def command(
    sources: options.Sources = None,
    spec: SpecFile = None,
    write_spec: WriteSpec = False,
    exact: Exact = False,
    exit_style: ExitStyle = None,
    baseline: Baseline = None,
    as_format: options.As = None,
    form: Format = "text",
    output_file: options.OutputFile = None,
    color: options.Color = "auto",
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
    fail_on: Annotated[
        Optional[options.Severity],  # noqa: UP045
        typer.Option("--fail-on", help="Findings of this severity or above are a failure; default error."),
    ] = None,
    select: options.Select = None,
    ignore: options.Ignore = None,
    assume: options.Assume = None,
    merge: options.Merge = False,
    each: options.Each = False,
    root: options.Root = None,
    driver_root: options.DriverRoot = None,
    timeout: options.Timeout = 10.0,
) -> int:
    """Has the node the shape it should have: pass, FAIL or undecided for each, by a specification or by its products.

    Compared is the shape: PCI addresses, names and order of devices play no part without --exact. What the evidence
    does not say is undecided, never a pass.

    Exit 0: all pass. 1: a node fails. 2: a source cannot be read. 3: a node is undecided.
    """
    try:
        return _run(
            sources or (), spec, write_spec, exact, exit_style, baseline, form, output_file, color, verbose, quiet,
            fail_on, options.codes(ignore),
            _how(as_format, assume, select, merge, each, timeout, quiet), (root, driver_root),
        )  # fmt: skip
    except Exception as error:
        if exit_style is None:
            raise
        raise _unknown(error, exit_style) from error


def _unknown(error: Exception, style: str) -> GputopoError:
    """Whatever went wrong, our own mistakes too: exit 2 would be CRITICAL to a monitor, and drain a good node."""
    from gputopo.commands.failure import in_words

    code = _styled(2, style)
    if isinstance(error, GputopoError):
        return GputopoError(error.what, error.where, error.hint, code)
    return GputopoError(in_words(error), exit_code=code)


def _how(
    as_format: str | None, assume: list[str] | None, select: list[str] | None, merge: bool, each: bool,
    timeout: float, quiet: bool,
) -> How:  # fmt: skip
    from gputopo.commands.check_reading import How

    if merge and each:
        raise GputopoError("--merge and --each exclude one another")
    return How(
        options.checked_format(as_format), options.pairs(assume, "--assume"), options.codes(select), merge, each,
        options.checked_timeout(timeout), quiet,
    )  # fmt: skip


def _run(
    sources: Sequence[str], spec_file: str | None, write_spec: bool, exact: bool, exit_style: str | None,
    baseline: str | None, form: str, output_file: str | None, color: str, verbose: bool, quiet: bool,
    fail_on: str | None, ignored: tuple[str, ...], how: How, roots: tuple[str | None, str | None],
) -> int:  # fmt: skip
    from gputopo.checks.judge import Ask

    if spec_file == "-" and "-" in sources:
        raise GputopoError("standard input can be read once", "-")
    spec = _spec(spec_file, how.timeout) if spec_file is not None else None
    before = _baseline(baseline, how.timeout) if baseline is not None else None
    found = _read(sources, roots, how)
    if write_spec:
        return _write_spec(found, exact, spec_file, output_file)
    if exact and spec is None:
        raise GputopoError("--exact needs a specification", "", "--spec FILE, or --write-spec to make one")
    ask = Ask(spec, fail_on or (spec.fail_on if spec else None) or "error", ignored, exact)
    checked = [_checked(one, ask) for one in found]
    if before is not None:
        from gputopo.checks.baseline import without_known

        checked = [without_known(one, before) for one in checked]
    from gputopo.documents.check_result import encode

    report = encode(checked, spec_file)
    statuses = {one.status for one in checked}
    code = _EXIT[next(status for status in _WORST if status in statuses)]
    text = _text(report, form, output_file, color, verbose, quiet, code, exit_style)
    output.write(text, output_file)
    return _styled(code, exit_style)


def _styled(code: int, style: str | None) -> int:
    return _NAGIOS[code] if style == "nagios" else _NPD[code] if style == "npd" else code


def _read(
    sources: Sequence[str], roots: tuple[str | None, str | None], how: How
) -> list[Read | Failed]:  # fmt: skip
    from gputopo.commands import check_reading

    if sources:
        if any(root is not None for root in roots):
            option = "--root" if roots[0] is not None else "--driver-root"
            raise GputopoError(f"{option} is for the live node; give the folder as a source instead")
        found = check_reading.read(sources, how)
        if not found:
            raise GputopoError("no node among the sources", ", ".join(sources), "give evidence of one, too")
        return found
    from gputopo.commands.inspect import read_live
    from gputopo.inspection import inspect_reading

    reading = read_live(roots[0], roots[1], how.timeout, how.as_format, how.quiet)
    return [check_reading.live(inspect_reading(reading, assume=how.assumed, select=how.select))]


def _checked(one: Read | Failed, ask: Ask) -> Checked:
    from gputopo.checks.judge import judge
    from gputopo.checks.result import FAIL, UNREADABLE, Checked, status_of
    from gputopo.commands.check_reading import Failed, Lines

    if isinstance(one, Failed):
        error = one.error
        where = f" ({error.where})" if error.where not in ("", one.name) else ""
        return Checked(one.name, None, UNREADABLE, reason=f"{error.what}{where}", hint=error.hint)
    node = one.inspection.node
    mismatches, undecided = judge(node, one.inspection.findings, one.kubelet, ask)
    if status_of(mismatches, undecided) == FAIL:
        lines = Lines(node, one.pieces)
        files = {source.id: source.name for source in node.sources}
        named = (each._replace(source=files.get(each.source or "", each.source)) for each in mismatches)
        mismatches = tuple(lines.of(each) for each in named)
    return Checked(one.name, node.name, status_of(mismatches, undecided), mismatches, undecided)


def _spec(path: str, timeout: float) -> Spec:
    from gputopo.checks.spec import WrongSpec, read
    from gputopo.checks.wiring import template
    from gputopo.evidence.reading import read_fd, read_path
    from gputopo.parsers import node_spec
    from gputopo.parsers.unreadable import Unreadable

    data = read_fd(sys.stdin.fileno(), path, timeout) if path == "-" else read_path(path, path, timeout)
    try:
        manifest = node_spec.read(data.decode("utf-8-sig", "replace"))
    except Unreadable as error:
        raise GputopoError(error.what, f"{path}:{error.line}" if error.line else path, error.hint) from None
    try:
        spec = read(manifest.object.body)
        if spec.wiring is not None:
            template(spec.wiring)
    except WrongSpec as error:
        place = manifest.key(error.path) if error.key else manifest.at(error.path)
        raise GputopoError(str(error), f"{path}:{place.line}:{place.column}", "docs/check.md has every key") from None
    return spec._replace(allow=options.codes(spec.allow))


def _baseline(path: str, timeout: float) -> Any:
    import json

    from gputopo.checks.baseline import known
    from gputopo.evidence.reading import read_path

    try:
        return known(json.loads(read_path(path, path, timeout)))
    except (ValueError, RecursionError, KeyError, TypeError):
        raise GputopoError(
            "a baseline is what an earlier check printed", path, "gputopo check -o json --output-file FILE"
        ) from None


def _write_spec(found: Sequence[Read | Failed], exact: bool, spec_file: str | None, output_file: str | None) -> int:
    from gputopo.checks.write_spec import write_spec
    from gputopo.commands.check_reading import Failed

    if spec_file is not None:
        raise GputopoError("--write-spec and --spec exclude one another", "", "--output-file FILE says where to")
    for one in found:
        if isinstance(one, Failed):
            raise one.error
    nodes = [one for one in found if not isinstance(one, Failed)]
    if len(nodes) != 1:
        raise GputopoError(f"{len(nodes)} nodes: a specification is written from one")
    inspection = nodes[0].inspection
    output.write(write_spec(inspection.node, inspection.findings, exact, nodes[0].kubelet), output_file)
    return 0


def _title(report: dict[str, Any]) -> str:
    from gputopo.rules.wording import counted

    nodes = report["nodes"]
    return str(nodes[0]["node"] or nodes[0]["name"]) if len(nodes) == 1 else counted(len(nodes), "node")


def _text(
    report: dict[str, Any], form: str, file: str | None, color: str, verbose: bool, quiet: bool, code: int,
    exit_style: str | None,
) -> str:  # fmt: skip
    if form == "text" and exit_style is not None:
        from gputopo.reports.check_lines import status_line

        return status_line(report, _NAGIOS[code])
    if form == "text":
        from gputopo.reports.style import Style
        from gputopo.reports.text import render
        from gputopo.reports.views.check import blocks

        note = _NOTES[code] if output.on_terminal(file) and not quiet else None
        made = blocks(report, verbose=verbose, quiet=quiet, exit_note=note)
        return render(made, Style(*output.place(color, file)))
    if form in output.FORMS:
        from gputopo.reports.forms import Shown
        from gputopo.reports.forms import render as passed_on
        from gputopo.reports.views.check import blocks

        made = blocks(report, verbose=verbose or form == "html", quiet=quiet)
        return passed_on(form, "gputopo check", [Shown(_title(report), made)])
    if form == "junit":
        from gputopo.reports.check_junit import junit

        return junit(report)
    if form == "github":
        from gputopo.reports.check_lines import github

        return github(report)
    if form == "sarif":
        from gputopo.reports.check_sarif import sarif

        report = sarif(report)
    if form == "yaml":
        from gputopo.reports.yaml import render as render_yaml

        return render_yaml(report)
    from gputopo.reports.json import render as render_json

    return render_json(report)
