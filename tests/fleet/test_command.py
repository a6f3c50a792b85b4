"""`allocate MECHANISM --pod FILE --fleet PATH` from saved nodes to the answer, its exit code, its XML."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from gputopo.allocate.kubelet.mechanism import KubeletNode
from gputopo.cli import run
from gputopo.documents.schema import schemas
from gputopo.sample_files import sample_paths
from tests.allocate.dra.worlds import device, slice_
from tests.machines import Spelled
from tests.reports.test_junit import outcomes, valid

SINGLE = ("--topology-manager-policy", "single-numa-node")
BEST_EFFORT = ("--topology-manager-policy", "best-effort")


def pod(count: int, kind: str = "Pod", **limits: object) -> dict[str, Any]:
    resources = {"limits": {"nvidia.com/gpu": count, **limits}}
    spec: dict[str, Any] = {"containers": [{"name": "main", "resources": resources}]}
    if kind != "Pod":
        spec = {"template": {"metadata": {"labels": {"a": "b"}}, "spec": spec}}
    if kind == "CronJob":
        spec = {"schedule": "@daily", "jobTemplate": {"spec": spec}}
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "train"}, "spec": spec}


CLAIM = {
    "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": "four"},
    "spec": {"spec": {"devices": {
        "requests": [{"name": "gpus", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 4}}],
        "constraints": [{"matchAttribute": "resource.kubernetes.io/pcieRoot", "requests": ["gpus"]}],
    }}},
}  # fmt: skip
CLAIMING = {
    "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "claims"},
    "spec": {
        "resourceClaims": [{"name": "g", "resourceClaimTemplateName": "four"}],
        "containers": [{"name": "main", "resources": {"claims": [{"name": "g"}]}}],
    },
}  # fmt: skip


@pytest.fixture
def put(tmp_path: Path) -> Any:
    def write(name: str, *objects: Any) -> str:
        path = tmp_path / name
        path.write_text("\n---\n".join(json.dumps(one) for one in objects))
        return str(path)

    return write


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("COLUMNS", "100")

    def ask(*arguments: str | Path) -> tuple[int, str, str]:
        code = run(["allocate", *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return ask


@pytest.fixture
def document(told: Any) -> Any:
    def ask(*arguments: str | Path) -> tuple[int, dict[str, Any]]:
        code, out, _ = told(*arguments, "-o", "json")
        made = json.loads(out)
        jsonschema.validate(made, schemas()["AdmissionReport"])
        return code, made

    return ask


def node(path: Path, sample: str, *more: tuple[str, str]) -> Path:
    """A sample's texts in a folder of their own, as a script per host would leave them."""
    path.mkdir(parents=True)
    for file in sample_paths(sample):
        shutil.copy(file, path)
    for name, text in more:
        (path / name).write_text(text)
    return path


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """Three 8-GPU nodes of one model, two of another, a tar of one, a broken file, an empty one."""
    base = tmp_path / "fleet"
    for at in range(3):
        node(base / f"a{at}", "hgx-h100")
    for at in range(2):
        node(base / "rack" / f"b{at}", "dgx-a100-nps4")
    with tarfile.open(base / "c.tar.gz", "w:gz") as tar:
        for file in sample_paths("hgx-h100"):
            tar.add(file, arcname=f"c/{Path(file).name}")
    (base / "broken.txt").write_text("GPU0 GPU1 went away")
    (base / "empty.txt").write_text("")
    return base


def test_a_pod_that_one_shape_refuses(document: Any, put: Any, fleet: Path) -> None:
    """Four GPUs of one NUMA node: the first model has them, the second has two a NUMA node."""
    code, found = document("kubelet", "--pod", put("pod.yaml", pod(4)), "--fleet", fleet, *SINGLE)
    assert code == 1
    assert found["summary"] == {
        "nodes": 6, "shapes": 2, "fine": {"shapes": 1, "nodes": 4}, "split": {"shapes": 0, "nodes": 0},
        "refused": {"shapes": 1, "nodes": 2}, "undecided": {"shapes": 0, "nodes": 0}, "unreadable": 2,
    }  # fmt: skip
    refused, fine = found["shapes"]
    assert (refused["verdict"], refused["severity"], refused["often"]) == ("refused", "error", "always")
    assert refused["reason"] == "TopologyAffinityError"
    assert "has no hint narrower than 2 NUMA nodes" in refused["why"][0]
    assert [Path(one["source"]).name for one in refused["members"]] == ["b0", "b1"]
    assert (fine["verdict"], fine["severity"], fine["nodes"], fine["free"]) == ("fine", None, 4, 8)
    assert fine["outcomes"] == {
        "possible": 1, "split": 0, "complete": True, "sets": [["GPU0", "GPU1", "GPU2", "GPU3"]],
    }  # fmt: skip
    assert {Path(one["source"]).name: one["reason"] for one in found["unreadable"]} == {
        "broken.txt": "of no known format", "empty.txt": "the file is empty",
    }  # fmt: skip
    assert found["pod"]["name"] == "train"
    assert (found["request"]["resource"], found["request"]["count"]) == ("nvidia.com/gpu", 4)


