"""An NCCL log tells who talks to whom, whichever version, launcher and log viewer it went through."""

from __future__ import annotations

import re

import pytest

from gputopo.jobs import said
from gputopo.nccl_records import CommunicatorRecord, NcclJob, Speaker
from gputopo.parsers.nccl_log import parse, sniff
from tests.parsers.job_texts import Job


def only(text: str) -> NcclJob:
    [job] = parse(text.split("\n"))
    return job


def world(text: str) -> CommunicatorRecord:
    [one] = only(text).communicators
    return one


@pytest.mark.parametrize(
    ("version", "transport", "bracket", "comm_id", "counts"),
    [
        ("2.4.8", "P2P/IPC", "nvmlDev", None, None),
        ("2.6.4", "P2P/IPC", "busId", None, None),
        ("2.8.4", "P2P/IPC/read", "busId", None, (2, None, None)),
        ("2.12.12", "P2P/IPC/read", "busId", None, (2, None, None)),
        ("2.17.1", "P2P/IPC/read", "busId", None, (2, None, 0)),
        ("2.18.1", "P2P/CUMEM/read", "busId", "0x1f", (2, None, 0)),
        ("2.18.5", "P2P/CUMEM/read", "nvmlDev", "0x1f", (2, None, 0)),
        ("2.21.5", "P2P/CUMEM/read", "nvmlDev", "0x1f", (2, 2, 0)),
        ("2.27.3", "P2P/CUMEM/read", "nvmlDev", "0x1f", (2, 2, 0)),
        ("2.30.7", "P2P/CUMEM/read", "nvmlDev", "0x1f", (2, 2, 0)),
        ("2.32.1", "P2P/CUMEM/read", "nvmlDev", "0x1f", (2, 2, 0)),
    ],
)
def test_every_version_gives_ranks_ring_and_transport(
    version: str, transport: str, bracket: str, comm_id: str | None, counts: tuple[int, ...] | None
) -> None:
    job = only(Job(version).text())
    assert (job.version, job.cuda, job.whole, job.gaps) == (version, "12.4", True, ())
    assert (said.transport(job), job.bracket) == (transport, bracket)
    [one] = job.communicators
    assert [(rank.rank, rank.speaker, rank.cuda_device, rank.complete) for rank in one.ranks] == [
        (n, Speaker("node-a", 100 + n), n, True) for n in range(4)
    ]
    addresses = ["0000:1a:00.0", "0000:1b:00.0", "0000:3d:00.0", "0000:3e:00.0"]
    assert [str(rank.pci) for rank in one.ranks] == (addresses if version != "2.4.8" else ["None"] * 4)
    assert [(ring.ranks, ring.channels) for ring in one.rings] == [((0, 1, 2, 3), 2)]
    assert {(peer.sender, peer.receiver, peer.prints) for peer in one.peers} == {(n, (n + 1) % 4, 2) for n in range(4)}
    assert (one.id, one.trees) == (comm_id, 2)
    assert [(found.coll, found.collnet, found.nvls) for found in one.counts] == ([counts] if counts else [])


@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "3: ",  # srun -l
        "[1,3]<stdout>:",  # mpirun --tag-output
        "[default3]:",  # torchrun
        "[rank3]: ",
        "[pod/job-0/worker] ",  # kubectl --prefix
        "2026-01-02T03:04:05.678901234Z ",  # kubectl --timestamps
        "worker-1  | ",  # docker compose
        "[2026-01-02 03:04:05] ",  # NCCL_DEBUG_TIMESTAMP_LEVELS
        "\x1b[36m(RayWorkerWrapper pid=7, ip=192.0.2.1)\x1b[0m ",
        "(VllmWorker rank=3 pid=7) ",
        "\x1b[32mjob-0\x1b[0m \x1b[90mworker\x1b[0m ",  # stern
        " 12%|#2        | 1/8 [00:01<00:07]\r",
    ],
)
def test_words_that_others_put_in_front_change_nothing(prefix: str) -> None:
    job = Job()
    plain = only(job.text())
    dressed = only("".join(f"{prefix}{line}\r\n" for line in job.lines()))
    assert dressed == plain


