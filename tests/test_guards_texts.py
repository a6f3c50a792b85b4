"""Hostile texts: XML, JSON and YAML that grow, texts as large as are read, escapes in names."""

from __future__ import annotations

from pathlib import Path

import pytest

from gputopo.cli import run
from tests.guarded import inspect, refused

MIB = 1 << 20
MANY = "[]," * 8_000_000 + "0]"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder for the input."""
    inside = tmp_path / "a"
    inside.mkdir()
    return inside


# XML, JSON, YAML

LAUGHS = (
    '<?xml version="1.0"?>\n<!DOCTYPE system [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(20))
    + ']>\n<system version="1">&u;</system>\n'
)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (LAUGHS, "declares entities"),
        (LAUGHS.replace("system", "topology").replace("&u;", "&u;<object/>"), "declares entities"),
        (LAUGHS.replace("system", "nvidia_smi_log"), "declares entities"),
        ('<!DOCTYPE system [<!ENTITY x SYSTEM "file:///etc/group">]>\n<system>&x;<cpu/></system>', "declares entities"),
        ('<!DOCTYPE system [<!ENTITY % x SYSTEM "http://192.0.2.1">%x;]><system><cpu/></system>', "declares entities"),
        ("<system>" + "<pci>" * 100_000, "nested deeper"),
        ("<system>" + "<pci/>" * 1_000_000, "more than 200000 elements"),
        ("<system><cpu " + " ".join(f'a{n}=""' for n in range(400_000)), "more than 1048576 bytes"),
    ],
)  # fmt: skip
def test_xml(text: str, says: str, place: Path, tmp_path: Path) -> None:
    (place / "topo.xml").write_text(text)
    assert says in refused(inspect(place / "topo.xml", note=tmp_path))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"apiVersion": "gputopo/v1alpha1", "kind": ' + "[" * 100_000, "nested too deeply"),
        ('{"apiVersion": "gputopo/v1alpha1", "items": [' + MANY + "}", "more values than"),
        ('{"apiVersion": "gputopo/v1alpha1", "items": ' + "9" * 100_000 + "}", "a number is too long"),
        ('{"gputopo": "nvml-recording", "version": 1, "snapshot": ' + "[" * 100_000, "nesting"),
        ('{"gputopo": "nvml-recording", "version": 1, "snapshot": {"gpus": [' + MANY + "}}", "more values"),
        ('{"gputopo": "bundle", "members": {"root/sys/x": ' + "[" * 100_000, "no whole record"),
        ('{"gputopo": "bundle", "members": [' + MANY + "}", "more values"),
        ('{"gputopo": "bundle"}\n' * 400_000, "no record"),
        ("apiVersion: v1\na: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n", "a Kubernetes object"),
        ("apiVersion: gputopo/v1alpha1\nkind: !!python/object/apply:os.system [id]\n", "save it with -o json"),
    ],
)
def test_json_and_yaml(text: str, says: str, place: Path, tmp_path: Path) -> None:
    (place / "node.json").write_text(text)
    ended = inspect(place / "node.json", note=tmp_path)
    refused(ended)
    assert says in ended.err


# Texts as large as are read


@pytest.mark.parametrize(
    ("part", "says"),
    [
        ("GPU0 X\n", "looked for"),
        ("GPU0\tX\tNV1\n", "more than 500,000 lines"),
        ("GPU0\tX\t" + "NV1\t" * 99 + "\n", "more than 1,000 outputs"),
        ("GPU0 X NV1 ", "looked for"),
        ("\U0001f600" + "a" * 90 + "\n", "looked for"),
        ("NUMA node0 CPU(s): 0\nNUMA node1 CPU(s): 1\n", "more than 100,000 lines of one format"),
        ("GPU0 X OK OK OK OK OK OK OK OK OK OK OK OK OK ", "looked for"),
    ],
    ids=["no-letters", "rows", "long-rows", "one-line", "wide", "lscpu", "one-line-p2p"],
)
def test_a_text_of_32_mib(part: str, says: str, place: Path, tmp_path: Path) -> None:
    data = part.encode()
    (place / "log.txt").write_bytes(data * (32 * MIB // len(data)))
    assert says in refused(inspect(place / "log.txt", note=tmp_path))


def test_a_matrix_of_more_devices_than_a_node_has(place: Path, tmp_path: Path) -> None:
    labels = [f"GPU{number}" for number in range(300)]
    rows = [f"{label}\t" + "\t".join(" X " if label == other else "SYS" for other in labels) for label in labels]
    (place / "topo.txt").write_text("\t" + "\t".join(labels) + "\n" + "\n".join(rows) + "\n")
    assert "more than 256 rows" in refused(inspect(place / "topo.txt", note=tmp_path))


# What is printed

ESCAPES = ("\x1b[2J\x1b[31m", "\x1b]0;title\x07", "\u202egnp.", "\u2066", "\x9b31m", "\u200b", "\r", "\x08\x08")


@pytest.mark.parametrize("escape", ESCAPES)
@pytest.mark.parametrize("form", ["text", "json", "yaml"])
def test_no_escape_of_a_name_reaches_the_terminal(
    escape: str, form: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from xml.sax.saxutils import quoteattr

    name = quoteattr(f"mlx5_0{escape}").translate({ord(sign): None for sign in "\x00\x07\x08\x1b"})
    (place / "topo.xml").write_text(
        f'<system version="1">\n<cpu numaid="0" affinity="ff" arch="x86_64" vendor="AuthenticAMD">\n'
        f'<pci busid="0000:3b:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16">\n'
        f"<nic><net name={name} dev={name}/></nic></pci></cpu></system>\n",
        encoding="utf-8",
    )
    (place / "list.txt").write_text(f"GPU 0: NVIDIA{escape} L4 (UUID: GPU-1{escape})\n", encoding="utf-8")
    for source in ("topo.xml", "list.txt"):
        run(["inspect", str(place / source), "-v", "-o", form])
        printed = "".join(capsys.readouterr())
        assert printed
        assert all(line.isprintable() for line in printed.split("\n")), f"{printed!a}"


def test_no_escape_of_a_path_reaches_the_terminal(place: Path, tmp_path: Path) -> None:
    file = place / "a\x1b[2J\u202e.txt"
    file.write_text("nothing\n")
    refused(inspect(file, note=tmp_path))
