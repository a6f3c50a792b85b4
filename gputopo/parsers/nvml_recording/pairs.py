"""Common ancestors and P2P status → one `PairRecord` per unordered pair of GPUs."""

from __future__ import annotations

from gputopo.parsers.nvml_recording.answers import Notes, number, odd, part, refusal, refusal_code, settled
from gputopo.records import Gap, Observation, PairRecord
from gputopo.terms.path_level import PathLevel
from gputopo.terms.unknown import Said, Unknown

Answers = dict[str, object]

_LEVEL_CALL = "nvmlDeviceGetTopologyCommonAncestor"
_P2P_CALL = "nvmlDeviceGetP2PStatus"
# nvmlGpuTopologyLevel_t. INTERNAL is two GPUs on one board; nvidia-smi prints it as PIX.
_LEVELS = {0: PathLevel.PIX} | {int(level): level for level in PathLevel}
# nvmlGpuP2PCapsIndex_t, and the letters `nvidia-smi topo -p2p` prints for nvmlGpuP2PStatus_t.
_KINDS = (("0", "read"), ("1", "write"), ("2", "nvlink"), ("3", "atomics"), ("4", "prop"))
_LETTERS = {0: "OK", 1: "CNS", 2: "GNS", 3: "TNS", 4: "DR", 5: "NS", 6: "U"}


def read_pairs(snapshot: Answers, labels: list[str], notes: Notes) -> tuple[PairRecord, ...]:
    topology = snapshot.get("topology")
    p2p = part(snapshot, "p2p")
    pairs = []
    for a in range(len(labels)):
        for b in range(a + 1, len(labels)):
            names = (labels[a], labels[b])
            level = _level(topology, a, b, names, notes)
            access = _p2p(p2p, a, b, names, notes)
            if level is not None or access is not None:
                pairs.append(PairRecord(*names, level=level, p2p=access))
    return tuple(pairs)


def _cell(matrix: object, row: int, column: int) -> object:
    """The answer for an ordered pair; `None` when not asked."""
    if isinstance(matrix, list) and row < len(matrix):
        cells = matrix[row]
        if isinstance(cells, list) and column < len(cells):
            return cells[column]
    return None


def _level(matrix: object, a: int, b: int, names: tuple[str, str], notes: Notes) -> Said[PathLevel]:
    there, back = (_read_level(_cell(matrix, *order)) for order in ((a, b), (b, a)))
    if isinstance(there, PathLevel) and isinstance(back, PathLevel) and there != back:
        text = f"{_LEVEL_CALL}: {names[0]} to {names[1]} {there.name}, {names[1]} to {names[0]} {back.name}"
        notes.observations.append(Observation("matrix-not-symmetric", names, text))
        return Unknown(f"the driver gives {there.name} one way and {back.name} the other", _TOPO_M)
    if isinstance(there, PathLevel) or not isinstance(back, PathLevel):
        return there if there is not None else back
    return back


_TOPO_M = "`nvidia-smi topo -m`, or the node's sysfs tree"


def _read_level(answer: object) -> Said[PathLevel]:
    if answer is None:
        return None
    code = refusal_code(answer)
    if code is not None:
        return settled(refusal(code, _LEVEL_CALL), _TOPO_M)
    value = number(answer)
    level = None if value is None else _LEVELS.get(value)
    return odd(_LEVEL_CALL, answer) if level is None else level


def _p2p(p2p: Answers, a: int, b: int, names: tuple[str, str], notes: Notes) -> Said[dict[str, str]]:
    """Status by kind. A kind whose two directions differ, or that was refused, is left out and named."""
    statuses: dict[str, str] = {}
    reasons: dict[str, str] = {}
    for kind, name in _KINDS:
        there, back = (_read_status(_cell(p2p.get(kind), *order)) for order in ((a, b), (b, a)))
        if isinstance(there, str) and isinstance(back, str) and there != back:
            text = f"{_P2P_CALL} {name}: {names[0]} to {names[1]} {there}, {names[1]} to {names[0]} {back}"
            notes.observations.append(Observation("matrix-not-symmetric", names, text))
            reasons[name] = f"the driver gives {there} one way and {back} the other"
        elif isinstance(there, str) or isinstance(back, str):
            statuses[name] = there if isinstance(there, str) else str(back)
        elif isinstance(there or back, Unknown):
            reasons[name] = (there or back).why  # type: ignore[union-attr]
    if not statuses:
        return Unknown(next(iter(reasons.values())), "`nvidia-smi topo -p2p r`") if reasons else None
    for name, reason in reasons.items():
        notes.gaps.append(Gap(names, "p2p", f"{name}: {reason}", f"`nvidia-smi topo -p2p {name[0]}`"))
    return statuses


def _read_status(answer: object) -> Said[str]:
    if answer is None:
        return None
    code = refusal_code(answer)
    if code is not None:
        return refusal(code, _P2P_CALL)
    status = number(answer)
    letters = None if status is None else _LETTERS.get(status)
    return odd(_P2P_CALL, answer) if letters is None else letters
