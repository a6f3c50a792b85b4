"""`inspect` as blocks: verdict, what was found, wiring, pairs in words, the matrix, what is not known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gputopo.reports.blocks import Blank, Block, KeyValue, cell
from gputopo.reports.views.inspect_devices import names_of_gpus
from gputopo.reports.views.inspect_findings import found
from gputopo.reports.views.inspect_head import head
from gputopo.reports.views.inspect_matrix import letters
from gputopo.reports.views.inspect_notes import notes
from gputopo.reports.views.inspect_nvlink import nvlink
from gputopo.reports.views.inspect_pairs import in_words
from gputopo.reports.views.inspect_wiring import wiring
from gputopo.reports.views.words import pairs_of
from gputopo.rules.finding import SEVERITIES

if TYPE_CHECKING:
    from gputopo.inspection import Inspection
    from gputopo.topology.node import NodeTopology

_WIDTH_RULE = "GT112"  # marks the link it names in the wiring


def blocks(
    inspection: Inspection,
    *,
    matrix: str = "auto",
    verbose: bool = False,
    quiet: bool = False,
    exit_note: str | None = None,
) -> tuple[Block, ...]:
    """The report. `matrix`: auto (GPU rows), full (NIC rows too), none.

    `quiet`: the verdict and the messages only. `exit_note`: the exit code and what it means, as in
    `0 (inspect reports, it does not judge)`; for terminals.
    """
    node, findings, not_checked = inspection
    made: list[Block] = [*head(node, verbose=verbose), Blank()]
    made += found(node, findings, not_checked, verbose=verbose, quiet=quiet)
    if not quiet:
        pairs = pairs_of(node)
        narrow = frozenset(id for one in findings if one.rule == _WIDTH_RULE for id in one.subjects)
        made += [Blank(), *wiring(node, pairs, narrow), *nvlink(node, pairs), *_gpudirect(node)]
        made += [Blank(), *in_words(node, pairs), *letters(node, pairs, matrix)]
        if any(pair.bandwidth_gbytes is not None for pair in node.pairs):  # --bandwidth
            from gputopo.reports.views.inspect_bandwidth import bandwidth

            made += [Blank(), *bandwidth(node, pairs)]
        made += [Blank(), *notes(node, verbose=verbose), Blank()]
        if verbose:
            made += [*names_of_gpus(node), Blank()]
        made += [*_more(inspection, matrix, verbose)]
    if exit_note is not None:
        code, _, text = exit_note.partition(" ")
        made.append(KeyValue(f"exit {code}", (cell(text.strip(), "dim"),), role="dim"))
    return tuple(made)


def _gpudirect(node: NodeTopology) -> tuple[Block, ...]:
    if not node.gpudirect:  # as for everything but a root folder
        return ()
    from gputopo.reports.views.inspect_gpudirect import gpudirect

    return gpudirect(node)


def _more(inspection: Inspection, matrix: str, verbose: bool) -> tuple[Block, ...]:
    node = inspection.node
    words = []
    if node.nics and matrix == "auto":
        words.append("--matrix full (NIC rows)")
    if inspection.findings and not verbose:
        words.append("-v (remedies, all evidence)")
    words.append("-o json")
    if inspection.findings:
        worst = min(inspection.findings, key=lambda one: SEVERITIES.index(one.severity))
        words.append(f"gputopo explain {worst.rule}")
    return (KeyValue("more", (cell(" | ".join(words), "dim"),), role="dim"),)
