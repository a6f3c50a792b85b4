"""`gputopo pods -w`: what changed between two looks, and a kubelet that is away for a while."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from gputopo.commands import options, pods_watch
from gputopo.errors import GputopoError
from gputopo.holdings import ContainerHolding
from gputopo.reports import pod_changes
from gputopo.reports.pod_changes import Look
from gputopo.rules.pods.audit import Audit
from gputopo.rules.pods.run import run
from tests.pods.machines import container, held, node, said


def look(*containers: ContainerHolding) -> Look:
    audit = Audit(held(said("podresources", *containers), on=node())._replace(name="n1"))
    return audit, run(audit)


ONE = container("a", None, "c", 0, 1)
CROSSING = container("b", None, "c", 1, 2)


def test_what_came_went_and_holds_something_else_is_a_line_each() -> None:
    before = look(ONE, container("gone", None, "c", 3))
    after = look(container("a", None, "c", 0), CROSSING)
    lines = pod_changes.lines(before, after).splitlines()
    assert lines[0] == "~ n1  ml/a/c  GPU0"
    assert lines[1] == "+ n1  ml/b/c  GPU1 GPU2"
    assert lines[2].startswith("  error GT402  ml/b crosses sockets over PCIe")
    assert lines[-1] == "- n1  ml/gone/c  GPU3"


def test_the_same_look_twice_is_silence() -> None:
    assert pod_changes.lines(look(ONE), look(ONE)) == pod_changes.events(look(ONE), look(ONE)) == ""


def test_events_are_a_document_a_line_with_the_words_of_a_kubernetes_watch() -> None:
    text = pod_changes.events(look(ONE), look(CROSSING))
    added, deleted = (json.loads(line) for line in text.splitlines())
    assert (added["type"], added["node"], added["object"]["pod"], added["object"]["gpus"]) == (
        "ADDED", "n1", "b", ["GPU1", "GPU2"],
    )  # fmt: skip
    assert [one["rule"] for one in added["findings"]] == ["GT402"]
    assert (deleted["type"], deleted["object"]["pod"], deleted["object"]["gpus"]) == ("DELETED", "a", ["GPU0", "GPU1"])


def test_names_from_strangers_do_not_reach_the_terminal() -> None:
    shown = pod_changes.lines(None, look(container("\x1b[31mred\n", None, "c", 0)))
    assert shown == "+ n1  ml/\\x1b[31mred\\n/c  GPU0\n"


class Ended(Exception):
    pass


def watched(answers: Sequence[Look | GputopoError], form: str = "text", first: Sequence[Look] | None = None) -> str:
    """What is written until the answers are used up."""
    written: list[str] = []
    left = list(answers)

    def ask() -> Sequence[Look]:
        if not left:
            raise Ended
        one = left.pop(0)
        if isinstance(one, GputopoError):
            raise one
        return [one]

    with pytest.raises(Ended):
        pods_watch.watch(ask, lambda text: not written.append(text), form, 5, sleep=lambda seconds: None, first=first)
    return "".join(written)


def test_a_kubelet_that_restarts_is_said_once_and_nothing_is_lost(capsys: pytest.CaptureFixture[str]) -> None:
    away = GputopoError("there is no such socket", "kubelet.sock", exit_code=3)
    text = watched([away, away, look(ONE), away, look(ONE, CROSSING)], first=[look(ONE)])
    assert text.splitlines()[0] == "+ n1  ml/b/c  GPU1 GPU2"
    assert "ml/a/c" not in text
    assert capsys.readouterr().err == "gputopo: there is no such socket; asking again every 5 s\n" * 2


def test_without_a_first_look_all_that_is_there_comes_first() -> None:
    assert [json.loads(line)["type"] for line in watched([look(ONE), look()], "json").splitlines()] == [
        "ADDED", "DELETED",
    ]  # fmt: skip


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf")])
def test_an_interval_is_a_positive_number(seconds: float) -> None:
    with pytest.raises(GputopoError, match="--interval"):
        options.checked_interval(seconds)


def test_it_ends_when_nobody_reads_any_more() -> None:
    looks = iter([[look(ONE)], [look(ONE, CROSSING)]])
    pods_watch.watch(lambda: next(looks), lambda text: False, "text", 5, sleep=lambda seconds: None)
    assert next(looks, None) is not None  # it did not ask again
