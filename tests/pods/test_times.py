"""Facts of different times are shown with their times, never joined in silence."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import jsonschema
import pytest

from gputopo.cli import run
from gputopo.documents.schema import schemas
from gputopo.holdings import PodRecord
from tests.pods.machines import container, devices, held, said, uuid
from tests.pods.test_verb import CSV, checkpoint, matrix

NOW = said("podresources", container("a", None, "main", 0), containers_complete=True)
T1, T2 = "2026-11-29T03:00:00Z", "2026-11-29T04:00:00Z"


def past(at: str | None, *numbers: int, pod: str = "a", format: str = "dcgm-metrics"):  # type: ignore[no-untyped-def]
    return said(format, container(pod, None, "main", *numbers), past=True, at=at)


def test_what_was_is_beside_what_is() -> None:
    for order in permutations((NOW, past(T1, 2, 3))):
        found = held(*order)
        assert [one.placed.gpus for one in found.containers] == [("GPU0",)]
        assert (found.conflicts, found.past, found.free) == ((), False, ("GPU1", "GPU2", "GPU3"))
        assert [(one.at, one.title, one.gpus, one.source) for one in found.earlier] == [
            (T1, "ml/a/main", ("GPU2", "GPU3"), "dcgm-metrics")
        ]


def test_what_was_the_same_is_not_repeated() -> None:
    assert held(NOW, past(T1, 0)).earlier == ()
    assert len(held(NOW, past(T1, 0, pod="b")).earlier) == 1


def test_of_the_past_alone_the_latest_time_is_the_answer() -> None:
    for order in permutations((past(T1, 0), past(T2, 1), past(None, 2, format="kubelet-log"))):
        found = held(*order)
        assert ([one.placed.gpus for one in found.containers], found.past, found.at) == ([("GPU1",)], True, T2)
        assert {one.gpus for one in found.earlier} == {("GPU0",), ("GPU2",)}


def test_a_time_without_a_year_is_before_one_with() -> None:
    found = held(past("12-31T23:59:59", 0, format="kubelet-log"), past(T1, 1))
    assert [one.gpus for one in found.earlier] == [("GPU0",)]


def test_no_time_at_all_is_a_named_assumption() -> None:
    found = held(past(None, 0), past(None, 0, format="kubelet-log"))
    assert (found.earlier, found.at) == ((), None)
    assert any("are of one time" in note.text for note in found.assumptions)


def test_two_present_sources_of_two_times_are_joined_with_a_named_assumption() -> None:
    first = said("podresources", container("a", None, "main", 0), at=T1)
    second = said("kube-objects", container("a", None, "main", 0), at=T2)
    assert any(T1 in note.text and T2 in note.text for note in held(first, second).assumptions)


def test_a_refusal_in_a_log_counts_whenever_it_was_and_keeps_its_hints() -> None:
    why = ("TopologyAffinityError", "no")
    refused = PodRecord("ml", "big", "u9", "Failed", admitted=T1, rejected=why, why=("hint",))
    log = said("kubelet-log", pods=(refused,), past=True, at=T1)
    api = said("kube-objects", pods=(refused._replace(why=(), admitted=T2),))
    [one] = held(NOW, log).rejected
    assert (one.started, one.why) == (T1, ("hint",))
    [one] = held(NOW, log, api).rejected
    assert (one.started, one.why) == (T2, ("hint",))


def test_a_pod_of_the_name_that_runs_now_was_not_refused() -> None:
    now = said("kube-objects", container("a", "new", "main", 0), pods=(PodRecord("ml", "a", "new", "Running"),))
    log = said("kubelet-log", pods=(PodRecord("ml", "a", "old", "Failed", rejected=("X", "y")),), past=True)
    found = held(now, log)
    assert ([one.uid for one in found.containers], [one.uid for one in found.rejected]) == (["new"], ["old"])


def test_the_verb_shows_the_time_in_every_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels = f'UUID="{uuid(2)}",Hostname="n1",namespace="ml",pod="gone",container="c"'
    files = {"cp": checkpoint({"pod-a": [0, 1]}), "topo": matrix(), "csv": CSV,
             "dcgm": f"DCGM_FI_DEV_GPU_UTIL{{{labels}}} 9 1764385927000\n"}  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    paths = [str(tmp_path / name) for name in files]
    assert run(["pods", *paths]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "EARLIER" in out
    assert "2025-11-29T03:12:07Z ml/gone/c held GPU2" in out
    run(["pods", *paths, "-o", "json"])
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, schemas()["PodAudit"])
    assert (document["past"], document["at"], document["free"]) == (False, None, ["GPU2", "GPU3"])
    assert [(one["at"], one["pod"], one["gpus"]) for one in document["earlier"]] == [
        ("2025-11-29T03:12:07Z", "gone", ["GPU2"])
    ]
    run(["pods", *paths[1:]])
    assert "as it was at 2025-11-29T03:12:07Z, not as it is" in " ".join(capsys.readouterr().out.split())


def test_devices_nobody_resolves_are_shown_as_they_are() -> None:
    from gputopo.topology.node import NodeTopology

    found = held(NOW, said("dcgm-metrics", container("b", None, "c", devices=devices(1)), past=True), on=NodeTopology())
    assert [(one.gpus, [each.id for each in one.devices]) for one in found.earlier] == [(None, [uuid(1)])]
