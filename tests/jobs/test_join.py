"""Which GPU each rank of a log had on the node beside it, and what is taken of a log at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from gputopo.evidence.piece import Piece
from gputopo.inspection_job import Wanted, diagnoses, sorted_evidence
from gputopo.job_records import BenchmarkRecord, JobLog
from gputopo.jobs.join import Asked, join
from gputopo.jobs.measured import measured
from gputopo.jobs.model import Job, SpokenLog
from gputopo.nccl_records import CommunicatorRecord, NcclJob, PeerRecord, RankRecord, Speaker
from gputopo.parsers.recognise_job import read
from gputopo.rules.jobs.diagnosis import Diagnosis
from gputopo.rules.jobs.example import log, node
from gputopo.rules.jobs.order import better_order
from gputopo.terms.pci_address import PciAddress
from gputopo.topology.node import NodeTopology, Source
from tests.jobs.texts import all_reduce_perf, nccl_log
from tests.parsers.job_texts import Job as JobText

BUSES = ("10", "11", "12", "13")  # of rules/jobs/example.py


def spoken(*jobs: NcclJob, id: str = "nccl-log", **fields: Any) -> SpokenLog:
    return SpokenLog(Source(id, f"{id}.txt", id, "", True), JobLog((id,), jobs, **fields))


def heard(lines: Sequence[str], id: str = "nccl-log") -> SpokenLog:
    return SpokenLog(Source(id, f"{id}.txt", id, "", True), read(lines))


def address(bus: str | None) -> PciAddress | None:
    return PciAddress.parse(f"0000:{bus}:00.0") if bus else None


def world(*ranks: tuple[str | None, int, str | None], peers: tuple[PeerRecord, ...] = ()) -> NcclJob:
    """(host, NVML index, bus) of each rank."""
    made = tuple(
        RankRecord(at, Speaker(host, 100 + at), at, index, address(bus), line=at + 1)
        for at, (host, index, bus) in enumerate(ranks)
    )
    return NcclJob((CommunicatorRecord("0x1", len(ranks), ranks=made, peers=peers),), bracket="nvmlDev")


def placed(job: Job) -> list[str | None]:
    return [one.gpu for one in job.ranks]


def joined(*jobs: NcclJob, on: NodeTopology | None = None, **asked: Any) -> Job:
    return join(on if on is not None else node(), [spoken(*jobs)], Asked(**asked))


def test_ranks_are_placed_by_bus_id_and_not_by_number() -> None:
    job = joined(world(("a", 0, "12"), ("a", 1, "10")))
    assert (placed(job), job.gpus, job.nodes) == (["GPU2", "GPU0"], ("GPU2", "GPU0"), 1)
    assert {one.basis for one in job.ranks} == {"busId"}


def test_of_two_hosts_of_one_kind_the_nodes_own_is_taken_by_name() -> None:
    both = world(("node-b", 0, "10"), ("node-b", 1, "11"), ("node-a", 0, "10"), ("node-a", 1, "11"))
    job = joined(both)
    assert placed(job) == [None, None, "GPU0", "GPU1"]
    assert (job.hosts, job.nodes) == (("node-a",), 2)


def test_without_a_name_the_first_that_fits_is_an_assumption() -> None:
    both = world(("x", 0, "10"), ("x", 1, "11"), ("y", 0, "10"), ("y", 1, "11"))
    job = joined(both, on=node()._replace(name=None))
    assert placed(job) == ["GPU0", "GPU1", None, None]
    assert any("x is this node" in one.text for one in job.assumptions)


def test_containers_with_different_gpus_of_the_node_are_on_it() -> None:
    job = joined(world(("pod-0", 0, "10"), ("pod-1", 0, "13")))
    assert placed(job) == ["GPU0", "GPU3"]
    assert (job.hosts, job.nodes) == (("pod-0", "pod-1"), 1)
    assert any("containers on one node" in one.text for one in job.assumptions)


def test_a_host_with_one_strange_bus_lends_none_of_its_ranks() -> None:
    job = joined(world(("a", 0, "10"), ("a", 1, "77")))
    assert job.communicator is None
    assert [one.buses for one in job.foreign] == [("0000:10:00.0", "0000:77:00.0")]
    assert (job.nccl, job.source, job.hops) == (None, None, ())


def test_without_bus_ids_numbers_are_an_assumption() -> None:
    old = joined(world(("a", 3, None), ("a", 1, None)))
    assert placed(old) == ["GPU3", "GPU1"]
    assert any("NVML index" in one.text for one in old.assumptions)
    for unclear in (world(("a", 0, None), ("b", 1, None)), world(("a", 1, None), ("a", 1, None)),
                    world(("a", 0, None), ("a", 9, None))):  # fmt: skip
        assert set(placed(joined(unclear))) <= {None, "GPU0", "GPU1", "GPU2", "GPU3"}
        assert all(one.basis in ("", "order") for one in joined(unclear).ranks)


def test_what_is_asked_goes_before_the_log_and_the_log_before_the_node() -> None:
    said = world(("a", 0, "10"), ("a", 1, "11"))
    assert joined(said).basis == "nccl-log.txt"
    asked = joined(said, gpus=("GPU2", "GPU3"))
    assert (asked.gpus, asked.basis) == (("GPU2", "GPU3"), "--gpus")
    alone = join(node(), [], Asked())
    assert (alone.gpus, alone.narrowed) == (("GPU0", "GPU1", "GPU2", "GPU3"), False)


def test_a_log_alone_names_the_gpus_of_its_one_host() -> None:
    job = join(None, [heard(JobText(nranks=2, first_gpu=2).lines())], Asked())
    assert [(gpu.id, gpu.pci) for gpu in job.node.gpus] == [("GPU2", "0000:3d:00.0"), ("GPU3", "0000:3e:00.0")]
    assert job.from_log
    two_hosts = join(None, [spoken(world(("a", 0, "10"), ("b", 0, "10")))], Asked())
    assert two_hosts.node.gpus == ()


def test_hops_are_pairs_of_the_nodes_gpus_each_transport_once() -> None:
    peers = (
        PeerRecord(0, 1, "P2P", "P2P/CUMEM", line=5),
        PeerRecord(1, 0, "P2P", "P2P/CUMEM", line=6),
        PeerRecord(0, 1, "SHM", "SHM/direct/direct", line=7),
        PeerRecord(1, 2, "NET", "NET/IB/0", "send", line=8),
    )
    job = joined(world(("node-a", 0, "10"), ("node-a", 1, "11"), ("node-b", 0, "10"), peers=peers))
    assert [(hop.a, hop.b, hop.kind, hop.line) for hop in job.hops] == [
        ("GPU0", "GPU1", "P2P", 5), ("GPU0", "GPU1", "SHM", 7),
    ]  # fmt: skip


def test_groups_are_consecutive_ranks_whatever_the_gpus_are() -> None:
    job = joined(world(("a", 0, "10"), ("a", 1, "12"), ("a", 2, "11"), ("a", 3, "13")), tensor_parallel=2)
    assert [(one.number, one.gpus, one.ranks) for one in job.groups] == [
        (0, ("GPU0", "GPU2"), (0, 1)), (1, ("GPU1", "GPU3"), (2, 3)),
    ]  # fmt: skip
    assert [one.seen.cross_package for one in job.groups] == [True, True]


def test_the_size_of_groups_is_what_the_launcher_says() -> None:
    lines = [*nccl_log((0, 1, 2, 3), buses=BUSES), "vllm serve model --tensor-parallel-size 2"]
    job = join(node(), [heard(lines)], Asked())
    assert (job.tensor_parallel, len(job.groups)) == (2, 2)
    asked = join(node(), [heard(lines)], Asked(tensor_parallel=4))
    assert (asked.tensor_parallel, len(asked.groups)) == (4, 1)


def test_the_communicator_of_the_most_ranks_here_is_judged() -> None:
    small, large = world(("a", 0, "10")), world(("a", 1, "11"), ("a", 2, "12"))
    job = joined(small, large)
    assert job.gpus == ("GPU1", "GPU2")
    assert joined(small, large, gpus=("GPU0",)).communicator == small.communicators[0]


# Measured


def runs(*made: tuple[Sequence[int], float]) -> list[tuple[str, BenchmarkRecord]]:
    lines = [line for gpus, rate in made for line in all_reduce_perf({1 << 20: 1.0, 1 << 30: rate}, gpus, BUSES)]
    return [("run", one) for one in read(lines).benchmarks]


def test_the_best_row_counts_and_of_runs_that_of_the_jobs_size() -> None:
    found = runs(((0, 1), 208.0), ((0, 1, 2), 20.0))
    assert [one[2] for one in (measured(found), measured(found, 2), measured(found, 3)) if one] == [20, 208, 20]
    assert measured(found, 4) is None


def test_another_test_than_all_reduce_does_not_count() -> None:
    [(source, run)] = runs(((0, 1), 208.0))
    assert measured([(source, run._replace(test="alltoall_perf"))]) is None


def test_a_benchmark_is_placed_by_bus_and_one_of_other_buses_is_foreign() -> None:
    own = join(node(), [heard(all_reduce_perf({1 << 30: 20.0}, (2, 3), BUSES))], Asked())
    assert (own.gpus, own.measured) == (("GPU2", "GPU3"), 20)
    other = join(node(), [heard(all_reduce_perf({1 << 30: 20.0}, (2, 3)))], Asked())
    assert (other.measured, other.runs, other.narrowed) == (None, (), False)
    assert [one.buses for one in other.foreign] == [("0x44", "0x5b")]


def test_two_domains_may_share_a_bus_number_and_then_it_names_no_gpu() -> None:
    on = node()
    doubled = on._replace(gpus=(*on.gpus[:3], on.gpus[3]._replace(pci="0001:12:00.0")))
    job = join(doubled, [heard(all_reduce_perf({1 << 30: 20.0}, (2,), BUSES))], Asked())
    assert job.gpus == ("GPU0",)  # by the device's number, which is an assumption
    assert any("CUDA_VISIBLE_DEVICES unset" in one.text for one in job.assumptions)


# Orders


@pytest.mark.parametrize(
    ("ranks", "order"),
    [
        (("GPU0", "GPU2", "GPU1", "GPU3"), ("GPU0", "GPU1", "GPU2", "GPU3")),
        (("GPU0", "GPU1", "GPU2", "GPU3"), None),
        (("GPU3", "GPU2", "GPU1", "GPU0"), None),
    ],
)
def test_an_order_is_named_where_its_worst_group_is_better(
    ranks: tuple[str, ...], order: tuple[str, ...] | None
) -> None:
    assert better_order(Diagnosis(joined(gpus=ranks, tensor_parallel=2))) == order


# Several nodes


def named(name: str, buses: Sequence[str]) -> NodeTopology:
    on = node()
    gpus = tuple(gpu._replace(pci=f"0000:{bus}:00.0") for gpu, bus in zip(on.gpus, buses))
    return on._replace(name=name, gpus=gpus)


def test_of_several_nodes_the_one_that_the_log_is_of_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    both = (named("n1", BUSES), named("n2", ("20", "21", "22", "23")))
    monkeypatch.setattr("gputopo.inspection.nodes", lambda pieces, assume=None: both)
    evidence = sorted_evidence([], [("job.log", nccl_log((0, 1), buses=("22", "23")))])
    found = diagnoses(evidence._replace(of_nodes=(Piece("two nodes", b""),)), Wanted())
    assert [(one.node.name, one.job.gpus) for one in found] == [("n2", ("GPU2", "GPU3"))]


def test_a_job_in_an_example_is_as_a_log_says_it() -> None:
    """The helper of the rules' examples says what a log of its kind says."""
    made, said = log(0, 1), read(nccl_log((0, 1), buses=BUSES, host="node-a")).nccl[0]
    assert [(one.rank, one.pci) for one in made.communicators[0].ranks] == [
        (one.rank, one.pci) for one in said.communicators[0].ranks
    ]
    assert made.version == said.version


