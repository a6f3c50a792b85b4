"""What a recording says between devices: NVLinks, fabric, C2C, PCIe levels, peer access."""

from __future__ import annotations

from typing import Any

import pytest

from gputopo.terms.path_level import PathLevel
from tests.parsers.nvml_made import ALL_ONES, CLUSTER, ZERO_UUID, gpu, read, read_one, why


def test_links_of_every_kind() -> None:
    fields = [[91, 0, 0, 6], [90, 0, 0, 25_000], [164, 0, 0, 26_562], [164, 1, 3, None], [165, 3, 0, 2], [165, 4, 0, 3]]
    links = [
        {"link": 0, "state": 1, "remoteType": 2, "remoteBusId": ALL_ONES},
        {"link": 1, "state": 1, "remoteType": {"error": 3}, "remoteBusId": ALL_ONES},
        {"link": 2, "state": 1, "remoteType": 255, "remoteBusId": {"error": 3}},
        {"link": 3, "state": 1},
        {"link": 4, "state": 1},
        {"link": 5, "state": {"error": 999}},
    ]
    node = read(gpu(0, fields=fields, links=links))
    record = node.gpus[0]
    assert [(link.state, link.gbps, link.remote_kind, link.remote) for link in record.links] == [
        ("active", 26.562, "switch", None),
        ("active", 25.0, "switch", None),
        ("active", 25.0, None, None),
        ("sleep", None, None, None),
        ("disabled", None, None, None),
        (None, None, None, None),
    ]
    assert record.nvlinks_total == 6
    assert "every link" in why(record.nvlinks_active)
    assert len(node.assumptions) == 1  # link 1: a hidden far end is taken for a switch


def test_a_gpu_without_nvlink_has_none_and_a_refusal_is_no_zero() -> None:
    first = [{"link": 0, "state": {"error": 3}}]
    for answers in (
        {"fields": [[91, 0, 3, None]], "links": first},
        {"fields": {"error": 3}, "links": first},
        {"fields": [[91, 0, 0, 0]], "links": []},
        {"fields": [[91, 0, 3, 0]], "links": []},
    ):
        record = read_one(**answers)
        assert (record.nvlinks_active, record.nvlinks_total, record.links) == (0, 0, ()), answers
    mig = read_one(fields=[[91, 0, 3, None]], links=first, mig={"mode": [1, 1], "devices": []})
    assert "MIG" in why(mig.nvlinks_total)
    refused = read_one(fields=[[91, 0, 4, None]], links=[{"link": 0, "state": {"error": 4}}])
    assert "NO_PERMISSION" in why(refused.nvlinks_active)
    assert "NO_PERMISSION" in why(refused.nvlinks_total)
    assert "NO_PERMISSION" in why(refused.links)


def test_the_end_of_the_links_tells_their_number() -> None:
    links = [*({"link": n, "state": int(n < 2)} for n in range(4)), {"link": 4, "state": {"error": 2}}]
    record = read_one(fields={"error": 13}, links=links)
    assert (record.nvlinks_active, record.nvlinks_total, len(record.links)) == (2, 4, 4)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"state": 0}, ("Not Supported", None, None, None, None)),
        ({"state": 2, "status": 0, "clusterUuid": CLUSTER, "cliqueId": 1}, ("In Progress", None, None, None, None)),
        (
            {"state": 3, "status": 0, "cliqueId": 32766, "clusterUuid": CLUSTER, "healthMask": 0x1AA},
            ("Completed", "Success", CLUSTER, 32766, "Healthy"),
        ),
        (
            {"state": 3, "status": 999, "cliqueId": 0, "clusterUuid": ZERO_UUID, "healthMask": 0x219},
            ("Completed", "Unknown Error", None, None, "degraded bandwidth, route unhealthy, incorrect configuration"),
        ),
        (
            {"state": 3, "status": 0, "cliqueId": 7, "clusterUuid": CLUSTER, "healthMask": 1, "healthSummary": 3},
            ("Completed", "Success", CLUSTER, 7, "Limited Capacity"),
        ),
    ],
)
def test_fabric(answer: dict[str, Any], expected: tuple[object, ...]) -> None:
    assert read_one(fabric=answer).fabric == expected


def test_a_clique_without_its_cluster_is_a_gap() -> None:
    node = read(gpu(0, fabric={"state": 3, "cliqueId": 7}))
    assert node.gpus[0].fabric.clique_id is None
    assert [(gap.subjects, gap.attribute) for gap in node.gaps] == [(("GPU0",), "fabric")]


def test_c2c_links() -> None:
    fields = [[170, 0, 0, 10], *([172, n, 0, 44_712] for n in range(10))]
    assert read_one(fields=fields).c2c == {"count": 10, "gbpsPerLink": 44.712}
    assert read_one(fields=[[170, 0, 3, None]]).c2c is None


@pytest.mark.parametrize(
    ("number", "level"),
    [
        (0, PathLevel.PIX),
        (10, PathLevel.PIX),
        (20, PathLevel.PXB),
        (30, PathLevel.PHB),
        (40, PathLevel.NODE),
        (50, PathLevel.SYS),
    ],
)
def test_levels(number: int, level: PathLevel) -> None:
    assert read(gpu(0), gpu(1), topology=[[0, number], [number, 0]]).pairs[0].level is level


def test_levels_that_are_none() -> None:
    def one(topology: object) -> object:
        return read(gpu(0), gpu(1), topology=topology).pairs[0].level

    assert "NOT_SUPPORTED" in why(one([[0, {"error": 3}], [{"error": 3}, 0]]))
    assert "holds 25" in why(one([[0, 25], [25, 0]]))
    assert "holds True" in why(one([[0, True], [True, 0]]))
    assert one([[0], []]) is None
    assert one([[0, {"error": 3}], [20, 0]]) is PathLevel.PXB


def test_a_matrix_with_two_answers_is_observed_and_none_is_taken() -> None:
    p2p = {"0": [[0, 1], [1, 0]], "1": [[0, 0], [2, 0]]}
    node = read(gpu(0), gpu(1), topology=[[0, 20], [50, 0]], p2p=p2p)
    (pair,) = node.pairs
    assert "PXB one way and SYS the other" in why(pair.level)
    assert pair.p2p == {"read": "CNS"}
    assert [(o.kind, o.subjects) for o in node.observations] == [("matrix-not-symmetric", ("GPU0", "GPU1"))] * 2
    assert "GPU0 to GPU1 PXB, GPU1 to GPU0 SYS" in node.observations[0].text
    assert "OK" in node.observations[1].text
    assert "GNS" in node.observations[1].text
    assert [(gap.subjects, gap.attribute) for gap in node.gaps] == [(("GPU0", "GPU1"), "p2p")]


def test_p2p_letters_and_refusals() -> None:
    for number, letters in enumerate(("OK", "CNS", "GNS", "TNS", "DR", "NS", "U")):
        pair = read(gpu(0), gpu(1), p2p={"2": [[0, number], [number, 0]]}).pairs[0]
        assert pair.p2p == {"nvlink": letters}
    refused = {"error": 3}
    assert "NOT_SUPPORTED" in why(read(gpu(0), gpu(1), p2p={"0": [[0, refused], [refused, 0]]}).pairs[0].p2p)
