"""DOT and Mermaid: their own tools accept every sample and every hostile name, and find all devices in it."""

from __future__ import annotations

import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from functools import lru_cache
from pathlib import Path

import pytest

from gputopo.reports.picture import dot, mermaid
from gputopo.reports.picture.compose import compose
from gputopo.sample_files import sample_names
from gputopo.topology.node import NodeTopology
from tests.draw import hostile
from tests.draw.made import machine, node_of

MERMAID = Path(__file__).resolve().parents[2] / "conformance" / "mermaid"


@lru_cache(1)
def machines() -> dict[str, NodeTopology]:
    found = {name: node_of(f"sample:{name}") for name in sample_names()}
    found |= {"hostile": hostile.node(), "tree": machine(4, 8, 16, 18, 9, links="uneven"), "empty": NodeTopology()}
    return found


@pytest.mark.skipif(shutil.which("dot") is None, reason="no graphviz here")
def test_graphviz_draws_every_sample() -> None:
    for name, node in machines().items():
        graph = dot.render(compose(node))  # one by one: graphviz 2.43 breaks down over many files
        done = subprocess.run(["dot", "-Tsvg"], input=graph, capture_output=True, text=True, check=False)
        assert (name, done.returncode, done.stderr) == (name, 0, "")
        root = ElementTree.fromstring(done.stdout)
        nodes = [one for one in root.iter("{http://www.w3.org/2000/svg}g") if one.get("class") == "node"]
        shown = [next((text.text for text in one.iter("{http://www.w3.org/2000/svg}text")), "") for one in nodes]
        for gpu in node.gpus:
            assert shown.count(gpu.id) == 1, (name, gpu.id)
        assert not list(root.iter("{http://www.w3.org/2000/svg}script")), name
        fetched = [one for one in root.iter() if "{http://www.w3.org/1999/xlink}href" in one.attrib]
        assert not [one for one in fetched if one.get("{http://www.w3.org/1999/xlink}href")], name


@pytest.mark.skipif(
    shutil.which("node") is None or not (MERMAID / "node_modules" / "mermaid").is_dir(),
    reason="no Mermaid here: npm install in conformance/mermaid",
)
def test_mermaid_reads_every_sample(tmp_path: Path) -> None:
    for name, node in machines().items():
        (tmp_path / f"{name}.mmd").write_text(mermaid.render(compose(node)))
    files = sorted(map(str, tmp_path.glob("*.mmd")))
    done = subprocess.run(["node", "parse.mjs", *files], capture_output=True, text=True, check=False, cwd=MERMAID)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == len(machines())


def test_labels_of_strangers_stay_labels() -> None:
    """Without any tool: between the quotes there is nothing that ends a label or begins something else."""
    chart = mermaid.render(compose(hostile.node()))
    for label in re.findall(r'"([^"\n]*)"', chart):
        assert re.fullmatch(r"(?:[^<>&\"`%{}\\;]|#[a-z0-9]+;|<br/>)*", label), label
    graph = dot.render(compose(hostile.node()))
    outside = re.sub(r'"(?:[^"\\]|\\.)*"', '""', graph)
    assert not re.search(r"script|alert|HYPERLINK|xxx", outside)
    assert set(re.findall(r"[^\w\s\[\]{}=,;\"#.-]", outside)) == set()


def test_the_edges_of_a_hybrid_cube() -> None:
    node = node_of("sample:dgx1-v100")
    chart, graph = mermaid.render(compose(node)), dot.render(compose(node))
    cables = [pair for pair in node.pairs if pair.nvlinks]
    assert len(cables) == 16
    for text, label in ((chart, '|"NV{}"|'), (graph, 'label="NV{}"')):
        for times in (1, 2):
            assert text.count(label.format(times)) == sum(pair.nvlinks == times for pair in cables)


def test_a_fabric_is_one_node() -> None:
    picture = compose(node_of("sample:hgx-h100"))
    assert mermaid.render(picture).count('|"18"|') == 8
    assert dot.render(picture).count('label="18"') == 8