def test_best_effort_admits_it_everywhere(told: Any, put: Any, fleet: Path) -> None:
    code, out, err = told("kubelet", "--pod", put("pod.yaml", pod(4)), "--fleet", fleet, *BEST_EFFORT)
    assert (code, err) == (0, "")
    assert out.startswith("fine on all 2 node shapes (6 nodes); 2 sources unreadable\n")


def test_a_claim_for_one_root_is_refused_with_what_is_short(document: Any, put: Any, fleet: Path) -> None:
    files = ("--pod", put("pod.yaml", CLAIMING), "--claim", put("claim.yaml", CLAIM))
    code, found = document("dra", *files, "--fleet", fleet)
    assert code == 1
    assert [(one["verdict"], one["nodes"]) for one in found["shapes"]] == [("refused", 4), ("refused", 2)]
    assert found["shapes"][0]["why"][0] == (
        "request gpus of claim claims-g: 4 devices asked for, 8 would do alone; matchAttribute pcieRoot: each has "
        "its own"
    )
    assert found["decides"]["who"] == "DRA"


def test_a_claim_that_any_order_of_devices_can_split(told: Any, put: Any, fleet: Path) -> None:
    """What the driver publishes has no order: only the constraint would keep four GPUs in one socket."""
    loose = json.loads(json.dumps(CLAIM))
    del loose["spec"]["spec"]["devices"]["constraints"]
    files = ("--pod", put("pod.yaml", CLAIMING), "--claim", put("claim.yaml", loose), "--fleet", str(fleet))
    assert told("dra", *files)[0] == 0
    code, out, _ = told("dra", *files, "--fail-on", "warning")
    assert code == 1
    assert "split on 2 (6 nodes)" in out
    assert "can be split  4" in out
    assert "{0,1,2,4} crosses sockets (3+1); {0,1,2,3} is free and better (68 of 70 possible sets)" in out


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "Job", "DaemonSet", "CronJob", "ReplicaSet"])
def test_the_template_of_a_workload_is_the_pod(kind: str, document: Any, put: Any) -> None:
    for mechanism in ("kubelet", "device-plugin"):
        code, found = document(mechanism, "--pod", put("pod.yaml", pod(2, kind)), "--fleet", "sample:dgx2")
        assert (code, found["pod"]["kind"], found["request"]["count"]) == (0, kind, 2)


def test_init_containers_and_several_containers(document: Any, put: Any) -> None:
    """The kubelet hands an init container's GPU on; two containers of two need four in all."""
    two = pod(2)
    two["spec"]["containers"].append({"name": "more", "resources": {"limits": {"nvidia.com/gpu": 2}}})
    two["spec"]["initContainers"] = [{"name": "init", "resources": {"limits": {"nvidia.com/gpu": 1}}}]
    code, found = document("kubelet", "--pod", put("pod.yaml", two), "--fleet", "sample:hgx-h100", *SINGLE)
    assert (code, found["request"]["count"], found["shapes"][0]["verdict"]) == (0, 4, "fine")
    assert found["shapes"][0]["why"] == ["{0,1,2,3}, in one socket"]


def test_each_shape_is_asked_once(monkeypatch: pytest.MonkeyPatch, told: Any, put: Any, fleet: Path) -> None:
    asked = []
    answer = KubeletNode.answer

    def counted(self: KubeletNode, *arguments: Any) -> Any:
        asked.append(arguments)
        return answer(self, *arguments)

    monkeypatch.setattr(KubeletNode, "answer", counted)
    told("kubelet", "--pod", put("pod.yaml", pod(4)), "--fleet", fleet, *SINGLE)
    assert len(asked) == 2