def test_two_prints_in_one_line_are_two_prints_of_two_processes() -> None:
    lines = Job().lines()
    glued = [*lines[:5], *("".join(pair) for pair in zip(lines[5::2], lines[6::2]))]
    if len(lines) % 2 == 0:
        glued.append(lines[-1])
    got = only("\n".join(glued))
    assert got.whole
    assert [(rank.rank, rank.speaker.pid, str(rank.pci)) for rank in got.communicators[0].ranks] == [
        (rank.rank, rank.speaker.pid, str(rank.pci)) for rank in only("\n".join(lines)).communicators[0].ranks
    ]
    assert {speaker.host for speaker in got.speakers} == {"node-a"}


def test_a_print_cut_by_another_is_said_and_its_transport_is_not_made_up() -> None:
    text = (
        "node-a:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUnode-a:2:2 [1] NCCL INFO Channel 00/0 : "
        "1[1] -> 0[0] via P2P/CUMEM\n"
    )
    job = only("node-a:1:1 [0] NCCL INFO Bootstrap\n" + text)
    assert said.transport(job) == "P2P/CUMEM"
    assert [peer.whole for peer in job.communicators[0].peers] == [False, True]
    assert not job.whole
    assert any("1 line is cut" in gap.reason and gap.line == 2 for gap in job.gaps)


def test_a_host_glued_to_a_print_is_known_from_later_lines() -> None:
    text = "loss 0.5node-a:7:7 [0] NCCL INFO Using network IB\nnode-a:7:7 [0] NCCL INFO Bootstrap : Using eth0\n"
    assert {speaker.host for speaker in only(text).speakers} == {"node-a"}


GRAPH = """\
node-a:7:7 [0] NCCL INFO === System : maxBw 24.0 totalBw 24.0 ===
node-a:7:7 [0] NCCL INFO CPU/0-0 (1/2/-1)
node-a:7:7 [0] NCCL INFO + PCI[24.0] - PCI/0-1000 (1000c0101000a000)
node-a:8:8 [1] NCCL INFO === System : maxBw 24.0 totalBw 24.0 ===
node-a:7:7 [0] NCCL INFO              + PCI[24.0] - GPU/0-2000 (0)
node-a:8:8 [1] NCCL INFO CPU/0-1 (1/1/2)
node-a:7:7 [0] NCCL INFO              + PCI[12.0] - NIC/0-3000
node-a:7:7 [0] NCCL INFO                            + NET[25.0] - NET/0-0 (0/a0b0/1/25.000000)
node-a:7:7 [0] NCCL INFO + SYS[16.0] - CPU/0-1
node-a:7:7 [0] NCCL INFO ==========================================
node-a:7:7 [0] NCCL INFO GPU/0-2000 :GPU/0-2000 (0/5000.0/LOC) GPU/0-41000 (3/16.0/SYS) CPU/0-0 (2/24.0/PHB) NET/0
node-a:7:7 [0] NCCL INFO Pattern 4, crossNic 0, nChannels 2, bw 15.000000/12.500000, type SYS/PIX, sameChannels 1
node-a:7:7 [0] NCCL INFO  0 : NET/0-0 GPU/0-2000 GPU/0-41000 NET/0-0
node-a:7:7 [0] NCCL INFO  1 : NET/0-0 GPU/0-2000 GPU/0-41000 NET/0-0
node-a:7:7 [0] NCCL INFO Could not find a path for pattern 1, falling back to simple order
node-a:7:7 [0] NCCL INFO Pattern 1, crossNic 0, nChannels 1, bw 0.100000/0.100000, type SYS/SYS, sameChannels 0
"""


