"""The kubelet's state of ResourceClaims. The layout: kubernetes pkg/kubelet/cm/dra/state."""

from __future__ import annotations

import json

import pytest

from gputopo.holdings import DeviceHeld
from gputopo.parsers.dra_manager_state import parse, sniff
from gputopo.parsers.kubelet_holdings import sniff as sniff_others
from gputopo.parsers.unreadable import Unreadable
from tests.pods_sources.samples import needs_samples, pod, text

WHOLE = (
    r'{"Data":"{\"kind\":\"DRACheckpoint\",\"apiVersion\":\"checkpoint.dra.kubelet.k8s.io/v1\",\"ClaimInfoStateList\":['
    r"{\"ClaimUID\":\"c7\",\"ClaimName\":\"one\",\"Namespace\":\"ml\",\"PodUIDs\":{\"u7\":{}},\"DriverState\":"
    r"{\"gpu.example.com\":{\"Devices\":[{\"PoolName\":\"n\",\"DeviceName\":\"gpu-3\",\"ShareID\":null,"
    r'\"RequestNames\":[\"gpus\"],\"CDIDeviceIDs\":[\"k8s.gpu.example.com/claim=c7-gpu-3\"]}]}}}]}","Checksum":0}'
)


def claims(*states: object, checksum: object = None) -> str:
    return json.dumps({"Data": json.dumps({"ClaimInfoStateList": states}), "Checksum": checksum})


CLAIM = {
    "ClaimUID": "c1",
    "ClaimName": "two",
    "Namespace": "ml",
    "PodUIDs": {"u1": {}, "u2": {}},
    "DriverState": {
        "d.example.com": {
            "Devices": [
                {"PoolName": "n", "DeviceName": "gpu-0", "RequestNames": ["a", "b"], "CDIDeviceIDs": ["v/c=0"]},
                {"PoolName": "n", "DeviceName": "gpu-1", "ShareID": "s1", "RequestNames": None, "CDIDeviceIDs": None},
            ],
            "skipNodeOperations": ["*"],
        },
        "empty.example.com": {"Devices": None},
    },
}


def test_claims_name_pods_and_devices() -> None:
    written = claims(CLAIM)
    assert sniff(written)
    assert not sniff_others(written)
    [said] = parse(written)
    [claim] = said.claims
    assert (claim.namespace, claim.name, claim.uid, claim.pods) == ("ml", "two", "c1", ("u1", "u2"))
    first, second = "d.example.com/n/gpu-0", "d.example.com/n/gpu-1"
    assert claim.devices == (
        ("a", DeviceHeld("claim:two/a", first, "dra")),
        ("b", DeviceHeld("claim:two/b", first, "dra")),
        ("", DeviceHeld("claim:two", second, "dra", share="s1")),
    )
    assert [(one.id, one.space, one.dra) for one in said.names] == [("v/c=0", "cdi", first)]
    assert said.gaps == ()


def test_no_claims() -> None:
    assert parse(json.dumps({"Data": '{"ClaimInfoStateList":null}', "Checksum": None}))[0].claims == ()


def test_a_wrong_checksum_is_said() -> None:
    assert [gap.attribute for gap in parse(claims(CLAIM, checksum=5))[0].gaps] == ["claims"]


@pytest.mark.parametrize(
    "broken",
    [
        claims(5), claims({"ClaimName": 5}), claims({"PodUIDs": []}), claims({"DriverState": {"d": {"Devices": [5]}}}),
        claims({"DriverState": {"d": {"Devices": {}}}}), claims({"DriverState": 5}),
        claims({"DriverState": {"d": {"Devices": [{"RequestNames": [5]}]}}}),
        '{"Data": 5}', '{"Data": "{"}', '{"Data": "[]"}', claims(CLAIM)[:-20], "", "[]",
        json.dumps({"Data": "[" * 50_000}), json.dumps({"Data": '{"ClaimInfoStateList": {}}'}),
    ],
)  # fmt: skip
def test_broken_claims_are_unreadable(broken: str) -> None:
    with pytest.raises(Unreadable):
        parse(broken)


def test_as_the_kubelet_writes_it() -> None:
    """Fields in the order of its types; only the checksum is not a real one."""
    assert sniff(WHOLE)
    [said] = parse(WHOLE)
    [claim] = said.claims
    assert claim.devices == (("gpus", DeviceHeld("claim:one/gpus", "gpu.example.com/n/gpu-3", "dra")),)
    assert [gap.attribute for gap in said.gaps] == ["claims"]


@needs_samples
def test_the_samples_claims() -> None:
    assert sniff(text("dra_manager_state.json"))
    [said] = parse(text("dra_manager_state.json"))
    claim = "cccccccc-0000-4000-8000-00000000000"
    found = [
        (one.namespace, one.name, one.uid, [held.id for _, held in one.devices or ()], one.pods) for one in said.claims
    ]
    assert found == [
        (
            "ml",
            "trainer-gpus-x7k2p",
            f"{claim}1",
            ["gpu.nvidia.com/node-a/gpu-0", "gpu.nvidia.com/node-a/gpu-5"],
            (pod(8),),
        ),
        ("ml", "shared-mig", f"{claim}2", ["gpu.nvidia.com/node-a/gpu-1-mig-1g10gb-19-0"], (pod(9), pod(10))),
    ]
    assert said.gaps == ()  # the checksum is right
