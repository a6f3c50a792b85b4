"""What is replaced, by what, and what is found of it afterwards."""

from __future__ import annotations

import base64
import re

import pytest

from gputopo.evidence.redact import KINDS, Known, Redactor

UUID = "5e7f0b3a-11c2-4d8e-9a70-0123456789ab"
KNOWN = (
    Known("host", "gpu-17.example.org"),
    Known("host", "gpu-17"),
    Known("user", "berit"),
    Known("serial", "CN7475197S00FD"),
    Known("mac", "0c:42:a1:03:6a:d2"),
    Known("guid", "0c42:a103:006a:d200"),
    Known("id", "1f0e3dad99908345f7439f8ffabdffc4"),
    Known("boot", "b1946ac9-2492-4d23-a1f0-7e5c9d8b6a43"),
)
SAMPLES = {
    "host": ("gpu-17", "GPU-17", "gpu-17.example.org", "ip-10-1-2-3"),
    "user": ("berit", "Berit", "USER=someone"),
    "serial": ("CN7475197S00FD", "CN-747519-7S00-FD", "Serial Number : 1654922000123", '"serial": "1654922000123"'),
    "uuid": (UUID, UUID.upper(), UUID.replace("-", "_")),
    "boot": ("b1946ac9-2492-4d23-a1f0-7e5c9d8b6a43",),
    "mac": ("0c:42:a1:03:6a:d2", "0C-42-A1-03-6A-D2", "0c42.a103.6ad2", "enx0c42a1036ad2", "rocex0c42a1036ad2",
            "80:00:00:48:fe:80:00:00:00:00:00:00:0c:42:a1:03:00:6a:d2:00"),
    "guid": ("0c42:a103:006a:d200", "0x0c42a103006ad200", "rocex1070fd0300123456", "ibx1070fd0300123456"),
    "ip": ("10.141.7.23", "fe80:0000:0000:0000:0c42:a103:006a:d200", "fe80::e42:a1ff:fe03:6ad2", "2001:db8:17::4a5b"),
    "id": ("1f0e3dad99908345f7439f8ffabdffc4", "3c59dc048e8850243be8079a5c74d079e6b0d1c2f4a5968778695a4b3c2d1e0f"),
}  # fmt: skip
WORDS = [(kind, text) for kind, texts in SAMPLES.items() for text in texts]


def replaced(text: str, *keep: str, salt: bytes = b"salt") -> str:
    return Redactor(salt, keep, KNOWN).text(text)


@pytest.mark.parametrize(("kind", "text"), WORDS)
def test_each_is_replaced_alone_in_a_path_and_in_a_sentence(kind: str, text: str) -> None:
    for around in ("{}", "a/{}/b", "x {}, y", '"{}"', "({})\n"):
        whole = around.format(text)
        done = replaced(whole)
        assert done != whole
        assert text.lower() not in done.lower()
        assert Redactor(b"", (), KNOWN).leak(done) is None


@pytest.mark.parametrize(("kind", "text"), WORDS)
def test_keep_keeps_its_kind_and_only_this(kind: str, text: str) -> None:
    assert replaced(text, kind) == text
    assert replaced(text, "all") == text
    assert replaced(text, *(other for other in KINDS if other != kind)) != text


@pytest.mark.parametrize(
    "text",
    [
        "0000:0c:00.0",
        "10000:e0:01.0",
        "pci0000:17",
        "GPU0 NV18 PIX",
        "0-55,112-167",
        "ffffffff,ffffffff",
        "570.124.06",
        "8.0 GT/s PCIe",
        "MemTotal: 1056784640 kB",
        "137438953472",
        "0x0000000000000000",
        "ffffffffffff",
        "12:34:56",
        "96.00.74.00.11",
        "127.0.0.1",
        "0.0.0.0",
        "soc@0/141a0000.pcie",
        "/home/kubernetes/bin/nvidia",
        "mlx5_0",
        "00000000-0000-0000-0000-000000000000",
        "Serial Number : N/A",
        "NVIDIA H100 80GB HBM3",
        "Linux version 6.8.0-49",
    ],
)
def test_what_says_nothing_of_the_site_stays(text: str) -> None:
    assert replaced(text) == text


def test_one_value_is_one_replacement_in_every_spelling() -> None:
    spelled = ("0c:42:a1:03:6a:d2", "0C:42:A1:03:6A:D2", "0c-42-a1-03-6a-d2", "0c42.a103.6ad2", "enx0c42a1036ad2")
    assert len({re.sub("enx|[^0-9a-f]", "", replaced(one).lower()) for one in spelled}) == 1
    assert replaced(UUID.upper()) == replaced(UUID).upper()
    assert replaced("fe80::e42:a1ff:fe03:6ad2") == replaced("fe80:0:0:0:0e42:a1ff:fe03:6ad2")


def test_the_shape_stays() -> None:
    assert re.fullmatch("GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", replaced(f"GPU-{UUID}"))
    assert re.fullmatch("([0-9A-F]{2}:){5}[0-9A-F]{2}", replaced("0C:42:A1:03:6A:D2"))
    assert re.fullmatch("[A-Z]{2}[0-9]{7}[A-Z][0-9]{2}[A-Z]{2}", replaced("CN7475197S00FD"))


def test_one_salt_joins_two_bundles_and_another_does_not() -> None:
    assert replaced(UUID, salt=b"site") == replaced(UUID, salt=b"site")
    assert replaced(UUID, salt=b"site") != replaced(UUID, salt=b"other")


def test_a_common_word_is_no_name() -> None:
    redactor = Redactor(b"salt", (), (Known("host", "node"), Known("user", "nvidia"), Known("user", "al")))
    assert redactor.text("node0 nvidia al numa_node") == "node0 nvidia al numa_node"


def encoded(content: bytes, before: bytes = b"") -> str:
    return base64.b64encode(before + content).decode()


MAC, GUID = bytes.fromhex("0c42a1036ad2"), bytes.fromhex("0c42a103006ad200")


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("mac", "xx0C42A1036AD2xx"),
        ("mac", "d2:6a:03:a1:42:0c"),
        ("mac", "0c42:a1ff:fe03:6ad2"),
        ("mac", MAC.decode("latin-1")),
        ("mac", "fe80::e42:a1ff:fe03:6ad2"),
        ("guid", "006a:d200:0c42:a103"),
        ("guid", "00d26a0003a1420c"),
        ("guid", encoded(GUID)),
        ("guid", encoded(GUID, b"\x12\x08")),
        ("host", encoded(b"the host gpu-17 it is")),
        ("host", encoded(b"gpu-17", b"x")),
        ("serial", "cn7475197s00fd"),
        ("serial", encoded(b"CN7475197S00FD")),
        ("mac", encoded(b"0C:42:A1:03:6A:D2")),
        ("user", "/srv/berit/x"),
        ("id", encoded(b"1f0e3dad99908345f7439f8ffabdffc4")),
    ],
)
def test_a_known_value_is_found_in_every_spelling(kind: str, text: str) -> None:
    assert Redactor(b"", (), KNOWN).leak(f"some {text} text") == kind
    assert Redactor(b"", ("all",), KNOWN).leak(f"some {text} text") is None


@pytest.mark.parametrize("text", ["gpu-170", "gpu-1", "liberitas", "0c42a1036ad", "a topology of nothing"])
def test_what_only_resembles_is_not_found(text: str) -> None:
    assert Redactor(b"", (), KNOWN).leak(text) is None
