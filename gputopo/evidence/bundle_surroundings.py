"""What a bundle holds beside the root folder: the driver's answers, printed texts, the kubelet's state."""

from __future__ import annotations

import json

from gputopo.evidence.bundle import NotRead, Part
from gputopo.evidence.kubelet_files import BELOW_A_NODE
from gputopo.evidence.kubelet_files import FOLDER as KUBELET
from gputopo.evidence.live import command
from gputopo.evidence.live.node import Reading
from gputopo.evidence.tree import MEMBER_BYTES, FolderTree

_BOOT = "proc/sys/kernel/random/boot_id"
_COMMANDS = (
    ("smi/topo-m.txt", ("nvidia-smi", "topo", "-m")),
    ("smi/nvlink-s.txt", ("nvidia-smi", "nvlink", "-s")),
    ("lscpu.txt", ("lscpu",)),
)
# Rows of lscpu that change from second to second.
_CHANGING = ("CPU MHz:", "CPU(s) scaling MHz:")
Found = tuple[tuple[Part, ...], tuple[NotRead, ...]]


def recording(reading: Reading) -> Found:
    """`nvml.json`, without the bytes of the calls."""
    answer = reading.answer
    if answer is None:
        return (), (NotRead("nvml.json", f"nobody to ask: {reading.around.why_no_gpus()}"),)
    document = json.loads(answer.document())
    document.pop("calls", None)
    data = (json.dumps(document, indent=1, sort_keys=True) + "\n").encode()
    part = Part("nvml.json", data, answer.library, evidence=True, whole=answer.trouble is None)
    return (part,), (NotRead("nvml.json", answer.trouble.text),) if answer.trouble else ()


def snapshot(reading: Reading) -> dict[str, object]:
    """What the driver said of its GPUs, {} where it said nothing."""
    said = json.loads(reading.answer.recording) if reading.answer and reading.answer.recording else {}
    found = said.get("snapshot") if isinstance(said, dict) else None
    return found if isinstance(found, dict) else {}


def known_beside(reading: Reading) -> dict[str, dict[str, object]]:
    """`live` of the manifest: what a live inspection says of this node that no file says."""
    return {"surroundings": dict(reading.around._asdict()), "stuck": dict(reading.tree.stuck)}


def is_this_machine(tree: FolderTree) -> bool:
    """Whether a root is that of the running kernel: what a command prints is then of the same node."""
    boot = tree.read(_BOOT)
    return boot is not None and boot == FolderTree("/").read(_BOOT)


def printed(timeout: float, here: bool) -> Found:
    """Texts of programs that are installed; each has `timeout` seconds."""
    parts, missed = [], []
    for path, words in _COMMANDS:
        done = command.run(words, timeout, environment=_plain()) if here else None
        if done is None:
            missed.append(NotRead(" ".join(words), "the root folder is not that of this machine"))
        elif done.end != command.EXITED or done.status or not done.output.strip():
            missed.append(NotRead(" ".join(words), _why(done, timeout)))
        else:
            rows = done.output.splitlines(keepends=True)
            kept = [row for row in rows if not row.strip().startswith(tuple(text.encode() for text in _CHANGING))]
            parts.append(Part(path, b"".join(kept), " ".join(words)))
    return tuple(parts), tuple(missed)


def _why(done: command.Done, timeout: float) -> str:
    if done.end == command.NOT_STARTED:
        return done.output.decode("utf-8", "replace")
    if done.end == command.TIMEOUT:
        return f"did not end within {timeout:g} s"
    return done.end if done.end != command.EXITED else f"printed nothing or failed (status {done.status})"


def _plain() -> dict[str, str]:
    import os

    return {**os.environ, "LC_ALL": "C"}


def kubelet_state(tree: FolderTree) -> Found:
    parts, missed = [], []
    for path in BELOW_A_NODE:
        data = tree.read(path)
        if data is None:
            missed.append(NotRead(path, "absent, or cannot be read (root may)"))
        elif len(data) >= MEMBER_BYTES:
            missed.append(NotRead(path, "larger than 1 MiB"))
        else:
            parts.append(Part(f"{KUBELET}/{path.rpartition('/')[2]}", data, path))
    return tuple(parts), tuple(missed)
