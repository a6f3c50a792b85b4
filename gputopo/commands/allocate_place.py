"""Where and how an answer of `allocate` goes: text with its exit note, JSON or YAML; and the exit code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gputopo.commands import output

if TYPE_CHECKING:
    from gputopo.allocate.answer import Answer
    from gputopo.allocate.best import Best
    from gputopo.allocate.state import State
    from gputopo.reports.blocks import Block
    from gputopo.reports.forms import Picture
    from gputopo.topology.node import NodeTopology

_NOTES = {
    0: "answered: what can happen and why; a refused request is exit 1",
    1: "refused",
    3: "not decided: the evidence leaves it open",
}


class Place(NamedTuple):
    form: str
    file: str | None
    color: str
    verbose: bool
    quiet: bool

    @property
    def shows_blocks(self) -> bool:
        return self.form == "text" or self.form in output.FORMS

    def show(
        self, reports: Sequence[Sequence[Block]], code: int, pictures: Sequence[Picture | None] = (),
        title: str = "gputopo allocate",
    ) -> None:  # fmt: skip
        """Blocks as text or what people pass on; the exit code, which is of them all, is explained on a terminal.

        pictures: of the nodes, for a page, in the order of the reports.
        """
        if self.form != "text":
            self._pass_on(reports, pictures, title)
            return
        from gputopo.reports.blocks import KeyValue, cell
        from gputopo.reports.style import Style
        from gputopo.reports.text import render

        style = Style(*output.place(self.color, self.file))
        made = [list(one) for one in reports]
        if made and not self.quiet and output.on_terminal(self.file):
            made[-1].append(KeyValue(f"exit {code}", (cell(f"({_NOTES[code]})", "dim"),), role="dim"))
        output.write("\n".join(render(one, style) for one in made), self.file)

    def _pass_on(self, reports: Sequence[Sequence[Block]], pictures: Sequence[Picture | None], title: str) -> None:
        from gputopo.reports.forms import Shown, render
        from gputopo.reports.views.words import title_of

        drawn = [*pictures, *[None] * (len(reports) - len(pictures))]
        made = [
            Shown(title_of(one.node) if one is not None else title, blocks, one) for blocks, one in zip(reports, drawn)
        ]
        output.write(render(self.form, title, made), self.file)

    def print(
        self, documents: Sequence[dict[str, Any]],
        listed: Callable[[Sequence[dict[str, Any]]], dict[str, Any]] | None = None,
        annotated: Callable[[Sequence[dict[str, Any]]], str] | None = None,
    ) -> None:  # fmt: skip
        """One document, or a list of them where there are several nodes: by default an AllocationList.

        annotated: for -o github, what is no list of findings.
        """
        from gputopo.documents.allocation import encode_list

        if self.form == "github":
            from gputopo.reports.annotations import of_documents

            output.write((annotated or of_documents)(documents), self.file)
            return
        document = documents[0] if len(documents) == 1 else (listed or encode_list)(documents)
        if self.form == "json":
            from gputopo.reports.json import render
        else:
            from gputopo.reports.yaml import render
        output.write(render(document), self.file)


def picture_of(node: NodeTopology, answer: Answer, best: Best | None) -> Picture:
    """The node with the first outcome, where all are of one size, and beside it the best set of that size."""
    from gputopo.reports.forms import Picture

    first = tuple(gpu.id for gpu in node.gpus if answer.outcomes and gpu.id in answer.outcomes[0].gpus)
    better = best.sets[0] if best is not None and best.decided and best.sets else ()
    return Picture(node, first, better if first and len(better) == len(first) else ())


def exit_code(answer: Answer, *, by_chance: bool) -> int:
    """1: refused. 3: the evidence leaves open whether it is; what only chance decides is an answer (CONTRACT §2).

    by_chance: with outcomes at hand it is chance that decides whether it is admitted.
    """
    if answer.admitted is None:
        return 0 if by_chance and answer.outcomes else 3
    return 0 if answer.admitted else 1


def is_better(best: Best | None, answer: Answer, state: State) -> bool | None:
    """Whether the best set is better than every outcome; None: not decided, or there is no outcome."""
    if best is None or not best.sets or not answer.outcomes:
        return None
    from gputopo.allocate.best import Judge

    judge = Judge(state.node)
    verdicts = {judge.better(best.sets[0], one.gpus) for one in answer.outcomes}
    return False if False in verdicts else None if None in verdicts else True
