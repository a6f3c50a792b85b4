"""The document: its shape is the contract's, reading it back loses nothing, bad ones name their place."""

from __future__ import annotations

import copy
import json
from time import process_time
from typing import Any

import jsonschema
import pytest
from hypothesis import Phase, given, settings

from gputopo.documents.layout import dumps
from gputopo.documents.load import decode, is_gputopo_json, loads
from gputopo.documents.node import encode, encode_list
from gputopo.documents.schema import main, schema, schemas
from gputopo.errors import GputopoError
from gputopo.inspection import Inspection
from tests.documents.made_nodes import json_nodes
from tests.reports import nodes

AS_FOUND = (Phase.explicit, Phase.reuse, Phase.generate)  # shrinking a whole node takes minutes
HAND_MADE = (nodes.single, nodes.bridged, nodes.pasted, nodes.hgx, nodes.mig)

# CONTRACT §3, key by key and in its order; `gpudirect` and `observations` are additions.
TOP = (
    "apiVersion kind name taken view virtual system allowedCpus sources packages numaNodes bridges nvswitches gpus "
    "nics nvme pairs islands gpudirect conflicts unknown assumptions observations findings notChecked"
)
RECORDS = {
    "sources": "id name format where whole",
    "packages": "id number cpus numaNodes vendor family model arch",
    "numaNodes": "id number kind cpus packages memoryBytes distances",
    "bridges": "id parent kind vendor device numaNodes pcie",
    "nvswitches": "id pci",
    "gpus": "id index uuid name vendor architecture computeCapability memoryBytes pci minor moduleId parent driver "
    "numaNodes packages cpus cpusComplete memoryNumaNode nvlinks links c2c fabric pcie mig nearestNics nearestNvme "
    "aliases",
    "nics": "id device netdevs port pci pcie members vendor parent numaNodes packages linkLayer rateGbps state "
    "virtualFunctionOf aliases",
    "pairs": "a b level pcie pcieCandidates pcieBasis nvlinks viaSwitch links p2p crossPackage crossNuma bandwidthGBps",
}


def document(inspection: Inspection, **options: bool) -> dict[str, Any]:
    return encode(inspection.node, inspection.findings, inspection.not_checked, **options)


