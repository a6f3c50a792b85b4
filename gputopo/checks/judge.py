"""One node against a specification, or against what its products always have; with the findings of the rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gputopo.checks.align import align
from gputopo.checks.differences import Difference, compare
from gputopo.checks.expect import said
from gputopo.checks.products import weigh_products
from gputopo.checks.result import Mismatch, Open
from gputopo.checks.spec import Spec
from gputopo.checks.values import values
from gputopo.checks.weigh import weigh
from gputopo.checks.wiring import template
from gputopo.rules.finding import SEVERITIES, Finding
from gputopo.rules.wording import names
from gputopo.topology.node import Gpu, Nic, NodeTopology

# What the kubelet does where its configuration is silent.
_DEFAULTS = {
    "topologyManagerPolicy": "none", "topologyManagerScope": "container", "cpuManagerPolicy": "none",
    "memoryManagerPolicy": "None",
}  # fmt: skip
_SETTLED_BY = {
    "pairs.pcie": "nvidia-smi topo -mp, or gputopo collect",
    "pairs.nvlinks": "nvidia-smi nvlink -s",
    "gpus.numaNodes": "nvidia-smi topo -m",
    "gpus.packages": "lscpu",
    "nics.packages": "lscpu",
    "packages": "lscpu",
    "nics": "nvidia-smi topo -m",
}
_HOMES = ("numaNodes", "packages")
Kubelet = Mapping[str, Any]


class Ask(NamedTuple):
    """What is asked of every node. `spec` None: what the products always have."""

    spec: Spec | None
    fail_on: str = "error"
    ignore: tuple[str, ...] = ()
    exact: bool = False  # by index and address, not by shape


def judge(
    node: NodeTopology, findings: Sequence[Finding], kubelet: Kubelet | None, ask: Ask
) -> tuple[tuple[Mismatch, ...], tuple[Open, ...]]:
    mismatches: list[Mismatch] = []
    undecided: list[Open] = []
    if ask.spec is None:
        mismatches, undecided = weigh_products(node)
    else:
        for key, expect in ask.spec.expects.items():
            wrong, unknown = weigh(key, expect, values(node, key))
            mismatches += wrong
            undecided += unknown
        for weighed in (_wiring(node, ask), _identity(node, ask), _kubelet(kubelet, ask.spec.kubelet)):
            told = {one.field for one in mismatches}
            mismatches += [one for one in weighed[0] if one.field not in told]
            undecided += weighed[1]
    mismatches += _findings(findings, mismatches, ask)
    formats = ", ".join(dict.fromkeys(source.format for source in node.sources))
    return tuple(mismatches), tuple(one._replace(reason=f"{one.reason} ({formats})") for one in undecided)


def _wiring(node: NodeTopology, ask: Ask) -> tuple[list[Mismatch], list[Open]]:
    spec = ask.spec
    if spec is None or spec.wiring is None:
        return [], []
    wanted = template(spec.wiring)
    alignment = align(wanted, node, "id" if ask.exact else "shape")
    compared = compare(wanted, node, alignment)
    found = list(_in_words(compared.differences, _Named(node, alignment.mapping), spec))
    told = {key.partition(".")[0] for key in spec.expects if key.endswith(".count")}
    missing = [
        Open(field.replace(".", "[].", 1), (), "is not in this evidence", _SETTLED_BY.get(field, "gputopo collect"))
        for field in compared.missing
        if field not in told
    ]
    return found, missing


class _Named:
    """Ids of the specification → ids and places of the node."""

    def __init__(self, node: NodeTopology, mapping: Mapping[str, str]) -> None:
        self.mapping = mapping
        self.places = {gpu.id: f"gpus[{at}]" for at, gpu in enumerate(node.gpus)}
        self.places |= {nic.id: f"nics[{at}]" for at, nic in enumerate(node.nics or ())}
        devices: tuple[Gpu | Nic, ...] = (*node.gpus, *(node.nics or ()))
        self.homes = {
            one.id: {"numaNodes": [f"NUMA{number}" for number in one.numa_nodes or ()], "packages": one.packages or ()}
            for one in devices
        }

    def id(self, wanted: str) -> str:
        return self.mapping.get(wanted, wanted)


def _in_words(differences: Iterable[Difference], named: _Named, spec: Spec) -> Iterator[Mismatch]:
    for one in differences:
        place, _, attribute = one.field.rpartition(".")
        if not place:
            yield from _presence(one, named, spec)
        elif place.startswith("pairs["):
            yield _pairs(one, attribute, named)
        elif attribute in _HOMES:  # all else that a device may be is no wiring, and the text says nothing of it
            id = named.id(one.subjects[0])
            want = [named.mapping.get(home, f"{home} of the specification") for home in one.a]
            found = named.homes[id][attribute]
            yield Mismatch(f"{named.places[id]}.{attribute}", (id,), names(want) or "none", names(found) or "none")


def _presence(one: Difference, named: _Named, spec: Spec) -> Iterator[Mismatch]:
    """A device too few or too many; the count says it where the specification has one."""
    section = one.field.partition("[")[0]
    if section in ("gpus", "nics") and f"{section}.count" not in spec.expects:
        if one.b is None:
            yield Mismatch(one.field, (), f"a device wired as {one.subjects[0]} of the specification", "none")
        else:
            yield Mismatch(one.field, one.subjects, "no such device", str(one.b))


def _pairs(one: Difference, attribute: str, named: _Named) -> Mismatch:
    ids = tuple(named.id(id) for id in one.subjects)
    if not isinstance(one.a, dict):
        return Mismatch(f"pairs[{'-'.join(ids)}].{attribute}", ids, str(one.a), str(one.b))
    want, found = (_of_peers({named.id(peer): value for peer, value in said.items()}) for said in (one.a, one.b))
    return Mismatch(f"pairs[{ids[0]}-*].{attribute}", ids, want, found)


def _of_peers(value: Mapping[str, Any]) -> str:
    """
    >>> _of_peers({"GPU0": "PIX", "GPU1": "NODE", "GPU2": "NODE"})
    'PIX to GPU0, NODE to GPU1 and GPU2'
    """
    groups: dict[str, list[str]] = {}
    for peer, level in value.items():
        groups.setdefault(str(level), []).append(peer)
    return ", ".join(f"{level} to {names(peers)}" for level, peers in groups.items())


def _identity(node: NodeTopology, ask: Ask) -> tuple[list[Mismatch], list[Open]]:
    if not ask.exact or ask.spec is None:
        return [], []
    wrong: list[Mismatch] = []
    unknown: list[Open] = []
    devices = [(f"gpus[{at}]", gpu.id, gpu.pci) for at, gpu in enumerate(node.gpus)]
    devices += [(f"nics[{at}]", nic.id, nic.pci) for at, nic in enumerate(node.nics or ())]
    there = {id: (place, pci) for place, id, pci in devices}
    for id, address in ask.spec.identity.items():
        place, pci = there.get(id, (f"identity.{id}", None))
        if id not in there:
            wrong.append(Mismatch(place, (id,), address, "no such device"))
        elif pci is None:
            unknown.append(Open(f"{place}.pci", (id,), "is not in this evidence", "nvidia-smi -q -x"))
        elif pci != address:
            wrong.append(Mismatch(f"{place}.pci", (id,), address, pci))
    return wrong, unknown


def _kubelet(found: Kubelet | None, wanted: Mapping[str, Any]) -> tuple[list[Mismatch], list[Open]]:
    if found is None:
        reason = "is not in this evidence"
        settle = "the kubelet's configuration among the sources"
        return [], [Open(f"kubelet.{key}", (), reason, settle) for key in wanted]
    wrong = []
    for key, value in wanted.items():
        has = found.get(key)
        has = _DEFAULTS.get(key) if has in (None, "") else has
        options = value if isinstance(value, list) and not isinstance(has, list) else [value]
        if has not in options:
            want = " or ".join(said(one) for one in options)
            wrong.append(Mismatch(f"kubelet.{key}", (), want, "not set" if has is None else said(has)))
    return wrong, []


def _findings(findings: Sequence[Finding], told: Sequence[Mismatch], ask: Ask) -> Iterator[Mismatch]:
    """Those as severe as is asked; what the specification told of the same devices is not told again."""
    if ask.fail_on == "never":
        return
    worst = SEVERITIES[: SEVERITIES.index(ask.fail_on) + 1]
    allowed = (*ask.ignore, *(ask.spec.allow if ask.spec else ()))
    for one in findings:
        same = {id for other in told if other.code == one.rule for id in other.subjects}
        if one.severity not in worst or one.rule in allowed or (same and set(one.subjects) <= same):
            continue
        proof = next((each for each in one.evidence if each.line is not None), None)
        where = (None, None) if proof is None else (proof.source, proof.line)
        yield Mismatch("findings", one.subjects, f"no {one.severity}", one.message, one.rule, one.message, *where)