def test_what_lies_beside_a_node_is_of_that_node(document: Any, put: Any, tmp_path: Path) -> None:
    """A kubelet's configuration in one folder, its checkpoint in two others: alike where the same is free."""
    rows = "".join(f"GPU {at}: NVIDIA H100 80GB HBM3 (UUID: {uuid(at)})\n" for at in range(8))
    listed = ("list.txt", rows)
    base = tmp_path / "fleet"
    node(base / "plain", "hgx-h100", listed)
    node(base / "strict", "hgx-h100", listed, ("config.yaml", "kind: KubeletConfiguration\n"
         "apiVersion: kubelet.config.k8s.io/v1beta1\ntopologyManagerPolicy: restricted\n"))  # fmt: skip
    for name, held in (("busy", (0, 6)), ("busier", (2, 5)), ("half", (0, 1))):
        node(base / name, "hgx-h100", listed, ("state", checkpoint(held)))
    _, found = document("kubelet", "--pod", put("pod.yaml", pod(8)), "--fleet", base)
    by_node = {Path(member["source"]).name: one for one in found["shapes"] for member in one["members"]}
    assert {name: one["verdict"] for name, one in by_node.items()} == {
        "plain": "fine", "strict": "fine", "busy": "refused", "busier": "refused", "half": "refused",
    }  # fmt: skip
    assert by_node["busy"]["why"][0] == "not enough: 8 asked for, 6 of 8 are free"
    _, found = document("device-plugin", "--pod", put("pod.yaml", pod(4)), "--fleet", base)
    by_node = {Path(member["source"]).name: one for one in found["shapes"] for member in one["members"]}
    assert by_node["busy"]["key"] == by_node["busier"]["key"] != by_node["half"]["key"]
    assert by_node["busy"]["fingerprint"] == by_node["half"]["fingerprint"] == by_node["plain"]["fingerprint"]
    assert by_node["half"]["why"] == ["{4,5,6,7}, in one socket"]
    assert "over 2 sockets, and no better set of 4 is free" in by_node["busy"]["why"][0]
    assert any("state files still runs" in one["text"] for one in found["assumptions"])


def uuid(at: int) -> str:
    return f"GPU-00000000-0000-4000-8000-00000000000{at}"


def checkpoint(held: tuple[int, ...]) -> str:
    entry = {"PodUID": "u", "ContainerName": "c", "ResourceName": "nvidia.com/gpu"}
    rows = [{**entry, "DeviceIDs": {"0": [uuid(at) for at in held]}}]
    return json.dumps({"Data": {"PodDeviceEntries": rows, "RegisteredDevices": {}}, "Checksum": 1})


def test_a_bundle_s_state_files_say_what_is_in_use(document: Any, put: Any, spelled: Spelled, tmp_path: Path) -> None:
    written = spelled("hgx-h100")
    base = tmp_path / "fleet" / "n1"
    base.mkdir(parents=True)
    shutil.copytree(written["sysfs-root"], base / "root", symlinks=True)
    shutil.copy(written["nvml-recording"], base / "nvml.json")
    (base / "manifest.json").write_text(
        '{"gputopo": "bundle", "version": 1, "evidence": ["root", "nvml.json"], "live": {}}'
    )
    (base / "kubelet").mkdir()
    (base / "kubelet" / "kubelet_internal_checkpoint").write_text(checkpoint((0, 1, 4)))
    _, found = document("device-plugin", "--pod", put("pod.yaml", pod(4)), "--fleet", tmp_path / "fleet")
    [one] = found["shapes"]
    assert (one["free"], one["units"], one["verdict"]) == (5, 8, "fine")
    assert one["what"]["models"] == ["NVIDIA H100 80GB HBM3"]


