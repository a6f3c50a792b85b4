"""The kubelet's log. Lines: kubernetes pkg/kubelet/{kubelet,allocation,cm/topologymanager,cm/devicemanager}, klog."""

from __future__ import annotations

import json
import time
from contextlib import suppress

import pytest

from gputopo.parsers.klog_line import read
from gputopo.parsers.kubelet_log import parse
from gputopo.parsers.recognise_holdings import recognise
from gputopo.parsers.unreadable import Unreadable
from tests.pods.machines import held, said, uuid

HEAD = "I1129 03:12:{second:02d}.123456   77123 manager.go:889] "
UID = "aaaaaaaa-0000-4000-8000-000000000001"


def line(rest: str, second: int = 7, before: str = "") -> str:
    return before + HEAD.format(second=second) + rest + "\n"


def asked(pod: str, *gpus: int, container: str = "main", second: int = 7) -> str:
    devices = json.dumps([uuid(one) for one in gpus])
    return line(f'"Making allocation request for device plugin" devices={devices} resourceName="nvidia.com/gpu" '
                f'pod="{pod}" containerName="{container}"', second)  # fmt: skip


def denied(pod: str, uid: str = UID, reason: str = "TopologyAffinityError", second: int = 7) -> str:
    message = "Resources cannot be allocated with Topology locality"
    return line(f'"Pod admission denied" podUID="{uid}" pod="{pod}" reason="{reason}" message="{message}"', second)


def admit(pod: str, uid: str) -> str:
    namespace, name = pod.split("/")
    return line(f'"Topology Admit Handler" podUID="{uid}" podNamespace="{namespace}" podName="{name}"')


HINTS = line('"TopologyHints" hints={"nvidia.com/gpu":[{"NUMANodeAffinity":3,"Preferred":true}],"cpu":null,"x":[]} '
             'pod="ml/a" containerName="main"')  # fmt: skip
BEST = line('"Best TopologyHint" bestHint={"NUMANodeAffinity":242,"Preferred":false} pod="ml/a" containerName="main"')


def test_a_refusal_has_its_reason_time_and_the_hints_before_it() -> None:
    text = admit("ml/a", UID) + HINTS + BEST + denied("ml/a") + line('"Something else" pod="ml/b"')
    assert recognise(text.encode()) == ("kubelet-log",)
    [records] = parse(text)
    [pod] = records.pods or ()
    assert (pod.namespace, pod.name, pod.uid, pod.phase) == ("ml", "a", UID, "Failed")
    assert pod.rejected == ("TopologyAffinityError", "Resources cannot be allocated with Topology locality")
    assert (pod.admitted, pod.line) == ("11-29T03:12:07", 4)
    assert pod.why == (
        "main: nvidia.com/gpu: NUMA 0-1, preferred", "main: cpu: no preference", "main: x: no hint, nothing fits",
        "main: best hint: NUMA 1,4-7, not preferred",
    )  # fmt: skip
    assert (records.past, records.at, records.containers) == (True, "11-29T03:12:07", ())


def test_said_twice_it_is_one_refusal() -> None:
    event = line(
        '"Event occurred" object="ml/a" fieldPath="" kind="Pod" apiVersion="v1" type="Warning" '
        'reason="TopologyAffinityError" message="Resources cannot be allocated with Topology locality"'
    )
    assert len(parse(denied("ml/a") + event)[0].pods or ()) == 1
    assert len(parse(denied("ml/a") + denied("ml/a", "u2"))[0].pods or ()) == 2
    other = line('"Event occurred" object="ml/b" reason="Started" message="x"')
    assert [one.name for one in parse(denied("ml/a") + other)[0].pods or ()] == ["a"]


def test_devices_that_were_asked_for() -> None:
    text = admit("ml/a", UID) + asked("ml/a", 1, 0) + asked("ml/b", 2, second=9)
    [records] = parse(text)
    assert [(one.pod, one.uid, one.container, one.at) for one in records.containers] == [
        ("a", UID, "main", "11-29T03:12:07"), ("b", None, "main", "11-29T03:12:09"),
    ]  # fmt: skip
    ids = [[held.id for held in one.devices or ()] for one in records.containers]
    assert ids == [[uuid(0), uuid(1)], [uuid(2)]]


def test_a_device_given_again_was_free_before() -> None:
    """Or one GPU would be in two pods."""
    now, was = parse(asked("ml/a", 0, 1, second=1) + asked("ml/b", 1, second=9))
    assert ([one.pod for one in now.containers], now.at) == (["b"], "11-29T03:12:09")
    assert ([one.pod for one in was.containers], was.at) == (["a"], "11-29T03:12:01")
    reused = parse(asked("ml/a", 0, container="init") + asked("ml/a", 0))
    assert [[one.container for one in each.containers] for each in reused] == [["init", "main"]]


