"""A log that is cut or mixed is said to be; nothing in it is given to the wrong job or rank."""

from __future__ import annotations

import itertools
import random

import pytest

from gputopo.nccl_records import NcclJob, Speaker
from gputopo.parsers.nccl_log import gathered, parse
from gputopo.parsers.recognise_job import read
from tests.parsers.job_texts import BUSES, Job

GPU_OF = {f"0000:{bus[:2]}:00.0" for bus in BUSES}


def mixed(*jobs: Job, seed: int = 7) -> list[str]:
    """Lines of several jobs, each in its own order."""
    rng = random.Random(seed)
    left = [list(job.lines()) for job in jobs]
    lines = []
    while any(left):
        one = rng.choice([some for some in left if some])
        lines.append(one.pop(0))
    return lines


def shape(job: NcclJob) -> list[tuple[object, ...]]:
    return [
        (one.id, one.nranks, [(rank.rank, rank.speaker, str(rank.pci)) for rank in one.ranks],
         sorted({(peer.sender, peer.receiver, peer.transport) for peer in one.peers}))
        for one in job.communicators
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (Job(), Job(host="node-b", first_pid=900, comm_id="0x2f", via="SHM/direct/direct")),
        (Job(nranks=2), Job(nranks=3, first_pid=900, first_gpu=4, comm_id="0x2f")),
        (Job(nranks=3), Job(nranks=3, first_pid=900, first_gpu=4, comm_id="0x2f", via="P2P/IPC")),
        (Job("2.12.12", nranks=2), Job("2.12.12", nranks=4, first_pid=900, first_gpu=4, via="P2P/IPC")),
        (Job("2.12.12"), Job("2.12.12", host="node-b", first_pid=900, via="direct shared memory")),
        (Job("2.8.4"), Job("2.27.3", host="node-b", first_pid=900)),
    ],
    ids=["hosts", "sizes", "commId only", "sizes, old", "hosts, old", "versions"],
)
def test_two_jobs_mixed_are_kept_apart(one: Job, two: Job) -> None:
    found = parse(mixed(one, two))
    alone = [parse(job.lines())[0] for job in (one, two)]
    assert sorted(map(str, map(shape, found))) == sorted(map(str, map(shape, alone)))
    assert all(job.whole for job in found)
    for job in found:
        hosts = {rank.speaker for each in job.communicators for rank in each.ranks}
        assert set(job.speakers) >= hosts


def test_two_old_jobs_of_one_size_on_one_host_cannot_be_told_apart_and_that_is_said() -> None:
    found = parse(mixed(Job("2.12.12", nranks=2), Job("2.12.12", nranks=2, first_pid=900, first_gpu=4)))
    assert not any(job.whole for job in found)
    assert any("cannot be told apart" in gap.reason for job in found for gap in job.gaps)


def test_versions_of_two_jobs_are_not_mixed_up() -> None:
    """`NCCL version` has no host before it, so of two versions neither is given to a job."""
    found = parse(mixed(Job("2.8.4"), Job("2.27.3", host="node-b", first_pid=900)))
    assert [job.version for job in found] == [None, None]
    assert all(any(gap.attribute == "ncclVersion" for gap in job.gaps) for job in found)


@pytest.mark.parametrize("version", ["2.6.4", "2.12.12", "2.27.3"])
def test_a_log_cut_anywhere_is_said_to_be_and_names_no_wrong_gpu(version: str) -> None:
    text = Job(version).text()
    whole = {rank.rank: (rank.speaker, rank.pci) for rank in parse(text.split("\n"))[0].communicators[0].ranks}
    last = text.rstrip().rfind("- Init COMPLETE")
    for end in range(0, last, 11):
        for job in parse(text[:end].split("\n")):
            assert not job.whole or not job.communicators
            for one in job.communicators:
                for rank in one.ranks:
                    speaker, pci = whole[rank.rank]
                    assert rank.speaker.host == speaker.host
                    assert rank.pci in (None, pci)
    for start in range(37, len(text) - 400, 97):
        for job in parse(text[start:].split("\n")):
            for one in job.communicators:
                assert all(rank.pci in (None, whole[rank.rank][1]) for rank in one.ranks)


def test_a_rank_that_begins_and_never_completes_is_named() -> None:
    lines = [line for line in Job().lines() if not (":102:" in line and "COMPLETE" in line)]
    [job] = parse(lines)
    assert not job.whole
    assert any("no Init COMPLETE of rank 2" in gap.reason for gap in job.gaps)


