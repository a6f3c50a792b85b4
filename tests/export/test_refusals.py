"""What the evidence lacks is refused with exit 3 and what settles it, or left out with a comment."""

from __future__ import annotations

import pytest

from gputopo.cli import run
from gputopo.errors import GputopoError
from gputopo.export import Choices, export
from gputopo.export.kube_yaml import render
from gputopo.parsers import nccl_xml
from gputopo.records import MigRecord, Pcie
from gputopo.topology.node import Gpu, NodeTopology, Pair
from tests.export.test_machines import node_of
from tests.machines import Spelled


@pytest.mark.parametrize(
    ("to", "what"),
    [
        ("nccl-xml", "PCI address unknown (GPU0, GPU1, GPU2, and 5 more)"),
        ("gres.conf", "device minor unknown (GPU0, GPU1, GPU2, and 5 more)"),
        ("resourceslice", "device minor unknown (GPU0, GPU1, GPU2, and 5 more)"),
        ("koordinator", "device minor unknown (GPU0, GPU1, GPU2, and 5 more)"),
    ],
)
def test_a_matrix_alone_names_no_device(to: str, what: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", "--to", to, "sample:hgx-h100"]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[0] == f"gputopo: error: {what}"
    assert err.splitlines()[1].endswith(" settles it")


def test_a_matrix_gives_the_features_it_holds(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", "--to", "nfd", "sample:hgx-h100"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "feature.node.kubernetes.io/gputopo-gpu.nvlink=switch" in lines
    assert "# gputopo-gpu.product: not in the evidence" in lines


def refused(node: NodeTopology, to: str) -> str:
    with pytest.raises(GputopoError) as caught:
        export(node, to, Choices())
    assert caught.value.exit_code == 3
    return caught.value.what


def test_a_slice_and_a_device_need_the_node_s_name(spelled: Spelled) -> None:
    node = node_of("4x4090", spelled)
    assert refused(node, "resourceslice") == "the node's name is unknown"
    assert refused(node, "koordinator") == "the node's name is unknown"


@pytest.mark.parametrize("to", ["gres.conf", "resourceslice"])
def test_mig_devices_have_names_that_no_evidence_holds(to: str, spelled: Spelled) -> None:
    node = node_of("4x4090", spelled)
    divided = node._replace(gpus=(node.gpus[0]._replace(mig=(MigRecord(),)), *node.gpus[1:]))
    assert refused(divided, to).startswith("GPUs with MIG devices: ")


@pytest.mark.parametrize("to", ["nccl-xml", "gres.conf", "resourceslice", "koordinator"])
def test_other_vendors_have_other_files(to: str) -> None:
    assert refused(NodeTopology(gpus=(Gpu("GPU0", vendor="amd"),)), to) == f"{to} is for NVIDIA GPUs"


def test_one_minor_on_two_gpus_is_refused(spelled: Spelled) -> None:
    node = node_of("4x4090", spelled)
    twice = node._replace(gpus=tuple(gpu._replace(minor=0) for gpu in node.gpus))
    assert refused(twice, "gres.conf") == "device minor is the same for several GPUs"


def test_a_gpu_without_a_place_in_the_tree_is_refused(spelled: Spelled) -> None:
    node = node_of("4x4090", spelled)
    assert refused(node._replace(bridges=()), "nccl-xml") == "place in the PCI tree unknown"
    assert refused(node._replace(gpus=tuple(gpu._replace(numa_nodes=(0, 1)) for gpu in node.gpus)), "nccl-xml") == (
        "NUMA node unknown"
    )


def test_the_speed_of_an_idle_link_is_not_written(spelled: Spelled) -> None:
    node = node_of("4x4090", spelled)
    idle = node._replace(gpus=tuple(gpu._replace(pcie=Pcie(1, 16)) for gpu in node.gpus))
    [found] = nccl_xml.parse(export(idle, "nccl-xml", Choices()))
    assert [gpu.pcie for gpu in found.gpus or ()] == [None] * len(node.gpus)


def test_unknown_nvlinks_are_not_written_as_none(spelled: Spelled) -> None:
    node = node_of("4x4090", spelled)
    silent = tuple(gpu._replace(nvlinks=None, links=()) for gpu in node.gpus)
    pairs = tuple(pair._replace(nvlinks=None) for pair in node.pairs)
    [found] = nccl_xml.parse(export(node._replace(gpus=silent, pairs=pairs), "nccl-xml", Choices()))
    assert [gpu.pci for gpu in found.gpus or ()]
    assert all(gpu.nvlinks_active is None for gpu in found.gpus or ())


def test_links_are_left_out_whole_where_one_is_not_known(spelled: Spelled) -> None:
    node = node_of("4x4090", spelled)
    first, *others = node.pairs
    text = export(node._replace(pairs=(Pair(first.a, first.b), *others)), "gres.conf", Choices())
    assert "Links=" not in text
    assert "# Links left out: " in text


def test_a_slice_without_a_tree_has_no_root_and_says_so(spelled: Spelled) -> None:
    node = node_of("4x4090", spelled)._replace(bridges=())
    text = export(node, "resourceslice", Choices(node_name="n"))
    assert "resource.kubernetes.io/pcieRoot:" not in text
    assert "resource.kubernetes.io/pcieRoot" in text.splitlines()[1]


def test_what_an_unread_version_publishes_is_not_known(spelled: Spelled) -> None:
    node = node_of("4x4090", spelled)
    with pytest.raises(GputopoError, match=r"what version 9\.1 publishes is not known"):
        export(node, "resourceslice", Choices("n", "9.1"))


@pytest.mark.parametrize(
    "arguments",
    [
        ["--to", "nfd", "--driver-version", "0.4.1"],
        ["--to", "nfd", "--threads-per-core", "2"],
        ["--to", "gres.conf", "--threads-per-core", "0"],
        ["--to", "slurm"],
        [],
    ],
    ids=" ".join,
)
def test_wrong_options_are_exit_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", *arguments, "sample:hgx-h100"]) == 2
    assert capsys.readouterr().err.startswith("gputopo: error: ")


def test_yaml_texts_that_look_like_other_things_are_quoted() -> None:
    import yaml

    body = {"a": "yes", "b": "1e3", "c": "0000:0b:00.0", "d": [{"e": "null", "on": 'x"y: #'}], "f": {}, "g": True}
    assert yaml.safe_load(render(body)) == body
