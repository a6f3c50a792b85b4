"""All that the sources of one node say → one frozen `NodeTopology`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gputopo.terms.path_level import PathLevel
from gputopo.topology import affinity, level_sets, notes
from gputopo.topology import devices as make
from gputopo.topology.attributes import SYSFS
from gputopo.topology.devices import Device
from gputopo.topology.fit import NotOneNode, contradiction
from gputopo.topology.islands import build_islands
from gputopo.topology.join import Joined, join, sort_sources
from gputopo.topology.ledger import Claim, Ledger, Spoken
from gputopo.topology.nearest import nearest
from gputopo.topology.node import Gpu, Nic, NodeTopology, NoteAssumption, Nvme, Observed, Pair, System
from gputopo.topology.numbering import gpu_aliases, name_nics, number_gpus
from gputopo.topology.pair_levels import Place
from gputopo.topology.pairs import Found, build_pairs
from gputopo.topology.sockets import Sockets, build_sockets, cross_package
from gputopo.topology.tree_level import sysfs_level

__all__ = ["NotOneNode", "build"]


def build(spoken: Sequence[Spoken], assume: Mapping[str, str] | None = None, forced: bool = False) -> NodeTopology:
    """One node from its sources, in whatever order they come.

    Raises NotOneNode where a weak join is contradicted, unless `forced`.
    """
    return _Builder(sort_sources(spoken), assume or {}, forced).run()


class _Builder:
    def __init__(self, sources: tuple[Spoken, ...], assume: Mapping[str, str], forced: bool) -> None:
        self.sources = sources
        self.assume = assume
        self.forced = forced
        self.ledger = Ledger()
        self.assumptions: list[NoteAssumption] = []
        self.rename: list[dict[str, str]] = [{} for _ in sources]

    def run(self) -> NodeTopology:
        joined = {kind: join(kind, self.sources) for kind in ("gpu", "nic", "nvme")}
        self._refuse_unjoined(joined)
        gpus = self._gpus(joined["gpu"])
        nics = self._nics(joined["nic"])
        nvme = self._nvme(joined["nvme"])
        sockets = self._sockets([device for device, _, _ in gpus])
        for device, _, _ in gpus:
            if device.fields["numa_nodes"] is None and not self.ledger.has_reason(device.id, "numaNodes"):
                device.fields["numa_nodes"] = affinity.nodes_of_cpus(device.fields["cpus"], sockets.numa_nodes)
            affinity.note_narrowed(device, self.sources, self.ledger)
        found = self._pairs([device for device, _, _ in gpus], [device for device, _ in nics])
        refused = contradiction(self.sources, joined, self.ledger.conflicts)
        if refused is not None and not self.forced:
            raise refused
        made = self._made_gpus(gpus, found, sockets)
        plain_nics = [make.make_nic(device, aliases) for device, aliases in nics]
        made_nics = tuple(
            nic._replace(packages=sockets.packages_of(nic.numa_nodes))
            for nic in affinity.nic_numa(plain_nics, made, found.pairs, self.ledger)
        )
        pairs = _place_pairs(found.pairs, made, made_nics)
        made_nvme = tuple(
            one._replace(packages=sockets.packages_of(one.numa_nodes)) for one in map(make.make_nvme, nvme)
        )
        made = tuple(self._near(gpu, device, pairs, made_nics, nvme) for gpu, (device, _, _) in zip(made, gpus))
        return self._assemble(made, made_nics, made_nvme, pairs, sockets, found, joined, refused,
                              [device for device, _, _ in gpus] + [device for device, _ in nics] + nvme)  # fmt: skip

    def _refuse_unjoined(self, joined: Mapping[str, Joined]) -> None:
        for place, why in joined["gpu"].unjoined:
            if not self.forced:
                raise NotOneNode(why, tuple(spoken.source.name for spoken in self.sources), place)

    # Devices

    def _gpus(self, joined: Joined) -> list[tuple[Device, int | None, tuple[str, ...]]]:
        numbered, assumed = number_gpus(joined.entities, self.sources, self.ledger)
        self.assumptions += assumed
        found = []
        for id, index, witnesses in numbered:
            self._learn(id, witnesses)
            device = make.settle_device("gpu", id, witnesses, self.sources, self.ledger)
            self._memory_node(device)
            found.append((device, index, gpu_aliases(id, witnesses)))
        return found

    def _nics(self, joined: Joined) -> list[tuple[Device, tuple[str, ...]]]:
        found = []
        for id, aliases, witnesses in name_nics(joined.entities):
            self._learn(id, witnesses)
            found.append((make.settle_device("nic", id, witnesses, self.sources, self.ledger), aliases))
        return found

    def _nvme(self, joined: Joined) -> list[Device]:
        found = []
        for witnesses in joined.entities:
            id = str(witnesses[0].record.pci or witnesses[0].record.label)
            self._learn(id, witnesses)
            found.append(make.settle_device("nvme", id, witnesses, self.sources, self.ledger))
        return sorted(found, key=lambda device: device.id)

    def _learn(self, id: str, witnesses: Sequence[Any]) -> None:
        for witness in witnesses:
            self.rename[witness.spoken][witness.record.label] = id

    def _memory_node(self, device: Device) -> None:
        """A GPU NUMA ID that is the CPU-side node is a mock driver's habit, not a node of GPU memory."""
        node, numa = device.fields["memory_numa_node"], device.fields["numa_nodes"]
        if node is not None and numa and node in numa:
            device.fields["memory_numa_node"] = None
            self.ledger.unknown(
                (device.id,), "memoryNumaNode",
                "the GPU NUMA ID printed equals the GPU's own NUMA affinity: doubtful", "sysfs numa_status",
            )  # fmt: skip

    # The node around them

    def _sockets(self, gpus: Sequence[Device]) -> Sockets:
        memory_nodes = {
            device.fields["memory_numa_node"]: device.id
            for device in gpus
            if device.fields["memory_numa_node"] is not None
        }
        numa = [device.fields["numa_nodes"] for device in gpus]
        assume_numa = self.assume.get("sockets") == "numa"
        sockets = build_sockets(self.sources, numa, memory_nodes, self.ledger, assume_numa)
        self.assumptions += sockets.assumptions
        return sockets

    def _pairs(self, gpus: Sequence[Device], nics: Sequence[Device]) -> Found:
        disputed = {s for conflict in self.ledger.conflicts if conflict.attribute == "numaNodes"
                    for s in conflict.subjects}  # fmt: skip
        places = [
            Place(
                device.id, place < len(gpus),
                None if device.id in disputed else device.fields["numa_nodes"],
                {witness.spoken: witness.record for witness in device.witnesses},
                device.fields.get("name"),
                device.fields.get("vendor"),
                str(device.fields["pci"]) if device.fields["pci"] is not None else None,
            )
            for place, device in enumerate((*gpus, *nics))
        ]  # fmt: skip
        return build_pairs(self.sources, places, self.ledger)

    def _made_gpus(self, gpus: Sequence[Any], found: Found, sockets: Sockets) -> tuple[Gpu, ...]:
        by_pci = {str(device.fields["pci"]): device.id for device, _, _ in gpus if device.fields["pci"]}
        whole = any(spoken.records.gpus_complete for spoken in self.sources)
        nodes = {node.number: node for node in sockets.numa_nodes or ()}
        made = []
        for place, (device, index, aliases) in enumerate(gpus):
            used = self.ledger.provenance.get(device.id, {}).get("cpus")
            gpu = make.make_gpu(device, index, aliases, make.cpus_complete(device, self.sources, used))
            via = found.via_switch.get(place)
            totals = make.nvlinks_of(device, via, _printed_links(gpu.id, place, found, whole))
            gpu = affinity.complete_cpus(gpu, nodes, self.ledger)
            made.append(
                gpu._replace(
                    packages=sockets.packages_of(gpu.numa_nodes),
                    links=make.links_of(device, by_pci),
                    nvlinks=totals,
                )
            )
        return tuple(made)

    def _near(
        self, gpu: Gpu, device: Device, pairs: Sequence[Pair], nics: Sequence[Nic], nvme: Sequence[Device]
    ) -> Gpu:  # fmt: skip
        names = {nic.id for nic in nics}
        to_nics = [
            (other, pair.pcie, pair.pcie_candidates)
            for pair in pairs
            if gpu.id in (pair.a, pair.b) and (other := pair.b if pair.a == gpu.id else pair.a) in names
        ]
        to_nvme = []
        for disk in nvme:
            levels: tuple[PathLevel, ...] = ()
            if device.chain and disk.chain and device.grain == disk.grain == "sysfs":
                numa = (device.fields["numa_nodes"], disk.fields["numa_nodes"])
                levels = level_sets.levels(sysfs_level(device.chain, disk.chain, *numa))
            to_nvme.append((disk.id, levels[0] if len(levels) == 1 else None, levels))
        near = nearest(to_nics)
        if not near and any(len(candidates) > 1 for _, _, candidates in to_nics):
            self.ledger.unknown((gpu.id,), "nearestNics", "the level to some NICs is not decided",
                                "nvidia-smi topo -m with its NIC rows, or sysfs")  # fmt: skip
        return gpu._replace(nearest_nics=near, nearest_nvme=nearest(to_nvme))

    def _system(self) -> dict[str, Any]:
        settled = {}
        for field in ("name", "boot_id", "taken_at", "product", "kernel", "driver", "cuda", "view", "virtual",
                      "allowed_cpus"):  # fmt: skip
            claims = [
                Claim(value, spoken.source) for spoken in self.sources
                if (value := getattr(spoken.records.system, field)) is not None
            ]  # fmt: skip
            settled[field] = self.ledger.settle("system", "node", field, claims) if claims else None
        return settled

    def _assemble(
        self, gpus: tuple[Gpu, ...], nics: tuple[Nic, ...], nvme: tuple[Nvme, ...], pairs: tuple[Pair, ...],
        sockets: Sockets, found: Found, joined: Mapping[str, Joined], refused: NotOneNode | None,
        devices: Sequence[Device],
    ) -> NodeTopology:  # fmt: skip
        system = self._system()
        product = System(system["product"], system["kernel"], system["driver"], system["cuda"])
        observations = [*self._observations(), *found.observations]
        if refused is not None:
            ids = tuple(spoken.source.id for spoken in self.sources)
            observations.append(Observed("sources-not-one-node", ids, refused.why, ids[0], None))
        for number, spoken in enumerate(self.sources):
            for gap in spoken.records.gaps:
                self.ledger.gap(gap, self.rename[number])
        nvswitches = make.make_nvswitches(self.sources, devices)
        node = NodeTopology(
            name=system["name"], taken_at=system["taken_at"], boot_id=system["boot_id"], view=system["view"],
            virtual=system["virtual"], system=product if any(product) else None,
            allowed_cpus=system["allowed_cpus"],
            sources=tuple(spoken.source for spoken in self.sources),
            packages=sockets.packages, numa_nodes=sockets.numa_nodes,
            bridges=make.make_bridges(devices, self.sources, self.ledger),
            nvswitches=nvswitches, gpus=gpus,
            nics=nics if nics or self._lists("nics") else None,
            nvme=nvme if nvme or self._lists("nvme") else None,
            pairs=pairs, islands=build_islands(gpus, pairs), conflicts=tuple(self.ledger.conflicts),
            observations=tuple(observations), provenance=self.ledger.provenance,
        )  # fmt: skip
        node = _with_gpudirect(node)
        notes.explain_nulls(node, self.ledger)
        assumptions = [*self.assumptions, *self._said_assumptions(), *notes.weak_joins(joined, self.sources)]
        return node._replace(unknown=self.ledger.unknown_notes(), assumptions=tuple(assumptions))

    def _lists(self, table: str) -> bool:
        return any(getattr(spoken.records, table) is not None for spoken in self.sources)

    def _observations(self) -> list[Observed]:
        return [
            Observed(seen.kind, tuple(self.rename[number].get(s, s) for s in seen.subjects), seen.text,
                     spoken.source.id, seen.line)
            for number, spoken in enumerate(self.sources)
            for seen in spoken.records.observations
        ]  # fmt: skip

    def _said_assumptions(self) -> list[NoteAssumption]:
        return [
            NoteAssumption(tuple(self.rename[number].get(s, s) for s in one.subjects), one.text, spoken.source.id)
            for number, spoken in enumerate(self.sources)
            for one in spoken.records.assumptions
        ]


