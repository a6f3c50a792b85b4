"""Logs of jobs as NCCL 2.27 and nccl-tests print them, and what names the GPUs of their nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

# Of the node in docs: an HGX H100 as DGX H100 numbers its buses.
HGX_BUSES = ("0f", "2d", "44", "5b", "89", "a8", "c0", "d8")
OTHER_BUSES = ("1b", "43", "52", "61", "9d", "c3", "d1", "df")


def gpus_csv(buses: Sequence[str] = HGX_BUSES, model: str = "NVIDIA H100 80GB HBM3") -> str:
    """`nvidia-smi --query-gpu=index,uuid,pci.bus_id,name --format=csv`."""
    rows = [f"{at}, {uuid(at)}, 00000000:{bus.upper()}:00.0, {model}\n" for at, bus in enumerate(buses)]
    return "index, uuid, pci.bus_id, name\n" + "".join(rows)


def uuid(number: int) -> str:
    return f"GPU-00000000-0000-4000-8000-{number:012d}"


def nccl_log(
    gpus: Sequence[int], *, via: str = "P2P/CUMEM", env: Mapping[str, str] | None = None, host: str = "gpu-a17",
    buses: Sequence[str] = HGX_BUSES, first_pid: int = 200, comm_id: str = "0x1f", nvls: int = 0, nodes: int = 1,
    indices: Sequence[int] | None = None,
) -> list[str]:  # fmt: skip
    """One job of a process a rank in a ring. `indices`: NVML's, which in a container are its own."""
    size = len(gpus)
    numbers = list(indices) if indices is not None else list(gpus)
    lines = ["NCCL version 2.27.3+cuda12.9"]
    heads = [f"{host}:{first_pid + rank}:{first_pid + rank + 50} [{rank}] NCCL INFO " for rank in range(size)]
    comms = [
        f"ncclCommInitRank comm 0x{first_pid:x}{rank:03x} rank {rank} nranks {size} cudaDev {rank} "
        f"nvmlDev {numbers[rank]} busId {buses[gpu]}000 commId {comm_id}"
        for rank, gpu in enumerate(gpus)
    ]
    for name, value in (env or {}).items():
        lines += [f"{head}{name} set by environment to {value}" for head in heads]
    for rank, (head, comm) in enumerate(zip(heads, comms)):
        lines.append(f"{head}{comm} - Init START")
        place = f"nNodes {nodes} localRanks {size} localRank {rank} MNNVL 0"
        lines.append(f"{head}comm 0x{first_pid:x}{rank:03x} rank {rank} nRanks {size} {place}")
    for rank, head in enumerate(heads):
        after = (rank + 1) % size
        ends = f"{rank}[{numbers[rank]}] -> {after}[{numbers[after]}]"
        lines += [f"{head}Channel {channel:02}/0 : {ends} via {via}" for channel in range(2)]
        counts = f"24 coll channels, 24 collnet channels, {nvls} nvls channels"
        lines.append(f"{head}{counts}, 32 p2p channels, 32 p2p channels per peer")
    return lines + [f"{head}{comm} - Init COMPLETE" for head, comm in zip(heads, comms)]


def all_reduce_perf(rates: Mapping[int, float], gpus: Sequence[int], buses: Sequence[str] = HGX_BUSES) -> list[str]:
    """nccl-tests' output; `rates`: bytes → GB/s of bus bandwidth."""
    ranks = [
        f"#  Rank {rank:2} Group  0 Pid   2001 on    gpu-a17 device {rank:2} [0x{buses[gpu]}] NVIDIA H100 80GB HBM3"
        for rank, gpu in enumerate(gpus)
    ]
    rows = [
        f"{size:12} {size // 4:12}     float     sum      -1    {size / rate / 1e3:.1f}  {rate:.2f}  {rate:.2f}      0"
        f"    {size / rate / 1e3:.1f}  {rate:.2f}  {rate:.2f}      0"
        for size, rate in rates.items()
    ]
    mean = sum(rates.values()) / len(rates)
    return [
        f"$ ./build/all_reduce_perf -b 8M -e 8G -f 2 -g {len(gpus)}",
        "# nThread 1 nGpus 4 minBytes 8388608 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20",
        "# Using devices", *ranks,
        "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong",  # noqa: E501
        *rows, "# Out of bounds values : 0 OK", f"# Avg bus bandwidth    : {mean:.3f}",
    ]  # fmt: skip


def text(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
