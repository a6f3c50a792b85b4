"""What a file of the kubelet is, is found by looking; `inspect` says which verb reads it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gputopo.cli import run
from gputopo.evidence.open import open_sources
from gputopo.parsers import podresources
from gputopo.parsers.recognise_holdings import parse, recognise, why_not_message
from gputopo.parsers.unreadable import Unreadable
from tests.pods_sources.samples import FOLDER, needs_samples
from tests.pods_sources.test_dra_manager_state import CLAIM, claims
from tests.pods_sources.test_kubelet_holdings import checkpoint
from tests.pods_sources.test_podresources import ALLOCATABLE, FULL, as_protobuf

TEXTS = {
    "podresources": json.dumps(FULL),
    "kubelet-checkpoint": checkpoint(),
    "cpu-manager-state": '{"policyName":"none","defaultCpuSet":"","checksum":1}',
    "memory-manager-state": '{"policyName":"None","machineState":{},"checksum":1}',
    "dra-manager-state": claims(CLAIM),
}
MESSAGES = {"list": as_protobuf(FULL), "allocatable": as_protobuf(ALLOCATABLE, podresources.ALLOCATABLE)}


@pytest.mark.parametrize("id", TEXTS)
def test_a_text(id: str) -> None:
    data = TEXTS[id].encode()
    assert recognise(data) == (id,)
    assert [said.format for said in parse(data)] == [id]


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message(name: str, tmp_path: Path) -> None:
    """Known from a file, a folder, an archive and a pipe alike: nothing but its bytes tells."""
    data = MESSAGES[name]
    assert recognise(data) == ("podresources",)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/x.json").write_bytes(data)
    for source in (tmp_path / "folder/x.json", tmp_path / "folder"):
        [piece] = open_sources([str(source)], protobuf=why_not_message)
        assert piece.data == data
        assert parse(piece.data) == podresources.parse_bytes(data)


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"GPU0\tX", b"\n\n", b"\x0a\x00\x00", b'{"kind": "Deployment", "apiVersion": "apps/v1"}']
)
def test_anything_else_is_nothing(data: bytes) -> None:
    assert recognise(data) == ()
    with pytest.raises(Unreadable):
        parse(data)


@pytest.mark.parametrize("name", [*TEXTS, *MESSAGES])
def test_inspect_says_what_it_is_and_who_reads_it(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.write_bytes(MESSAGES[name] if name in MESSAGES else TEXTS[name].encode())
    assert run(["inspect", str(file)]) == 2
    what, hint = capsys.readouterr().err.splitlines()
    assert "kubelet" in what
    assert "it does not say how a node is wired" in what
    assert "gputopo pods" in hint


@pytest.mark.parametrize("data", [b"\0\1\2", b"\x0a\x03\x0a\x01\x01\0", b"\x12\x00", MESSAGES["list"][:-3]])
def test_other_binaries_stay_binaries(data: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_bytes(data)
    assert run(["inspect", str(tmp_path / "file")]) == 2
    assert capsys.readouterr().err.startswith("gputopo: error: this is binary, not a text")


def test_beside_evidence_in_a_folder_it_is_skipped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pods.bin").write_bytes(MESSAGES["list"])
    (tmp_path / "topo.txt").write_text("\tGPU0\tGPU1\nGPU0\t X \tPHB\nGPU1\tPHB\t X \n")
    assert run(["inspect", str(tmp_path)]) == 0
    skipped = f"skipped {tmp_path}: pods.bin: this is an answer of the kubelet's podresources socket"
    assert skipped in capsys.readouterr().err


def test_a_text_that_begins_with_a_blank_line_is_read_as_ever(tmp_path: Path) -> None:
    (tmp_path / "topo.txt").write_text("\n\tGPU0\tGPU1\nGPU0\t X \tPHB\nGPU1\tPHB\t X \n")
    assert run(["inspect", str(tmp_path / "topo.txt"), "-q", "--output-file", str(tmp_path / "out")]) == 0


def test_neither_protobuf_nor_grpc_is_loaded_before_it_is_needed(tmp_path: Path) -> None:
    for number, text in enumerate((TEXTS["cpu-manager-state"], TEXTS["dra-manager-state"], "\nno such thing")):
        (tmp_path / str(number)).write_text(text)
    code = (
        "import sys; from gputopo.parsers.recognise_holdings import parse, recognise\n"
        "texts = [open(path, 'rb').read() for path in sys.argv[1:]]\n"
        "print([recognise(text) for text in texts], len(parse(texts[0])), len(parse(texts[1])))\n"
        "print(*{name.partition('.')[0] for name in sys.modules} & {'grpc', 'google', 'yaml', 'asyncio', 'psutil'})"
    )
    files = [str(tmp_path / str(number)) for number in range(3)]
    done = subprocess.run([sys.executable, "-c", code, *files], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[('cpu-manager-state',), ('dra-manager-state',), ()] 1 1", ""]


@needs_samples
def test_every_sample_of_the_kubelet_is_known() -> None:
    for path in sorted(FOLDER.rglob("*")):
        if path.name.startswith("podresources."):
            wanted: tuple[str, ...] = ("podresources",)
        elif path.name.startswith("kubelet_internal_checkpoint"):
            wanted = ("kubelet-checkpoint",)
        elif path.name.startswith(("cpu_manager_state", "memory_manager_state", "dra_manager_state")):
            wanted = (path.name.partition(".")[0].replace("_", "-"),)
        else:
            continue
        assert recognise(path.read_bytes()) == wanted, path.name


def test_who_asked_knows_what_an_answer_answers() -> None:
    """An empty one too, and one pod alone is a List, not a Get: every live pod of the node."""
    [nothing] = parse(b"", "live: List")
    assert (nothing.format, nothing.containers, nothing.pods, nothing.pods_complete) == ("podresources", (), (), True)
    one = as_protobuf(FULL)
    [asked], [found] = parse(one, "live: List"), parse(one)
    assert asked.containers == found.containers
    assert (asked.pods_complete, found.pods_complete) == (True, len(found.pods or ()) > 1)
    [old] = parse(b"", "live: v1alpha1 List")
    assert old.pods == ()
