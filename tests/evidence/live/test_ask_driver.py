"""What the child's lines and its end mean, and where the library is looked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gputopo.evidence.live import ask_driver as asking
from gputopo.evidence.live.ask_driver import Answer, ask_driver, read_answer
from gputopo.evidence.live.command import EXITED, NOT_STARTED, TIMEOUT, Done
from gputopo.evidence.live.driver import LIBRARY, libraries
from gputopo.evidence.live.nvml_child import ASKS, FAILED, RECORDING
from gputopo.evidence.live.nvml_child import LIBRARY as LOADED
from gputopo.parsers import nvml_recording

LINES = b"library /lib/nvml\nasks nvmlInitWithFlags\nasks nvmlDeviceGetP2PStatus GPU0 GPU7\n"


def test_both_sides_use_the_same_words() -> None:
    ours = (asking._ASKS, asking._LIBRARY, asking._FAILED, asking._RECORDING)
    assert tuple(word.decode() for word in ours) == (ASKS, LOADED, FAILED, RECORDING)


def test_a_recording_is_the_answer_however_the_process_ended() -> None:
    for end, status in ((EXITED, 0), (EXITED, -11), (TIMEOUT, None)):
        answer = read_answer(Done(LINES + b'recording {"a": 1}\n', end, status), 10.0)
        assert answer == Answer("/lib/nvml", b'{"a": 1}', None)


@pytest.mark.parametrize(
    ("done", "kind", "words"),
    [
        (Done(LINES, TIMEOUT, -9), asking.NO_ANSWER, "10 s (last asked: nvmlDeviceGetP2PStatus of GPU0 and GPU7)"),
        (Done(LINES, TIMEOUT, None), asking.NO_ANSWER, "cannot be killed, it hangs in the kernel"),
        (Done(LINES + b'recording {"a": 1', TIMEOUT, -9), asking.NO_ANSWER, "did not answer within 10 s"),
        (Done(LINES, EXITED, -7), asking.CRASHED, "(SIGBUS)"),
        (Done(LINES, EXITED, -64), asking.CRASHED, "(SIGRTMAX)"),
        (Done(b"", EXITED, 1), asking.CRASHED, "(status 1)"),
        (Done(b"permission denied", NOT_STARTED, None), asking.NO_WRAPPER, "permission denied"),
        (Done(b'failed {"call": "nvmlInit", "error": 9}\n', EXITED, 0), asking.NOT_LOADED, "9 DRIVER_NOT_LOADED"),
        (Done(b'failed {"call": "nvmlInit", "error": 77}\n', EXITED, 0), asking.REFUSED, "77 an error"),
        (Done(b'failed {"call": "dlopen", "text": ""}\n', EXITED, 0), asking.NO_LIBRARY, "is not there"),
        (Done(b'failed {"call": "dlopen", "text": "bad ELF"}\n', EXITED, 0), asking.NO_LIBRARY, "bad ELF"),
        (Done(b'failed {"call": "pynvml", "text": "No module"}\n', EXITED, 0), asking.NO_WRAPPER, "No module"),
    ],
)  # fmt: skip
def test_no_answer_says_why_and_is_a_recording_all_the_same(done: Done, kind: str, words: str) -> None:
    answer = read_answer(done, 10.0)
    assert answer.recording is None
    assert answer.trouble is not None
    assert answer.trouble.kind == kind
    assert words in answer.trouble.text
    text = answer.document().decode()
    assert json.loads(text)["failure"] == {"kind": kind, "text": answer.trouble.text}
    assert nvml_recording.sniff(text)
    [records] = nvml_recording.parse(text)
    assert records.gpus is None
    assert records.gaps


def test_the_loaders_own_library_comes_first_then_the_roots() -> None:
    assert libraries("/")[0] == LIBRARY


def test_a_library_is_looked_for_below_the_root_and_the_machines_own(tmp_path: Path) -> None:
    for folder in ("run/nvidia/driver/usr/lib64", "home/kubernetes/bin/nvidia/lib64", "usr/lib/wsl/lib"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / LIBRARY).touch()
    found = [path.removeprefix(f"{tmp_path}/") for path in libraries(str(tmp_path)) if path.startswith(str(tmp_path))]
    assert found == [f"{folder}/{LIBRARY}" for folder in (
        "run/nvidia/driver/usr/lib64", "home/kubernetes/bin/nvidia/lib64", "usr/lib/wsl/lib")]  # fmt: skip
    assert list(libraries("/", str(tmp_path))) == [f"{tmp_path}/{path}" for path in found]


def test_a_link_is_followed_inside_its_root_and_a_folder_is_no_library(tmp_path: Path) -> None:
    (tmp_path / "usr/lib64").mkdir(parents=True)
    (tmp_path / "usr/lib64/libnvidia-ml.so.570").touch()
    (tmp_path / "usr/lib64" / LIBRARY).symlink_to("/usr/lib64/libnvidia-ml.so.570")
    (tmp_path / "usr/lib" / LIBRARY).mkdir(parents=True)
    assert libraries("/", str(tmp_path)) == (f"{tmp_path}/usr/lib64/libnvidia-ml.so.570",)


def test_without_a_library_no_process_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking.command, "run", None)
    trouble = ask_driver((), 10.0).trouble
    assert trouble is not None
    assert trouble.kind == asking.NO_LIBRARY