def as_read(made: dict[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(made))


def test_the_keys_are_those_of_the_contract_in_its_order() -> None:
    made = document(nodes.hgx())
    assert list(made) == TOP.split()
    for name, keys in RECORDS.items():
        for item in made[name]:
            assert list(item) == keys.split(), name
    assert list(made["gpus"][0]["links"][0]) == ["index", "state", "gbps", "remote", "remoteKind"]
    assert list(made["pairs"][0]["links"][0]) == ["kind", "count", "via", "gbpsPerLink"]
    assert list(made["islands"]) == ["nvlink", "fabric", "pcieSwitch", "pcieRoot", "numa", "package"]


def test_values_are_spelled_as_json_has_them() -> None:
    made = document(nodes.hgx())
    assert made["taken"] == {"at": "2026-11-29T03:12:07Z", "bootId": "5f0e6c1a"}
    assert made["allowedCpus"] == "0-223"
    assert made["numaNodes"][1]["distances"] == {"0": 21, "1": 10}
    assert made["pairs"][0]["pcie"] == "NODE"
    assert made["pairs"][0]["pcieCandidates"] == ["NODE"]
    assert made["nics"][0]["rateGbps"] == 400
    assert document(nodes.single())["taken"] is None


def test_a_link_has_a_count_only_where_it_stands_for_several() -> None:
    node = nodes.single().node
    links = (nodes.Link(None, "active", None, None, None, times=4), nodes.Link(0, "active", None, None, None))
    made = encode(node._replace(gpus=(node.gpus[0]._replace(links=links),)))
    assert [link.get("count") for link in made["gpus"][0]["links"]] == [4, None]
    assert decode(made)[0].gpus[0].links == links


def test_provenance_is_for_those_who_ask() -> None:
    assert "provenance" not in document(nodes.hgx())
    told = document(nodes.hgx(), provenance=True)["provenance"]
    assert told == {"GPU0": {"pci": "sysfs-root", "uuid": "nvml-recording"}}


@pytest.mark.parametrize("make", HAND_MADE, ids=lambda make: make.__name__)
def test_reading_it_back_gives_the_same_node(make: Any) -> None:
    inspection = make()
    made = as_read(document(inspection, provenance=True))
    (node,) = decode(made)
    # The used value of a conflict and its witnesses are JSON already; the rest is equal type by type.
    assert node == inspection.node
    again = encode(node, inspection.findings, inspection.not_checked, provenance=True)
    assert again == made
    assert dumps(again) == dumps(made)


@settings(max_examples=60, deadline=None, phases=AS_FOUND)
@given(json_nodes())
def test_no_node_loses_anything(node: Any) -> None:
    made = encode(node, provenance=True)
    text = dumps(made)
    assert json.loads(text) == as_read(made)
    (again,) = loads(text)
    assert again == node
    assert dumps(encode(again, provenance=True)) == text


@settings(max_examples=40, deadline=None, phases=AS_FOUND)
@given(json_nodes())
def test_every_document_validates(node: Any) -> None:
    jsonschema.Draft202012Validator(schema()).validate(as_read(encode(node, provenance=True)))


@pytest.mark.parametrize("make", HAND_MADE, ids=lambda make: make.__name__)
def test_hand_made_documents_validate_and_every_key_is_described(make: Any) -> None:
    made = as_read(document(make(), provenance=True))
    jsonschema.Draft202012Validator(schema()).validate(made)
    described = schema()
    assert set(made) <= set(described["properties"])
    for table, name in (("gpus", "Gpu"), ("nics", "Nic"), ("pairs", "Pair"), ("findings", "Finding")):
        for item in made[table] or ():
            assert set(item) <= set(described["$defs"][name]["properties"])


def test_a_list_of_nodes_validates_and_reads_back() -> None:
    inspections = [nodes.single(), nodes.pasted()]
    made = as_read(encode_list(map(document, inspections)))
    jsonschema.Draft202012Validator(schemas()["NodeTopologyList"]).validate(made)
    assert decode(made) == tuple(one.node._replace(provenance={}) for one in inspections)


def test_the_schema_is_one_and_tells_a_wrong_document() -> None:
    for one in schemas().values():
        jsonschema.Draft202012Validator.check_schema(one)
    made = as_read(document(nodes.hgx()))
    made["gpus"][0]["minor"] = -1
    assert not jsonschema.Draft202012Validator(schema()).is_valid(made)


def test_the_schema_files_are_current() -> None:
    assert main(["--check"]) == 0


def _broken(*path: Any, to: Any = None) -> dict[str, Any]:
    made = copy.deepcopy(as_read(document(nodes.bridged())))
    place = made
    for step in path[:-1]:
        place = place[step]
    if to is KeyError:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    return made


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (_broken("gpus", 3, "numaNodes", to="0"), 'gpus[3].numaNodes: expected a list, found "0"'),
        (_broken("gpus", 3, "numaNodes", to=[-1]), "gpus[3].numaNodes[0]: expected a whole number, found -1"),
        (_broken("gpus", 0, "minor", to=True), "gpus[0].minor: expected a whole number, found true"),
        (_broken("gpus", 0, "cpus", to="0-"), "gpus[0].cpus: expected a CPU list"),
        (_broken("gpus", 1, "uuid", to=KeyError), "gpus[1].uuid: missing"),
        (_broken("taken", to=[]), "taken: expected an object, found []"),
        (_broken("taken", to=KeyError), "taken: missing"),
        (_broken("pairs", 0, "pcie", to="SOC"), "pairs[0].pcie: expected one of PIX, PXB, PHB, NODE, SYS"),
        (_broken("pairs", 0, "b", to="GPU9"), "pairs[0].b: expected a GPU or NIC of this document"),
        (_broken("pairs", 0, "b", to="GPU0"), "pairs[0]: expected each pair of two devices once"),
        (_broken("pairs", 0, "b", to="GPU2"), "pairs[1]: expected each pair of two devices once"),
        (_broken("gpus", 1, "id", to="GPU0"), "gpus[1].id: expected an id that no other device has"),
        (_broken("nics", 0, "id", to="GPU0"), "nics[0].id: expected an id that no other device has"),
        (_broken("nics", 0, "rateGbps", to=float("inf")), "nics[0].rateGbps: expected a number"),
        (_broken("nics", 0, "rateGbps", to=10**400), "nics[0].rateGbps: expected a number"),
        (_broken("islands", "nvlink", 0, 0, to="GPU7"), "islands.nvlink[0]: expected a GPU of this document"),
        (_broken("numaNodes", 0, "distances", to={"a": 1}), "numaNodes[0].distances: expected a number as key"),
        (_broken("kind", to="Allocation"), 'kind "Allocation" does not describe a node'),
        (_broken("apiVersion", to="gputopo/v2"), 'apiVersion "gputopo/v2" cannot be read, only gputopo/v1alpha1'),
        (_broken("apiVersion", to=KeyError), "apiVersion null cannot be read"),
        ([], "the document: expected an object, found []"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_bad_document_is_one_error_that_names_the_place(made: Any, says: str) -> None:
    with pytest.raises(GputopoError) as caught:
        decode(made, "node.json")
    assert caught.value.what.startswith(says)
    assert caught.value.where == "node.json"
    assert caught.value.exit_code == 2


def test_the_place_in_a_list_counts_the_items() -> None:
    made = encode_list([document(nodes.single()), _broken("gpus", 0, "id", to=None)])
    with pytest.raises(GputopoError, match=r"items\[1\]\.gpus\[0\]\.id: expected a text, found null"):
        decode(made)


@pytest.mark.parametrize(
    "text", ['{"apiVersion": "gputopo/v1alpha1"', "[" * 100_000, '{"a": ' + "1" * 5000 + "}", "", "{'a': 1}"]
)
def test_what_is_no_json_is_one_error(text: str) -> None:
    with pytest.raises(GputopoError, match="JSON"):
        loads(text, "node.json")


def test_our_documents_are_known_by_their_text() -> None:
    assert is_gputopo_json("\ufeff\n" + dumps(document(nodes.single())))
    assert is_gputopo_json('{"items": [], "apiVersion" : "gputopo/v9"}')
    assert not is_gputopo_json('{"apiVersion": "v1", "kind": "Node"}')
    assert not is_gputopo_json('see "apiVersion": "gputopo/v1alpha1"')


def test_keys_of_a_later_version_are_passed_over_and_ours_may_be_younger_than_the_document() -> None:
    made = as_read(document(nodes.bridged()))
    made["gpus"][0]["colour"] = "green"
    del made["observations"]
    assert decode(made)[0] == nodes.bridged().node


def test_a_record_is_a_line_and_nothing_a_terminal_obeys_is_printed() -> None:
    inspection = nodes.hgx(17)
    gpu = inspection.node.gpus[0]._replace(name="H100\x1b[2J\x9b\u202e\x7f\udc80機")
    text = dumps(encode(inspection.node._replace(gpus=(gpu, *inspection.node.gpus[1:]))))
    assert sum('"a": "GPU' in line for line in text.splitlines()) == 8 * 7 // 2 + 8 * 17
    assert all(character.isprintable() or character == "\n" for character in text)
    assert text.isascii() is False
    assert "機" in text
    assert json.loads(text)["gpus"][0]["name"] == gpu.name
    text.encode("utf-8")


def test_a_document_of_300_pairs_is_printed_in_a_blink() -> None:
    inspection = nodes.hgx(17)
    taken = []
    for _ in range(5):
        start = process_time()
        dumps(document(inspection))
        taken.append(process_time() - start)
    assert min(taken) < 0.015  # 3 ms where it was written
