"""`gputopo fleet PATH...`: many saved nodes: which are wired differently, which pods are badly placed."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Annotated, Literal, Optional

import typer

from gputopo.commands import options, output
from gputopo.errors import GputopoError

if TYPE_CHECKING:
    from gputopo.commands.fleet_map import Asked, Task
    from gputopo.commands.fleet_state import State
    from gputopo.commands.progress import Progress
    from gputopo.fleet.part import Part
    from gputopo.fleet.report import Report

_Format = Literal["text", "json", "yaml", "markdown", "csv", "html", "github", "parquet"]
Format = Annotated[
    _Format,
    typer.Option("-o", "--output", help="How to print it; html: one page; csv, parquet: a row a node."),
]
Paths = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH...",
        help="Bundles, dumps, documents: files, folders, archives, lists, NDJSON, `-`, s3://BUCKET/PREFIX.",
        show_default=False,
    ),
]
Workers = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option("--workers", metavar="N", help="Processes that read; default: as many as CPUs; 1: none but this."),
]
Scheduler = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--scheduler", metavar="ADDRESS", help="Read on this Dask cluster: tcp://HOST:8786, or its file."),
]
StateFile = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--state", metavar="FILE", help="Keep what was read; a run that was ended goes on from there."),
]
CHUNK = 16  # things that a worker reads at a time
_MOST_WORKERS = 256


def command(
    paths: Paths,
    as_format: options.As = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    state: StateFile = None,
    form: Format = "text",
    output_file: options.OutputFile = None,
    color: options.Color = "auto",
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
    fail_on: options.FailOn = "error",
    select: options.Select = None,
    ignore: options.Ignore = None,
    assume: options.Assume = None,
    timeout: options.Timeout = 10.0,
) -> int:
    """Many saved nodes: their shapes, which node is unlike the others of its product and by which field.

    Reads what inspect and pods read, a node at a time; what cannot be read is listed and stops nothing. Also what the
    rules find over all, whose pods cross sockets, GPUs lost to fragmentation, and nodes that were read twice.
    """
    from gputopo.commands.allocate_fleet_reading import How
    from gputopo.commands.fleet_map import Asked
    from gputopo.fleet.report import report

    how = How(options.checked_timeout(timeout), options.checked_format(as_format), options.pairs(assume, "--assume"))
    asked = Asked(how, options.codes(select), options.codes(ignore))
    number = _checked(paths, workers, scheduler, form, output_file)
    gc.enable()  # for one answer it is off; of a fleet each node is garbage soon
    made = report(_read(paths, asked, number, scheduler, state, quiet), asked.select, asked.ignore)
    code = made.exit_code(fail_on)
    _print(made, form, output_file, color, verbose, quiet, f"{code} ({_note(code, fail_on)})")
    return code


def _checked(
    paths: Sequence[str], workers: int | None, scheduler: str | None, form: str, file: str | None
) -> int:  # fmt: skip
    """How many workers. A path that is not there is a typing error, not a bad file."""
    from gputopo.evidence.object_store import is_address

    if workers is not None and not 1 <= workers <= _MOST_WORKERS:
        raise GputopoError(f"--workers takes a number from 1 to {_MOST_WORKERS}, not {workers}")
    if workers is not None and scheduler is not None:
        raise GputopoError("--workers and --scheduler exclude one another", "", "the cluster has workers of its own")
    if paths.count("-") > 1:
        raise GputopoError("standard input can be read once", "-")
    if form == "parquet" and file is None and sys.stdout is not None and sys.stdout.isatty():
        raise GputopoError("-o parquet is not for a terminal", "", "--output-file FILE")
    for path in paths:
        if path != "-" and not path.startswith("sample:") and not is_address(path) and not os.path.exists(path):
            raise GputopoError("no such file or folder", path)
    return workers or len(os.sched_getaffinity(0))


def _read(
    paths: Sequence[str], asked: Asked, workers: int, scheduler: str | None, state: str | None, quiet: bool
) -> Part:  # fmt: skip
    """Everything as one part; in which order it came does not show in it."""
    from gputopo.commands.fleet_state import State
    from gputopo.commands.progress import Progress
    from gputopo.fleet.part import Sum

    found = Sum()
    with ExitStack() as open_things:
        progress = open_things.enter_context(Progress("reading nodes", quiet=quiet, eta=True))
        kept = None if state is None else open_things.enter_context(State(state, asked))
        tasks = _not_known(_tasks(paths, progress), kept, found.add, progress)
        for chunk, part in _parts(tasks, asked, workers, scheduler):
            found.add(part)
            if kept is not None:
                kept.keep(chunk, part)
            progress.step(len(chunk))
    return found.total


def _tasks(paths: Sequence[str], progress: Progress) -> Iterator[Task]:
    from gputopo.commands.fleet_map import Task
    from gputopo.evidence.fleet_lines import of_stream, split
    from gputopo.evidence.fleet_plan import plan

    files = plan([path for path in paths if path != "-"])
    lines = of_stream(sys.stdin.buffer, "-") if "-" in paths and sys.stdin is not None else iter(())
    progress.total = len(files) if "-" not in paths else None
    at = 0
    for later in files:
        for number, one in enumerate(split(later)):
            if number:
                progress.total = None  # how many lines a file has shows at its end
            yield Task(at, one)
            at += 1
    for one in lines:
        yield Task(at, one)
        at += 1


def _not_known(
    tasks: Iterator[Task], state: State | None, add: Callable[[Part], None], progress: Progress
) -> Iterator[Task]:  # fmt: skip
    for task in tasks:
        known = state.known(task) if state is not None else None
        if known is None:
            yield task
        else:
            add(known)
            progress.step()


def _parts(
    tasks: Iterator[Task], asked: Asked, workers: int, scheduler: str | None
) -> Iterator[tuple[Sequence[Task], Part]]:  # fmt: skip
    from gputopo.commands.fleet_map import map_tasks
    from gputopo.fleet.here import chunked, in_pool, in_turn

    work = partial(map_tasks, asked)
    if scheduler is not None:
        from gputopo.fleet.on_dask import in_cluster

        return in_cluster(work, chunked(tasks, CHUNK), scheduler, asked.how.timeout, _given_up)
    first = list(islice(tasks, CHUNK + 1))
    every = chain(first, tasks)
    if workers == 1 or len(first) <= CHUNK:  # a pool would take longer to start
        return in_turn(work, chunked(every, CHUNK if workers > 1 else 1))
    return in_pool(work, chunked(every, CHUNK), workers, _given_up)


def _given_up(task: Task) -> Part:
    from gputopo.fleet.part import Lost, Part

    return Part({}, (Lost((task.at, 0), task.later.path, "the process that read it was ended (out of memory?)"),))


def _note(code: int, fail_on: str) -> str:
    return {
        0: f"no finding at or above --fail-on {fail_on}",
        1: f"there is a finding at or above --fail-on {fail_on}",
        2: "no node was read",
    }[code]


def _print(made: Report, form: str, file: str | None, color: str, verbose: bool, quiet: bool, note: str) -> None:
    if form == "text":
        from gputopo.reports.blocks import Block, KeyValue, cell
        from gputopo.reports.style import Style
        from gputopo.reports.text import render
        from gputopo.reports.views.fleet import blocks

        shown: list[Block] = list(blocks(made, verbose=verbose, quiet=quiet))
        if not quiet and output.on_terminal(file):
            shown.append(KeyValue("exit", (cell(note, "dim"),), role="dim"))
        output.write(render(shown, Style(*output.place(color, file))), file)
    elif form in ("html", "markdown"):
        from gputopo.reports.forms import Shown
        from gputopo.reports.forms import render as passed_on
        from gputopo.reports.views.fleet import PAGE, TEXT
        from gputopo.reports.views.fleet import blocks as view

        most = PAGE if form == "html" else TEXT
        report = view(made, verbose=verbose, quiet=quiet, tables=True, most=most)
        title = f"{made.nodes:,} node{'s' if made.nodes != 1 else ''}"
        output.write(passed_on(form, "gputopo fleet", [Shown(title, report)]), file)
    elif form == "csv":
        from gputopo.reports.fleet_table import csv

        output.write(csv(made), file)
    elif form == "parquet":
        from gputopo.reports.fleet_table import parquet

        output.write_binary(parquet(made), file)
    elif form == "github":
        from gputopo.documents.fleet import encode
        from gputopo.reports.fleet_annotations import github

        output.write(github(encode(made)), file)
    else:
        from gputopo.documents.fleet import encode

        if form == "json":
            from gputopo.reports.json import render as as_text
        else:
            from gputopo.reports.yaml import render as as_text
        output.write(as_text(encode(made)), file)
