r"""`lspci -tv`: the PCI tree with the names of what hangs in it; also `-t` (no names), `-tvnn`.

    >>> [node] = parse(r'''-[0000:80]-+-00.0  Intel Corporation Device 09a2
    ...            \-01.0-[81-84]----00.0-[82-84]--+-00.0-[83]----00.0  NVIDIA Corporation GH100 [H100 SXM5 80GB]
    ...                                            \-01.0-[84]----00.0  Mellanox Technologies MT2910 Family [ConnectX-7]
    ... ''')
    >>> gpu, nic = node.gpus[0], node.nics[0]
    >>> gpu.label, gpu.name, nic.label, nic.vendor
    ('0000:83:00.0', 'GH100 [H100 SXM5 80GB]', '0000:84:00.0', '0x15b3')
    >>> gpu.chain
    ('pci0000:80', '0000:80:01.0', '0000:81:00.0', '0000:82:00.0')

No class is printed: names decide what a device is (pci_ids.py), and where lspci's list had none, the
maker does, as a named assumption. A bridge is known by what hangs behind it.
"""

from __future__ import annotations

from gputopo.parsers import pci_ids
from gputopo.parsers.pci_tree import LINE, Tree, TreeFunction, trees
from gputopo.parsers.unreadable import Unreadable
from gputopo.records import (
    Assumption,
    BridgeRecord,
    Gap,
    GpuRecord,
    Key,
    NicRecord,
    NodeRecords,
    NvmeRecord,
    NvSwitchRecord,
    Observation,
    SystemRecord,
)
from gputopo.terms.pci_address import PciAddress
from gputopo.terms.unknown import Said, Unknown

FORMAT = "lspci-tv"
_TREES_MOST = 500
_CUT = "the tree is cut, or lines of it were left out"
_LOST = "the line that opens its branch of the tree is not in the text"
_WHOLE_TREE = "lspci -tv, the whole output"


def sniff(text: str) -> bool:
    """Whether a text holds a line of the tree."""
    return LINE.search(text) is not None


def parse(text: str) -> tuple[NodeRecords, ...]:
    """One `NodeRecords` a tree; a tree that is in the text twice, or once without names, is one."""
    found: list[Tree] = []
    known: list[set[str]] = []
    for tree in sorted(trees(text), key=lambda tree: not tree.named):
        labels = {function.label for function in tree.functions}
        if labels and not any(labels <= others for others in known):
            if len(found) == _TREES_MOST:
                raise Unreadable(f"more than {_TREES_MOST} different trees in one text", tree.line)
            found.append(tree)
            known.append(labels)
    if not found:
        raise Unreadable("no function in this tree of lspci", hint=_WHOLE_TREE)
    return tuple(_node(tree) for tree in sorted(found, key=lambda tree: tree.line))


def _node(tree: Tree) -> NodeRecords:
    kinds = _kinds(tree)
    listed = [(function, kinds[at]) for at, function in enumerate(tree.functions) if kinds[at]]
    gpus = tuple(_gpu(function) for function, kind in listed if kind == "gpu")
    nics = _nics([function for function, kind in listed if kind == "nic"])
    nvme = tuple(_nvme(function) for function, kind in listed if kind == "nvme")
    hypervisor = _hypervisor(tree)
    switches = tuple(_nvswitch(function) for function, kind in listed if kind == "nvswitch")
    complete = tree.whole and tree.named
    return NodeRecords(
        FORMAT,
        command="-tv" if tree.named else "-t",
        line=tree.line,
        whole=tree.whole,
        grain="sysfs",
        system=SystemRecord(virtual=True if hypervisor else None),
        bridges=_bridges(tree),
        nvswitches=switches if switches or complete else None,
        gpus=gpus if gpus or complete else None,
        gpus_complete=complete,
        nics=nics if nics or complete else None,
        nics_complete=complete,
        nvme=nvme if nvme or complete else None,
        gaps=tuple(_gaps(tree, [function for function, _ in listed])),
        observations=tuple([hypervisor] if hypervisor else []) + tuple(_shares(tree, kinds)),
        assumptions=tuple(_assumptions(listed)),
    )


# What a function is


def _kinds(tree: Tree) -> list[str | None]:
    """The kind of each function. A GPU's other functions and its virtual functions are no GPUs."""
    kinds = [None if function.is_bridge else pci_ids.kind_of(function.name) for function in tree.functions]
    gpus = [(function.label, function.name) for at, function in enumerate(tree.functions) if kinds[at] == "gpu"]
    labels, shares = {label for label, _ in gpus}, pci_ids.shares(gpus)
    for at, function in enumerate(tree.functions):
        if kinds[at] != "gpu":
            continue
        main = f"{function.label[:-1]}0"
        if function.label in shares:
            kinds[at] = "gpu-share"
        elif function.label != main and main in labels and pci_ids.is_unnamed(function.name):
            kinds[at] = None  # sound and USB of a card so new that lspci has no name for them either
    return kinds


def _shares(tree: Tree, kinds: list[str | None]) -> list[Observation]:
    labels = tuple(function.label for at, function in enumerate(tree.functions) if kinds[at] == "gpu-share")
    text = "same name and bus as the GPU in place 00.0: its virtual functions"
    return [Observation("gpu-virtual-function", labels, text)] if labels else []


# Records


def _chain(function: TreeFunction) -> Said[tuple[str, ...]]:
    return Unknown(_LOST, _WHOLE_TREE) if function.chain is None else function.chain


def _address(function: TreeFunction) -> Said[PciAddress]:
    return function.address or Unknown(f"{_LOST}, so {function.label} is not the whole address", _WHOLE_TREE)