def test_ranks_that_print_nothing_are_counted() -> None:
    [job] = parse([line for line in Job().lines() if ":103:" not in line])
    assert [gap.reason for gap in job.gaps] == ["communicator 0x1f: init lines of 3 of its 4 ranks are in the log"]


def test_connections_alone_name_the_gpus_of_their_ranks_where_brackets_hold_bus_ids() -> None:
    lines = [line for line in Job("2.8.4").lines() if "comm " not in line]
    [job] = parse(lines)
    [one] = job.communicators
    assert (one.nranks, job.whole) == (None, False)
    assert [(rank.rank, str(rank.pci), rank.speaker.host) for rank in one.ranks] == [
        (n, f"0000:{BUSES[n][:2]}:00.0", "node-a") for n in range(4)
    ]


def test_communicators_of_one_process_are_told_apart_and_late_connections_go_where_they_fit() -> None:
    world, pair = Job(nranks=4), Job(nranks=2, comm_id="0x2f")
    late = [
        "node-a:103:700 [3] NCCL INFO Channel 00/1 : 3[3] -> 1[1] via P2P/IPC",  # rank 3 is in one of them
        "node-a:100:701 [0] NCCL INFO Channel 00/1 : 0[0] -> 1[1] via P2P/indirect/2[2]",  # rank 0 is in both
    ]
    second = [line.replace("comm 0x64", "comm 0x99") for line in pair.lines()[1:]]
    [job] = parse([*world.lines(), *second, *late])
    assert [(one.id, one.nranks) for one in job.communicators] == [("0x1f", 4), ("0x2f", 2), (None, None)]
    placed = [{(peer.sender, peer.receiver, peer.transport) for peer in one.peers} for one in job.communicators]
    assert (3, 1, "P2P/IPC") in placed[0]
    assert placed[2] == {(0, 1, "P2P/indirect/2[2]")}
    assert not job.whole


def test_lines_of_a_process_without_init_lines_are_put_with_a_reason() -> None:
    lines = [line for line in Job().lines() if ":102:" not in line]
    lines.append("node-a:102:152 [2] NCCL INFO Channel 01/0 : 2[2] -> 3[3] via P2P/CUMEM")
    [job] = parse(lines)
    [one] = job.communicators
    assert (2, 3) in {(peer.sender, peer.receiver) for peer in one.peers}
    assert one.assumed
    rank = next(rank for rank in one.ranks if rank.rank == 2)
    assert (rank.pci, rank.nvml_index, rank.complete, rank.speaker) == (None, 2, False, Speaker("node-a", None))


def test_what_is_kept_of_a_log_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathered, "PARTS_MOST", 50)
    monkeypatch.setattr(gathered.Room.__init__, "__defaults__", (100_000,))
    jobs = (Job(host=f"node-{n}", first_pid=1000 * n, comm_id=f"0x{n:x}") for n in range(1, 40))
    odd = (f"node-1:1000:1 [0] NCCL INFO NCCL_X{n} set by environment to {n}" for n in range(1_000))
    found = parse(itertools.chain(odd, *(job.lines() for job in jobs)))
    assert sum(len(one.ranks) for job in found for one in job.communicators) <= 50
    assert sum(len(job.env) for job in found) < 200
    reasons = {gap.reason for job in found for gap in job.gaps if gap.attribute == "communicators"}
    assert any("left out" in reason for reason in reasons)
    assert not any(job.whole for job in found)


@pytest.mark.parametrize(
    "line",
    [
        "node-a:7:7 [0] NCCL INFO " * 5_000,
        "a" * 200_000 + ":1:1 [0] NCCL INFO x",
        "a:" * 40_000 + " NCCL INFO NCCL INFO ",
        "h:1:1 [0] NCCL INFO Channel 00/9 : " + "1 " * 60_000,
        "h:1:1 [0] NCCL INFO Pattern 4, crossNic 0, nChannels 999999999, bw 1/1, type SYS/SYS, sameChannels 1",
        "h:1:1 [0] NCCL INFO comm 0x1 rank 999999999 nranks 999999999 busId ffffffffffffffff - Init COMPLETE",
        "h:1:1 [0] NCCL WARN Could not find real path of " + "/" * 60_000,
        "1 1 float sum " + "1 " * 60_000,
        "CUDA_VISIBLE_DEVICES=" + "0," * 60_000,
        "tensor_parallel_size" * 4_000,
        "\x1b[" * 30_000 + "NCCL INFO",
        "\0\ud800 NCCL INFO \udcff",
    ],
    ids=range(12),
)
def test_a_hostile_line_costs_a_moment(line: str) -> None:
    log = read([line] * 3)
    assert log.lines == 3