def test_slices_node_by_node(document: Any, put: Any, tmp_path: Path) -> None:
    """The order of a slice is the answer: of two nodes of one model one is split, and a third has no slices."""
    rows = "".join(f"GPU {at}: NVIDIA H100 80GB HBM3 (UUID: {{}})\n".format(uuid(at)) for at in range(8))

    def published(name: str, order: list[int]) -> dict[str, Any]:
        devices = [device(f"gpu-{at}", type="gpu", uuid=uuid(at).replace("4000", name)) for at in order]
        made = slice_(f"{name}-s", devices, driver="gpu.nvidia.com", pool=name, nodeName=name)
        return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", **made}

    base = tmp_path / "fleet"
    for name in ("aaaa", "bbbb", "cccc"):
        node(base / name, "hgx-h100", ("list.txt", rows.replace("4000", name)))
    slices = put("slices.yaml", published("aaaa", list(range(8))), published("bbbb", [0, 4, 1, 5, 2, 6, 3, 7]))
    loose = json.loads(json.dumps(CLAIM))
    del loose["spec"]["spec"]["devices"]["constraints"]
    files = ("--pod", put("pod.yaml", CLAIMING), "--claim", put("claim.yaml", loose))
    _, found = document("dra", *files, "--slices", slices, "--fleet", base)
    assert [(Path(one["example"]["source"]).name, one["verdict"], one["why"][0]) for one in found["shapes"]] == [
        ("bbbb", "split", "{0,1,4,5} crosses sockets (2+2); {0,1,2,3} is free and better (always)"),
        ("aaaa", "fine", "{0,1,2,3}, in one socket"),
    ]  # fmt: skip
    [lost] = found["unreadable"]
    assert lost["reason"] == "none of the slices is of this node; they name aaaa, bbbb"
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(slices, alone)
    code, found = document("dra", *files, "--fleet", alone)
    assert (code, found["summary"]["nodes"]) == (3, 2)
    assert found["shapes"][0]["what"] is None


def test_evidence_that_is_missing_is_exit_3(told: Any, put: Any) -> None:
    files = ("--pod", put("pod.yaml", pod(4)), "--fleet", "sample:l40s-vm-flat", *SINGLE)
    code, out, _ = told("kubelet", *files)
    assert code == 3
    assert "undecided" in out
    assert "the NUMA nodes of this machine are not known" in out
    assert told("kubelet", *files, "--fleet", "sample:single-gpu", "--fail-on", "never")[0] == 3
    assert told("device-plugin", *files[:4], "--fleet", "sample:single-gpu")[0] == 1


def test_nothing_that_can_be_asked_is_exit_2(told: Any, put: Any, tmp_path: Path) -> None:
    (tmp_path / "fleet").mkdir()
    (tmp_path / "fleet" / "lscpu.txt").write_text("Architecture: x86_64\nSocket(s): 2\n")
    for path, says in ((tmp_path / "fleet", "1 source unreadable"), (tmp_path / "none", "nothing was found")):
        path.mkdir(exist_ok=True)
        code, out, _ = told("kubelet", "--pod", put("pod.yaml", pod(4)), "--fleet", path)
        assert (code, out.splitlines()[0]) == (2, f"no node could be asked: {says}")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--fleet", "nowhere"), "no such file or folder (--fleet nowhere)"),
        (("-o", "junit"), "-o junit is for --fleet"),
        (("--fail-on", "error"), "--fail-on is for --fleet"),
        (("--fleet", "sample:dgx2", "--in-use", "0"), "--in-use is about one node (--in-use)"),
        (("sample:dgx2", "--fleet", "sample:dgx2"), "a node among the sources"),
        (("--fleet", "sample:dgx2", "--fail-on", "fatal"), "invalid value for '--fail-on'"),
    ],
)
def test_bad_usage_is_one_line(arguments: tuple[str, ...], says: str, told: Any, put: Any) -> None:
    code, out, err = told("kubelet", "--pod", put("pod.yaml", pod(4)), *arguments)
    assert (code, out) == (2, "")
    assert err.splitlines()[0].startswith(f"gputopo: error: {says}")


def test_a_pod_that_cannot_be_asked_is_no_matter_of_a_node(told: Any, put: Any) -> None:
    cpu_only = pod(1)
    cpu_only["spec"]["containers"][0]["resources"] = {}
    for mechanism in ("kubelet", "device-plugin"):
        code, out, err = told(mechanism, "--pod", put("pod.yaml", cpu_only), "--fleet", "sample:dgx2")
        assert (code, out) == (2, "")
        assert "the pod asks for no nvidia.com/gpu" in err


def test_junit_has_a_case_a_shape(told: Any, put: Any, fleet: Path) -> None:
    files = ("--pod", put("pod.yaml", pod(4)), "--fleet", str(fleet), *SINGLE)
    code, out, _ = told("kubelet", *files, "-o", "junit")
    assert code == 1
    assert outcomes(out) == ["failure", "passed", "error", "error"]
    assert [case.attrib["name"] for case in valid(out).iter("testcase")][:2][0].startswith("8x GPU, shape ")


