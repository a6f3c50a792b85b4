"""What frameworks and nccl-tests write beside NCCL's lines."""

from __future__ import annotations

import pytest

from gputopo.job_records import FrameworkRecord
from gputopo.jobs.places import place
from gputopo.parsers import job_log, nccl_tests
from gputopo.parsers.nccl_log import parse as parse_nccl
from gputopo.parsers.recognise_job import read, recognise
from gputopo.terms.pci_address import PciAddress
from tests.parsers.job_texts import BUSES, Job


def framework(*lines: str) -> FrameworkRecord:
    record = job_log.parse(lines)
    assert record is not None
    assert job_log.sniff("\n".join(lines))
    return record


@pytest.mark.parametrize(
    ("line", "settings"),
    [
        ("vllm serve model-a --tensor-parallel-size 8 --pipeline-parallel-size=2",
         {"tensor_parallel": 8, "pipeline_parallel": 2}),
        ("INFO 01-02 03:04:05 [core.py:58] config: model='a', tensor_parallel_size=4, pipeline_parallel_size=1, data",
         {"tensor_parallel": 4, "pipeline_parallel": 1}),
        ("non-default args: {'tensor_parallel_size': 2, 'max_model_len': 8192}", {"tensor_parallel": 2}),
        ("python -m sglang.launch_server --model-path a --tp 8 --dp 2", {"tensor_parallel": 8, "data_parallel": 2}),
        ("[2026-01-02 03:04:05] server_args=ServerArgs(model_path='a', tp_size=8, pp_size=1, dp_size=2)",
         {"tensor_parallel": 8, "pipeline_parallel": 1, "data_parallel": 2}),
        ("torchrun --nproc_per_node=8 --nnodes=2 train.py", {"per_node": 8, "nodes": 2}),
        ("torchrun --nproc-per-node 4 train.py", {"per_node": 4}),
        ("nnodes=1, num_local_procs=4, node_rank=0", {"nodes": 1, "per_node": 4}),
        ("dist_world_size=4", {"world_size": 4}),
        ("using world size: 8, data-parallel size: 1, context-parallel size: 1, tensor-model-parallel size: 4, "
         "pipeline-model-parallel size: 2",
         {"world_size": 8, "data_parallel": 1, "context_parallel": 1, "tensor_parallel": 4, "pipeline_parallel": 2}),
        ("  tensor_model_parallel_size ...................... 4", {"tensor_parallel": 4}),
        ("> initialized pipeline model parallel with size 2", {"pipeline_parallel": 2}),
    ],
)  # fmt: skip
def test_how_a_model_is_split(line: str, settings: dict[str, int]) -> None:
    record = framework(line)
    assert {one.name: one.value for one in record.settings} == settings
    assert all(record.setting(name) == value for name, value in settings.items())


def test_settings_that_differ_are_both_kept_and_none_is_the_answer() -> None:
    record = framework("vllm serve a --tensor-parallel-size 8", "config: tensor_parallel_size=4")
    assert [(one.value, one.line) for one in record.settings] == [(8, 1), (4, 2)]
    assert record.setting("tensor_parallel") is None


@pytest.mark.parametrize(
    ("line", "devices", "by"),
    [
        ("+ export CUDA_VISIBLE_DEVICES=3,2,1,0", ("3", "2", "1", "0"), "shell"),
        ("$ CUDA_VISIBLE_DEVICES=0 python a.py", ("0",), "shell"),
        ('docker run -e CUDA_VISIBLE_DEVICES="GPU-0a,GPU-0b" a', ("GPU-0a", "GPU-0b"), "shell"),
        ("[INFO] [launch.py:253:main] Setting CUDA_VISIBLE_DEVICES=0,1", ("0", "1"), "framework"),
        ("LOCAL_RANK: 1 - CUDA_VISIBLE_DEVICES: [4,5,6,7]", ("4", "5", "6", "7"), "framework"),
        ("h:1:1 [0] NCCL INFO CUDA_VISIBLE_DEVICES set by environment to MIG-00-01", ("MIG-00-01",), "nccl"),
    ],
)
def test_visible_devices_in_their_order(line: str, devices: tuple[str, ...], by: str) -> None:
    [visible] = framework(line).visible
    assert (visible.devices, visible.by) == (devices, by)
    assert visible.local_rank == (1 if "LOCAL_RANK" in line else None)


def test_ranks_and_their_devices() -> None:
    record = framework(
        "rank 5 in world size 8 is assigned as DP rank 0, PP rank 1, TP rank 1, EP rank 1",
        "[2026-01-20 02:40:03 DP1 TP0] world_size=2 rank=0 local_rank=2 distributed_init_method=tcp://127.0.0.1:1",
        "[rank1]:[W102 ProcessGroupNCCL.cpp:4561] [PG ID 0 PG GUID 0 Rank 1]  using GPU 3 to perform barrier",
    )
    found = [(one.rank, one.local_rank, one.tensor_rank, one.pipeline_rank, one.device) for one in record.places]
    assert found == [(5, None, 1, 1, None), (0, 2, None, None, None), (1, None, None, None, 3)]


