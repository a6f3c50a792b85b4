"""`ibdev2netdev`: one NIC an RDMA device, with its network devices and their state."""

from __future__ import annotations

import pytest

from gputopo.parsers.ibdev2netdev import parse, sniff
from gputopo.parsers.unreadable import Unreadable
from gputopo.records import Key, NicRecord
from gputopo.terms.unknown import Unknown


def nics(text: str) -> tuple[NicRecord, ...]:
    [node] = parse(text)
    return node.nics or ()


def test_lines_between_other_text() -> None:
    text = "root@node-a:~# ibdev2netdev\nmlx5_0 port 1 ==> ib0 (Up)\r\n> mlx5_1 port 1 ==> ens9f1np1 (Down)\ndone\n"
    assert [(nic.device, nic.port, nic.netdevs, nic.state) for nic in nics(text)] == [
        ("mlx5_0", 1, ("ib0",), "up"),
        ("mlx5_1", 1, ("ens9f1np1",), "down"),
    ]
    assert nics(text)[0].keys == (Key("name", "mlx5_0"), Key("name", "ib0"))


def test_two_ports_of_a_device_are_one_nic() -> None:
    [nic] = nics("mlx4_0 port 1 ==> ib0 (Down)\nmlx4_0 port 2 ==> ib1 (Up)\n")
    assert (nic.netdevs, nic.state) == (("ib0", "ib1"), "up")
    assert isinstance(nic.port, Unknown)


def test_the_long_form_has_the_address() -> None:
    [nic] = nics(
        "0000:8a:00.0 mlx5_2 (MT4129 - MCX75310AAS-NEAT) ConnectX-7 fw 28.39.1002 port 1 (ACTIVE) ==> ib1 (Up)"
    )
    assert (nic.device, str(nic.pci), nic.netdevs) == ("mlx5_2", "0000:8a:00.0", ("ib1",))
    assert Key("card", "0000:8a:00") in nic.keys


def test_bonds_and_other_drivers() -> None:
    found = nics(
        "mlx5_bond_0 port 1 ==> bond0 (Up)\nbnxt_re0 port 1 ==> ens1f0np0 (Up)\nirdma0 port 1 ==> eth2.100 (Up)"
    )
    assert [(nic.device, nic.netdevs) for nic in found] == [
        ("mlx5_bond_0", ("bond0",)),
        ("bnxt_re0", ("ens1f0np0",)),
        ("irdma0", ("eth2.100",)),
    ]


def test_the_same_output_twice_is_one_node_and_a_changed_one_is_another() -> None:
    text = "mlx5_0 port 1 ==> ib0 (Up)\nmlx5_1 port 1 ==> ib1 (Up)\n"
    assert len(parse(text + text)) == 1
    assert len(parse(text + text.replace("Up", "Down"))) == 2


def test_a_state_of_another_word_is_unknown() -> None:
    assert isinstance(nics("mlx5_0 port 1 ==> ib0 (Dormant)")[0].state, Unknown)


def test_other_texts() -> None:
    for text in ("", "a ==> b", "mlx5_0 port 1 -> ib0 (Up)", "port 1 ==> 2 (two)"):
        assert not sniff(text)
        with pytest.raises(Unreadable):
            parse(text)
