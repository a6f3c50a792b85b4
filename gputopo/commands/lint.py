"""`gputopo lint FILE...`: what is wrong with a manifest or configuration file, with its line and column.

What is read is sorted out in lint_reading.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional

import typer

from gputopo.commands import allocate_options, configuration, options, output
from gputopo.errors import GputopoError

if TYPE_CHECKING:
    from gputopo.commands.lint_reading import Reading
    from gputopo.documents.lint import Unknown
    from gputopo.rules.manifests.problem import Context
    from gputopo.rules.settings import Settings, Suppressed
    from gputopo.terms.manifest import Manifest

Format = Annotated[
    Literal["text", "json", "sarif", "github"], typer.Option("-o", "--output", help="How to print it.")
]  # fmt: skip
Files = Annotated[
    list[str], typer.Argument(metavar="FILE...", help="What to check, and evidence of the node; `-` is standard input.")
]  # fmt: skip
DriverVersion = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--driver-version", metavar="V", help="Of NVIDIA's DRA driver, e.g. 0.5; none: the newest release."),
]
Fix = Annotated[bool, typer.Option("--fix", help="Print what can be mended with certainty as a diff.")]
Write = Annotated[bool, typer.Option("--write", help="With --fix: change the files.")]


def command(
    files: Files,
    driver_version: DriverVersion = None,
    k8s_version: allocate_options.K8sVersion = None,
    form: Format = "text",
    output_file: options.OutputFile = None,
    fail_on: options.FailOn = "error",
    select: options.Select = None,
    ignore: options.Ignore = None,
    config: options.Config = None,
    quiet: options.Quiet = False,
    fix: Fix = False,
    write: Write = False,
) -> int:
    """What is wrong with a manifest: pods, nodes, DRA, what configures a kubelet, plugin, scheduler, Slurm or NCCL.

    Evidence of the node beside it (as `gputopo inspect` reads it) is compared with what it says of the node.

    Exit 1: a finding at or above --fail-on; with --fix --write: one that is left. Exit 2: a file that cannot be read,
    or that no rule knows.

    --fix prints what it would change as a diff, for `patch` too, and says which releases the result needs; only
    --write changes files. Of standard input --fix prints the diff, --fix --write the whole text.
    """
    context = _context(driver_version, k8s_version)
    chosen = options.codes(select), options.codes(ignore)
    used = configuration.settings(config)
    if fix or write:
        from gputopo.commands import lint_fix

        # A finding that is suppressed for some files only is mended in the others, so here in all.
        whole = [code for one in used.suppressions if not one.subjects for code in one.rules]
        chosen = chosen[0], (*chosen[1], *whole)
        printing = lint_fix.Printing(form, output_file, quiet, fail_on)
        return lint_fix.run(lint_fix.checked(files, fix, write, form), context, *chosen, write, printing)
    report, suppressed = _report(tuple(dict.fromkeys(files)), context, *chosen, used, quiet)
    text = text_of(report, form, output_file, quiet)
    output.write(configuration.report(text, form, suppressed, used, quiet), output_file)
    return int(fails(report, fail_on))


def _context(driver_version: str | None, k8s_version: str | None) -> Context:
    from gputopo.allocate.dra.published import NEWEST, line_of
    from gputopo.cel.environment import DEFAULT_RELEASE, environment
    from gputopo.commands.allocate_dra_objects import driver_line
    from gputopo.commands.allocate_objects import version_of
    from gputopo.rules.manifests.problem import Context

    version = version_of(k8s_version)
    minor = version[1] if version is not None else int(DEFAULT_RELEASE.partition(".")[2])
    try:
        environment(f"1.{minor}", False)
    except ValueError as error:
        raise GputopoError(f"Kubernetes 1.{minor} was not read: {error}", "--k8s-version", "e.g. 1.36") from None
    line = driver_line(driver_version)[0] if driver_version is not None else str(line_of(NEWEST))
    return Context(line, driver_version is not None, minor, minor_said=version is not None)


def _report(
    files: tuple[str, ...], context: Context, select: Sequence[str], ignore: Sequence[str], used: Settings, quiet: bool
) -> tuple[dict[str, Any], list[Suppressed]]:  # fmt: skip
    from gputopo.commands import lint_fix
    from gputopo.documents import lint

    reading = read(files, quiet)
    unknown = unknown_in(reading)
    made = lint_fix.mend(reading, context._replace(node=reading.node), select, ignore)
    kept, suppressed = used.split(lint_fix.found(made.before, made), lambda one: (one.file,))
    return lint.encode(files, context, kept, unknown), suppressed


def read(files: Sequence[str], quiet: bool) -> Reading:
    """Raises GputopoError, also for an object of a version that no release has."""
    from gputopo.commands import lint_reading
    from gputopo.rules.manifests.api_version_not_current import unknown as unknown_version

    reading = lint_reading.read(files, quiet)
    for file, given in ((file, each) for file, manifests in reading.files for each in manifests):
        why = unknown_version(given)
        if why is not None:
            raise GputopoError(why, f"{file}:{given.at(('apiVersion',)).line}")
        _check_depth(given, file)
    return reading


def unknown_in(reading: Reading) -> list[Unknown]:
    """The objects that no rule knows; a file that has no others raises GputopoError."""
    from gputopo.documents import lint
    from gputopo.rules.manifests.run import kind_of, known_kinds

    known = known_kinds()
    unknown: list[Unknown] = []
    for file, manifests in reading.files:
        strange = [lint.Unknown(file, one.line, kind_of(one)) for one in manifests if kind_of(one) not in known]
        if len(strange) == len(manifests):
            one = strange[0]
            raise GputopoError(f"no rule knows kind {one.kind}", f"{file}:{one.line}", f"known: {_listed(known)}")
        unknown += strange
    return unknown


def _check_depth(manifest: Manifest, file: str) -> None:
    """What nests deeper than CEL is parsed was never taken by an API server, so there is nothing to look at."""
    from gputopo.cel.depth import nests_too_deep
    from gputopo.rules.manifests.asks import WITH_SELECTORS, selectors

    for selector, _ in selectors(manifest) if manifest.kind in WITH_SELECTORS else ():
        why = nests_too_deep(selector.text)
        if why is not None:
            place = manifest.at(selector.path)
            raise GputopoError(f"{manifest.kind}: {why}", f"{file}:{place.line}:{place.column}")


def _listed(known: frozenset[str]) -> str:
    return ", ".join(sorted(known))


def text_of(report: dict[str, Any], form: str, file: str | None, quiet: bool) -> str:
    import json

    if form == "json":
        return json.dumps(report, indent=2) + "\n"
    if form == "sarif":
        from gputopo.reports.sarif import sarif

        return json.dumps(sarif(report), indent=2) + "\n"
    from gputopo.reports import lint_lines

    if form == "github":
        return lint_lines.github(report)
    return lint_lines.text(report, not output.place("never", file)[2], quiet)


def fails(report: dict[str, Any], fail_on: str) -> bool:
    from gputopo.rules.finding import SEVERITIES

    if fail_on == "never":
        return False
    worst = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    return any(one["severity"] in worst for one in report["findings"])
