"""Records of a gres.conf that contradict each other on a node: slurmd ends at its start.

Source: SchedMD/slurm 284c3b9, src/interfaces/gres.c (_foreach_gres_conf, _foreach_fill_in_gres_devices,
_handle_local_autodetect).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gputopo.rules.manifests.gres_records import Fault, Line, Record, at_value, detections, detector

_STOPS = "slurmd does not start"


def faults(records: Sequence[Record], lines: Sequence[Line]) -> Iterator[Fault]:
    by_name: dict[str, list[Record]] = {}
    for record in records:
        by_name.setdefault(record.name.lower(), []).append(record)
    for name, found in by_name.items():
        yield from _some(found, name, "File", lambda record: record.has_file)
        yield from _some(found, name, "Type", lambda record: record.get("type") is not None)
        yield from _bare(found, name)
    yield from _files(by_name.get("gpu", ()))
    yield from _detectors(lines)


def _some(records: list[Record], name: str, key: str, has: Callable[[Record], bool]) -> Iterator[Fault]:
    """Some records of a node have the key and others do not."""
    with_it = [record for record in records if has(record)]
    for record in records:
        at = record.get("name")
        if not has(record) and at is not None and any(record.meets(other) for other in with_it):
            yield at_value("error", at, f"{_STOPS}: some records of {name} have {key}, this one does not")
            return


def _bare(records: list[Record], name: str) -> Iterator[Fault]:
    bare = [record for record in records if not record.has_file and record.get("type") is None]
    for place, record in enumerate(bare):
        at = record.get("name")
        if at is not None and any(record.meets(other) for other in bare[:place]):
            yield at_value("error", at, f"{_STOPS}: a second record of {name} without File and Type", "", "Count=2")
            return


def _files(records: Sequence[Record]) -> Iterator[Fault]:
    """A device file in two records, or twice in one."""
    seen: dict[str, list[Record]] = {}
    for record in records:
        at = record.get("file")
        if at is None:
            continue
        twice = next((file for file in record.files or () if _taken(file, record, seen)), None)
        if twice is not None:
            said = f"{_STOPS}: {twice} stands in another record, too"
            yield at_value("error", at, said, "duplicate device file name", "", at.value.find(twice) + 1 or 1)


def _taken(file: str, record: Record, seen: dict[str, list[Record]]) -> bool:
    others = seen.setdefault(file, [])
    found = any(record.meets(other) for other in others)
    others.append(record)
    return found


def _detectors(lines: Sequence[Line]) -> Iterator[Fault]:
    seen: list[tuple[frozenset[str] | None, str]] = []
    for line in lines:
        for nodes, pair in detections(line):
            word = detector(pair.value)
            if nodes is None or not word:
                continue
            if any(other is not None and not nodes.isdisjoint(other) and word != said for other, said in seen):
                message = f"{_STOPS} on a node that has another AutoDetect already"
                yield at_value("error", pair, message, "AutoDetect of a node must be the same in every line")
            seen.append((nodes, word))