def test_a_refused_pod_holds_nothing() -> None:
    assert parse(asked("ml/a", 0) + denied("ml/a", reason="UnexpectedAdmissionError"))[0].containers == ()


@pytest.mark.parametrize("text", [
    line('"Making allocation request for device plugin" devices=["GPU-a"] resourceName="nvidia.com/gpu"'),
    line("Making allocation request for devices [GPU-a] for device plugin nvidia.com/gpu"),
])  # fmt: skip
def test_older_kubelets_do_not_say_which_pod(text: str) -> None:
    [records] = parse(text)
    assert (records.containers, records.gaps[0].subjects) == ((), ("GPU-a",))


def test_older_hints() -> None:
    old = line("[topologymanager] Best TopologyHint for (pod: a_ml(uid-1) container: main): {0110 false}")
    [records] = parse(old + denied("ml/a", "uid-1"))
    assert (records.pods or ())[0].why == ("main: best hint: NUMA 1-2, not preferred",)
    go = BEST.replace('{"NUMANodeAffinity":242,"Preferred":false}', "{NUMANodeAffinity:<nil> Preferred:true}")
    assert parse(go)[0].observations[0].text == "main: best hint: any NUMA node, preferred"


def test_json_lines() -> None:
    body = {
        "ts": 1764385927123.4, "caller": "topologymanager/scope.go:1", "msg": "Pod admission denied", "v": 0,
        "podUID": UID, "pod": {"name": "a", "namespace": "ml"}, "reason": "TopologyAffinityError", "message": "no",
    }  # fmt: skip
    hint = {**body, "msg": "Best TopologyHint", "bestHint": {"NUMANodeAffinity": 3, "Preferred": False}}
    text = "\n".join("2025-11-29T03:12:07.5Z stderr F " + json.dumps(one) for one in (hint, body))
    assert recognise(text.encode()) == ("kubelet-log",)
    [pod] = parse(text)[0].pods or ()
    assert (pod.name, pod.uid, pod.admitted, pod.why) == (
        "a", UID, "2025-11-29T03:12:07Z", ("best hint: NUMA 0-1, not preferred",),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("before", "at"),
    [
        ("", "11-29T03:12:07"), ("Nov 29 03:12:07 n1 kubelet[77]: ", "11-29T03:12:07"),
        ("2026-11-29T03:12:07+0000 n1 kubelet[77]: ", "2026-11-29T03:12:07Z"),
        ("2026-11-29T04:12:07.5+0100 n1 kubelet[77]: ", "2026-11-29T04:12:07+01:00"),
        ("2026-11-29T03:12:07.123456Z stderr F ", "2026-11-29T03:12:07Z"),
    ],
)  # fmt: skip
def test_times(before: str, at: str) -> None:
    found = read(line('"Hi"', before=before))
    assert found is not None
    assert (found.message, found.at, found.host) == ("Hi", at, "n1" if "n1" in before else "")


def test_kubelets_of_several_nodes_in_one_text() -> None:
    text = "".join(f"Nov 29 03:12:07 {host} kubelet[7]: " + asked("ml/a", 0) for host in ("n1", "n2"))
    assert [one.node for one in parse(text)] == ["n1", "n2"]
    assert [one.node for one in parse("Nov 29 03:12:07 n1 kubelet[7]: " + asked("ml/a", 0))] == [""]


@pytest.mark.parametrize("text", ["", "Pod admission denied", '{"caller": "x.go:1", "msg": "Pod admission denied"'])
def test_damaged_is_one_line(text: str) -> None:
    with pytest.raises(Unreadable):
        parse(text)


@pytest.mark.parametrize(
    "tail", ["{" * 60_000, '"' + "\\" * 60_000, "a=" * 30_000, 'hints={"a":[' + "[" * 9000, "bestHint={" * 6000]
)
def test_hostile_lines_take_no_time(tail: str) -> None:
    text = line(f'"Best TopologyHint" pod="ml/a" {tail}') * 20
    begun = time.process_time()
    with suppress(Unreadable):
        parse(text)
    assert time.process_time() - begun < 2


def test_a_cut_line_tells_what_it_has() -> None:
    assert (parse(denied("ml/a")[:-30])[0].pods or ())[0].rejected is not None


def test_a_pod_that_was_made_again_is_not_the_refused_one() -> None:
    again = parse(admit("ml/a", "u1") + denied("ml/a", "u1") + admit("ml/a", "u2") + asked("ml/a", 0))[0]
    found = held(said("kubelet-log", *again.containers, pods=again.pods, past=True))
    assert [(one.uid, one.placed.gpus) for one in found.containers] == [("u2", ("GPU0",))]
    assert [one.uid for one in found.rejected] == ["u1"]
