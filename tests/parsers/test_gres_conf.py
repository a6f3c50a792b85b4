"""gres.conf and `slurmd -G`: what is recognised, what is read, and where each value stands."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputopo.parsers.gres_conf import LARGEST, read, sniff
from gputopo.parsers.unreadable import Unreadable
from gputopo.terms.manifest import Manifest, Place


def pairs(manifest: Manifest) -> list[list[tuple[str, str]]]:
    return [[(pair["key"], pair["value"]) for pair in line["keys"]] for line in manifest.object.body["lines"]]


def place_of(manifest: Manifest, line: int, key: int, what: str = "value") -> Place:
    return manifest.at(("lines", line, "keys", key, what))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("AutoDetect=nvml\n", [[("AutoDetect", "nvml")]]),
        ("autodetect = off\nName=gpu\n", [[("autodetect", "off")], [("Name", "gpu")]]),
        ("Name=gpu File=/dev/nvidia[0,2-3] # one is broken\n", [[("Name", "gpu"), ("File", "/dev/nvidia[0,2-3]")]]),
        ('NodeName="a b"  name = gpu count=4\r\n', [[("NodeName", "a b"), ("name", "gpu"), ("count", "4")]]),
        ("Name=gpu \\  \n  Type=a100 \\\n\tFile=/dev/nvidia0\n",
         [[("Name", "gpu"), ("Type", "a100"), ("File", "/dev/nvidia0")]]),
        ("Name=gpu Type=a\\#b File=/dev/nvidia0", [[("Name", "gpu"), ("Type", "a#b"), ("File", "/dev/nvidia0")]]),
        ("# Name=gpu Count=1\n\nName=gpu Count=2 # \\\nName=mps Count=100\n",
         [[("Name", "gpu"), ("Count", "2")], [("Name", "mps"), ("Count", "100")]]),
        ("include other.conf\nName=gpu Count+=2\n", [[("Name", "gpu"), ("Count", "2")]]),
    ],
)  # fmt: skip
def test_lines_are_read_as_slurm_reads_them(text: str, expected: list[list[tuple[str, str]]]) -> None:
    assert sniff(text)
    [one] = read(text)
    assert (one.kind, pairs(one)) == ("gres.conf", expected)


def test_places_go_through_continuations_and_quotes() -> None:
    [one] = read('# all\nName=gpu \\\n  TYPE="a 100"\\\n File=/dev/nvidia0 oops\n')
    assert place_of(one, 0, 0, "key") == Place(2, 1)
    assert place_of(one, 0, 1, "key") == Place(3, 3)
    assert place_of(one, 0, 1) == Place(3, 9)
    assert one.inside(("lines", 0, "keys", 1, "value"), 1, 3) == Place(3, 11)
    assert place_of(one, 0, 2) == Place(4, 7)
    assert one.at(("lines", 0, "rest")) == Place(4, 20)
    assert one.object.body["lines"][0]["rest"] == "oops"


def test_what_includes_another_file_says_so() -> None:
    [one] = read("Name=gpu Count=1\nInclude more.conf\n")
    assert one.object.body["includes"] is True
    assert one.object.body["embedded"] is False


REPORT = """We have this in gres.conf, and the nodes are drained:

    Name=gpu Type=h100 File=/dev/nvidia0
    Name=gpu Type=h100 File=/dev/nvidia1

GresTypes=gpu
NodeName=tux[0-7] CPUs=64 Sockets=2 Gres=gpu:2 State=UNKNOWN
"""


def test_in_other_text_only_its_own_lines_are_taken() -> None:
    [one] = read(REPORT)
    assert one.object.body["embedded"] is True
    assert [line[-1] for line in pairs(one)] == [("File", "/dev/nvidia0"), ("File", "/dev/nvidia1")]
    assert place_of(one, 1, 2) == Place(4, 29)


SAID = """[2026-02-03T10:11:12] slurmd: Gres Name=gpu Type=nvidia_l4 Count=1 Index=1 ID=7696487 File=/dev/nvidia1 \
Cores=8-15 CoreCnt=16 Links=0,-1 Flags=HAS_FILE,HAS_TYPE,ENV_NVML
slurmd: Gres Name=shard Type=(null) Count=4 ID=7696999 Links=(null) Flags=SHARED
"""


def test_what_slurmd_prints_is_read_without_its_nulls() -> None:
    [one] = read(SAID)
    assert one.kind == "slurmd -G"
    first, second = pairs(one)
    assert dict(first)["Cores"] == "8-15"
    assert [key for key, _ in second] == ["Name", "Count", "ID", "Flags"]
    assert place_of(one, 0, 6) == Place(1, SAID.index("Cores=8") + len("Cores=") + 1)


def test_a_text_may_hold_both() -> None:
    assert [one.kind for one in read("Name=gpu File=/dev/nvidia1\n" + SAID)] == ["gres.conf", "slurmd -G"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[Desktop Entry]\nType=Application\nName=Firefox\nExec=firefox\n",
        "GresTypes=gpu\nNodeName=tux[0-7] CPUs=64 Gres=gpu:2 State=UNKNOWN\nPartitionName=a Nodes=ALL\n",
        "kind: Pod\napiVersion: v1\nmetadata:\n  name: gpu\n",
        "MyAutoDetect=nvml\n",
        "Gres Name\n",
    ],
)
def test_other_files_are_not_taken_for_one(text: str) -> None:
    assert not sniff(text)


def test_a_file_that_is_too_large_is_refused() -> None:
    with pytest.raises(Unreadable):
        read("Name=gpu Count=1\n" + "#" * LARGEST)
    with pytest.raises(Unreadable):
        read("Name=gpu Count=1\n" * 5000)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(["Name=gpu", " ", "File=", "/dev/nvidia[0-3]", "\\", "\n", "#", '"', "=", "é", "\r\n",
                                 "Links=-1,0", "AutoDetect=nvml", "Gres Name=gpu Type=a", "include x", "\x85"]),
                max_size=30))  # fmt: skip
def test_every_value_stands_where_it_is_said_to(parts: list[str]) -> None:
    text = "".join(parts)
    try:
        found = read(text)
    except Unreadable:
        return
    for one in found:
        lines: list[dict[str, Any]] = one.object.body["lines"]
        for number, line in enumerate(lines):
            for place, pair in enumerate(line["keys"]):
                path = ("lines", number, "keys", place, "value")
                at = one.at(path)
                start = one.source.starts[at.line - 1] + at.column - 1
                if pair["value"] and "\\" not in text and "\n" not in text[start : start + len(pair["value"])]:
                    assert text[start : start + len(pair["value"])] == pair["value"]
