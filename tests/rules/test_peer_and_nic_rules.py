"""GT104, GT105, GT116, GT121 and GT122: refused peer copies, a slow bus under load, NICs shared or slow."""

from __future__ import annotations

import pytest

from gputopo import document, load
from gputopo.terms.path_level import PathLevel
from gputopo.topology.node import Gpu, Mig, Nic, Pair, Pcie

from .nodes import found, node, pair, seen

GEFORCE, L40S = "NVIDIA GeForce RTX 4090", "NVIDIA L40S"


def refused(model: str, level: PathLevel, status: str, **fields: object) -> list[tuple[str, str]]:
    gpus = tuple(Gpu(f"GPU{at}", name=model) for at in range(2))
    one = pair("GPU0", "GPU1", level, p2p={"read": status, "write": status})._replace(**fields)
    made = node(*gpus, pairs=(one,))
    return [(each.rule, each.severity) for code in ("GT104", "GT105") for each in found(code, made)]


@pytest.mark.parametrize(
    ("model", "level", "status", "said"),
    [
        (L40S, PathLevel.PIX, "CNS", [("GT104", "warning")]),  # NCCL would use P2P there
        (L40S, PathLevel.SYS, "CNS", [("GT104", "info")]),  # and here not, by default
        (GEFORCE, PathLevel.PIX, "NS", [("GT104", "info")]),  # a limit of the model
        (L40S, PathLevel.PIX, "GNS", [("GT104", "info")]),  # the same, said by the driver
        (L40S, PathLevel.PIX, "OK", []),
        (L40S, PathLevel.PIX, "U", []),
    ],
)
def test_peer_copies_over_pcie(model: str, level: PathLevel, status: str, said: list[tuple[str, str]]) -> None:
    assert refused(model, level, status, nvlinks=0) == said


def test_of_a_pair_with_nvlink_a_refusal_is_an_error_but_not_in_mig_mode() -> None:
    assert refused("NVIDIA A100", PathLevel.SYS, "NS", nvlinks=4) == [("GT105", "error")]
    one = Pair("GPU0", "GPU1", "NV4", nvlinks=4, p2p={"read": "NS"})
    assert found("GT105", node(Gpu("GPU0", mig=(Mig(uuid="MIG-1"),)), Gpu("GPU1"), pairs=(one,))) == ()
    atomics = one._replace(p2p={"read": "OK", "write": "OK", "atomics": "NS"})
    assert found("GT105", node(Gpu("GPU0"), Gpu("GPU1"), pairs=(atomics,))) == ()


CSV = """index, name, pci.bus_id, pstate, pcie.link.gen.current, pcie.link.gen.max, utilization.gpu [%]
0, NVIDIA A100-PCIE-40GB, 00000000:17:00.0, {0}, 1, 4, {1} %
1, NVIDIA A100-PCIE-40GB, 00000000:31:00.0, P0, 4, 4, 97 %
"""


@pytest.mark.parametrize(("state", "used", "said"), [("P0", 98, [["GPU0"]]), ("P0", 0, []), ("P8", 0, [])])
def test_a_slow_bus_counts_only_while_the_gpu_works(tmp_path: object, state: str, used: int, said: object) -> None:
    from pathlib import Path

    file = Path(str(tmp_path)) / "gpus.csv"
    file.write_text(CSV.format(state, used))
    [read] = load(str(file))
    assert [one["subjects"] for one in document(read)["findings"] if one["rule"] == "GT116"] == said


def test_a_gpu_beside_its_cpu_does_not_live_on_pcie() -> None:
    slow = seen("pcie-slow-at-p0", "GPU0")
    assert [one.severity for one in found("GT116", node(Gpu("GPU0"), observations=(slow,)))] == ["error"]
    assert found("GT116", node(Gpu("GPU0", c2c={"links": 10.0}), observations=(slow,))) == ()


def shared(*more: Gpu, far: PathLevel = PathLevel.PXB, rate: float | None = 200.0) -> list[str]:
    gpus = (Gpu("GPU0", nearest_nics=("mlx5_0",)), Gpu("GPU1", nearest_nics=("mlx5_0",)), *more)
    nics = (Nic("mlx5_0", rate_gbps=200.0), Nic("mlx5_1", rate_gbps=rate))
    pairs = tuple(pair(gpu.id, nic, level) for gpu in gpus
                  for nic, level in (("mlx5_0", PathLevel.PIX), ("mlx5_1", far)))  # fmt: skip
    return [one.severity for one in found("GT121", node(*gpus, nics=nics, pairs=pairs))]


def test_an_idle_nic_on_the_branch_of_two_gpus_that_share_another() -> None:
    assert shared() == ["warning"]
    assert shared(far=PathLevel.NODE) == []  # a storage NIC elsewhere
    assert shared(rate=25.0) == []  # of another kind
    assert shared(Gpu("GPU2", nearest_nics=("mlx5_1",))) == []  # not idle
    assert shared(Gpu("GPU2")) == []  # may be its own


def rates(*gbps: float | None, width: int | None = None) -> list[tuple[str, tuple[str, ...]]]:
    gpus = tuple(Gpu(f"GPU{at}", nearest_nics=(f"mlx5_{at}",)) for at in range(len(gbps)))
    nics = tuple(
        Nic(f"mlx5_{at}", pci=f"0000:{at:02x}:00.0", vendor="0x15b3", rate_gbps=rate,
            pcie=Pcie(4, width, 4, width) if width else None)
        for at, rate in enumerate(gbps)
    )  # fmt: skip
    return [(one.severity, one.subjects) for one in found("GT122", node(*gpus, nics=nics))]


def test_a_rail_slower_than_most_others() -> None:
    assert rates(400, 400, 200) == [("warning", ("mlx5_2",))]
    assert rates(400, 200) == []  # no majority
    assert rates(400, 400, 10) == rates(400, 400, None) == []  # NCCL's placeholder, and not known


def test_a_nic_faster_than_its_slot() -> None:
    assert rates(200, width=16) == []  # 25 of 31.5 GB/s
    assert rates(200, width=8) == [("warning", ("mlx5_0",))]
