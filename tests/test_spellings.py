"""One machine, many spellings: each alone is right where it can speak, all together agree.

The machines are ours (tests/machines); what any reader must get was computed there, apart from
gputopo's own topology.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

import gputopo
from gputopo.evidence.open import open_sources
from gputopo.inspection import nodes
from gputopo.topology.node import NodeTopology
from tests.machines import MACHINES, Spelled, planted, spellings
from tests.machines.expected import expected

NAMES = sorted(MACHINES)


def load(*paths: Path, merge: bool = False) -> NodeTopology:
    found = nodes(open_sources([str(path) for path in paths]), merge=merge)
    assert len(found) == 1
    return found[0]


class Facts:
    """A document beside the promised facts; devices are the same by address, else by name, else by id."""

    def __init__(self, document: dict[str, Any], promised: dict[str, Any], spelling: str | None) -> None:
        self.document = document
        self.promised = promised
        self.spelling = spelling
        self.wrong: list[str] = []
        self.id_of: dict[str, str] = {}  # promised id → our id
        for table in ("gpus", "nics"):
            for device in promised[table]:
                ours = self._find(table, device)
                if ours is not None:
                    self.id_of[device["id"]] = ours["id"]

    def _find(self, table: str, device: dict[str, Any]) -> dict[str, Any] | None:
        ours = self.document[table] or []
        for key in ("pci", "device", "id"):
            for one in ours:
                if one.get(key) is not None and one.get(key) == device.get(key):
                    return dict(one)
        return None

    def speaks(self, attribute: str) -> bool:
        return self.spelling is None or self.spelling in self.promised["speaks"].get(attribute, ())

    def check(self, where: str, attribute: str, want: Any, got: Any, must: bool, subject: str = "") -> None:
        differs = self.promised["differs"].get(self.spelling or "", {}).get(subject, {})
        field = attribute.split(".")[-1]
        allowed = [want] + ([differs[field]] if field in differs else [])
        if got in (None, []) and not must:
            return
        if isinstance(want, dict) and isinstance(got, dict):
            for key, value in want.items():
                if got.get(key) is not None or must:
                    self.check(where, f"{attribute}.{key}", value, got.get(key), must, subject)
            return
        if got not in allowed:
            self.wrong.append(f"{where}.{attribute}: {got!r}, not {want!r}")

    def devices(self, table: str) -> None:
        ours = {device["id"]: device for device in self.document[table] or []}
        for device in self.promised[table]:
            id = self.id_of.get(device["id"])
            if id is None:
                rdma = table == "nics" and device.get("device") is not None  # nvidia-smi and NCCL list no others
                if (rdma and self.speaks("nics.device")) or (table == "gpus" and self.speaks("gpus.numaNodes")):
                    self.wrong.append(f"{device['id']} is missing")
                continue
            for field, want in device.items():
                if field in ("id", "index") and not self.speaks("gpus.index"):
                    continue
                if field == "id":
                    continue
                got = ours[id].get(field)
                if isinstance(want, dict):
                    for key, value in want.items():
                        if value is None:
                            continue  # not promised: a driver may say 0 links or nothing of a card without any
                        inner = (got or {}).get(key)
                        must = self.speaks(f"{table}.{field}.{key}") or self.speaks(f"{table}.{field}")
                        self.check(id, f"{field}.{key}", value, inner, must and value is not None, device["id"])
                else:
                    must = self.speaks(f"{table}.{field}") and want is not None
                    self.check(id, field, want, got, must, device["id"])

    def pairs(self) -> None:
        ours = {frozenset((pair["a"], pair["b"])): pair for pair in self.document["pairs"]}
        for pair in self.promised["pairs"]:
            a, b = self.id_of.get(pair["a"]), self.id_of.get(pair["b"])
            if a is None or b is None:
                continue
            got = ours[frozenset((a, b))]
            gpus = a.startswith("GPU") and b.startswith("GPU")
            for field in ("level", "nvlinks", "viaSwitch", "crossNuma", "crossPackage"):
                must = self.speaks(f"pairs.{field}") or (gpus and self.speaks(f"gpuPairs.{field}"))
                if field in ("nvlinks", "viaSwitch") and not gpus:
                    continue
                said = "SYS" if got[field] == "SOC" else got[field]  # SOC counts as SYS
                self.check(f"{a}-{b}", field, pair.get(field), said, must and pair.get(field) is not None)
            decided = self.spelling is None or self.spelling in pair["decidedBy"]
            self.check(f"{a}-{b}", "pcie", pair["pcie"], got["pcie"], decided)
            if got["pcie"] is None and pair["pcie"] not in got["pcieCandidates"]:
                self.wrong.append(f"{a}-{b}: {pair['pcie']} is not among {got['pcieCandidates']}")

    def places(self) -> None:
        for table in ("packages", "numaNodes"):
            ours = {one["number"]: one for one in self.document[table] or []}
            must_list = self.speaks(table)
            for one in self.promised[table]:
                got = ours.get(one["number"])
                if got is None:
                    if must_list:
                        self.wrong.append(f"{table} {one['number']} is missing")
                    continue
                for field, want in one.items():
                    must = (must_list or self.speaks(f"{table}.{field}")) and want is not None
                    self.check(f"{table}[{one['number']}]", field, want, got.get(field), must)

    def all(self) -> list[str]:
        self.devices("gpus")
        self.devices("nics")
        self.pairs()
        self.places()
        return self.wrong


@pytest.mark.parametrize("name", NAMES)
def test_each_spelling_alone_is_right_where_it_can_speak(name: str, spelled: Spelled) -> None:
    machine = MACHINES[name]
    promised = expected(machine)
    for spelling, path in spelled(name).items():
        wrong = Facts(gputopo.document(load(path)), promised, spelling).all()
        assert not wrong, f"{spelling}: " + "; ".join(wrong[:5])


@pytest.mark.parametrize("name", NAMES)
def test_all_spellings_together_agree_in_any_order(name: str, spelled: Spelled) -> None:
    machine = MACHINES[name]
    paths = list(spelled(name).values())
    first = load(*paths)
    assert not first.conflicts, first.conflicts[:3]
    wrong = Facts(gputopo.document(first), expected(machine), None).all()
    assert not wrong, "; ".join(wrong[:5])
    for order in itertools.islice(itertools.permutations(paths), 1, None, 997):
        assert load(*order) == first


# Where each planting shows as one value: see tests/machines/planting.py.
PLANTED = [
    ("numa", "topo-m"), ("numa", "topo-mp"), ("numa", "nvml-recording"),
    ("letter", "topo-m"), ("letter", "topo-mp"),
    ("nvlinks", "topo-m"),
    ("nic-address", "sysfs-root"), ("nic-address", "hwloc-xml"),
]  # fmt: skip


@pytest.mark.parametrize(("what", "spelling"), PLANTED)
def test_one_planted_difference_is_exactly_one_conflict(
    what: str, spelling: str, spelled: Spelled, tmp_path: Path
) -> None:
    """Sources without a common identity are refused for it, and called one node only when forced."""
    tried = 0
    for name in NAMES:
        machine = MACHINES[name]
        try:
            wrong = planted(machine, what)
        except LookupError:
            continue
        good = spelled(name)
        if spelling not in good:
            continue
        bad = spellings(wrong, tmp_path / name, only=spelling)
        if spelling != "sysfs-root" and good[spelling].read_text() == bad[spelling].read_text():
            continue  # an old driver prints no NUMA column
        if what == "nvlinks" and expected(machine)["speaks"]["pairs.nvlinks"] == [spelling]:
            continue  # the far ends of all other spellings are hidden, so nobody can object
        tried += 1
        paths = [bad[spelling] if one == spelling else path for one, path in good.items()]
        made = load(*paths, merge=True)
        assert len(made.conflicts) == 1, (name, made.conflicts)
        if spelling in ("topo-m", "topo-mp"):
            with pytest.raises(gputopo.GputopoError, match="not one node"):
                load(*paths)
    assert tried