def _with_gpudirect(node: NodeTopology) -> NodeTopology:
    """Only a root folder tells modules and ports; without one the judge is not even imported."""
    if not any(source.format == SYSFS for source in node.sources):
        return node
    from gputopo.topology.gpudirect import near_paths

    return node._replace(gpudirect=near_paths(node))


def _printed_links(id: str, place: int, found: Found, whole: bool) -> int | None:
    """Links of a GPU that a matrix lets one add up: cables to all peers, or NV# into a fabric."""
    own = [pair for pair in found.pairs if id in (pair.a, pair.b) and pair.nvlinks is not None]
    via = found.via_switch.get(place)
    if via is True:
        return found.fabric_counts.get(place)
    if not own or not whole:
        return None
    if any(pair.nvlinks and pair.via_switch is None for pair in own):
        return None
    if any(id in (pair.a, pair.b) and pair.nvlinks is None and "GPU" in pair.a and "GPU" in pair.b
           for pair in found.pairs):  # fmt: skip
        return None
    return sum(pair.nvlinks or 0 for pair in own)


def _place_pairs(pairs: Sequence[Pair], gpus: Sequence[Gpu], nics: Sequence[Nic]) -> tuple[Pair, ...]:
    packages = {gpu.id: gpu.packages for gpu in gpus} | {nic.id: nic.packages for nic in nics}
    return tuple(
        pair._replace(
            cross_package=cross_package(
                packages.get(pair.a), packages.get(pair.b), bool(pair.pcie and pair.pcie <= PathLevel.PHB)
            )
        )
        for pair in pairs
    )
