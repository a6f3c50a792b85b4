"""A picture can be read and leaves nothing out: no two words meet, nothing leaves the canvas, every device stands
there once, every connection of the model is drawn. For shipped samples, recorded machines and drawn ones."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputopo.reports.picture.compose import compose
from gputopo.reports.picture.layout import layout
from gputopo.reports.picture.parts import Picture
from gputopo.reports.picture.scene import Group, Path, Rect, Scene, Text
from gputopo.sample_files import sample_names
from gputopo.topology.node import NodeTopology
from tests.draw.made import DATA, LINKS, RECORDED, machine, node_of

Area = tuple[float, float, float, float]
SAMPLES = [f"sample:{name}" for name in sample_names()]


def overlap(one: Area, other: Area) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def inside(inner: Area, outer: Area) -> bool:
    return outer[0] <= inner[0] and outer[1] <= inner[1] and inner[2] <= outer[2] and inner[3] <= outer[3]


def area(group: Group) -> Area:
    rect = group.shapes[0]
    assert isinstance(rect, Rect)
    return rect.area


def unreadable(scene: Scene) -> list[str]:
    """What is wrong with the words and shapes of a scene."""
    words = [shape for shape in scene.shapes() if isinstance(shape, Text)]
    canvas = (0.0, 0.0, scene.width, scene.height)
    wrong = [f"{a.text!r} meets {b.text!r}" for a, b in combinations(words, 2) if overlap(a.area, b.area)]
    for shape in scene.shapes():
        points = shape.points if isinstance(shape, Path) else [shape.area[:2], shape.area[2:]]
        wrong += [f"{shape!r} leaves the canvas" for x, y in points if not inside((x, y, x, y), canvas)]
    devices = [group for group in scene.groups if group.kind == "device"]
    wrong += [f"{a.ids} lies on {b.ids}" for a, b in combinations(devices, 2) if overlap(area(a), area(b))]
    for group in scene.groups:
        if group.kind in ("device", "box"):
            own = [shape for shape in group.shapes if isinstance(shape, Text)]
            wrong += [f"{word.text!r} leaves its box" for word in own if not inside(word.area, area(group))]
    return wrong


def left_out(node: NodeTopology, scene: Scene) -> list[str]:
    """What of the model is not in the scene, or more than once."""
    wrong = []
    standing = [id for group in scene.groups if group.kind == "device" for id in group.ids]
    wanted = [one.id for one in (*node.gpus, *(node.nics or ()), *(node.nvme or ()))]
    if sorted(standing) != sorted(wanted):
        wrong.append(f"devices: {sorted(standing)} for {sorted(wanted)}")
        return wrong
    at = {id: area(group) for group in scene.groups if group.kind == "device" for id in group.ids}
    boxes = [group for group in scene.groups if group.kind == "box"]
    bridges = {bridge.id: bridge for bridge in node.bridges}
    for device in (*node.gpus, *(node.nics or ()), *(node.nvme or ())):
        parent, seen = device.parent, 0
        while parent in bridges and seen < 64:
            around = [group for group in boxes if parent in group.ids]
            if around and not any(inside(at[device.id], area(group)) for group in around):
                wrong.append(f"{device.id} is not in the box of {parent}")
            shared = [other.id for other in node.gpus if other.parent == parent and other.id != device.id]
            if shared and not around:
                wrong.append(f"{parent} holds {device.id} and {shared} and has no box")
            parent, seen = bridges[parent].parent, seen + 1
    links = {tuple(sorted(group.ids)): group for group in scene.groups if group.kind == "link"}
    fabrics = [group for group in scene.groups if group.kind == "fabric"]
    gpus = {gpu.id for gpu in node.gpus}
    for pair in node.pairs:
        if not {pair.a, pair.b} <= gpus:
            continue
        many = pair.nvlinks or next((link.times for link in pair.links if link.kind == "xgmi"), 0)
        common = [bar for bar in fabrics if {pair.a, pair.b} <= set(bar.ids)]
        if pair.via_switch and pair.nvlinks != 0:
            ends = [("switch", id) for id in (pair.a, pair.b)]
            drawn = bool(common) and all(tuple(sorted(end)) in links for end in ends)
        else:
            cable = links.get(tuple(sorted((pair.a, pair.b))))
            drawn = not many or bool(common) or (cable is not None and joins(cable, at[pair.a], at[pair.b]))
        if not drawn:
            wrong.append(f"{pair.a}-{pair.b}: {many} links, via switch {pair.via_switch}")
    wrong += [f"{gpu.id}: C2C" for gpu in node.gpus if gpu.c2c and tuple(sorted((gpu.id, "cpu"))) not in links]
    return wrong


def joins(link: Group, one: Area, other: Area) -> bool:
    path = link.shapes[0]
    assert isinstance(path, Path)
    return all(any(inside((x, y, x, y), card) for x, y in path.ends) for card in (one, other))


def misplaced(node: NodeTopology, picture: Picture) -> list[str]:
    """Pairs whose level is not among the letters of the smallest box around both."""
    from gputopo.reports.picture.parts import paths

    around = paths(picture.rooms)
    outside = picture.between.levels if picture.between is not None else ()
    wrong = []
    for pair in node.pairs:
        common = [one for one, other in zip(around[pair.a], around[pair.b]) if one is other]
        letters = common[-1].levels if common else outside
        if (pair.pcie.name if pair.pcie is not None else "?") not in letters:
            wrong.append(f"{pair.a}-{pair.b} {pair.pcie} in {letters}")
    return wrong


def faults(node: NodeTopology, **asked: Any) -> list[str]:
    picture = compose(node, **asked)
    scene = layout(picture)
    return [*unreadable(scene), *left_out(node, scene), *misplaced(node, picture)]


@pytest.mark.parametrize("source", SAMPLES)
def test_a_sample(source: str) -> None:
    node = node_of(source)
    ids = tuple(gpu.id for gpu in node.gpus)
    assert faults(node) == []
    assert faults(node, highlight=(*ids[:2], *ids[-2:]), against=ids[:4]) == []


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_machine(name: str) -> None:
    if not (DATA / name).exists():
        pytest.skip(f"no recorded machines at {DATA}; set GPUTOPO_SHARED")
    node = node_of(str(DATA / name))
    ids = tuple(gpu.id for gpu in node.gpus)
    assert faults(node) == []
    assert faults(node, highlight=ids[:1] + ids[-1:], against=ids[1:3]) == []


@settings(max_examples=40)
@given(
    st.integers(1, 4), st.integers(1, 8), st.integers(1, 16), st.integers(0, 18), st.integers(0, 9), st.booleans(),
    st.sampled_from(LINKS),
)  # fmt: skip
def test_a_machine_of_any_size(
    sockets: int, numa: int, gpus: int, nics: int, nvme: int, tree: bool, links: str
) -> None:  # fmt: skip
    assert faults(machine(min(sockets, numa), numa, gpus, nics, nvme, tree, links)) == []


def test_the_largest_machine() -> None:
    node = machine(4, 8, 16, 18, 8, True, "cables")
    ids = tuple(gpu.id for gpu in node.gpus)
    assert faults(node, highlight=ids[:9], against=ids[7:]) == []


def test_the_checks_find_what_they_should() -> None:
    """Else they would let everything pass."""
    node = machine(gpus=4, nics=2, links="cables")
    scene = layout(compose(node))
    assert unreadable(scene) == left_out(node, scene) == []
    doubled = scene._replace(groups=(*scene.groups, scene.groups[0]))
    assert any("meets" in one for one in unreadable(doubled))
    assert any("leaves the canvas" in one for one in unreadable(scene._replace(height=100)))
    for kind, text in (("device", "devices"), ("link", "links"), ("box", "has no box")):
        less = scene._replace(groups=tuple(group for group in scene.groups if group.kind != kind))
        assert any(text in one for one in left_out(node, less)), kind


@pytest.mark.parametrize(
    ("links", "bars", "cables"),
    [("none", 0, 0), ("cables", 0, 12), ("fabric", 1, 0), ("uneven", 1, 0), ("unclear", 1, 0)],
)
def test_how_nvlinks_are_drawn(links: str, bars: int, cables: int) -> None:
    picture = compose(machine(links=links))
    assert (len(picture.fabrics), len(picture.bundles)) == (bars, cables)


def test_a_wider_line_has_more_links() -> None:
    scene = layout(compose(node_of("sample:dgx1-v100")))
    width = {group.ids: group.shapes[0].width for group in scene.groups if group.kind == "link"}
    assert width["GPU0", "GPU3"] > width["GPU0", "GPU1"]  # NV2, NV1


def test_what_is_not_known_is_dashed() -> None:
    letters = layout(compose(node_of("sample:pcie-2s-8gpu")))
    tree = layout(compose(machine()))
    for scene, dashed in ((letters, True), (tree, False)):
        pci = [group for group in scene.groups if group.kind == "box" and ":" in group.ids[0]]
        assert pci
        assert {shape.dashed for group in pci for shape in group.shapes[:1] if isinstance(shape, Rect)} == {dashed}
