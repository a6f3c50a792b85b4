"""The options that verbs share, each once; values are checked here and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal, Optional

import typer

from gputopo.errors import GputopoError

OutputFormat = Literal["text", "json", "yaml"]
When = Literal["auto", "always", "never"]
Severity = Literal["error", "warning", "info", "never"]
Matrix = Literal["auto", "full", "none"]
# Optional[...] below: Typer reads these at run time, also on Python 3.10.

Sources = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Argument(
        metavar="[SOURCE]...",
        help="File, folder, archive, `-` or sample:NAME; none: this node, live.",
        show_default=False,
    ),
]
As = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--as", metavar="FORMAT", help="Read every source as this format (gputopo formats)."),
]
Output = Annotated[OutputFormat, typer.Option("-o", "--output", help="How to print it.")]
ReportOutput = Annotated[
    Literal["text", "json", "yaml", "markdown", "csv", "html", "github"],
    typer.Option("-o", "--output", help="How to print it; html: one page; github: annotations."),
]
TextOrJson = Annotated[Literal["text", "json"], typer.Option("-o", "--output", help="How to print it.")]
OutputFile = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--output-file", metavar="FILE", help="Write there instead of standard output."),
]
Color = Annotated[When, typer.Option("--color", help="Colour; auto: on a terminal without NO_COLOR.")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="More: provenance of each value.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Less: no messages, only what was found.")]
FailOn = Annotated[Severity, typer.Option("--fail-on", help="Exit 1 for findings of this severity or above.")]
Select = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option("--select", metavar="CODES", help="Only these rules: GT112, GT1, a name; by commas."),
]
Ignore = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option("--ignore", metavar="CODES", help="Not these rules."),
]
Config = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--config", metavar="FILE", help="Suppressions and thresholds; none: the nearest gputopo.toml."),
]
Assume = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option("--assume", metavar="KEY=VALUE", help="What no source says, e.g. sockets=numa."),
]
MatrixOption = Annotated[Matrix, typer.Option("--matrix", help="The table of letters; auto: GPU rows.")]
Merge = Annotated[bool, typer.Option("--merge", help="All sources are one node.")]
Each = Annotated[bool, typer.Option("--each", help="Every source is a node of its own.")]
Root = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--root", metavar="DIR", help="Live from another root folder, e.g. /host."),
]
DriverRoot = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--driver-root", metavar="DIR", help="Live: root folder of the NVIDIA driver (libnvidia-ml)."),
]
# As in kubectl.
Namespace = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("-n", "--namespace", metavar="NAMESPACE", help="Pods of this namespace only."),
]
AllNamespaces = Annotated[bool, typer.Option("-A", "--all-namespaces", help="Pods of every namespace: the default.")]
Selector = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("-l", "--selector", metavar="SELECTOR", help="Pods with these labels only: app=web,tier!=db."),
]
Context = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--context", metavar="NAME", help="The context of the kubeconfig."),
]
Kubeconfig = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--kubeconfig", metavar="FILE", help="The kubeconfig; default KUBECONFIG or ~/.kube/config."),
]
Bandwidth = Annotated[bool, typer.Option("--bandwidth", help="GB/s of pairs and sets, as NCCL's model has them.")]
Gpus = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--gpus", metavar="SET", help="These GPUs: 0,1 or 0-3, GPU0, UUID, PCI address."),
]
CountOfSets = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option("-c", "--count", metavar="N", help="All sets of N GPUs, ranked and grouped by shape."),
]
Watch = Annotated[bool, typer.Option("-w", "--watch", help="Then print what changes, until interrupted.")]
Interval = Annotated[
    float, typer.Option("--interval", metavar="SECONDS", help="-w: how often to look.", show_default=True)
]
Timeout = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", help="Every wait ends by it.", show_default=True)
]


def words(values: Iterable[str] | None) -> tuple[str, ...]:
    """Repeated and comma-separated values as one tuple.

    >>> words(["GT1,GT006", " pcie-width-reduced"])
    ('GT1', 'GT006', 'pcie-width-reduced')
    """
    return tuple(word.strip() for value in values or () for word in value.split(",") if word.strip())


def codes(values: Iterable[str] | None) -> tuple[str, ...]:
    """The rule codes that `--select` or `--ignore` mean. Raises GputopoError for a word that means none."""
    wanted = words(values)
    if not wanted:
        return ()
    from gputopo.rules.codes import matching

    return tuple(dict.fromkeys(code for word in wanted for code in matching(word)))


def pairs(values: Iterable[str] | None, option: str) -> dict[str, str]:
    """KEY=VALUE options as a mapping.

    >>> pairs(["sockets=numa"], "--assume")
    {'sockets': 'numa'}
    """
    found: dict[str, str] = {}
    for value in words(values):
        key, equals, said = value.partition("=")
        if not (key and equals and said):
            raise GputopoError(f"{option} takes KEY=VALUE, not {value!r}", hint=f"{option} sockets=numa")
        if found.setdefault(key, said) != said:
            raise GputopoError(f"{option} {key} is given twice: {found[key]} and {said}")
    return found


def checked_timeout(seconds: float) -> float:
    """More than 0 and at most a day (infinity would wait for ever, which --timeout exists to prevent)."""
    if not 0 < seconds <= 86400:
        raise GputopoError(f"--timeout takes seconds between 0 and 86400, not {seconds:g}")
    return seconds


def checked_format(id: str | None) -> str | None:
    """An id of the format table."""
    if id is None:
        return None
    from gputopo.parsers.formats import FORMATS

    ids = [row.id for row in FORMATS]
    if id not in ids:
        from difflib import get_close_matches

        near = get_close_matches(id, ids, 1)
        hint = f"did you mean {near[0]}?" if near else "gputopo formats lists them"
        raise GputopoError(f"no such format: {id}", "--as", hint)
    return id


def checked_interval(seconds: float) -> float:
    """More often than ten times a second is no watching, less than once a day neither."""
    if not 0.1 <= seconds <= 86400:
        raise GputopoError(f"--interval takes seconds between 0.1 and 86400, not {seconds:g}")
    return seconds


def checked_watch(form: str, output_file: str | None) -> None:
    """What -w can print: lines, or a JSON document a line."""
    if form not in ("text", "json"):
        raise GputopoError(f"-w prints text or json, not {form}", "-o", "-o json: a JSON document a line")
    if output_file is not None:
        raise GputopoError("-w and --output-file exclude each other", "-w", "redirect standard output: >> FILE")
