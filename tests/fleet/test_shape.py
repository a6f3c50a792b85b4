"""The shape of a node: the same under every renaming, another one where a link, a NUMA node or a NIC differs."""

from __future__ import annotations

import json
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from gputopo.documents.load import loads
from gputopo.evidence.open import open_sources
from gputopo.evidence.piece import Piece
from gputopo.fleet.shape import outline, shape_of
from gputopo.inspection import nodes
from gputopo.sample_files import sample_names
from gputopo.terms.path_level import PathLevel
from gputopo.topology.node import NodeTopology
from tests.fleet.relabel import relabelled
from tests.machines import Spelled


@cache
def sample(name: str) -> NodeTopology:
    return nodes(open_sources([f"sample:{name}"]))[0]


@pytest.mark.parametrize("name", sample_names())
@given(seed=some.integers(0, 10**6))
@settings(max_examples=8)
def test_every_relabelling_of_a_node_has_its_shape(name: str, seed: int) -> None:
    node = sample(name)
    found = shape_of(node)
    assert found.exact
    assert shape_of(relabelled(node, seed)[0]) == found._replace(order=shape_of(relabelled(node, seed)[0]).order)


def test_all_samples_differ() -> None:
    found = {shape_of(sample(name)).fingerprint for name in sample_names()}
    assert len(found) == len(sample_names())


@given(name=some.sampled_from([name for name in sample_names() if name != "single-gpu"]), data=some.data())
@settings(max_examples=60)
def test_one_pair_that_differs_is_another_shape(name: str, data: some.DataObject) -> None:
    """No other pair becomes what this one was, so that no renaming makes up for it."""
    node = sample(name)
    at = data.draw(some.integers(0, len(node.pairs) - 1))
    old = node.pairs[at]
    if old.nvlinks:
        new = old._replace(nvlinks=old.nvlinks + 1, level=f"NV{old.nvlinks + 1}")
    else:
        level = data.draw(some.sampled_from([one for one in PathLevel if (one,) != old.pcie_candidates]))
        new = old._replace(pcie=level, pcie_candidates=(level,), level=level.name)
    other = node._replace(pairs=(*node.pairs[:at], new, *node.pairs[at + 1 :]))
    assert shape_of(other).fingerprint != shape_of(node).fingerprint
    assert shape_of(relabelled(other, 5)[0]).fingerprint == shape_of(other).fingerprint


def test_a_nic_a_numa_node_or_a_socket_more_or_elsewhere_is_another_shape() -> None:
    node = sample("hgx-h100")
    assert node.nics is not None
    assert node.numa_nodes is not None
    gpu = node.gpus[0]
    changed = [
        node._replace(nics=node.nics[1:]),
        node._replace(nics=None),
        node._replace(gpus=(gpu._replace(numa_nodes=(1,)), *node.gpus[1:])),
        node._replace(gpus=(gpu._replace(numa_nodes=None), *node.gpus[1:])),
        node._replace(gpus=(gpu._replace(packages=("PKG1",)), *node.gpus[1:])),
        node._replace(gpus=(gpu._replace(name="NVIDIA H20"), *node.gpus[1:])),
        node._replace(numa_nodes=node.numa_nodes[:1]),
        node._replace(packages=None),
    ]
    found = {shape_of(one).fingerprint for one in (node, *changed)}
    assert len(found) == 1 + len(changed)


def test_links_that_one_side_lists_otherwise_are_another_shape(spelled: Spelled) -> None:
    path = spelled("dgx1-v100")["nvml-recording"]
    node = nodes(open_sources([str(path)]))[0]
    first = node.gpus[0]
    assert first.links
    other = node._replace(gpus=(first._replace(links=first.links[1:]), *node.gpus[1:]))
    assert shape_of(other).fingerprint != shape_of(node).fingerprint
    assert shape_of(relabelled(node, 3)[0]).fingerprint == shape_of(node).fingerprint


@pytest.mark.parametrize("name", ["hgx-h100", "gb200-tray", "dgx-a100-nps4"])
def test_a_captured_machine_of_other_addresses_has_its_shape(name: str, spelled: Spelled) -> None:
    path = spelled(name)["sysfs-root"]
    node = nodes(open_sources([str(path)]))[0]
    assert shape_of(relabelled(node, 11)[0]).fingerprint == shape_of(node).fingerprint


def test_the_document_of_a_node_has_its_shape() -> None:
    from gputopo.documents.node import encode

    node = sample("pcie-bridged")
    [again] = loads(json.dumps(encode(node, (), (), provenance=False)), "saved.json")
    assert shape_of(again).form == shape_of(node).form


def test_what_wears_is_no_shape() -> None:
    """A port that is down, another kernel, a name, a UUID."""
    node = sample("hgx-h100")
    assert node.nics is not None
    worn = node._replace(
        name="other", boot_id="x", nics=(node.nics[0]._replace(state="down"), *node.nics[1:]),
        gpus=tuple(gpu._replace(uuid=f"GPU-{gpu.id}", cpus=None) for gpu in node.gpus),
    )  # fmt: skip
    assert shape_of(worn).form == shape_of(node).form


def test_marks_go_with_the_device() -> None:
    """GPU0 and GPU3 are alike on this machine, GPU0 and GPU4 too; two of one socket are not two of two sockets."""
    node = sample("hgx-h100")

    def held(*gpus: str) -> str:
        return shape_of(node, marks=dict.fromkeys(gpus, "held")).fingerprint

    assert held("GPU0") == held("GPU3") == held("GPU4")
    assert held("GPU0", "GPU3") == held("GPU5", "GPU6")
    assert held("GPU0", "GPU3") != held("GPU0", "GPU4")
    assert held() != held("GPU0")
    assert shape_of(node, frame="restricted").fingerprint != shape_of(node).fingerprint


def test_the_outline_counts_what_is_known() -> None:
    assert outline(sample("hgx-h100")) == (8, (), 2, 2, 10)
    assert outline(nodes((Piece("x", b"GPU0\tGPU1\nGPU0\t X \tPIX\nGPU1\tPIX\t X \n"),))[0]).packages is None
