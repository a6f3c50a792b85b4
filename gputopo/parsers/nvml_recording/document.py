"""The JSON text → one table of decoded answers, whichever recorder wrote it.

A recording has its answers decoded (`snapshot`, or `snap` in the older spelling), as the bytes of
the calls (`calls`), or both. A decoded value is taken where there is one; the bytes fill the rest.
"""

from __future__ import annotations

import json
from contextlib import suppress

from gputopo.parsers.nvml_recording.answers import part
from gputopo.parsers.nvml_recording.call_bytes import decode_calls
from gputopo.parsers.unreadable import Unreadable
from gputopo.terms.structured_text import json_is_too_large

FORMAT = "nvml-recording"
VERSION = 1
_WHAT = "not a recording of the driver's answers"
_HINT = "docs/nvml-recording.md describes the format; `gputopo collect` writes it"

Answers = dict[str, object]


def read_document(source: str) -> Answers:
    """The JSON object. Raises Unreadable."""
    if json_is_too_large(source):
        raise Unreadable(f"{_WHAT}: more values than a driver has answers", None, _HINT)
    try:
        document = json.loads(source.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        raise Unreadable(f"{_WHAT}: {error.msg}", error.lineno, _HINT) from None
    except (ValueError, RecursionError):  # a number of thousands of digits; brackets without end
        raise Unreadable(f"{_WHAT}: numbers or nesting beyond every driver's", None, _HINT) from None
    if not isinstance(document, dict):
        raise Unreadable(f"{_WHAT}: the JSON text is no object", None, _HINT)
    return document


def decoded(document: Answers) -> Answers:
    """The answers in the spelling of our own `snapshot`. Raises Unreadable."""
    calls = document.get("calls")
    if document.get("gputopo") == FORMAT:
        version = document.get("version")
        if version != VERSION:
            raise Unreadable(f"recording of format version {version!r}; this reads version {VERSION}")
        snapshot = document.get("snapshot")
        if isinstance(snapshot, dict):
            return snapshot
    elif isinstance(document.get("snap"), dict):
        from_bytes = decode_calls(calls) if isinstance(calls, dict) else {}
        return _filled(from_bytes, _from_snap(part(document, "snap")))
    if isinstance(calls, dict):
        answers = decode_calls(calls)
        if answers.get("gpus"):
            return answers
        raise Unreadable(
            "the recording holds neither decoded answers nor calls that name a GPU",
            hint="record again, or replay it through nvidia-ml-py (gputopo.evidence.nvml) and record that",
        )
    raise Unreadable(f"{_WHAT}: neither `snapshot` nor `calls` in it", hint=_HINT)


def _filled(from_bytes: Answers, from_snap: Answers) -> Answers:
    """`from_snap` with what only the bytes tell."""
    gpus, byte_gpus = from_snap.get("gpus"), from_bytes.get("gpus")
    if isinstance(gpus, list) and isinstance(byte_gpus, list):
        from_snap["gpus"] = [_merged(byte_gpu, gpu) for byte_gpu, gpu in zip(byte_gpus, gpus)] + gpus[len(byte_gpus) :]
    return from_bytes | from_snap


def _merged(from_bytes: Answers, from_snap: Answers) -> Answers:
    """One GPU. `snap` lists the links that are on, and a part of the fabric struct."""
    merged = from_bytes | from_snap
    fabrics = [part(table, "fabric") for table in (from_bytes, from_snap)]
    if all("state" in fabric for fabric in fabrics):
        merged["fabric"] = fabrics[0] | fabrics[1]
    by_number: dict[object, object] = {}
    for table in (from_bytes, from_snap):
        links = table.get("links")
        by_number |= {link["link"]: link for link in links} if isinstance(links, list) else {}
    if by_number:
        merged["links"] = list(by_number.values())
    return merged


def _from_snap(snap: Answers) -> Answers:
    """The older spelling of decoded answers, where `"ERR3"` stands for a refusal."""
    answers: Answers = {}
    if "drv" in snap:
        answers["driver"] = _answer(snap["drv"])
    gpus = snap.get("gpus")
    if isinstance(gpus, list):
        answers["gpus"] = [_gpu(gpu, index) for index, gpu in enumerate(gpus) if isinstance(gpu, dict)]
    if isinstance(snap.get("topo"), list):
        answers["topology"] = _answer(snap["topo"])
    p2p = part(snap, "p2p")
    if p2p:
        answers["p2p"] = {kind: _answer(rows) for kind, rows in p2p.items()}
    return answers


def _gpu(snap: Answers, index: int) -> Answers:
    gpu: Answers = {"index": index}
    for ours, theirs in (("uuid", "uuid"), ("name", "name"), ("pci", "pci"), ("numaNodeId", "numa")):
        if theirs in snap:
            gpu[ours] = _answer(snap[theirs])
    for ours, theirs in (("cpuAffinity", "cpus"), ("memoryAffinity", "mem")):
        if theirs in snap:
            gpu[ours] = {"node": _answer(snap[theirs])}
    links = snap.get("links")
    if isinstance(links, list):  # of active links only
        gpu["links"] = [
            {"link": link[0], "state": 1, "remoteType": _answer(link[2]), "remoteBusId": _answer(link[3])}
            for link in links
            if isinstance(link, list) and len(link) == 4 and isinstance(link[0], int)
        ]
    if "fv" in snap:
        gpu["fields"] = _answer(snap["fv"])
    fabric = snap.get("fabric")
    if isinstance(fabric, list) and len(fabric) == 4:
        gpu["fabric"] = _fabric(fabric)
    return gpu


def _fabric(snap: list[object]) -> object:
    answer, state, clique, mask = snap
    if answer != 0:  # the struct was not filled
        return _answer(answer) if isinstance(answer, str) else {"error": answer}
    fabric: Answers = {"state": state, "cliqueId": clique}
    with suppress(ValueError):
        fabric["healthMask"] = int(str(mask), 16)
    return fabric


def _answer(value: object) -> object:
    if isinstance(value, str) and value[:3] == "ERR" and value[3:].isdecimal() and len(value) < 8:
        return {"error": int(value[3:])}
    if isinstance(value, list):
        return [_answer(item) for item in value]
    return value