def test_yaml_and_a_file(told: Any, put: Any, tmp_path: Path) -> None:
    files = ("--pod", put("pod.yaml", pod(4)), "--fleet", "sample:dgx2")
    code, out, _ = told("device-plugin", *files, "-o", "yaml")
    assert (code, yaml.safe_load(out)["kind"]) == (0, "AdmissionReport")
    target = tmp_path / "out.xml"
    code, out, _ = told("device-plugin", *files, "-o", "junit", "--output-file", target)
    assert (code, out) == (0, "")
    assert outcomes(target.read_text()) == ["passed"]


@pytest.mark.parametrize("columns", [80, 100, 200])
def test_the_text_keeps_to_its_width(columns: int, told: Any, put: Any, fleet: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    for more in ((), ("-v",), ("-q",)):
        _, out, _ = told("kubelet", "--pod", put("pod.yaml", pod(4)), "--fleet", fleet, *SINGLE, *more)
        assert max(map(len, out.splitlines())) <= columns
        assert out.startswith("fine on 1 of 2 node shapes (4 of 6 nodes): refused on 1 (2 nodes); 2 sources")


def test_the_picture(told: Any, put: Any, fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(fleet.parent)
    _, out, _ = told("kubelet", "--pod", put("pod.yaml", pod(4)), "--fleet", "fleet", *SINGLE)
    shapes = [line.split()[2] for line in out.splitlines() if line.startswith(("refused", "fine   "))]
    text = out.replace(shapes[0], "SHAPE-ONE000").replace(shapes[1], "SHAPE-TWO000")
    assert text == PICTURE


PICTURE = """\
fine on 1 of 2 node shapes (4 of 6 nodes): refused on 1 (2 nodes); 2 sources unreadable
nvidia.com/gpu: 4   Pod train
DECIDES   device plugin, probably: nvidia.com/gpu with the default scheduler; pod names no other
          settle it: --node

VERDICT  NODES  SHAPE         FREE  GPUS
refused  2      SHAPE-ONE000  8/8   8 GPUs, 2 sockets, 10 NICs
    TopologyAffinityError: nvidia.com/gpu: 4 has no hint narrower than 2 NUMA nodes, not even on an
    empty node, and single-numa-node takes one node only e.g. b0
fine     4      SHAPE-TWO000  8/8   8 GPUs, 2 sockets, 10 NICs
    {0,1,2,3}, in one socket   e.g. c.tar.gz: c

NOT READ  fleet/broken.txt: of no known format
          fleet/empty.txt: the file is empty

ASSUMED   kubelet v1.36   settle it: --k8s-version
          device plugin v0.20.0   settle it: --plugin-version
          no replicas, no MIG   settle it: --plugin-config FILE
more      -v (all reasons) | -o json (every node) | -o junit | gputopo allocate kubelet NODE
"""


def test_the_time_limit_is_named_for_the_shape_that_it_ended(
    monkeypatch: pytest.MonkeyPatch, told: Any, put: Any, fleet: Path
) -> None:
    answer = KubeletNode.answer

    def slow(self: KubeletNode, state: Any, request: Any) -> Any:
        while state.node.packages is not None and len(state.node.numa_nodes) > 2:
            pass
        return answer(self, state, request)

    monkeypatch.setattr(KubeletNode, "answer", slow)
    code, out, _ = told("kubelet", "--pod", put("pod.yaml", pod(4)), "--fleet", fleet, *SINGLE, "--timeout", "0.6")
    assert code == 3
    assert "not decided: --timeout 0.6 s ended it" in out
    assert "fine on 1 of 2 node shapes" in out


def test_an_error_of_ours_in_one_node_does_not_stop_the_others(
    monkeypatch: pytest.MonkeyPatch, told: Any, put: Any, fleet: Path
) -> None:
    from gputopo.commands.allocate_fleet_askers import OfKubelet

    key = OfKubelet.key

    def breaks(self: OfKubelet, saved: Any) -> Any:
        if saved.source.endswith("b0"):
            raise KeyError("GPU9")
        return key(self, saved)

    monkeypatch.setattr(OfKubelet, "key", breaks)
    monkeypatch.delenv("GPUTOPO_DEBUG", raising=False)
    code, out, _ = told("kubelet", "--pod", put("pod.yaml", pod(4)), "--fleet", fleet, *SINGLE)
    assert code == 1
    assert "fine on 1 of 2 node shapes (4 of 5 nodes): refused on 1 (1 node); 3 sources unreadable" in out
    assert "b0: internal error: KeyError: 'GPU9'" in " ".join(out.split())