def _label(function: TreeFunction) -> str:
    """Two functions whose bus is lost may have one place: the line tells them apart."""
    return f"{function.label} (line {function.line})" if function.label.startswith("?") else function.label


def _keys(function: TreeFunction) -> tuple[Key, ...]:
    return (Key("pci", function.label),) if function.address else ()


def _gpu(function: TreeFunction) -> GpuRecord:
    return GpuRecord(
        _label(function),
        _keys(function),
        function.line,
        name=pci_ids.product(function.name),
        vendor=pci_ids.vendor_word(pci_ids.vendor_of(function.name)),
        pci=_address(function),
        chain=_chain(function),
    )


def _nics(functions: list[TreeFunction]) -> tuple[NicRecord, ...]:
    physical: dict[str, list[TreeFunction]] = {}
    for function in functions:
        if "Virtual Function" not in function.name:
            physical.setdefault(function.label.rpartition(":")[0], []).append(function)
    return tuple(_nic(function, physical.get(function.label.rpartition(":")[0], [])) for function in functions)


def _nic(function: TreeFunction, physical: list[TreeFunction]) -> NicRecord:
    """A virtual function names no physical one; where its bus holds only one, it is that one's."""
    owner: Said[PciAddress] = None
    if "Virtual Function" in function.name:
        one = physical[0].address if len(physical) == 1 else None
        labels = " and ".join(other.label for other in physical)
        owner = one or Unknown(f"a virtual function beside {labels or 'no physical one'}", "sysfs physfn")
    keys = _keys(function)
    if function.address:
        keys = (*keys, Key("card", function.address.card))
    return NicRecord(
        _label(function),
        keys,
        function.line,
        pci=_address(function),
        vendor=pci_ids.vendor_number(pci_ids.vendor_of(function.name)),
        virtual_function_of=owner,
        chain=_chain(function),
    )


def _nvme(function: TreeFunction) -> NvmeRecord:
    return NvmeRecord(_label(function), _keys(function), function.line, _address(function), chain=_chain(function))


def _nvswitch(function: TreeFunction) -> NvSwitchRecord:
    return NvSwitchRecord(_label(function), _keys(function), _address(function))


def _bridges(tree: Tree) -> tuple[BridgeRecord, ...]:
    """Below a root port, two bridges that follow each other are the two ports of a switch."""
    roots = tuple(BridgeRecord(f"pci{root}", None, "hostBridge") for root in tree.roots)
    bridges = [function for function in tree.functions if function.is_bridge and function.chain is not None]
    chains = [(*function.chain, function.label) for function in bridges if function.chain is not None]
    switches = {
        label for chain in chains for place in range(2, len(chain) - 1, 2) for label in chain[place : place + 2]
    }
    return roots + tuple(
        BridgeRecord(bridge.label, chain[-2], "switch" if bridge.label in switches else "bridge")
        for bridge, chain in zip(bridges, chains)
    )


# What is odd or missing


def _hypervisor(tree: Tree) -> Observation | None:
    name = pci_ids.hypervisor_name(tuple(function.name for function in tree.functions if function.name))
    if name is not None:
        line = next((f.line for f in tree.functions if pci_ids.bare(f.name) == name), tree.line)
        return Observation("hypervisor", (), name, line)
    for host in tree.functions:
        if host.label.endswith(":00:00.0") and host.chain is not None:
            beside = [f.address for f in tree.functions if f.is_bridge and f.chain == host.chain and f.address]
            if pci_ids.is_q35(host.name, beside):
                text = f"{pci_ids.bare(host.name)}, with bridges where no real board has any: QEMU's Q35"
                return Observation("hypervisor", (), text, host.line)
    return None


def _gaps(tree: Tree, listed: list[TreeFunction]) -> list[Gap]:
    gaps = []
    if not tree.named:
        why = "this tree has no names (lspci -t): which function is a GPU is not in it"
        return [Gap((), "gpus", why, "lspci -tv", tree.line)]
    if not tree.whole:
        gaps.append(Gap((), "gpus", f"{_CUT}: there may be more GPUs and NICs", _WHOLE_TREE, tree.line))
    lost = tuple(_label(function) for function in listed if function.chain is None)
    if lost:
        gaps.append(Gap(lost, "parent", _LOST, _WHOLE_TREE, tree.line))
    odd = [f for f in tree.functions if _may_be_gpu(f)]
    if odd:
        text = f"lspci has no name for {odd[0].name}: a GPU or something else of its maker"
        gaps.append(Gap(tuple(_label(function) for function in odd), "gpus", text, "lspci -nn", odd[0].line))
    return gaps


def _may_be_gpu(function: TreeFunction) -> bool:
    """AMD makes more than GPUs under one maker's name; the GPU is function 0."""
    unnamed = bool(function.name) and pci_ids.is_unnamed(function.name) and function.label.endswith(".0")
    return unnamed and not function.is_bridge and pci_ids.vendor_of(function.name) == pci_ids.AMD


def _assumptions(listed: list[tuple[TreeFunction, str | None]]) -> list[Assumption]:
    found = []
    placed = tuple(_label(function) for function, _ in listed if function.is_supposed)
    if placed:
        text = "lines of the tree are left out: the bridges above these are the ones that their columns say"
        found.append(Assumption(placed, text))
    for kind, what in (("gpu", "GPUs"), ("nic", "NICs")):
        supposed = [f for f, its in listed if its == kind and pci_ids.is_supposed(f.name)]
        if supposed:
            names = ", ".join(dict.fromkeys(pci_ids.bare(function.name) for function in supposed))
            text = f"devices without a name in lspci's list are taken for {what} by their maker: {names}"
            found.append(Assumption(tuple(_label(function) for function in supposed), text))
    return found
