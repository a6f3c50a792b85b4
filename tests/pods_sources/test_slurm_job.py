"""Slurm's jobs as who holds what. Layouts: SchedMD/slurm src/api/job_info.c, src/scontrol, src/squeue."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path

import pytest

from gputopo.cli import run
from gputopo.holdings import HoldingRecords
from gputopo.parsers.recognise_holdings import recognise
from gputopo.parsers.slurm_job import parse
from gputopo.parsers.unreadable import Unreadable
from tests.pods.machines import held, node, said

JOB = """JobId=4711 JobName=train-7b
   UserId=ann(1000) GroupId=ann(1000) MCS_label=N/A
   Priority=1 Nice=0 Account=ml QOS=normal
   JobState=RUNNING Reason=None Dependency=(null)
   RunTime=01:02:03 TimeLimit=2-00:00:00 TimeMin=N/A
   StartTime=2026-11-29T03:12:07 EndTime=2026-12-01T03:12:07 Deadline=N/A
   NodeList=gpu[01-02,04] BatchHost=gpu01
   NumNodes=3 NumCPUs=96 NumTasks=3 CPUs/Task=32 ReqB:S:C:T=0:0:*:*
   AllocTRES=cpu=96,mem=192G,node=3,billing=96,gres/gpu=10,gres/gpu:h100=10
   Socks/Node=* NtasksPerN:B:S:C=1:0:*:* CoreSpec=*
   JOB_GRES=gpu:h100:10
     Nodes=gpu[01-02] CPU_IDs=0-31 Mem=65536 GRES=gpu:h100:4(IDX:0-3)
     Nodes=gpu04 CPU_IDs=0-31 Mem=65536 GRES=gpu:h100:2(IDX:1,6)
   MinCPUsNode=32 MinMemoryNode=64G MinTmpDiskNode=0
   Command=/home/ann/run.sh
   WorkDir=/home/ann
"""
PENDING = "JobId=4712 JobName=wait\n   JobState=PENDING Reason=Resources\n   NodeList= \n   AllocTRES=(null)\n"
NODE = """NodeName=gpu01 Arch=x86_64 CoresPerSocket=32
   CPUAlloc=64 CPUEfctv=128 CPUTot=128 CPULoad=31.25
   AvailableFeatures=h100
   Gres=gpu:h100:8(S:0-1)
   GresDrain=N/A
   GresUsed=gpu:h100:5(IDX:0-3,7)
   NodeAddr=gpu01 NodeHostName=gpu01 Version=24.05.3
   State=MIXED ThreadsPerCore=2 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
"""
QUEUE = """             JOBID PARTITION     NAME     USER ST       TIME  NODES TRES_PER_N NODELIST(REASON)
              4711       gpu    train      ann  R    1:02:03      2 gres/gpu:4 gpu[01-02]
              4712       gpu     wait      ann PD       0:00      1 gres/gpu:8 (Resources)
              4713       gpu two words     bob  R       0:10      1 gres/gpu:1 gpu03
