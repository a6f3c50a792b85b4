"""The graph while it is built: links are added up, kept by bandwidth, and moved; `frozen()` ends it."""

from __future__ import annotations

from gputopo.nccl.path_types import PathType
from gputopo.nccl.system import Gpu, Kind, Link, Net, Numa, System, Vertex

_PART_MASK = ~3  # the two low bits of a bus number name a part of a GPU


class Edge:
    """A link that is not numbered yet."""

    __slots__ = ("gbps", "target", "type")

    def __init__(self, type: PathType, gbps: float, target: int) -> None:
        self.type = type
        self.gbps = gbps
        self.target = target


class Node:
    __slots__ = ("device", "edges", "id", "kind", "number", "removed", "sm")

    def __init__(self, number: int, kind: Kind, id: int, device: int, sm: int) -> None:
        self.number = number
        self.kind = kind
        self.id = id
        self.device = device  # vendor, device, subsystem
        self.sm = sm
        self.edges: list[Edge] = []
        self.removed = False


class Draft:
    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.gpus: list[Gpu] = []
        self.nets: list[Net] = []
        self.numas: list[Numa] = []

    def add(self, kind: Kind, id: int, device: int = 0, sm: int = 0) -> Node:
        self.nodes.append(Node(len(self.nodes), kind, id, device, sm))
        return self.nodes[-1]

    def of(self, kind: Kind) -> list[Node]:
        return [node for node in self.nodes if node.kind is kind and not node.removed]

    def find(self, kind: Kind, id: int) -> Node | None:
        return next((node for node in self.of(kind) if node.id == id), None)

    def devices_of(self, id: int) -> list[Node]:
        """The parts of the GPU at this bus number."""
        return [node for node in self.of(Kind.DEV) if node.id & _PART_MASK == id & _PART_MASK]

    def gpus_on(self, device: Node) -> int:
        return sum(gpu.device == device.number for gpu in self.gpus)

    def connect(self, source: int, target: int, type: PathType, gbps: float) -> None:
        """One direction; links of one type between two add up. Kept by bandwidth, equal ones in order of arrival."""
        edges = self.nodes[source].edges
        at = next((n for n, edge in enumerate(edges) if edge.target == target and edge.type is type), len(edges))
        if at == len(edges):
            edges.append(Edge(type, 0.0, target))
        edge = edges[at]
        edge.gbps += gbps
        while at and edges[at - 1].gbps < edge.gbps:
            edges[at] = edges[at - 1]
            at -= 1
        edges[at] = edge

    def join(self, one: int, other: int, type: PathType, gbps: float) -> None:
        """Both directions."""
        self.connect(one, other, type, gbps)
        self.connect(other, one, type, gbps)

    def nearest_cpu(self, node: Node, came_from: int = -1) -> Node | None:
        """Up the PCI tree; `None` where none is above."""
        if node.kind is Kind.CPU:
            return node
        for edge in node.edges:
            above = self.nodes[edge.target]
            if edge.type is PathType.PIX and edge.target != came_from and above.kind in (Kind.PCI, Kind.CPU):
                found = self.nearest_cpu(above, node.number)
                if found is not None:
                    return found
        return None

    def up_last(self) -> None:
        """Below every CPU the link up to the parent stands behind the links down."""
        waiting = [(numa.vertex, -1) for numa in self.numas]
        while waiting:
            number, parent = waiting.pop()
            edges = self.nodes[number].edges
            if parent >= 0:
                up = next((edge for edge in edges if edge.target == parent), None)
                if up is not None:
                    edges.remove(up)
                    edges.append(up)
            waiting += [(e.target, number) for e in edges if e.type is PathType.PIX and e.target != parent]

    def frozen(self) -> System:
        links: list[Link] = []
        vertices = []
        for node in self.nodes:
            first = len(links)
            links += [
                Link(first + n, edge.type, edge.gbps, node.number, edge.target) for n, edge in enumerate(node.edges)
            ]
            vertices.append(Vertex(node.kind, node.id, tuple(range(first, len(links)))))
        switch = next((node.number for node in self.of(Kind.NVS)), None)
        devices = tuple(node.number for node in self.of(Kind.DEV))
        return System(
            tuple(vertices), tuple(links), tuple(self.gpus), tuple(self.nets), tuple(self.numas), devices, switch
        )
