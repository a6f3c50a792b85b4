"""NCCL's graph file: what the search found is evidence, its numbers are no devices."""

from __future__ import annotations

import pytest

from gputopo.parsers.nccl_graph import parse, sniff
from gputopo.parsers.unreadable import Unreadable

GRAPHS = """\
<graphs version="1">
  <graph id="0" pattern="4" crossnic="0" nchannels="2" speedintra="20" speedinter="20" typeintra="NVL" typeinter="PIX">
    <channel><net dev="0"/><gpu dev="0"/><gpu dev="1"/><net dev="0"/></channel>
    <channel><gpu dev="1"/><gpu dev="0"/></channel>
  </graph>
  <graph id="1" pattern="9" nchannels="3" speedintra="0"/>
</graphs>
"""


def test_graphs_and_channels_are_observed_in_file_order() -> None:
    [node] = parse(f"log line\n{GRAPHS}")
    assert [(seen.line, seen.text) for seen in node.observations] == [
        (3, "graph 0: ring, 2 channels, 20 GB/s inside the node, 20 GB/s between nodes, paths NVL inside, PIX to NICs"),
        (4, "graph 0, channel 0: net 0, gpu 0, gpu 1, net 0"),
        (5, "graph 0, channel 1: gpu 1, gpu 0"),
        (7, "graph 1: pattern 9, 0 channels, of 3 announced, 0 GB/s inside the node"),
    ]


def test_no_device_comes_of_a_graph_file() -> None:
    [node] = parse(GRAPHS)
    assert node.gpus is None
    assert node.nics is None
    assert [(gap.attribute, gap.settled_by) for gap in node.gaps] == [("gpus", "NCCL_TOPO_DUMP_FILE")]


@pytest.mark.parametrize(
    "text",
    ["", "<graphs>", "<graphs version='1'/>", GRAPHS[:200], '<system version="1"/>',
     '<!DOCTYPE graphs [<!ENTITY a "b">]><graphs version="1"><graph id="&a;"/></graphs>'],
)  # fmt: skip
def test_cut_empty_and_hostile_files_are_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        parse(text)


def test_a_topology_file_is_another_format() -> None:
    assert sniff(GRAPHS)
    assert not sniff('<system version="1"><cpu/></system>')
