"""Lines of a report keep within their columns, also beside a title that is wider than its place."""

from __future__ import annotations

import pytest

from gputopo.reports.blocks import cell
from gputopo.reports.style import Style
from gputopo.reports.text.flow import cell_width, labelled

SENTENCE = "nvidia-smi topo -m and -mp, every generation, damaged or inside other text, and whatever else people paste"


@pytest.mark.parametrize("title", range(1, 60))
@pytest.mark.parametrize("text", [SENTENCE, "x" * 300, "a " + "y" * 90 + " " + SENTENCE])
def test_no_line_is_wider_than_it_may_be(title: int, text: str) -> None:
    lines = labelled([(cell("t" * title), 10)], [cell(text)], 10, Style(80))
    assert max(cell_width(line) for line in lines) <= 80
    said = "".join(span.text for line in lines for span in line)
    assert said.replace("t" * title, "", 1).replace(" ", "") == text.replace(" ", "")
