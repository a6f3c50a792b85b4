"""Objects are read from what kubectl prints, whichever way it was asked, one at a time."""

from __future__ import annotations

import json

import pytest
import yaml

from gputopo.parsers.object_holdings import parse, parse_together, sniff
from gputopo.parsers.object_holdings.bodies import bodies
from gputopo.parsers.recognise_holdings import recognise
from gputopo.parsers.unreadable import Unreadable
from tests.pods_sources.objects import listed, pod

A, B = pod("a", "n1", "GPU-a"), pod("b", "n2", "GPU-b")
ITEMS = [{key: value for key, value in one.items() if key not in ("kind", "apiVersion")} for one in (A, B)]
TYPED = {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "7"}, "items": ITEMS}
SPELLINGS = {
    "get -o json": listed(A, B),
    "get --raw": json.dumps(TYPED),
    "a typed list whose kind stands last": json.dumps(dict(reversed(TYPED.items()))),
    "get -o json, twice into one file": json.dumps(A, indent=4) + "\n" + json.dumps(B, indent=4) + "\n",
    "lines of JSON": json.dumps(A) + "\n" + json.dumps(B),
    "a list in a list": json.dumps({"kind": "List", "apiVersion": "v1", "items": [TYPED]}),
    "a bare list": json.dumps([A, B]),
    "get -o yaml": yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": [A, B]}),
    "documents of YAML": yaml.safe_dump_all([A, B]),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_every_spelling_says_the_same(name: str) -> None:
    text = SPELLINGS[name]
    assert sniff(text)
    assert recognise(text.encode()) == ("kube-objects",)
    found = parse(text)
    assert [(one.node, one.containers[0].pod, one.containers[0].devices[0].id) for one in found] == [  # type: ignore[index]
        ("n1", "a", "GPU-a"), ("n2", "b", "GPU-b"),
    ]  # fmt: skip


def test_an_object_has_the_line_where_it_begins() -> None:
    text = listed(A, B)
    lines = text.splitlines()
    starts = [at for at, line in enumerate(lines, 1) if line == "        {"]
    assert [line for line, _ in bodies(text)] == starts
    assert [one.containers[0].line for one in parse(text)] == starts


def test_a_later_object_takes_the_place_of_an_earlier_one() -> None:
    """As `kubectl get -w -o json` writes a pod again when it changes."""
    [one] = parse(json.dumps(pod("a", "n1", "GPU-a")) + json.dumps(pod("a", "n1", "GPU-b")))
    assert [each.id for each in one.containers[0].devices or ()] == ["GPU-b"]


@pytest.mark.parametrize(
    "text",
    [
        '{"kind": "Service", "apiVersion": "v1"}', '{"kind": "ConfigMap", "apiVersion": "v1", "data": {"a": "b"}}',
        '{"kind": "ResourceClaimTemplate", "apiVersion": "resource.k8s.io/v1"}', '{"kind": "Pod"}',
        "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\n", "", "GPU0\tX\n",
        '{"cdiVersion": "0.6.0", "kind": "nvidia.com/gpu", "devices": []}',
    ],
)  # fmt: skip
def test_other_texts_are_left_to_others(text: str) -> None:
    assert not sniff(text)


def test_words_of_another_format_inside_an_object_do_not_make_it_one() -> None:
    note = {"annotations": {"a": '{"PodDeviceEntries": [], "defaultCpuSet": "", "policyName": "", "checksum": 1}'}}
    one = pod("a", "n1", "GPU-a", metadata=note)
    one["podResources"] = one["deviceIds"] = []
    one["PodDeviceEntries"] = []
    assert recognise(json.dumps(one).encode()) == ("kube-objects",)


def test_an_empty_list_is_an_answer() -> None:
    [one] = parse(listed())
    assert (one.pods, one.containers) == ((), ())


@pytest.mark.parametrize(
    ("text", "what", "line"),
    [
        (listed(A, B)[:-40], "was it cut?", None),
        (listed(A)[:200], "was it cut?", None),
        ('{"kind": "List", "apiVersion": "v1", "items": [5]}', "no object", 1),
        ('{"kind": "List", "apiVersion": "v1", "items": [\n{"a": 1}]}', "without a kind", 2),
        ('{"kind": "Pod", "apiVersion": "v1", "spec": ' + "[" * 100_000, "nested too deep", None),
        (json.dumps({"kind": "Pod", "apiVersion": "v1", "a": [[]] * 500_000}), "more values in one object", 1),
        ('{"kind": "Pod", "apiVersion": "v1"} }', "no", None),
    ],
)
def test_a_text_that_is_broken_is_unreadable_in_one_line(text: str, what: str, line: int | None) -> None:
    with pytest.raises(Unreadable) as error:
        parse(text)
    assert what in error.value.what
    assert line is None or error.value.line == line


def test_one_odd_object_is_a_gap_and_the_others_are_read() -> None:
    odd = pod("odd", "n1")
    odd["spec"]["containers"] = "none"
    [one] = parse(listed(odd, A))
    assert [each.pod for each in one.containers] == ["a"]
    [gap] = one.gaps
    assert gap.subjects == ("Pod odd",)
    assert gap.reason == 'spec.containers is the string "none", not a list'


def test_texts_of_one_cluster_are_read_together() -> None:
    """A claim in one file is on the node of the pod, in another, that it is reserved to."""
    claim = {
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"namespace": "ml", "name": "two"},
        "status": {"allocation": {"devices": {"results": [
            {"request": "r", "driver": "gpu.nvidia.com", "pool": "elsewhere", "device": "gpu-1"}]}},
            "reservedFor": [{"resource": "pods", "name": "b", "uid": "uid-b"}]},
    }  # fmt: skip
    pods, claims = parse_together([listed(A, B), json.dumps(claim)])
    assert [one.node for one in pods] == ["n1", "n2"]
    assert [(one.node, one.claims[0].name) for one in claims] == [("n2", "two")]
    [alone] = parse(json.dumps(claim))
    assert alone.node == ""
