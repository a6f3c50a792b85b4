"""`gputopo diagnose` as a user calls it: the verdict on jobs whose cause is known, and what it must not claim."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gputopo.cli import run
from gputopo.documents.schema import schemas
from tests.jobs.texts import HGX_BUSES, OTHER_BUSES, all_reduce_perf, gpus_csv, nccl_log, text, uuid

SHARED = Path(os.environ.get("GPUTOPO_SHARED", Path(__file__).resolve().parents[2].parent / "shared"))
L20 = SHARED / "data" / "nccl" / "xml" / "yccl-topo_l20.xml"
Ask = Callable[..., tuple[int, str, str]]
HGX = "sample:hgx-h100"


@pytest.fixture
def ask(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ask:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)

    def asked(*arguments: str, **files: str | Sequence[str]) -> tuple[int, str, str]:
        """Files by keyword: `job_log=` is written as job.log."""
        for name, content in files.items():
            Path(name.replace("_", ".", 1)).write_text(content if isinstance(content, str) else text(content))
        code = run(["diagnose", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return asked


@pytest.fixture
def document(ask: Ask) -> Callable[..., dict[str, Any]]:
    """The same as its document, which follows its schema."""

    def asked(*arguments: str, **files: str | Sequence[str]) -> dict[str, Any]:
        _, out, err = ask(*arguments, "-o", "json", **files)
        assert out, err
        found: dict[str, Any] = json.loads(out)
        jsonschema.validate(found, schemas()["Diagnosis"])
        return found

    return asked


def rules(found: dict[str, Any], severity: str = "") -> list[str]:
    return [one["rule"] for one in found["findings"] if severity in ("", one["severity"])]


def flat(out: str) -> str:
    return " ".join(out.split())


# A setting that takes NVLink away, on a set that crosses sockets

P2P_OFF = nccl_log((1, 2, 3, 4), via="SHM/direct/direct", env={"NCCL_P2P_DISABLE": "1"})


def test_a_setting_is_the_cause_and_the_placement_is_not(ask: Ask) -> None:
    code, out, _ = ask(
        HGX, "gpus.csv", "--nccl-log", "job.log", "--measured", "11.8", gpus_csv=gpus_csv(), job_log=P2P_OFF
    )  # fmt: skip
    assert code == 1
    verdict, _, rest = flat(out).partition(" SET ")
    assert verdict.startswith("VERDICT 4 of 4 connected pairs use SHM where NVLink exists: NCCL_P2P_DISABLE=1.")
    assert "Measured 11.8 of about 367 GB/s." in verdict
    assert "unset NCCL_P2P_DISABLE" in verdict
    assert "The set crosses sockets, which is not the cause: every pair has NVLink." in verdict
    assert "job.log:2 NCCL_P2P_DISABLE set by environment to 1" in rest
    assert "GPU1 -> GPU2 via SHM/direct/direct" in rest
    assert "wire limit 478.1" in rest
    assert "moving gains CPU and NIC affinity only" in rest


def test_the_document_of_it(document: Callable[..., dict[str, Any]]) -> None:
    found = document(
        HGX, "gpus.csv", "--nccl-log", "job.log", "--measured", "11.8", gpus_csv=gpus_csv(), job_log=P2P_OFF
    )  # fmt: skip
    assert (found["set"], found["crossPackage"]) == (["GPU1", "GPU2", "GPU3", "GPU4"], True)
    assert [(one["rank"], one["gpu"]) for one in found["ranks"]] == [(0, "GPU1"), (1, "GPU2"), (2, "GPU3"), (3, "GPU4")]
    assert rules(found, "error") == ["GT511"]
    assert not {"GT501", "GT502", "GT514"} & set(rules(found))  # placement, and NVLS that goes with P2P
    rates = found["rates"]
    assert (rates["measuredGBps"], rates["expectedGBps"], rates["ceilingGBps"]) == (11.8, 367, pytest.approx(478.125))
    assert {one["transport"] for one in found["hops"]} == {"SHM/direct/direct"}


def test_the_same_job_over_nvlink_is_healthy(document: Callable[..., dict[str, Any]]) -> None:
    found = document(
        HGX, "gpus.csv", "--nccl-log", "job.log", "--measured", "350",
        gpus_csv=gpus_csv(), job_log=nccl_log((1, 2, 3, 4)),
    )  # fmt: skip
    assert rules(found, "error") == rules(found, "warning") == []
    assert found["verdict"] == "No fault found: GPU1-GPU4 measures 350 GB/s of 367 to be expected."


@pytest.mark.parametrize(("level", "is_cause"), [("LOC", True), ("NVL", False), ("SYS", False)])
def test_a_level_that_allows_the_pair_is_no_cause(
    level: str, is_cause: bool, document: Callable[..., dict[str, Any]]
) -> None:
    log = nccl_log((1, 2), via="SHM/direct/direct", env={"NCCL_P2P_LEVEL": level})
    found = document(HGX, "gpus.csv", "--nccl-log", "job.log", gpus_csv=gpus_csv(), job_log=log)
    [one] = [one for one in found["findings"] if one["rule"] == "GT511"]
    assert ("NCCL_P2P_LEVEL" in one["message"]) is is_cause


# Leaving an island, and tensor-parallel groups


def test_leaving_the_island_is_an_error_with_its_price_and_source(ask: Ask) -> None:
    code, out, _ = ask("sample:pcie-bridged", "--gpus", "0,1,4")
    said = flat(out)
    assert code == 1
    assert "The job's set leaves its NVLink island: GPU4 is linked to none of GPU0 and GPU1." in said
    assert "208 GB/s became 20 with an A100 PCIe pair with a third GPU" in said
    assert "https://github.com/NVIDIA/nccl-tests/issues/178" in said.replace(" ", "")
    assert "expected 10" in said  # NCCL's model: two sockets of Ice Lake
    assert "ask for multiples of 2 GPUs, whole islands" in said


def test_a_whole_island_is_no_finding(document: Callable[..., dict[str, Any]]) -> None:
    found = document("sample:pcie-bridged", "--gpus", "0,1")
    assert rules(found, "error") == rules(found, "warning") == []
    assert found["best"] is None


def test_whole_islands_in_their_own_groups_are_right_and_wrong_in_another_order(
    document: Callable[..., dict[str, Any]],
) -> None:
    right = document("sample:pcie-bridged", "--gpus", "0,1,4,5", "--tp", "2")
    assert (rules(right, "error"), right["order"]) == ([], None)
    assert [one["island"] for one in right["groups"]] == [True, True]
    wrong = document("sample:pcie-bridged", "--gpus", "0,4,1,5", "--tp", "2")
    assert rules(wrong, "error") == ["GT502", "GT502"]
    assert wrong["order"] == ["GPU0", "GPU1", "GPU4", "GPU5"]
    assert [(one["gpus"], one["packages"]) for one in wrong["groups"]] == [
        (["GPU0", "GPU4"], ["PKG0", "PKG1"]), (["GPU1", "GPU5"], ["PKG0", "PKG1"]),
    ]  # fmt: skip


def test_a_nvswitch_node_needs_no_order(document: Callable[..., dict[str, Any]]) -> None:
    found = document(HGX, "--tp", "4")
    assert (found["order"], rules(found, "error"), rules(found, "warning")) == (None, [], [])
    assert [one["island"] for one in found["groups"]] == [True, True]


@pytest.mark.skipif(not L20.is_file(), reason="no recorded topology files beside the project")
def test_each_group_of_l20_crosses_and_an_order_mends_all_four(document: Callable[..., dict[str, Any]]) -> None:
    found = document(str(L20), "--tp", "4", "--assume", "sockets=numa")
    assert [one["gbps"] for one in found["groups"]] == [20, 20, 20, 20]
    assert [one["packages"] for one in found["groups"]] == [["PKG0", "PKG1"]] * 4
    cut = [tuple(found["order"][at : at + 4]) for at in range(0, 16, 4)]
    # Inside one socket is not enough: only these reach 24 (facts: NCCL's answers for the 16 L20).
    right = ((0, 1, 4, 5), (2, 3, 6, 7), (8, 9, 12, 13), (10, 11, 14, 15))
    assert {frozenset(one) for one in cut} == {frozenset(f"GPU{n}" for n in some) for some in right}
    assert "Next: another order of CUDA_VISIBLE_DEVICES, without rescheduling (ORDER)." in found["verdict"]
    first = document(str(L20), "--gpus", ",".join(cut[0]), "--assume", "sockets=numa")
    assert (first["rates"]["expectedGBps"], first["crossPackage"], rules(first, "warning")) == (24, False, [])


# Logs that are cut, mixed, or of another node


def test_a_log_of_another_node_is_said_to_be_and_nothing_of_it_is_used(
    document: Callable[..., dict[str, Any]], ask: Ask
) -> None:
    log = [*nccl_log((1, 2), via="SHM/direct/direct", env={"NCCL_P2P_DISABLE": "1"}, buses=OTHER_BUSES),
           "+ export NCCL_P2P_DISABLE=1", "vllm serve --tensor-parallel-size 2"]  # fmt: skip
    found = document(HGX, "gpus.csv", "--nccl-log", "job.log", gpus_csv=gpus_csv(), job_log=log)
    assert rules(found, "warning") == ["GT550"]
    assert rules(found, "error") == []
    assert not {"GT510", "GT511"} & set(rules(found))
    assert (found["hops"], found["groups"], found["ncclVersion"]) == ([], [], None)
    assert all(one["gpu"] is None or one["host"] is None for one in found["ranks"])
    assert found["verdict"].startswith("Undecided: job.log is of another node")
    code, _, _ = ask(HGX, "gpus.csv", "--nccl-log", "job.log")
    assert code == 3


def test_a_benchmark_of_another_node_is_not_measured_here(document: Callable[..., dict[str, Any]]) -> None:
    other = all_reduce_perf({1 << 33: 11.8}, (1, 2), OTHER_BUSES)
    found = document(HGX, "gpus.csv", "run.txt", gpus_csv=gpus_csv(), run_txt=other)
    assert found["rates"]["measuredGBps"] is None
    assert "GT550" in rules(found)


def test_a_cut_log_is_said_to_be_cut(document: Callable[..., dict[str, Any]]) -> None:
    cut = nccl_log((1, 2, 3, 4))[:8]  # two ranks have started
    found = document(HGX, "gpus.csv", "--nccl-log", "job.log", gpus_csv=gpus_csv(), job_log=cut)
    assert "GT551" in rules(found)
    assert any("peer lines" in one["needs"] for one in found["notChecked"])
    assert rules(found, "error") == []


def test_a_log_without_a_communicator_is_undecided(ask: Ask) -> None:
    code, out, _ = ask("--nccl-log", "job.log", job_log=P2P_OFF[:5])
    assert code == 3
    assert flat(out).startswith("VERDICT Undecided: of this job the evidence shows neither how its GPUs are wired")
    assert "NCCL_P2P_DISABLE=1 takes peer-to-peer from every pair" in flat(out)


def test_of_two_jobs_in_a_log_one_is_judged_and_that_is_said(document: Callable[..., dict[str, Any]]) -> None:
    one = nccl_log((0, 1), via="SHM/direct/direct", env={"NCCL_P2P_DISABLE": "1"})
    two = nccl_log((4, 5, 6, 7), first_pid=900, comm_id="0x2f")
    mixed = [line for pair in zip(one, two) for line in pair] + two[len(one) :]
    files = {"gpus_csv": gpus_csv(), "job_log": mixed}
    healthy = document(HGX, "gpus.csv", "--nccl-log", "job.log", **files)
    assert healthy["set"] == ["GPU4", "GPU5", "GPU6", "GPU7"]
    assert rules(healthy, "warning") == ["GT552"]
    assert rules(healthy, "error") == []
    asked = document(HGX, "gpus.csv", "--nccl-log", "job.log", "--gpus", "0,1", **files)
    assert (asked["set"], rules(asked, "error")) == (["GPU0", "GPU1"], ["GT511"])


def test_numbers_of_a_container_are_not_the_nodes(document: Callable[..., dict[str, Any]]) -> None:
    log = nccl_log((6, 7), indices=(0, 1), via="SHM/direct/direct", env={"NCCL_P2P_DISABLE": "1"})
    log.append("gpu-a17:200:250 [0] NCCL INFO Setting affinity for GPU 0 to 01")
    found = document(HGX, "gpus.csv", "--nccl-log", "job.log", gpus_csv=gpus_csv(), job_log=log)
    assert found["set"] == ["GPU6", "GPU7"]
    [mask] = [one for one in found["findings"] if one["rule"] == "GT531"]
    assert mask["subjects"] == ["GPU6"]


# What the job reached


def test_the_measured_rate_is_of_the_run_with_the_jobs_number_of_gpus(document: Callable[..., dict[str, Any]]) -> None:
    runs = [*all_reduce_perf({1 << 20: 30.0, 1 << 33: 360.0}, (0, 1)), *all_reduce_perf({1 << 33: 21.0}, (0, 1, 2))]
    files = {"gpus_csv": gpus_csv(), "run_txt": runs}
    both = document(HGX, "gpus.csv", "run.txt", "--gpus", "0,1", **files)
    assert both["rates"]["measuredGBps"] == 360
    assert [(one["ranks"], one["busGBps"]) for one in both["runs"]] == [(2, 360), (3, 21)]
    assert "GT540" not in rules(both)
    three = document(HGX, "gpus.csv", "run.txt", **files)
    assert (three["set"], three["rates"]["measuredGBps"]) == (["GPU0", "GPU1", "GPU2"], 21)
    assert rules(three, "warning") == ["GT540"]
    assert three["verdict"].startswith("Undecided: GPU0-GPU2 measures 21 of 367 GB/s, and the evidence names no cause.")


def test_what_was_measured_by_hand_goes_before_the_table(document: Callable[..., dict[str, Any]]) -> None:
    run_txt = all_reduce_perf({1 << 33: 21.0}, (0, 1))
    found = document(
        HGX, "gpus.csv", "run.txt", "--measured", "350", gpus_csv=gpus_csv(), run_txt=run_txt
    )  # fmt: skip
    assert found["rates"]["measuredGBps"] == 350


def test_devices_of_a_benchmark_are_found_by_bus(document: Callable[..., dict[str, Any]]) -> None:
    run_txt = all_reduce_perf({1 << 33: 360.0}, (6, 7))  # in a container: devices 0 and 1
    found = document(HGX, "gpus.csv", "run.txt", gpus_csv=gpus_csv(), run_txt=run_txt)
    assert found["set"] == ["GPU6", "GPU7"]


# Whose GPUs


def podresources(pods: dict[str, list[int]]) -> str:
    """As the kubelet's podresources socket answers, in grpcurl's JSON."""
    return json.dumps({
        "podResources": [
            {"name": name, "namespace": "ml", "containers": [
                {"name": "main", "devices": [{"resourceName": "nvidia.com/gpu", "deviceIds": [uuid(n) for n in gpus]}]}
            ]}
            for name, gpus in pods.items()
        ]
    })  # fmt: skip


def checkpoint(pods: dict[str, list[int]]) -> str:
    entries = [
        {"PodUID": name, "ContainerName": "main", "ResourceName": "nvidia.com/gpu",
         "DeviceIDs": {"0": [uuid(one) for one in gpus]}, "AllocResp": ""}
        for name, gpus in pods.items()
    ]  # fmt: skip
    return json.dumps({"Data": {"PodDeviceEntries": entries, "RegisteredDevices": {}}, "Checksum": 1})


def test_the_set_is_what_the_pod_holds(document: Callable[..., dict[str, Any]]) -> None:
    files = {"gpus_csv": gpus_csv(), "pods_json": podresources({"llm-0": [1, 2, 3, 4], "embed": [0]})}
    found = document(HGX, "gpus.csv", "pods.json", "--pod", "ml/llm-0", **files)
    assert (found["set"], found["setBasis"]) == (["GPU1", "GPU2", "GPU3", "GPU4"], "--pod ml/llm-0")


def test_a_checkpoint_tells_too(document: Callable[..., dict[str, Any]]) -> None:
    files = {"gpus_csv": gpus_csv(), "held_json": checkpoint({"a-uid": [0, 5], "b-uid": [1]})}
    found = document(HGX, "gpus.csv", "held.json", "--pod", "a-uid", **files)
    assert found["set"] == ["GPU0", "GPU5"]


def test_a_pod_in_two_namespaces_and_a_pod_that_is_not_there_are_one_line(ask: Ask) -> None:
    files = {"gpus_csv": gpus_csv(), "pods_json": podresources({"llm-0": [1]})}
    code, out, err = ask(HGX, "gpus.csv", "pods.json", "--pod", "ml/other", **files)
    assert (code, out) == (2, "")
    assert err == (
        "gputopo: error: no such pod holds a device here: ml/other (--pod)\nhint: there are ml/llm-0\n"
    )  # fmt: skip


# Options, exit codes, hostile names


def test_exit_codes(ask: Ask) -> None:
    assert ask(HGX, "--gpus", "0,1")[0] == 0
    assert ask("sample:pcie-bridged", "--gpus", "0,1,4")[0] == 1
    assert ask("sample:pcie-bridged", "--gpus", "0,1,4", "--fail-on", "never")[0] == 0
    assert ask("sample:pcie-2s-8gpu", "--gpus", "0,4")[0] == 0
    assert ask("sample:pcie-2s-8gpu", "--gpus", "0,4", "--fail-on", "warning")[0] == 1
    assert ask("no-such-file")[0] == 2
    assert ask("--nccl-log", "job.log", job_log=P2P_OFF[:1])[0] == 3


def test_select_and_ignore_hold_for_findings_and_for_what_was_not_checked(
    document: Callable[..., dict[str, Any]],
) -> None:
    only = document("sample:pcie-bridged", "--gpus", "0,1,4", "--select", "GT501")
    assert (rules(only), {one["rule"] for one in only["notChecked"]} - {"GT501"}) == (["GT501"], set())
    without = document("sample:pcie-bridged", "--gpus", "0,1,4", "--ignore", "GT502,set-leaves-nvlink-island,GT540")
    assert "GT502" not in rules(without)
    assert "GT540" not in {one["rule"] for one in without["notChecked"]}


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((HGX, "--gpus", "0,99"), "no such GPU: 99 (--gpus)"),
        ((HGX, "--gpus", "0", "--pod", "a"), "--gpus and --pod exclude one another"),
        ((HGX, "--tp", "3"), "--tp 3 does not divide the job's 8 GPUs (--tp)"),
        ((HGX, "--tp", "0"), "--tp takes a positive number, not 0"),
        ((HGX, "--pp", "-1"), "--pp takes a positive number, not -1"),
        ((HGX, "--measured", "nan"), "--measured takes GB/s of bus bandwidth, not nan"),
        ((HGX, "--pod", "ml/a"), "nothing among the sources says what pods hold (--pod)"),
        (("--nccl-log", "none.log"), "no such file or folder (none.log)"),
        (("--nccl-log", "-", "--nccl-log", "-"), "standard input can be read once (-)"),
        ((HGX, "--select", "GT9"), "no rule GT9"),
        ((HGX, "--timeout", "0"), "--timeout takes seconds between 0 and 86400, not 0"),
    ],
)
def test_wrong_usage_is_one_line_and_a_hint(arguments: tuple[str, ...], error: str, ask: Ask) -> None:
    code, out, err = ask(*arguments)
    assert (code, out) == (2, "")
    first, *rest = err.splitlines()
    assert first == f"gputopo: error: {error}"
    assert len(rest) <= 1


def test_text_that_is_no_log_is_one_line(ask: Ask) -> None:
    code, _, err = ask("--nccl-log", "job.log", job_log="hello\n")
    assert (code, err.splitlines()[0]) == (
        2, "gputopo: error: no line of NCCL, nccl-tests or a launcher in it (job.log)"
    )  # fmt: skip


HOSTILE = ("\x1b]0;owned\x07", "[bold red]x[/]", "<script>alert(1)</script>", "n" * 10_000)


@pytest.mark.parametrize("name", HOSTILE, ids=["escape", "markup", "html", "long"])
def test_hostile_names_are_only_names(name: str, ask: Ask, document: Callable[..., dict[str, Any]]) -> None:
    """As host, as value of a setting, in a warning and as NIC."""
    host = name.replace("/", "").replace(" ", "")
    log = nccl_log((1, 2), via="SHM/direct/direct", env={"NCCL_P2P_DISABLE": f"1 {name}", "NCCL_NET": name}, host=host)
    log.append(f"gpu-a17:200:250 [0] misc/shmutils.cc:72 NCCL WARN Error: failed to extend {name} to 9637892 bytes")
    log.append(f"gpu-a17:200:250 [0] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 '{name[:100]}'")
    arguments = (HGX, "gpus.csv", "--nccl-log", "job.log")
    _, out, _ = ask(*arguments, gpus_csv=gpus_csv(), job_log=log)
    assert not [letter for letter in out if not letter.isprintable() and letter != "\n"]
    assert len(out) < 40_000
    found = document(*arguments)
    assert len(json.dumps(found)) < 200_000


def test_the_verdict_can_be_saved_and_coloured(ask: Ask, tmp_path: Path) -> None:
    code, out, _ = ask("sample:pcie-bridged", "--gpus", "0,1,4", "--output-file", "v.txt", "--color", "always")
    assert (code, out) == (1, "")
    assert "\x1b[" in (tmp_path / "v.txt").read_text()
    _, out, _ = ask("sample:pcie-bridged", "--gpus", "0,1,4", "-o", "yaml")
    assert "kind: Diagnosis" in out


def test_standard_input_and_several_logs(ask: Ask, document: Callable[..., dict[str, Any]]) -> None:
    lines = nccl_log((1, 2))
    found = document(HGX, "gpus.csv", "job.log", gpus_csv=gpus_csv(), job_log=lines)  # a log among the sources
    assert found["set"] == ["GPU1", "GPU2"]
    assert [one["format"] for one in found["sources"]][-1] == "nccl-log"
    assert HGX_BUSES[1] == "2d"
