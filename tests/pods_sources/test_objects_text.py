"""Objects are read from what kubectl prints, whichever way it was asked, one at a time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from gputopo.cli import run
from gputopo.evidence import limits
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


def test_a_list_of_every_pod_of_a_large_cluster_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """More text than a dump of one node may have."""
    padding = {"env": [{"name": "PAD", "value": "x" * (1 << 20)}]}
    many = [pod(f"p{at}", f"n{at % 2}", f"GPU-{at}") for at in range(34)]
    for one in many:
        one["spec"]["containers"][0] |= padding
    file = tmp_path / "pods.json"
    file.write_text(listed(*many))
    assert file.stat().st_size > limits.TEXT_BYTES
    assert run(["pods", str(file), "-o", "json"]) == 0
    items = json.loads(capsys.readouterr().out)["items"]
    assert [len(one["containers"]) for one in items] == [17, 17]
    assert run(["inspect", str(file)]) == 2
    assert "more than 32 MiB" in capsys.readouterr().err


NAMES = ["\x1b[31mred\x1b[0m", "a\nb\r\tc", "<script>&\"'", "[bold]x[/]", "n" * 10_000, "\udcff\ud800", "\u202eback"]


@pytest.mark.parametrize("form", ["text", "json", "yaml", "prometheus", "sarif"])
def test_names_of_strangers_are_safe_in_every_format(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = [pod(name, f"node{name}", "GPU-a", f"GPU-{name}") for name in NAMES]
    for one in odd:
        one["spec"]["containers"][0]["name"] = one["status"]["containerStatuses"][0]["name"] = one["metadata"]["name"]
        one["metadata"]["labels"] = {"ray.io/cluster": one["metadata"]["name"]}
    failed = pod(NAMES[0], "n1", status={"phase": "Failed", "reason": f"OutOf{NAMES[0]}", "message": NAMES[0]})
    (tmp_path / "pods.json").write_text(listed(*odd, {**failed, "metadata": {"name": "x"}}))
    assert run(["pods", str(tmp_path / "pods.json"), "-o", form]) in (0, 1)
    out = capsys.readouterr().out
    out.encode()
    assert not [each for each in out if each < " " and each not in "\n\t"]
    if form == "json":
        json.loads(out)


def test_neither_yaml_nor_the_client_is_loaded_for_json(tmp_path: Path) -> None:
    (tmp_path / "pods.json").write_text(listed(A, B))
    code = (
        "import sys; from gputopo.cli import run\n"
        "run(['pods', sys.argv[1], '-o', 'json', '--output-file', '/dev/null'])\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules} & {'kubernetes', 'grpc', 'google', 'yaml', "
        "'urllib3', 'asyncio', 'rich', 'psutil'}))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "pods.json")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"


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
