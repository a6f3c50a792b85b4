"""Who is odd: the majority of a product group, by hand-made features; and which nodes are one."""

from __future__ import annotations

from gputopo.fleet.features import Features
from gputopo.fleet.odd import compare
from gputopo.fleet.part import Keys, Node
from gputopo.fleet.shape import Outline
from gputopo.fleet.twice import twice

WIDE = {"gpus": "8", "gpus[].pcie.width": ("16", "16")}


def made(
    product: str | None = "HGX", models: tuple[str, ...] = ("H100",), evidence: str = "bundle", **said: object
) -> Features:
    fields = []
    for name, value in said.items():
        values = (("", str(value)),) if not isinstance(value, tuple) else tuple(
            (str(at), str(one)) for at, one in enumerate(value)
        )  # fmt: skip
        fields.append((name.replace("__", "[].").replace("_", "."), values))
    form = f"{evidence} {fields}"
    return Features(product, models, evidence, form[:12], True, form, Outline(8, models, 2, 2, 8), tuple(fields))


def fleet(*rows: tuple[int, Features]) -> dict[Features, list[Node]]:
    found: dict[Features, list[Node]] = {}
    at = 0
    for count, features in rows:
        for _ in range(count):
            found.setdefault(features, []).append(Node((at, 0), f"n{at}"))
            at += 1
    return found


def odd(*rows: tuple[int, Features]) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    return [(one.field, one.keys, one.found) for one in compare(fleet(*rows)).odd]


def test_the_minority_is_odd_by_the_device_and_its_value() -> None:
    usual, narrow = made(gpus=8, gpus__pcie_width=(16, 16)), made(gpus=8, gpus__pcie_width=(16, 8))
    assert odd((9, usual), (1, narrow)) == [("gpus[].pcie.width", ("1",), ("8",))]
    [one] = compare(fleet((9, usual), (1, narrow))).odd
    assert (one.expected, one.agree, one.of, [node.source for node in one.nodes]) == (("16",), 9, 10, ["n9"])


def test_two_nodes_have_no_majority_and_half_is_not_more_than_half() -> None:
    one, other = made(system_driver="570"), made(system_driver="580")
    assert odd((1, one), (1, other)) == []
    found = compare(fleet((5, one), (5, other)))
    assert found.odd == ()
    assert [(each.field, each.values) for each in found.split] == [("system.driver", (("570", 5), ("580", 5)))]
    assert odd((6, one), (5, other)) == [("system.driver", ("",), ("580",))]


def test_what_is_not_said_is_not_odd() -> None:
    assert odd((9, made(system_driver="570")), (1, made())) == []


def test_where_a_gpu_is_missing_the_others_are_not_called_odd() -> None:
    """All after it have moved by one place."""
    whole = made(gpus=4, gpus__numaNodes=(0, 0, 1, 1), shape="a")
    short = made(gpus=3, gpus__numaNodes=(0, 1, 1), shape="b")
    assert odd((5, whole), (1, short)) == [("gpus", ("",), ("3",))]


def test_a_shape_is_odd_only_where_no_field_says_why_and_only_among_the_same_evidence() -> None:
    assert odd((5, made(shape="a")), (1, made(shape="b"))) == [("shape", ("",), ("b",))]
    assert odd((5, made(shape="a")), (1, made(shape="b", evidence="topo"))) == []
    assert odd((5, made(gpus__numaNodes=(0, 1), shape="a")), (1, made(gpus__numaNodes=(1, 0), shape="b"))) == [
        ("gpus[].numaNodes", ("0", "1"), ("1", "0"))
    ]


def test_a_value_that_every_format_says_alike_is_compared_across_formats() -> None:
    usual, other = made(system_driver="570"), made(system_driver="560", evidence="topo")
    assert odd((5, usual), (1, other)) == [("system.driver", ("",), ("560",))]


def test_one_node_with_another_gpu_model_is_judged_with_its_machine() -> None:
    usual, mixed = made(gpus__name=("H100", "H100")), made(models=("H100", "H200"), gpus__name=("H100", "H200"))
    assert odd((5, usual), (1, mixed)) == [("gpus[].name", ("1",), ("H200",))]
    assert len(compare(fleet((5, usual), (3, mixed))).groups) == 2  # three are a product of their own
    assert len(compare(fleet((5, made(product=None)), (1, made(product=None, models=("A100",))))).groups) == 2


def node(at: int, gpus: str | None = None, boot: str | None = None, name: str | None = None) -> Node:
    return Node((at, 0), f"n{at}", name, Keys(gpus, boot, name))


def test_a_node_is_known_again_by_uuids_boot_id_or_name() -> None:
    again = [node(0, "u1", "b1", "a"), node(1, None, "b1"), node(2, "u1", "b2", "other"), node(3, None, None, "a")]
    [one] = twice(again)
    assert [each.source for each in one.nodes] == ["n0", "n1", "n2", "n3"]


def test_a_name_is_no_proof_against_other_gpus() -> None:
    assert twice([node(0, "u1", None, "gpu-01"), node(1, "u2", None, "gpu-01")]) == ()
    assert twice([node(0), node(1)]) == ()
