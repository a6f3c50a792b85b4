"""Runs what a page shows, in a folder with the samples, the files that the page writes, and a reader's stand-ins."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gputopo.cli import VERBS, below, load, run
from gputopo.sample_files import sample_paths
from tests.pages.read import OUTPUT, ROOT, command_of, shown

HELPERS = frozenset({"cat", "cp", "mkdir", "sh"})  # programs of a page that are run too
NO_NODE = frozenset({"explain", "formats", "completion"})  # verbs that read nothing
CLAIM = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: one}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]}}
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: one}
spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: 4}}}]}
"""
SLICES = """
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec: {selectors: [{cel: {expression: "device.driver == 'gpu.example.com'"}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: node-a-gpus}
spec:
  driver: gpu.example.com
  nodeName: node-a
  pool: {name: node-a, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0}]
"""


class Ran(NamedTuple):
    code: int
    out: str
    err: str


def furnish(folder: Path) -> None:
    """What a reader has: files by the names that the pages use."""
    own = {Path(path).name: Path(path).read_bytes() for path in sample_paths("hgx-h100")}
    job, pods = ROOT / "samples/jobs/hgx-h100-p2p-disabled", ROOT / "samples/pods/pcie-2s-8gpu-crossing"
    own["job.log"] = (job / "nccl.log").read_bytes()
    own["gpus.csv"] = (job / "gpus.csv").read_bytes()
    for path in pods.iterdir():
        own.setdefault(path.name, path.read_bytes())
    own |= {"claim.yaml": CLAIM.encode(), "pod.yaml": POD.encode(), "slices.yaml": SLICES.encode()}
    own["nodes/a17.txt"] = own["topo.txt"]
    own["host/sys/devices/system/node/node0/cpulist"] = b"0-7\n"
    for name, content in own.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    for archive in ("capture.tar.xz", "node.tar.gz"):
        subprocess.run(["tar", "caf", archive, "-C", "host", "sys"], cwd=folder, check=True)
    (folder / "samples").symlink_to(ROOT / "samples")


def called(arguments: Sequence[str], stdin: str = "topo.txt") -> Ran:
    """The program in this process, standard input from a file."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2)]
    kept = sys.stdin
    with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]), open(stdin) as given:
        sys.stdin = given
        try:
            code = run(arguments)
        finally:
            sys.stdin = kept
    out, err = (stream.buffer.getvalue().decode() for stream in streams)
    return Ran(code, out, err)


def parsed(arguments: Sequence[str]) -> tuple[str, Any]:
    """(verb, click's context). Raises a usage error for an option or a verb that is not there."""
    words = list(arguments)
    verb = words.pop(0) if words and words[0] in VERBS else "inspect"
    command = load(verb)
    if hasattr(command, "list_commands"):
        command = below(command, words.pop(0))
    return verb, command.make_context(verb, words)


def files(context: Any) -> list[str]:
    """What the command would read, by the names of its parameters: FILE, PATH, DIR, SOURCE; not what it writes."""
    found: list[str] = []
    for parameter in context.command.params:
        value = context.params.get(parameter.name)
        if value and parameter.name != "output_file" and re.search(r"FILE|PATH|DIR|SOURCE", parameter.metavar or ""):
            found += [value] if isinstance(value, str) else [str(one) for one in value]
    return found


def is_live(verb: str, context: Any) -> bool:
    """Whether it asks a machine or a cluster, or waits."""
    if any(context.params.get(name) for name in ("kube", "watch", "socket", "listen")):
        return True
    if verb == "collect":
        return not context.params.get("print_script")
    return verb not in NO_NODE and not files(context)


def there(name: str) -> bool:
    return name == "-" or name.startswith("sample:") or os.path.exists(name)


def troubles(page: Path) -> Iterator[str]:
    """Of every gputopo on the page, in the page's order: what does not parse, or does not exit as the page says.

    The current folder is furnished. A command that is live, or reads what is not here, is parsed only.
    """
    for one in shown(page):
        if one.file:
            Path(one.file).parent.mkdir(parents=True, exist_ok=True)
            Path(one.file).write_text(one.text)
            continue
        last: Ran | None = None
        stdin = "topo.txt"
        for words in one.programs:
            if words[0] in HELPERS and not any(one.startswith("/") for one in words):
                last = helped(words)
            if words[:1] != ("gputopo",):
                continue
            arguments = ["host" if word == "/host" else word for word in words[1:]]
            try:
                verb, context = parsed(arguments)
            except SystemExit:
                continue  # --help, --version
            except Exception as error:
                yield f"{one.line}: {error}"
                break
            if is_live(verb, context) or not all(map(there, files(context))):
                continue
            if last is not None:
                stdin = ".stdin"
                Path(stdin).write_text(last.out)
            last = called(arguments, stdin)
            if last.code != one.code or (last.code == 0 and last.err):
                yield f"{one.line}: exit {last.code}, not {one.code}\n{last.err}"
        if one.into and last is not None:
            Path(one.into).write_text(last.out)


def helped(words: Sequence[str]) -> Ran | None:
    """One of the programs that put files into place; a script that the page wrote sees the small root."""
    if words[0] in ("sh", "cat") and not all(map(os.path.exists, words[1:])):
        return None
    environment = {**os.environ, "ROOT": os.path.abspath("host")}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    return Ran(done.returncode, done.stdout, done.stderr)


def output(command: str) -> str:
    """What the command prints; `make inspect`: what it runs once .venv is there; `… | head -12`: its first lines."""
    if command == "make inspect":
        makefile = (ROOT / "Makefile").read_text()
        sample = re.search(r"^SAMPLE = (\S+)$", makefile, re.MULTILINE)
        assert sample
        assert "gputopo inspect $(SAMPLE)" in makefile
        return called(["inspect", sample[1]]).out
    first, *after = command_of(command).programs
    ran = called(first[1:] if first[0] == "gputopo" else first)
    assert ran.code in (0, 1, 3), f"{command}: exit {ran.code}\n{ran.err}"
    lines = ran.out.splitlines(keepends=True)
    for program, count in after:
        number = int(count.lstrip("-"))
        lines = {"head": lines[:number], "tail": lines[-number:]}[program]
    return "".join(lines)


def rewritten(page: Path) -> str:
    """The page with the present outputs. The page's own files have to be there."""
    return OUTPUT.sub(lambda block: block[1] + output(block[2]) + block[4], page.read_text(encoding="utf-8"))


@contextlib.contextmanager
def place(folder: Path) -> Iterator[None]:
    """The furnished folder as the current one, without what a person's terminal says."""
    before, kept = os.getcwd(), {name: os.environ.pop(name, None) for name in ("COLUMNS", "NO_COLOR")}
    furnish(folder)
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        os.environ.update({name: value for name, value in kept.items() if value is not None})


def live(line: str) -> list[str]:
    """The command line of a console block as a process of this interpreter."""
    words = shlex.split(line, comments=True)
    at = next(n for n, word in enumerate(words) if word.endswith("gputopo"))
    return [sys.executable, "-m", "gputopo", *words[at + 1 :]]
