"""`allocate dra` from files to the answer, its exit code and what it says."""

from __future__ import annotations

import contextlib
import io
import json
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gputopo import cli
from gputopo.documents.schema import schemas
from tests.allocate.dra.worlds import claim, device, different, request, same, slice_

API = "resource.k8s.io/v1"
BUSES = ("53", "64", "75", "86", "97", "a8", "b9", "ca")


@pytest.fixture
def put(tmp_path: Path) -> Any:
    """Writes a text or objects to a file, gives its path."""

    def write(name: str, *content: Any) -> str:
        path = tmp_path / name
        kinds = {"slices": "ResourceSlice", "claims": "ResourceClaim", "classes": "DeviceClass"}
        if content and isinstance(content[0], str):
            path.write_text(content[0])
            return str(path)
        kind = kinds[name.split("-")[0]]
        items = [{"apiVersion": API, "kind": kind, **one} for one in content]
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        return str(path)

    return write


def run(*argv: str) -> tuple[int, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.run(["allocate", "dra", *argv])
    return code, " ".join((out.getvalue() + err.getvalue()).split())


def document(*argv: str) -> dict[str, Any]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        cli.run(["allocate", "dra", *argv, "-o", "json"])
    return json.loads(out.getvalue())  # type: ignore[no-any-return]


def gpus(count: int, *constraints: dict[str, Any]) -> dict[str, Any]:
    asked = {"name": "gpus", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": count}}
    return claim("train", [asked], *constraints)


def nvidia_slice(node: str, order: list[int]) -> dict[str, Any]:
    def one(number: int) -> dict[str, Any]:
        made = device(f"gpu-{number}", type="gpu", uuid=f"GPU-{node}-{number}")
        made["attributes"]["resource.kubernetes.io/pciBusID"] = {"string": f"0000:{BUSES[number]}:00.0"}
        return made

    devices = [one(number) for number in order]
    return slice_(f"{node}-slice", devices, driver="gpu.nvidia.com", pool=node) | {
        "spec": {**slice_("x", devices, driver="gpu.nvidia.com", pool=node)["spec"], "nodeName": node}
    }


ROOT = {"matchAttribute": "resource.kubernetes.io/pcieRoot", "requests": ["gpus"]}


def test_gpus_with_a_root_each_cannot_share_one(put: Any) -> None:
    code, text = run("--claim", put("claims", gpus(4, ROOT)), "sample:hgx-h100")
    assert code == 1
    assert "request gpus of claim train stops: it asks for 4 devices" in text
    assert "every GPU has its own PCIe root; one GPU and one NIC per constraint would do" in text
    assert "drop the constraint matchAttribute resource.kubernetes.io/pcieRoot of train: possible (tried)" in text


def test_what_the_driver_would_publish_comes_in_any_order(put: Any) -> None:
    found = document("--claim", put("claims", gpus(2)), "sample:hgx-h100")
    jsonschema.Draft202012Validator(schemas()["Allocation"]).validate(found)
    assert found["decides"]["who"] == "DRA"
    assert (found["admitted"], len(found["outcomes"]), found["node"]) == (True, 28, None)
    assert found["claims"] == []
    assert found["alternatives"][0][0]["device"] is None  # no minor numbers: no names are made up


def test_a_selector_on_what_the_evidence_does_not_hold_is_not_decided(put: Any) -> None:
    asked = gpus(1)
    text = "device.attributes['gpu.nvidia.com'].productName == 'NVIDIA H100 80GB HBM3'"
    asked["spec"]["devices"]["requests"][0]["exactly"]["selectors"] = [{"cel": {"expression": text}}]
    code, said = run("--claim", put("claims", asked), "sample:hgx-h100")
    assert code == 3
    assert "not in this evidence: productName" in said


def test_first_fit_follows_the_order_of_each_node_slice(put: Any) -> None:
    slices = put("slices", nvidia_slice("node-a", list(range(8))), nvidia_slice("node-b", [7, *range(7)]))
    asked = put("claims", gpus(2))
    code, text = run("--claim", asked, "--slices", slices)
    assert code == 0
    assert "train gpus: gpu-0 gpu-1" in text
    assert "train gpus: gpu-7 gpu-0" in text
    assert text.count("sockets not in these slices") == 2
    items = document("--claim", asked, "--slices", slices)["items"]
    assert [one["outcomes"][0]["packages"] for one in items] == [None, None]


def test_with_a_topology_the_pair_across_sockets_is_flagged(put: Any) -> None:
    slices = put("slices", nvidia_slice("node-a", list(range(8))), nvidia_slice("node-b", [7, *range(7)]))
    names = [f"GPU{number}" for number in range(8)]
    rows = ["\t" + "\t".join(names) + "\tCPU Affinity\tNUMA Affinity"] + [
        "\t".join([one, *(" X " if one == other else "NV18" for other in names),
                   "0-47,96-143" if at < 4 else "48-95,144-191", "0" if at < 4 else "1"])
        for at, one in enumerate(names)
    ]  # fmt: skip
    topo = put("topo.txt", "\n".join(rows) + "\n")
    listed = put("list.csv", "index, pci.bus_id, name\n" + "".join(
        f"{at}, 00000000:{bus.upper()}:00.0, NVIDIA H100 80GB HBM3\n" for at, bus in enumerate(BUSES)
    ))  # fmt: skip
    lscpu = put("lscpu.txt", "Architecture: x86_64\nCPU(s): 192\nOn-line CPU(s) list: 0-191\nThread(s) per core: 2\n"
                "Core(s) per socket: 48\nSocket(s): 2\nNUMA node(s): 2\nNUMA node0 CPU(s): 0-47,96-143\n"
                "NUMA node1 CPU(s): 48-95,144-191\n")  # fmt: skip
    asked = put("claims", gpus(2))
    found = document("--claim", asked, "--slices", slices, topo, listed, lscpu)["items"]
    assert [one["outcomes"][0]["crossPackage"] for one in found] == [False, True]
    assert [one["gpu"] for one in found[1]["claims"]] == ["GPU7", "GPU0"]
    _, text = run("--claim", asked, "--slices", slices, topo, listed, lscpu)
    assert text.count("first fit takes them in the order of the slice") == 1


def test_why_not_names_the_first_test_of_each_device(put: Any) -> None:
    devices = [
        device("held"),
        device("tainted", root="a", taints=[{"key": "xid", "value": "79", "effect": "NoSchedule"}]),
        device("bare"),
        device("first", root="a"),
    ]
    held = {**claim("other", []), "status": {"allocation": {"devices": {"results": [
        {"request": "r", "driver": "drv.example.com", "pool": "p", "device": "held"}]}}}}  # fmt: skip
    found = document(
        "--claim", put("claims", claim("c", [request("r", 2)], same("root", "r"))),
        "--slices", put("slices", slice_("s", devices)), "--allocated", put("claims-held", held),
        "--classes", put("classes", {"metadata": {"name": "any"}, "spec": {}}),
    )  # fmt: skip
    assert {one["device"].rpartition("/")[2]: one["test"] for one in found["whyNot"]["devices"]} == {
        "held": "in-use", "tainted": "taint", "bare": "constraint", "first": "fits",
    }  # fmt: skip
    assert [one["kind"] for one in found["changes"]] == ["constraint", "count"]


def crowd(kind: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """1,000 devices in 10 pools, and a claim for 8 that one thing or another makes impossible."""
    slices = []
    for pool in range(10):
        counted = [{"counterSet": "set", "counters": {"power": {"value": "2"}}}] if kind == "counter" else []
        devices = [
            device(f"d{at}", root=f"r{pool}-{at // 7}", numa=at % 2, special=pool == 3 and at < 7,
                   consumesCounters=counted)
            for at in range(100)
        ]  # fmt: skip
        number = 2 if counted else 1
        slices.append(slice_(f"s{pool}", devices, pool=f"p{pool}", slices=number))
        if counted:
            power = {"power": {"value": "15" if pool == 0 else "1"}}
            slices.append(slice_(f"c{pool}", [], pool=f"p{pool}", slices=2,
                                 sharedCounters=[{"name": "set", "counters": power}]))  # fmt: skip
    special = [{"cel": {"expression": "device.attributes['drv.example.com'].special"}}]
    constraints = {"root": [same("root")], "excluding": [same("numa"), different("numa")]}.get(kind, [])
    return slices, claim("eight", [request("r", 8, selectors=special if kind == "attribute" else [])], *constraints)


def test_why_not_names_the_counter_that_is_too_small(put: Any) -> None:
    """One pool of 100 devices that take 15 of 100 each; ten selectors' values are one line."""
    each = [{"counterSet": "set", "counters": {"power": {"value": "15"}}}]
    devices = [device(f"d{at}", root=f"r{at}", consumesCounters=each) for at in range(20)]
    devices += [device(f"e{at}", root=f"other{at}") for at in range(10)]
    counters = [{"name": "set", "counters": {"power": {"value": "100"}}}]
    selector = [{"cel": {"expression": "device.attributes['drv.example.com'].root.startsWith('r')"}}]
    argv = (
        "--claim", put("claims", claim("c", [request("r", 8, selectors=selector)])),
        "--slices", put("slices", slice_("c", [], slices=2, sharedCounters=counters), slice_("s", devices, slices=2)),
        "--classes", put("classes", {"metadata": {"name": "any"}, "spec": {}}),
    )  # fmt: skip
    [short] = document(*argv)["whyNot"]["counters"]
    assert (short["counter"], short["left"], short["devices"], short["most"]) == ("power", "100", 20, 6)
    _, text = run(*argv)
    squeezed = " ".join(text.split())
    assert "counter power of set in pool drv.example.com/p: 100 left, enough for 6 of these 20 devices" in squeezed
    assert "7 more values (-v)" in squeezed


@pytest.mark.parametrize("kind", ["root", "attribute", "counter", "excluding"])
def test_a_thousand_devices_are_decided_by_pruning(kind: str, put: Any) -> None:
    slices, asked = crowd(kind)
    began = time.process_time()
    code, text = run("--claim", put("claims", asked), "--slices", put("slices", *slices),
                     "--classes", put("classes", {"metadata": {"name": "any"}, "spec": {}}))  # fmt: skip
    assert (code, time.process_time() - began < 5) == (1, True)
    assert "refused: cannot allocate all claims" in text


def test_the_time_limit_ends_a_search_that_pruning_does_not_decide(put: Any) -> None:
    """Each counter alone would do for 8 devices, both together for none: only the whole search tells."""
    def wants(x: int, y: int) -> list[dict[str, Any]]:
        return [{"counterSet": "set", "counters": {"x": {"value": str(x)}, "y": {"value": str(y)}}}]

    devices = [device(f"d{at}", consumesCounters=wants(3, 1) if at % 2 else wants(1, 3)) for at in range(60)]
    counters = [{"name": "set", "counters": {"x": {"value": "15"}, "y": {"value": "15"}}}]
    code, text = run(
        "--claim", put("claims", claim("c", [request("r", 8)])), "--timeout", "1",
        "--slices", put("slices", slice_("c", [], slices=2, sharedCounters=counters), slice_("s", devices, slices=2)),
        "--classes", put("classes", {"metadata": {"name": "any"}, "spec": {}}),
    )  # fmt: skip
    assert code == 3
    assert "not decided: --timeout ended the search" in text


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("kind: ResourceClaim\n  bad: [", "not YAML: mapping values are not allowed in this context"),
        ("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n", "no ResourceClaim or ResourceClaimTemplate in it"),
        (f"apiVersion: {API}\nkind: ResourceClaim\nspec: {{devices: {{requests: [{{name: a, exactly: {{"
         f"deviceClassName: any, selectors: [{{cel: {{expression: '{'(' * 5000}true{')' * 5000}'}}}}]}}}}]}}}}\n",
         "ResourceClaim: expression recursion limit exceeded: 250"),
        (f"apiVersion: {API}9\nkind: ResourceClaim\n", "apiVersion resource.k8s.io/v19 is not one of"),
        (f"apiVersion: {API}\nkind: ResourceClaim\nspec: {{devices: {{requests: [{{name: a, count: 1}}]}}}}\n",
         "in v1 it stands under exactly"),
        (f"apiVersion: {API}beta1\nkind: ResourceClaim\n"
         "spec: {devices: {requests: [{name: a, exactly: {}}]}}\n",
         "in v1beta1 its fields stand directly under the request"),
        (f"apiVersion: {API}\nkind: ResourceClaim\nspec: {{devices: {{requests: 7}}}}\n",
         "spec.devices.requests is a number, not a list"),
        ("(" * 5000 + ")" * 5000, "no Kubernetes object"),
        ("[" * 5000 + "]" * 5000, "nested too deep"),
        ("\x1d" * 10_000_000, "not YAML"),
    ],
    ids=["broken", "kind", "selector", "version", "flat", "exactly", "shape", "parentheses", "brackets", "junk"],
)  # fmt: skip
def test_what_cannot_be_read_is_one_line(content: str, says: str, put: Any) -> None:
    code, text = run("--claim", put("bad.yaml", content), "sample:hgx-h100")
    assert code == 2
    assert text.startswith("gputopo: error: ")
    assert says in text
    assert "bad.yaml" in text


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["--feature-gate", "Foo=true"], "no DRA feature gate Foo in Kubernetes 1.36"),
        (["--feature-gate", "DRAAdminAccess"], "--feature-gate takes GATE=true or GATE=false"),
        (["--k8s-version", "1.31"], "Kubernetes 1.31 has no structured allocator"),
        (["--driver-version", "24.9"], "no such version of NVIDIA's DRA driver"),
        (["--pod", "/nowhere.yaml"], "no such file or directory (--pod /nowhere.yaml)"),
    ],
)
def test_wrong_options_are_said_in_one_line(argv: list[str], says: str, put: Any) -> None:
    code, text = run("--claim", put("claims", gpus(1)), "sample:hgx-h100", *argv)
    assert code == 2
    assert says in text


