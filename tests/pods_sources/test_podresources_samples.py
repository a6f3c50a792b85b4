"""The shared samples of podresources: one content, four JSON spellings and protobuf, as their README says it."""

from __future__ import annotations

from typing import Any

import pytest

from gputopo.holdings import HoldingRecords, MemoryHeld
from gputopo.parsers.podresources import parse, parse_bytes, sniff
from tests.pods_sources.samples import FOLDER, gpu, needs_samples, text

GPU = "nvidia.com/gpu"
JSON = [f"podresources.list.{name}.json" for name in ("protojson", "protonames", "gojson", "emitdefaults")]


def sample_containers() -> list[tuple[Any, ...]]:
    """(namespace, pod, container, devices, CPUs, memory) of each row of the table."""
    shared, mig = "nvidia.com/gpu.shared", "nvidia.com/mig-1g.10gb"
    return [
        ("ml", "trainer-0", "trainer", [(GPU, gpu(1), (0,)), (GPU, gpu(0), (0,))], "8-11,120-123",
         [("memory", 68719476736)]),
        ("ml", "trainer-0", "logger", [], "", []),
        ("ml", "cross-numa-0", "cross-numa",
         [(GPU, gpu(3), (0,)), (GPU, gpu(4), (1,)), (GPU, gpu(5), (1,)), ("rdma/hca_shared_devices_a", "hca-3", None)],
         "", []),
        ("ml", "shared-0", "shared", [(shared, f"{gpu(2)}::3", (0,)), (shared, f"{gpu(2)}::0", (0,))], "", []),
        ("ml", "mig-0", "mig", [(mig, "MIG-00000000-0000-5000-8000-0000000000a1", (0,))], "", []),
        ("ml", "dra-0", "trainer", [("claim:trainer-gpus-x7k2p", "gpu.nvidia.com/node-a/gpu-0", None),
                                    ("claim:trainer-gpus-x7k2p", "gpu.nvidia.com/node-a/gpu-5", None)], "", []),
        ("default", "no-devices-0", "app", [], "", []),
    ]  # fmt: skip


def rows(said: HoldingRecords) -> list[tuple[Any, ...]]:
    return [
        (
            one.namespace, one.pod, one.container,
            [(held.resource, held.id, held.numa_nodes) for held in one.devices or () if not held.by],
            str(one.cpus), [(block.kind, block.size) for block in one.memory or () if block.numa_nodes == (0,)],
        )
        for one in said.containers
    ]  # fmt: skip


@needs_samples
@pytest.mark.parametrize("name", JSON)
def test_the_samples_four_spellings(name: str) -> None:
    assert sniff(text(name))
    [said] = parse(text(name))
    assert rows(said) == sample_containers()
    assert said.containers_complete
    assert said.pods_complete
    cdi = [held.id for held in said.containers[5].devices or () if held.by == "cdi"]
    assert cdi == [f"k8s.gpu.nvidia.com/claim=cccccccc-0000-4000-8000-000000000001-gpu-{n}" for n in (0, 5)]


@needs_samples
def test_the_samples_protobuf() -> None:
    data = (FOLDER / "podresources.list.bin").read_bytes()
    assert len(data) == 1100
    assert parse_bytes(data) == parse(text(JSON[0]))


@needs_samples
def test_the_samples_allocatable_resources() -> None:
    [said] = parse(text("podresources.allocatable.protojson.json"))
    assert [(one.id, one.numa_nodes) for one in said.allocatable or ()] == [(gpu(n), (n // 4,)) for n in range(8)]
    assert str(said.allocatable_cpus) == "1-7"
    assert said.allocatable_memory == (
        MemoryHeld("memory", (0,), 1099511627776), MemoryHeld("memory", (1,), 1099511627776),
        MemoryHeld("hugepages-1Gi", (0,), 0),
    )  # fmt: skip
