"""Two forms are equal exactly where two graphs are isomorphic: checked against every permutation of small ones."""

from __future__ import annotations

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as some

from gputopo.fleet.canonical import Graph, canonical


@some.composite
def graphs(draw: some.DrawFn, size: int = 5) -> Graph:
    colours = tuple(draw(some.sampled_from("ab")) for _ in range(size))
    edges = []
    for a in range(size):
        for b in range(size):
            label = draw(some.sampled_from(["", "", "x", "y"])) if a != b else ""
            if label:
                edges.append((a, b, label))
    return Graph(colours, tuple(edges))


def permuted(graph: Graph, order: tuple[int, ...]) -> Graph:
    """Vertex v becomes order[v]."""
    colours = [""] * len(order)
    for old, new in enumerate(order):
        colours[new] = graph.colours[old]
    return Graph(tuple(colours), tuple(sorted((order[a], order[b], label) for a, b, label in graph.edges)))


def plain(graph: Graph) -> Graph:
    return Graph(graph.colours, tuple(sorted(graph.edges)))


@given(graphs(), graphs())
def test_equal_forms_are_isomorphic_graphs_and_no_others(one: Graph, other: Graph) -> None:
    isomorphic = any(permuted(one, order) == plain(other) for order in permutations(range(5)))
    assert (canonical(one).form == canonical(other).form) == isomorphic


@given(graphs(), some.permutations(range(5)))
def test_the_order_of_vertices_changes_nothing(graph: Graph, order: list[int]) -> None:
    found, again = canonical(graph), canonical(permuted(graph, tuple(order)))
    assert found.form == again.form
    assert found.exact
    # The order says how: vertex by vertex the two graphs are the same.
    there = {order[a]: b for a, b in zip(found.order, again.order)}
    assert permuted(permuted(graph, tuple(order)), tuple(there[at] for at in range(5))) == permuted(graph, tuple(order))


def ring(size: int, *chords: tuple[int, int]) -> Graph:
    pairs = [(at, (at + 1) % size) for at in range(size)] + list(chords)
    return Graph(("v",) * size, tuple(sorted({(a, b, "e") for a, b in pairs} | {(b, a, "e") for a, b in pairs})))


def test_graphs_that_refinement_alone_cannot_tell_apart() -> None:
    """One ring of six and two of three: every vertex has two neighbours in both."""
    threes = ((0, 1, 2), (3, 4, 5))
    two = Graph(("v",) * 6, tuple(sorted((a, b, "e") for part in threes for a, b in permutations(part, 2))))
    assert canonical(ring(6)).form != canonical(two).form
    assert canonical(ring(6)).form == canonical(permuted(ring(6), (3, 1, 4, 0, 5, 2))).form


def test_a_cube_of_sixteen_is_canonised_within_the_limit() -> None:
    """The NVLink mesh of two DGX-1 in one box would be as regular as this: 384 automorphisms."""
    edges = {(a, a ^ (1 << bit), "e") for a in range(16) for bit in range(4)}
    cube = Graph(("v",) * 16, tuple(sorted(edges)))
    turned = permuted(cube, (7, 2, 9, 14, 0, 11, 5, 3, 12, 1, 15, 8, 6, 13, 10, 4))
    assert canonical(cube).exact
    assert canonical(cube).form == canonical(turned).form
