"""The picture of a terminal, as it is printed."""

from __future__ import annotations

import re

import pytest

from gputopo.reports.picture.compose import compose
from gputopo.reports.picture.terminal import render
from gputopo.reports.sanitise import width
from gputopo.reports.style import Style
from gputopo.sample_files import sample_names
from tests.draw import hostile
from tests.draw.made import machine, node_of

CUBE = """\
socket 0  GenuineIntel x86_64
└─ NUMA 0  CPUs 0-19,40-59 (40)
   └─ [PHB]
      ├─ [PIX]
      │  ├─ GPU0 <A> ──────────────1─────1─────2──2
      │  ├─ GPU1 ──────────────────1──2──┼──1──┼──┼──2
      │  └─ mlx5_0                    │  │  │  │  │  │
      └─ [PIX]                        │  │  │  │  │  │
         ├─ GPU2 ──────────────────2──2──1──┼──┼──┼──┼──1
         ├─ GPU3 ──────────────────2────────1──2──┼──┼──┼──1
         └─ mlx5_1                                │  │  │  │
socket 1  GenuineIntel x86_64                     │  │  │  │
└─ NUMA 1  CPUs 20-39,60-79 (40)                  │  │  │  │
   └─ [PHB]                                       │  │  │  │
      ├─ [PIX]                                    │  │  │  │
      │  ├─ GPU4 ──────────────────1─────1─────2──2  │  │  │
      │  ├─ GPU5 <A> ──────────────1──2──┼──1──┼─────2  │  │
      │  └─ mlx5_2                    │  │  │  │        │  │
      └─ [PIX]                        │  │  │  │        │  │
         ├─ GPU6 ──────────────────2──2──1──┼──┼────────1  │
         ├─ GPU7 ──────────────────2────────1──2───────────1
         └─ mlx5_3
"""


def drawn(source: str, **asked: tuple[str, ...]) -> list[str]:
    return render(compose(node_of(source), **asked), Style(80)).splitlines()


def test_a_hybrid_cube() -> None:
    """NVLinks as in the DGX-1 User Guide: 0-3, 0-4, 1-2, 1-5, 2-3, 4-7, 5-6, 6-7 are two links, the others one."""
    lines = drawn("sample:dgx1-v100", highlight=("GPU0", "GPU5"))
    assert lines[0].split("   ") == ["sample:dgx1-v100", "8 GPUs · 2 sockets · 2 NUMA nodes · 4 NICs"]
    start = lines.index("socket 0  GenuineIntel x86_64")
    assert "\n".join(lines[start : start + len(CUBE.splitlines())]) + "\n" == CUBE
    assert "<A> GPU0, GPU5, crosses sockets (1+1), weakest pair GPU0-GPU5 SYS" in lines


def test_a_fabric_is_one_rail() -> None:
    lines = drawn("sample:hgx-h100")
    assert sum(line.endswith("─18") for line in lines) == 8
    assert "║ NVSwitch fabric: 18 links from each GPU (GPU0-GPU7)" in lines


@pytest.mark.parametrize("name", sample_names())
@pytest.mark.parametrize("columns", [80, 120])
def test_no_line_is_wider(name: str, columns: int) -> None:
    node = node_of(f"sample:{name}")
    picture = compose(node, highlight=tuple(gpu.id for gpu in node.gpus[:4]))
    for unicode in (True, False):
        text = render(picture, Style(columns, False, unicode))
        assert max(map(width, text.splitlines())) <= columns
        assert unicode or text.isascii()
        devices = re.findall(r"[─-] ([A-Za-z]\S*)", text.partition("\n\n")[2].partition("\n\n")[0])
        assert sorted(one for one in devices if one.startswith("GPU")) == sorted(gpu.id for gpu in node.gpus)


def test_what_does_not_fit_as_rails_is_told_in_words() -> None:
    node = machine(gpus=8, links="none")
    mesh = tuple(
        pair._replace(nvlinks=1, via_switch=False) if {pair.a[:3], pair.b[:3]} == {"GPU"} else pair
        for pair in node.pairs
    )
    text = render(compose(node._replace(pairs=mesh)), Style(80))
    assert "NV1: GPU0-GPU1 GPU0-GPU2" in text
    assert max(map(width, text.splitlines())) <= 80


def test_wide_and_foreign_letters() -> None:
    made = machine(gpus=2, nics=2)
    name = "機種" * 60 + " Größe " + "е" * 90
    nics = tuple(nic._replace(device=name) for nic in made.nics or ())
    picture = compose(made._replace(name=name, nics=nics, gpus=tuple(one._replace(name=name) for one in made.gpus)))
    for unicode in (True, False):
        lines = render(picture, Style(80, False, unicode)).splitlines()
        assert max(map(width, lines)) <= 80
        assert unicode or all(line.isascii() for line in lines)


def test_hostile_names() -> None:
    text = render(compose(hostile.node()), Style(80, True, True))
    plain = text
    for code in ("\x1b[1m", "\x1b[2m", "\x1b[0m", "\x1b[32m", "\x1b[36m", "\x1b[1;32m", "\x1b[1;35m", "\x1b[1;33m"):
        plain = plain.replace(code, "")
    assert all(line.isprintable() for line in plain.splitlines())
    assert max(map(width, plain.splitlines())) <= 80