def test_settings_of_nccl_on_a_command_line_are_the_shells() -> None:
    record = framework("$ NCCL_DEBUG=INFO NCCL_P2P_LEVEL=SYS torchrun --nproc_per_node=8 a.py", "NCCL_X=1 in prose")
    assert [(one.name, one.value, one.by) for one in record.env] == [
        ("NCCL_DEBUG", "INFO", "shell"),
        ("NCCL_P2P_LEVEL", "SYS", "shell"),
    ]


def test_why_a_frameworks_own_all_reduce_is_off() -> None:
    record = framework(
        "WARNING [custom_all_reduce.py:137] Custom allreduce is disabled because it's not supported on more than two "
        "PCIe-only GPUs. To silence this warning, specify disable_custom_all_reduce=True explicitly."
    )
    assert record.custom_allreduce_off == ("it's not supported on more than two PCIe-only GPUs", 1)


TABLE = """\
# nThread 1 nGpus 2 minBytes 8 maxBytes 16 step: 2(factor) warmup iters: 5 iters: 20 validation: 1
#  Rank  0 Group  0 Pid     7 on     node-a device  0 [0000:1a:00] NVIDIA L20
#                                                              out-of-place                       in-place
           8             2     float     sum      -1     12.1    0.00    0.00      0    11.9    0.00    0.00      0
          16             4     float     sum      -1     12.1   10.00   15.00      0    11.9   10.20   15.30      3
"""


def test_a_table_that_is_cut_has_no_average_and_says_so() -> None:
    [run] = nccl_tests.parse(TABLE.split("\n"))
    assert (run.whole, run.average, run.rows[1].wrong) == (False, None, 3)
    assert nccl_tests.bus_bandwidth(run) == pytest.approx(15.15)
    assert (run.ranks[0].bus, run.ranks[0].name) == ("0000:1a:00", "NVIDIA L20")


@pytest.mark.parametrize(
    ("row", "root", "busbw"),
    [
        ("  1024  256  float  sum  12.0  1.0  2.0  1e-07  11.0  1.1  2.2  1e-07", None, (2.0, 2.2)),  # 2019: no root
        ("  1024  256  float  none  -1  12.0  1.0  2.0  N/A  11.0  1.1  2.2  N/A", -1, (2.0, 2.2)),
        ("0:   1024  256  half  sum  3  12.0  1.0  2.0  0  11.0  1.1  2.2  0", 3, (2.0, 2.2)),  # srun -l, a root
        ("  1024  256  bfloat16  sum  -1  12.0  1.0  2.0  0  11.0  1.1  2.2", -1, (2.0, 2.2)),  # cut
    ],
)
def test_rows_of_every_layout(row: str, root: int | None, busbw: tuple[float, float]) -> None:
    [run] = nccl_tests.parse([row])
    [found] = run.rows
    assert (found.size, found.root, found.out_of_place[2], found.in_place[2]) == (1024, root, *busbw)


def test_runs_are_told_apart_by_their_ends() -> None:
    end = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 7.5\n"
    text = f"$ ./build/all_reduce_perf -g 2\n{TABLE}{end}$ mpirun -np 2 ./alltoall_perf -b 8\n{TABLE}{end}{TABLE}"
    runs = nccl_tests.parse(text.split("\n"))
    assert [(run.test, run.average, len(run.rows)) for run in runs] == [
        ("all_reduce_perf", 7.5, 2), ("alltoall_perf", 7.5, 2), (None, None, 2)
    ]  # fmt: skip


def test_one_log_holds_all_three_and_is_read_once() -> None:
    text = "+ export CUDA_VISIBLE_DEVICES=0,1\n" + Job(nranks=2).text() + TABLE
    assert recognise(text) == ("nccl-log", "nccl-tests", "job-log")
    log = read(iter(text.split("\n")))
    assert log.formats == ("nccl-log", "nccl-tests", "job-log")
    assert (len(log.nccl), len(log.benchmarks), log.framework is not None) == (1, 1, True)


@pytest.mark.parametrize(
    "text",
    ["", "GPU0\t X \tPHB\n", "the world is parallel, rank and file", "tp", "a sum of float values", "nnodes"],
)
def test_other_texts_are_none_of_them(text: str) -> None:
    assert recognise(text) == ()
    assert read(text.split("\n")).formats == ()


def test_ranks_of_a_log_of_another_machine_are_placed_nowhere() -> None:
    gpus = {f"GPU{n}": PciAddress.parse(f"0000:{bus[:2]}:00.0") for n, bus in enumerate(BUSES[:4])}
    [job] = parse_nccl(Job(first_gpu=2).lines())  # two of its four GPUs have addresses of this node
    found = place(job.communicators[0], gpus)
    assert (found.placed, found.hosts) == ((), ())
    assert [rank.rank for rank in found.elsewhere] == [0, 1, 2, 3]
    [job] = parse_nccl(Job(first_gpu=0).lines())
    found = place(job.communicators[0], gpus)
    assert [(one.rank, one.gpu) for one in found.placed] == [(n, f"GPU{n}") for n in range(4)]
    assert place(job.communicators[0], gpus, host="node-b").placed == ()