"""


def ids(records: HoldingRecords) -> list[list[str]]:
    return [[device.id for device in one.devices or ()] for one in records.containers]


def test_a_job_has_other_gpus_on_each_node() -> None:
    assert recognise(JOB.encode()) == ("slurm-job",)
    found = parse(JOB)
    assert [(one.node, ids(one)) for one in found] == [
        ("gpu01", [["0", "1", "2", "3"]]), ("gpu02", [["0", "1", "2", "3"]]), ("gpu04", [["1", "6"]]),
    ]  # fmt: skip
    job = found[2].containers[0]
    assert (job.namespace, job.pod, job.container, job.line) == ("slurm", "4711", "train-7b", 1)
    assert {(one.resource, one.space) for one in job.devices or ()} == {("gres/gpu:h100", "gres")}
    assert (job.cpus, job.cpus_allowed) == (None, None)  # CPU_IDs are not Linux's


def test_several_jobs_and_one_line_each() -> None:
    both = parse(JOB + "\n" + PENDING + "\n" + JOB.replace("4711", "4713"))
    assert [[one.pod for one in each.containers] for each in both] == [["4711", "4713"]] * 3
    assert both[0].containers[1].line == JOB.count("\n") + PENDING.count("\n") + 3
    flat = parse(" ".join(JOB.split()) + "\n")
    assert [(one.node, ids(one)) for one in flat] == [(one.node, ids(one)) for one in parse(JOB)]
    assert parse(PENDING) == (HoldingRecords("slurm-job"),)


def test_without_detail_it_is_said_that_the_gpus_are_not() -> None:
    text = "\n".join(line for line in JOB.splitlines() if "IDX" not in line).replace("JOB_GRES", "TresPerNode")
    found = parse(text)
    assert (found[0].node, ids(found[0]), found[0].containers[0].requests) == ("gpu01", [[]], (("gres/gpu", 10),))
    assert "scontrol show job -d" in found[0].gaps[0].settled_by


def test_older_spellings() -> None:
    old = JOB.replace("GRES=gpu:h100:4(IDX:0-3)", "GRES_IDX=gpu:h100(IDX:0-3)").replace("h100:2(", "(null):2(")
    assert [ids(one) for one in parse(old)] == [[["0", "1", "2", "3"]]] * 2 + [[["1", "6"]]]


def test_a_node_says_what_is_used_and_not_by_whom() -> None:
    [one] = parse(NODE)
    assert (one.node, one.capacity) == ("gpu01", (("gres/gpu", 8),))
    assert ids(one) == [["0", "1", "2", "3", "7"]]
    assert {device.by for device in one.containers[0].devices or ()} == {"used"}


def test_parts_of_a_gpu_are_no_whole_gpu() -> None:
    text = JOB.replace("gpu:h100:2(IDX:1,6)", "shard:h100:3(2/4,0/4,1/4)")
    assert ids(parse(text)[2]) == [["0::2/4", "2::1/4"]]


def test_the_environment_of_a_job() -> None:
    words = ["HOME=/root", "SLURM_JOB_ID=9", "SLURM_JOB_NAME=x", "SLURMD_NODENAME=n1", "SLURM_JOB_GPUS=5,2-3"]
    [one] = parse("\n".join([*words, "CUDA_VISIBLE_DEVICES=0,1,2"]))
    assert (one.node, one.containers[0].pod, ids(one)) == ("n1", "9", [["2", "3", "5"]])


def test_variables_of_several_nodes_and_of_none() -> None:
    many = "export SLURM_JOB_ID='9'\nexport SLURM_JOB_NODELIST='n[1-2]'\nexport SLURM_JOB_GPUS=0\n"
    assert [(one.node, ids(one)) for one in parse(many)] == [("n1", [[]]), ("n2", [[]])]
    assert [(one.node, ids(one)) for one in parse("SLURM_JOB_ID=9\nSLURM_STEP_GPUS=1\n")] == [("", [["1"]])]
    two = "SLURM_JOB_ID=9\nSLURMD_NODENAME=n1\nSLURM_JOB_GPUS=0\nSLURM_JOB_ID=9\nSLURMD_NODENAME=n2\nSLURM_JOB_GPUS=4\n"
    assert [(one.node, ids(one)) for one in parse(two)] == [("n1", [["0"]]), ("n2", [["4"]])]


def test_a_queue_says_how_many() -> None:
    found = parse(QUEUE)
    assert [(one.node, one.containers[0].pod) for one in found] == [("gpu01", "4711"), ("gpu02", "4711")]
    piped = "JOBID|NAME|STATE|TRES_PER_NODE|NODELIST\n8|two words|RUNNING|gres:gpu:2|n1\n"
    assert [(one.node, one.containers[0].container) for one in parse(piped)] == [("n1", "two words")]
    assert parse("JOBID NAME|NODELIST\n8|n1\n")[0].containers == ()


def test_json() -> None:
    job = {"job_id": 5, "name": "j", "job_state": ["RUNNING"], "nodes": "n[1-2]",
           "gres_detail": ["gpu:a100:2(IDX:0-1)", "gpu:a100:1(IDX:3)"]}  # fmt: skip
    text = json.dumps({"jobs": [job, {**job, "job_state": "PENDING"}, {**job, "gres_detail": 7}, 3]})
    assert [(one.node, ids(one)) for one in parse(text)] == [("n1", [["0", "1"], []]), ("n2", [["3"], []])]


@pytest.mark.parametrize(
    "text",
    [
        JOB.replace("gpu[01-02]", "gpu[02-01]"), JOB.replace("gpu[01-02]", "gpu[01-02"),
        JOB.replace("gpu04", "n[0-9999999]"),
        '{"jobs": [{"gres_detail": ', "nothing of the kind", "",
    ],
)  # fmt: skip
def test_damaged_is_one_line(text: str) -> None:
    with pytest.raises(Unreadable):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "NodeName=a b\n" * 20_000, "JobId=" * 50_000, "JobId=1 JobState=RUNNING\n" * 20_000,
        "SLURM_JOB_ID=1\n" * 20_000, "gpu(" * 50_000 + JOB, JOB + " Nodes=a" * 50_000,
    ],
)  # fmt: skip
def test_hostile_texts_take_no_time(text: str) -> None:
    begun = time.process_time()
    with suppress(Unreadable):
        parse(text)
    assert time.process_time() - begun < 2


def test_other_texts_of_slurm_are_not_taken() -> None:
    assert recognise(b"NodeName=gpu01 Name=gpu Type=h100 File=/dev/nvidia[0-7]\n") == ()
    assert recognise(b"#!/bin/sh\n#SBATCH --gpus=4\necho $SLURM_JOB_ID\n") == ()


def test_places_are_pci_order_whatever_index_and_minor_number_say() -> None:
    job = parse("JobId=1 JobState=RUNNING\n Nodes=n1 CPU_IDs=0 Mem=0 GRES=gpu:2(IDX:0,3)\n")[0]
    spoken = said("slurm-job", *job.containers)
    turned = node()._replace(gpus=tuple(
        gpu._replace(pci=f"0000:{9 - at:02x}:00.0") for at, gpu in enumerate(node().gpus)))  # fmt: skip
    assert held(spoken).containers[0].placed.gpus == ("GPU0", "GPU3")
    assert any("PCI bus order" in note.text for note in held(spoken).assumptions)
    [first, second] = held(spoken, on=turned).containers[0].devices
    assert (first.gpu, second.gpu) == ("GPU3", "GPU0")
    unknown = node()._replace(gpus=tuple(gpu._replace(pci=None) for gpu in node().gpus))
    found = held(spoken, on=unknown)
    assert (found.containers[0].placed.gpus, found.unknown[0].attribute) == (None, "gpu")
    assert "slurmd -G" in found.unknown[0].settled_by


def test_what_is_used_by_nobody_knows_whom_is_not_free_and_not_judged() -> None:
    found = held(said("slurm-job", *parse(NODE.replace("0-3,7", "0,2"))[0].containers))
    assert found.free == ("GPU1", "GPU3")
    assert [one.given for one in found.containers] == [False]


def test_jobs_of_many_nodes_beside_a_node_without_a_name_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "jobs.txt").write_text(JOB)
    (tmp_path / "topo.txt").write_text("\tGPU0\tGPU1\nGPU0\t X \tPHB\nGPU1\tPHB\t X \n")
    assert run(["pods", str(tmp_path / "jobs.txt")]) == 0
    assert "slurm/4711" in capsys.readouterr().out
    assert run(["pods", str(tmp_path / "jobs.txt"), str(tmp_path / "topo.txt")]) == 2
    assert "is not said" in capsys.readouterr().err
