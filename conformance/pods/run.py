"""Nodes of a seed, each served by the real kubelet's code and read by ours."""

from __future__ import annotations

import json
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from conformance import gobuild
from conformance.gobuild import KUBELET, BuildError
from conformance.pods.compare import compare
from conformance.pods.said import Question, said
from conformance.questions.kubelet_pods import pods, size

NAME = "pods-kubelet"
SHOWN, MOST = 10, 400  # differences, characters
COMMAND_EACH = 25  # nodes: the command takes longer than all the rest


def draw(count: int, seed: int) -> list[Question]:
    return pods(Random(f"{seed} {NAME}"), count)


def conform(version: str, count: int, seed: int, folder: Path) -> bool:
    """Whether all was read as it is. The nodes that were not are kept in `folder`. Raises BuildError."""
    questions = draw(count, seed)
    executable = gobuild.build(KUBELET, version)
    started = time.monotonic()
    counts: Counter[str] = Counter()
    wrong: list[tuple[Question, list[str]]] = []
    with kubelet(executable) as ask:
        for number, question in enumerate(questions):
            through_command = number % COMMAND_EACH == 0
            differences = list(compare(said(question, ask(question)), counts, through_command))
            if differences:
                wrong.append((question, differences))
    print(f"{NAME}: {KUBELET.module} {version}, seed {seed}, {len(questions)} nodes, {sum(map(size, questions))} "
          f"containers asked for, in {time.monotonic() - started:.0f} s", flush=True)  # fmt: skip
    print(f"{NAME}: read of " + ", ".join(f"{what} {number}" for what, number in counts.items()))
    print(f"{NAME}: {sum(len(one) for _, one in wrong)} differences on {len(wrong)} nodes", flush=True)
    for question, differences in wrong[:SHOWN]:
        more = f" and {len(differences) - 1} more" if differences[1:] else ""
        print(f"  {question['id']}: {differences[0][:MOST]}{more}")
    lines = "".join(json.dumps(question) + "\n" for question, _ in wrong)
    (folder / f"{NAME}-{version}-wrong.jsonl").write_text(lines, encoding="utf-8")
    return not wrong


@contextmanager
def kubelet(executable: Path) -> Iterator[Callable[[Question], Question]]:
    """The program: what it answers stands, socket and files, until it is asked again or left."""
    process = subprocess.Popen(
        [str(executable)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    write, lines, errors = process.stdin, process.stdout, process.stderr

    def ask(question: Question) -> Question:
        write.write(json.dumps(question) + "\n")
        write.flush()
        if line := lines.readline():
            answer: Question = json.loads(line)
            return answer
        said = errors.read().strip().splitlines()
        raise BuildError(f"{executable.parent.name} gave up: {said[0][:300] if said else process.wait()}")

    with process:
        yield ask
        write.close()
