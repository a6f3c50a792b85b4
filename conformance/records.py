"""Questions and answers as recorded files, in the formats that tests/replay.py reads."""

from __future__ import annotations

import json
from typing import Any

Question = dict[str, Any]


def policies(questions: list[Question], answers: list[Question], version: str) -> dict[str, str]:
    """One file; a node of many GPUs also says what an implementation without the overwriting would answer."""
    topologies = []
    for question, answer in zip(questions, answers):
        topology = {key: question[key] for key in ("name", "n", "note", "links")}
        topology["cases"] = [[*asked, *said[:4]] for asked, said in zip(question["cases"], answer["cases"])]
        if question["n"] > 12:
            topology["copysafe_result"] = answer["cases"][0][4]
        topologies.append(topology)
    head = {"format": "gpualloc-golden/1", "source": f"go-gpuallocator {version}", "symmetric": True, "columns": 8}
    return {"policies.json": json.dumps({**head, "topologies": topologies})}


def outcomes(questions: list[Question], answers: list[Question], version: str) -> dict[str, str]:
    cases = []
    for question, answer in zip(questions, answers):
        asked = {key: question[key] for key in ("n", "links", "available", "required", "size")}
        cases.append({"topology": question["name"], **asked, **answer})
    head = {"format": "gpualloc-outcomes/1", "source": f"go-gpuallocator {version}", "symmetric": True}
    return {"outcomes.json": json.dumps({**head, "cases": cases})}


def kubelet(questions: list[Question], answers: list[Question], version: str) -> dict[str, str]:
    """One case a line; those whose answer differs between runs in a file of their own."""
    lines: dict[str, list[str]] = {}
    for question, answer in zip(questions, answers):
        case = {key: value for key, value in question.items() if key != "runs"}
        case.update(release=version.removeprefix("v"), expect=answer["expect"])
        kind = question["kind"] + ("-nondeterministic" if answer["varies"] else "")
        lines.setdefault(kind, []).append(json.dumps(case))
    return {f"{kind}.jsonl": "\n".join(found) + "\n" for kind, found in lines.items()}


def dra_scenarios(questions: list[Question], answers: list[Question], version: str) -> dict[str, str]:
    """Those that were given up after a while have no answer."""
    release = "1." + version.removeprefix("v0.")
    cases = [
        {**question, "release": release, "expected": answer["expected"]}
        for question, answer in zip(questions, answers) if not answer["timedOut"]
    ]  # fmt: skip
    return {"scenarios.json": json.dumps({"cases": cases})}


def dra_cel(questions: list[Question], answers: list[Question], version: str) -> dict[str, str]:
    """Those on which the real evaluator panics have no answer."""
    release = "1." + version.split(".")[1]
    cases = [
        {**question, "release": release, "expected": answer}
        for question, answer in zip(questions, answers) if "panic" not in answer
    ]  # fmt: skip
    return {"expressions.json": json.dumps({"cases": cases, "devices": {}})}


def comparable(answer: Question) -> Question:
    """What is expected, without what only some runs show."""
    expect = answer["expect"]
    return {key: value for key, value in expect.items() if key != "ever"}