def test_communicators_of_another_node_in_the_log_of_a_job_over_both_are_no_foreign_log() -> None:
    here, there = world(("node-a", 0, "10"), ("node-a", 1, "11")), world(("node-b", 0, "70"), ("node-b", 1, "71"))
    job = joined(here, there)
    assert (job.gpus, job.foreign) == (("GPU0", "GPU1"), ())


def test_a_log_of_another_node_is_named_once_however_many_communicators_it_has() -> None:
    job = joined(*(world(("node-b", 0, f"{bus:x}")) for bus in range(0x20, 0x60)))
    assert [one.buses for one in job.foreign] == [("0000:20:00.0",)]


def test_a_log_of_thousands_of_communicators_is_read_in_one_pass() -> None:
    """Each part looks at the communicators of its own process, not at all: the work grows with the log, not faster."""
    from sys import setprofile

    def calls(count: int) -> int:
        lines = [
            line
            for at in range(count)
            for line in (
                *nccl_log((0, 1), host=f"h{at}", first_pid=10 * at + 1, comm_id=f"0x{at:x}")[:4],
                f"g{at}:7:8 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM",  # of which communicator?
            )
        ]
        seen = 0

        def counted(frame: object, event: str, argument: object) -> None:
            nonlocal seen
            seen += event == "call"

        setprofile(counted)
        try:
            read(lines)
        finally:
            setprofile(None)
        return seen

    assert calls(120) < 2.6 * calls(60)