@pytest.mark.parametrize("old", [False, True])
def test_the_printed_node_and_its_searched_graphs(old: bool) -> None:
    text = GRAPH
    if old:  # until 2.12, and ids without a system before 2.21
        text = re.sub(r"max(Bw)( \S+ total)Bw", r"maxWidth\2Width", text).replace("bw 1", "speed 1")
        text = re.sub(r"/0-([0-9a-f]+)", lambda match: "/" + match[1].upper(), text)
    [one, *_] = only(text).communicators
    [system] = one.systems
    names = [re.sub(r"/0-", "/", name) for link in system.links for name in (link.parent, link.child)]
    tree = "CPU/0 PCI/1000, PCI/1000 GPU/2000, PCI/1000 NIC/3000, NIC/3000 NET/0, CPU/0 CPU/1"
    assert names == tree.replace(",", "").split()
    assert (system.max_bw, system.whole, system.cpus[0].vendor) == (24.0, True, 2)
    assert system.links[0].detail == "1000c0101000a000"
    assert [(path.type, path.gbps) for path in system.paths] == [("LOC", 5000.0), ("SYS", 16.0)]
    ring, fallback = one.searches
    assert (ring.pattern, ring.channels, ring.bw_intra, ring.bw_inter, ring.type_intra) == (4, 2, 15.0, 12.5, "SYS")
    assert len(ring.orders) == 2
    assert (fallback.pattern, fallback.bw_intra, one.fallbacks) == (1, 0.1, ((1, 15),))


@pytest.mark.parametrize(
    ("text", "kind", "fatal"),
    [
        ("include/shm.h:28 NCCL WARN Call to posix_fallocate failed : No space left on device", "shm", True),
        ("misc/shmutils.cc:69 NCCL WARN Error while creating shared memory segment /dev/shm/nccl-x (size 9637888)",
         "shm", True),
        ("misc/shmutils.cc:72 NCCL WARN Error: failed to extend /dev/shm/nccl-x to 9637892 bytes", "shm", True),
        ("graph/xml.h:356 (xmlAddNode) NCCL WARN Error : too many XML nodes (max 256)", "xml-limit", True),
        ("graph/paths.cc:316 NCCL WARN P2P is disabled between NVLINK connected GPUs 1 and 0", "nvlink-p2p", True),
        ("transport/nvls.cc:250 NCCL WARN Cuda failure 1 'invalid argument'", "nvls", False),
        ("graph/xml.cc:419 NCCL WARN Could not find real path of /sys/class/pci_bus/0000:d7/../../0000:d7:00.0",
         "missing-device", False),
        ("init.cc:1 NCCL WARN something new", "", False),
    ],
)  # fmt: skip
def test_warnings_by_kind(text: str, kind: str, fatal: bool) -> None:
    job = only(f"\nnode-a:7:7 [0] {text}\n")
    [warning] = job.warnings
    assert (warning.kind, warning.fatal, warning.line, warning.speaker.pid) == (kind, fatal, 2, 7)
    assert job.shm_needed_bytes in (None, 9637888, 9637892)
    assert job.missing_devices == (("0000:d7:00.0",) if kind == "missing-device" else ())
    assert job.xml_node_limit == (256 if kind == "xml-limit" else None)


def test_settings_network_and_distance() -> None:
    job = only(
        "node-a:7:7 [0] NCCL INFO NCCL version 2.12.12+cuda11.6\n"
        "node-a:7:7 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1.\n"
        "node-a:7:7 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to eth0.\n"
        "node-a:7:7 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE ; OOB eth0:192.0.2.10<0>\n"
        "node-a:7:7 [0] NCCL INFO Using network IB\n"
        "node-a:7:7 [0] NCCL INFO GPU Direct RDMA Disabled for GPU ca000 / HCA 0 (distance 6 > 4)\n"
    )
    assert [(one.name, one.value) for one in job.env] == [
        ("NCCL_P2P_DISABLE", "1"),
        ("NCCL_SOCKET_IFNAME", "eth0."),  # a text has no full stop of its own: this one is the value's
    ]
    assert (said.network(job), job.relaxed_ordering, said.gdr(job)) == ("IB", False, False)
    numbering = said.numbering(job, job.gdr_distances[0])
    assert numbering is not None
    assert numbering.names[6] == "PHB"


def test_what_no_line_says_is_none() -> None:
    job = only("node-a:7:7 [0] NCCL INFO Bootstrap : Using eth0\n")
    assert (job.version, job.bracket, said.transport(job), said.network(job), said.gdr(job)) == (None,) * 5
    assert not sniff("the word NCCL alone, and INFO")
    assert parse(["the word NCCL alone, and INFO"]) == ()
