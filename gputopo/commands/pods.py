"""`gputopo pods [SOURCE]...`: what running pods hold, what crosses sockets, could it have been better."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional

import typer

from gputopo.commands import configuration, options, output
from gputopo.errors import GputopoError

if TYPE_CHECKING:
    from gputopo.evidence.live.kube_api import Asked
    from gputopo.evidence.piece import Piece
    from gputopo.pods.selection import Selection
    from gputopo.rules.finding import Finding
    from gputopo.rules.pods.audit import Audit
    from gputopo.rules.settings import Suppressed

Format = Annotated[
    Literal["text", "json", "yaml", "prometheus", "junit", "sarif", "markdown", "csv", "html", "github"],
    typer.Option("-o", "--output", help="How to print it; html: one page; github: annotations."),
]
Socket = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--socket", metavar="PATH", help="The kubelet's podresources socket, live."),
]
KubeletRoot = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--kubelet-root", metavar="DIR", help="The kubelet's root folder, live; default /var/lib/kubelet."),
]
Proc = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--proc", metavar="DIR", help="Processes: another /proc, live or a copy beside sources."),
]
Kube = Annotated[bool, typer.Option("--kube", help="Ask the cluster's API server, live.")]
NodeName = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--node", metavar="NAME", help="What is on this node of a cluster only."),
]
MOST_BYTES = 256 << 20  # of one text: a list of every pod of a large cluster
Audited = Sequence["tuple[Audit, tuple[Finding, ...]]"]


def command(
    sources: options.Sources = None,
    socket: Socket = None,
    kubelet_root: KubeletRoot = None,
    proc: Proc = None,
    kube: Kube = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    namespace: options.Namespace = None,
    all_namespaces: options.AllNamespaces = False,
    selector: options.Selector = None,
    node: NodeName = None,
    watch: options.Watch = False,
    interval: options.Interval = 5.0,
    form: Format = "text",
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
    """What running pods hold, what crosses sockets or leaves an NVLink island, and whether better was there.

    Reads the kubelet's files, what its podresources socket answers and Kubernetes objects, with evidence of the nodes
    beside them; without a source: this node; with --kube the cluster.
    """
    from gputopo.inspection_pods import audits, processes
    from gputopo.rules.pods.run import run

    assumed = options.pairs(assume, "--assume")
    selected, ignored = options.codes(select), options.codes(ignore)
    used = configuration.settings(config)
    seconds = options.checked_timeout(timeout)
    of_pods = _selection(namespace, all_namespaces, selector)
    cluster = _cluster(kube, context, kubeconfig, namespace, node)
    if watch:
        options.checked_interval(interval)
        options.checked_watch(form, output_file)
        if sources and cluster is None:
            raise GputopoError("-w is for what changes: the live node, or a cluster with --kube", "-w", "leave -w out")

    suppressed: list[Suppressed] = []

    def ask(quiet: bool) -> Audited:
        if cluster is not None:
            found = _kube(cluster, sources, socket or kubelet_root or proc, of_pods, assumed, seconds, quiet, verbose)
        elif sources:
            if socket is not None or kubelet_root is not None:
                option = "--socket" if socket is not None else "--kubelet-root"
                raise GputopoError(f"{option} is for the live node; give the files as sources instead")
            beside = processes(proc, live=False, timeout=seconds) if proc is not None else ()
            found = audits(
                pieces(sources, seconds, quiet), assumed, select=of_pods, only=node, processes=beside
            )  # fmt: skip
        else:
            found = _live(socket, kubelet_root, proc, of_pods, node, seconds, quiet)
        suppressed.clear()
        audited: list[tuple[Audit, tuple[Finding, ...]]] = []
        for one in found:
            kept, more = used.split(run(one, selected, ignored), lambda finding: finding.subjects)
            audited.append((one, tuple(kept)))
            suppressed.extend(more)
        return audited

    audited = ask(quiet)
    if watch:
        _watch(audited, lambda: ask(True), form, interval, color, verbose, quiet)
        return 0
    fails = _fails(audited, fail_on)
    note = f"{int(fails)} (--fail-on {fail_on})" if output.on_terminal(output_file) and not quiet else None
    text = _text(audited, form, output_file, color, verbose, quiet, note, fail_on)
    output.write(configuration.report(text, form, suppressed, used, quiet), output_file)
    return int(fails)


def _watch(
    first: Audited, ask: Callable[[], Audited], form: str, interval: float, color: str, verbose: bool, quiet: bool
) -> None:  # fmt: skip
    """A report first, then a line a change; as JSON all that is there comes as ADDED. Until nobody reads."""
    from gputopo.commands.pods_watch import watch

    def write(text: str) -> bool:
        return output.write(text, None)

    if form == "text":
        if write(_text(first, form, None, color, verbose, quiet, None, "never")):
            watch(ask, write, form, interval, first=first)
        return
    looks = iter((first,))
    watch(lambda: next(looks, None) or ask(), write, form, interval)


def _selection(namespace: str | None, all_namespaces: bool, selector: str | None) -> Selection:
    from gputopo.pods.selection import Selection

    if namespace is not None and all_namespaces:
        raise GputopoError("-n and -A exclude each other")
    if selector is None:
        return Selection(namespace)
    from gputopo.terms.label_selector import parse

    try:
        return Selection(namespace, parse(selector))
    except ValueError as error:
        raise GputopoError(f"no label selector: {error}", "-l", "-l app=web,tier!=db") from None


def _cluster(
    kube: bool, context: str | None, kubeconfig: str | None, namespace: str | None, node: str | None
) -> Asked | None:
    if not kube:
        if context is not None or kubeconfig is not None:
            option = "--context" if context is not None else "--kubeconfig"
            raise GputopoError(f"{option} is for --kube, which is not given")
        return None
    from gputopo.evidence.live.kube_api import Asked

    return Asked(context, kubeconfig, namespace, node)


def _kube(
    asked: Asked, sources: Sequence[str] | None, socket: str | None, select: Selection, assumed: Mapping[str, str],
    timeout: float, quiet: bool, verbose: bool,
) -> tuple[Audit, ...]:  # fmt: skip
    """What the API server says, with files beside it."""
    from gputopo.evidence.live import kube_api
    from gputopo.inspection_pods import audits

    if socket is not None:
        raise GputopoError("--kube and the kubelet of this node are two questions", "", "save one of the two answers")
    given = pieces(sources, timeout, quiet) if sources else ()
    slow = (lambda: None) if quiet else (lambda: output.say("waiting for the API server"))
    answer = kube_api.ask(asked, timeout, slow=slow)
    if answer.trouble is not None:
        raise answer.error()
    for note in () if quiet else answer.notes:
        if verbose or note.kind != kube_api.ABSENT:
            output.say(note.text)
    return audits(
        (*given, *answer.pieces()), assumed, select=select, only=asked.node, every_pod=asked.every_pod
    )


def pieces(specs: Sequence[str], timeout: float, quiet: bool) -> tuple[Piece, ...]:
    from gputopo.evidence.open import open_sources
    from gputopo.parsers import recognise_holdings
    from gputopo.parsers.recognise import why_unreadable

    def why_not(text: str) -> str:
        return "" if recognise_holdings.recognise(text.encode("utf-8", "replace")) else why_unreadable(text)

    return open_sources(
        specs,
        stdin=sys.stdin.fileno() if "-" in specs and sys.stdin is not None else None,
        timeout=timeout,
        warn=(lambda message: None) if quiet else output.say,
        why_not=why_not,
        protobuf=recognise_holdings.why_not_message,
        kubelet=True,
        most=MOST_BYTES,
    )


def _live(
    socket: str | None, kubelet_root: str | None, proc: str | None, select: Selection, only: str | None,
    timeout: float, quiet: bool,
) -> tuple[Audit, ...]:  # fmt: skip
    """The socket first, the kubelet's files and the processes beside it; trouble with one is said, with all it is the
    answer."""
    from gputopo.commands.inspect import read_live
    from gputopo.evidence.live import kubelet_root as files
    from gputopo.evidence.live import podresources
    from gputopo.inspection import live_node
    from gputopo.inspection_pods import audits, processes

    answer = podresources.ask(podresources.socket_path(socket, kubelet_root), timeout)
    read = files.read(kubelet_root) if kubelet_root is not None else files.read()
    pieces = (*answer.pieces(), *read.pieces)
    slow = _waits if not quiet else lambda: None
    running = [one for one in processes(proc, live=True, timeout=timeout, slow=slow) if one[1].containers]
    if not pieces and not running:
        raise answer.error()
    if answer.trouble is not None and not quiet:
        output.say(f"{answer.trouble.text}; {'its files' if pieces else 'the processes'} are read without it")
    node = live_node(read_live(None, None, timeout, None, quiet))
    return audits(pieces, live=node, select=select, only=only, processes=running)


def _waits() -> None:
    output.say("the NVIDIA driver takes its time to list processes")


def _text(
    audited: Audited, form: str, file: str | None, color: str, verbose: bool, quiet: bool, note: str | None,
    fail_on: str,
) -> str:  # fmt: skip
    if form in output.FORMS:
        return _passed_on(audited, form, verbose)
    if form != "text":
        return _document(audited, form, fail_on)
    from gputopo.reports.style import Style
    from gputopo.reports.text import render
    from gputopo.reports.views.pods import blocks

    style = Style(*output.place(color, file))
    notes = [None] * (len(audited) - 1) + [note]
    return "\n".join(
        render(blocks(audit, found, verbose=verbose, quiet=quiet, exit_note=one), style)
        for (audit, found), one in zip(audited, notes)
    )


def _passed_on(audited: Audited, form: str, verbose: bool) -> str:
    from gputopo.reports.forms import Picture, Shown, render
    from gputopo.reports.views.pods import blocks
    from gputopo.reports.views.words import title_of

    reports = [
        Shown(audit.held.name or title_of(audit.node), blocks(audit, found, verbose=verbose or form == "html"),
              Picture(audit.node, audit=audit))
        for audit, found in audited
    ]  # fmt: skip
    return render(form, "gputopo pods", reports)


def _document(audited: Audited, form: str, fail_on: str) -> str:
    from gputopo.documents.pod_audit import encode, encode_list

    items: list[dict[str, Any]] = [encode(audit, found) for audit, found in audited]
    if form == "prometheus":
        from gputopo.reports.pod_metrics import metrics
        from gputopo.reports.prometheus import exposition

        return exposition(metrics(items))
    if form == "junit":
        from gputopo.reports.pod_junit import junit

        return junit(items, fail_on)
    if form == "github":
        from gputopo.reports.annotations import of_documents

        return of_documents(items)
    if form == "sarif":
        import json

        from gputopo.reports.pod_sarif import sarif

        return json.dumps(sarif(items), indent=2) + "\n"
    document = items[0] if len(items) == 1 else encode_list(items)
    if form == "json":
        from gputopo.reports.json import render
    else:
        from gputopo.reports.yaml import render
    return render(document)


def _fails(audited: Audited, fail_on: str) -> bool:
    if fail_on == "never":
        return False
    from gputopo.rules.finding import SEVERITIES

    worst = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    return any(one.severity in worst for _, found in audited for one in found)