def test_a_pod_asks_in_the_order_of_its_claims_templates_included(put: Any) -> None:
    template = {"apiVersion": API, "kind": "ResourceClaimTemplate", "metadata": {"name": "t"},
                "spec": {"spec": claim("x", [request("r")])["spec"]}}  # fmt: skip
    claims = [{"name": "second", "resourceClaimTemplateName": "t"}, {"name": "own", "resourceClaimName": "mine"}]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"resourceClaims": claims}}
    mine = {"apiVersion": API, "kind": "ResourceClaim", **claim("mine", [request("r")])}
    files = put("all.yaml", "\n---\n".join(json.dumps(one) for one in (mine, pod, template)))
    found = document(
        "--pod", files, "--slices", put("slices", slice_("s", [device("d0"), device("d1")])),
        "--classes", put("classes", {"metadata": {"name": "any"}, "spec": {}}),
    )  # fmt: skip
    assert [(one["claim"], one["device"]) for one in found["claims"]] == [("a-second", "d0"), ("mine", "d1")]


def test_a_hard_error_gives_the_pod_up_and_says_what_the_device_has(put: Any) -> None:
    asked = gpus(1)
    text = "device.attributes['gpu.nvidia.com'].model == 'H100'"
    asked["spec"]["devices"]["requests"][0]["exactly"]["selectors"] = [{"cel": {"expression": text}}]
    own = nvidia_slice("n", [0])
    own["spec"]["devices"][0]["attributes"]["productName"] = {"string": "NVIDIA H100 80GB HBM3"}
    code, said = run("--claim", put("claims", asked), "--slices", put("slices", own))
    assert code == 1
    assert "CEL runtime error: no such key: model" in said
    assert "it has productName" in said
