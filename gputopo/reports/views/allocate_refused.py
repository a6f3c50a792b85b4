"""A refusal as blocks, whatever mechanism it is of: what, in upstream's words, and why."""

from __future__ import annotations

from gputopo.allocate.answer import Answer
from gputopo.reports.blocks import Blank, Block, KeyValue, Table, cell


def blocks(answer: Answer, node: str | None) -> tuple[Block, ...]:
    where = f" on {node}" if node else ""
    head = f"{answer.request.resource}: {answer.request.size}{where}"
    return (Table("", (cell(head, "strong"),), (), ()), Blank(), *refusal(answer))


def refusal(answer: Answer) -> tuple[Block, ...]:
    made: list[Block] = [KeyValue("ANSWER", (cell(f"refused: {answer.reason}", "error"),))]
    if answer.message:
        made.append(KeyValue("", (cell(answer.message),)))
    title = "WHY"
    for line in answer.why:
        made.append(KeyValue(title, (cell(line),)))
        title = ""
    return tuple(made)
