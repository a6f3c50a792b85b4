"""A kubelet from its settings, or the reasons why it would not start.

Upstream: cm/container_manager_linux.go (the order: Topology, CPU, Memory manager),
topologymanager/{topology_manager,policy_options}.go, cpumanager/{cpu_manager,policy_static,policy_options}.go,
memorymanager/{memory_manager,policy_static}.go. Options are a Go map: of several bad ones any can be named.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gputopo.allocate.kubelet import memory_state
from gputopo.allocate.kubelet.admission import Kubelet, State, start
from gputopo.allocate.kubelet.cpu_manager import CpuManager, CpuOptions
from gputopo.allocate.kubelet.device_manager import DeviceManager, Resource
from gputopo.allocate.kubelet.machine import CpuTopology, Machine
from gputopo.allocate.kubelet.memory_manager import MemoryManager
from gputopo.allocate.kubelet.memory_state import MemoryState
from gputopo.allocate.kubelet.merge import BEST_EFFORT, NONE, RESTRICTED, SINGLE_NUMA_NODE, NumaInfo
from gputopo.allocate.kubelet.releases import ALPHA, BETA, Release
from gputopo.allocate.kubelet.stops import ManagerError

_TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))
_FALSE = frozenset(("0", "f", "F", "FALSE", "false", "False"))
_MOST_NODES = 8  # defaultMaxAllowableNUMANodes
_CPU_GATES = {ALPHA: "CPUManagerPolicyAlphaOptions", BETA: "CPUManagerPolicyBetaOptions"}
_TOPOLOGY_GATES = {ALPHA: "TopologyManagerPolicyAlphaOptions", BETA: "TopologyManagerPolicyBetaOptions"}
_EXCLUDE = (
    ("full-pcpus-only", "distribute-cpus-across-cores"),
    ("distribute-cpus-across-numa", "distribute-cpus-across-cores"),
    ("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-cores"),
    ("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-numa"),
)


class Settings(NamedTuple):
    """The kubelet's configuration, in its own words. `reserved_cpus`: --reserved-cpus, a mask."""

    release: Release
    policy: str = NONE
    scope: str = "container"
    options: Mapping[str, str] = {}
    cpu_policy: str = "none"
    cpu_options: Mapping[str, str] = {}
    reserved_cpus: int = 0
    reserved_count: int = 0  # kubeReserved + systemReserved CPUs, rounded up; counts where no set is named
    memory_policy: str = "None"
    reserved_memory: Mapping[int, Mapping[str, int]] = {}
    feature_gates: Mapping[str, bool] = {}


class Refused(Exception):
    """The kubelet does not start. `messages`: one of them is what it says."""

    def __init__(self, *messages: str) -> None:
        super().__init__(*messages)
        self.messages = messages


def kubelet(
    settings: Settings, machine: Machine, resources: Mapping[str, Resource]
) -> tuple[Kubelet, State]:  # fmt: skip
    """Raises Refused."""
    numa = topology_manager(settings, machine)
    cpus = _cpu_manager(settings, CpuTopology(machine.cpus))
    memory = _memory(settings, machine)
    release = settings.release
    devices = DeviceManager(machine.numa_ids, resources, release)
    made = Kubelet(
        numa, settings.policy, settings.scope, devices, cpus, MemoryManager(release) if memory is not None else None
    )
    return made, start(made, memory)


def topology_manager(settings: Settings, machine: Machine) -> NumaInfo:
    """In upstream's order: options, NUMA distances, number of NUMA nodes, policy, scope. Raises Refused."""
    numa = NumaInfo(machine.numa_ids, machine.distances)
    if settings.policy == NONE:
        return numa  # no option, scope or count is looked at
    most, closest = _topology_options(settings)
    if closest and not all(node in machine.distances for node in machine.numa_ids):
        raise Refused("cannot discover NUMA topology: error getting NUMA distances from cadvisor")
    if len(machine.numa_ids) > most:
        raise Refused(f"unsupported on machines with more than {most} NUMA Nodes")
    if settings.policy not in (BEST_EFFORT, RESTRICTED, SINGLE_NUMA_NODE):
        raise Refused(f'unknown policy: "{settings.policy}"')
    if settings.scope not in ("container", "pod"):
        raise Refused(f'unknown scope: "{settings.scope}"')
    return numa._replace(closest=closest)


def _topology_options(settings: Settings) -> tuple[int, bool]:
    most, closest = _MOST_NODES, False
    wrong = []
    for name, value in settings.options.items():
        level = settings.release.topology_option(name)
        shut = level in _TOPOLOGY_GATES and not _open(settings, _TOPOLOGY_GATES[level])
        if level is None:
            wrong.append(f'unknown Topology Manager Policy option: "{name}"')
        elif shut:
            said = "topology manager policy" if settings.release.minor >= 34 else "Topology Manager Policy"
            wrong.append(_not_enabled(said, level, name, lower=settings.release.minor >= 34))
        elif name == "max-allowable-numa-nodes":
            number, error = _atoi(value)
            if error:
                wrong.append(f'unable to convert policy option to integer "{name}": {error}')
            elif number < _MOST_NODES:
                wrong.append(f'the minimum value of "{name}" should not be less than {_MOST_NODES}')
            most = number
        elif name == "prefer-closest-numa-nodes":
            closest = _bool(name, value, wrong)
    if wrong:
        raise Refused(*wrong)
    return most, closest


def _open(settings: Settings, gate: str) -> bool:
    """Alpha gates are shut, beta gates open, unless the configuration says otherwise of one or of all of a level."""
    level, usual = ("AllBeta", True) if "Beta" in gate else ("AllAlpha", False)
    return settings.feature_gates.get(gate, settings.feature_gates.get(level, usual))


def _not_enabled(said: str, level: str, name: str, *, lower: bool = False) -> str:
    words = f"{level}-level options" if lower else f"{level.capitalize()}-level Options"
    return f'{said} {words} not enabled, but option "{name}" provided'


def _bool(name: str, value: str, wrong: list[str]) -> bool:
    """strconv.ParseBool."""
    if value not in _TRUE | _FALSE:
        wrong.append(f'bad value for option "{name}": strconv.ParseBool: parsing {_quoted(value)}: invalid syntax')
    return value in _TRUE


def _atoi(value: str) -> tuple[int, str | None]:
    """strconv.Atoi."""
    digits = value[1:] if value[:1] in ("+", "-") else value
    if not digits.isascii() or not digits.isdecimal():
        return 0, f"strconv.Atoi: parsing {_quoted(value)}: invalid syntax"
    number = int(value) if len(digits) < 40 else 1 << 70
    if not -(1 << 63) <= number < 1 << 63:
        return 0, f"strconv.Atoi: parsing {_quoted(value)}: value out of range"
    return number, None


def _quoted(value: str) -> str:
    """strconv.Quote, for what people write into options."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _cpu_manager(settings: Settings, topology: CpuTopology) -> CpuManager | None:
    if settings.cpu_policy == "none":
        if settings.cpu_options:
            given = " ".join(f"{name}:{value}" for name, value in sorted(settings.cpu_options.items()))
            raise Refused(f"new none policy error: None policy: received unsupported options=map[{given}]")
        return None
    if settings.cpu_policy != "static":
        raise Refused(f'unknown policy: "{settings.cpu_policy}"')
    count = settings.reserved_cpus.bit_count() or settings.reserved_count
    if not count:
        raise Refused(
            "[cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero"
        )
    options = cpu_options(settings)
    check_align_by_socket(settings, options, topology)
    if settings.reserved_cpus & ~topology.all:
        unknown = (settings.reserved_cpus & ~topology.all).bit_length() - 1
        raise Refused(_static(
            "[cpumanager] unable to build the reserved physical CPUs from the reserved set: "
            f"unknown CPU ID: {unknown}"
        ))  # fmt: skip
    reserved = settings.reserved_cpus or _reserve(settings, options, topology, count)
    return CpuManager(topology, options, reserved, settings.release)


def _reserve(settings: Settings, options: CpuOptions, topology: CpuTopology, count: int) -> int:
    """Without --reserved-cpus the lowest cores by takeByTopology."""
    try:
        return CpuManager(topology, options, 0, settings.release).take(topology.all, count)
    except ManagerError:
        raise Refused(_static(
            f"[cpumanager] unable to reserve the required amount of CPUs (size of  did not equal {count})"
        )) from None  # fmt: skip


def _static(text: str) -> str:
    return f"new static policy error: {text}"


def cpu_options(settings: Settings) -> CpuOptions:
    """Of the static policy. Raises Refused."""
    wrong: list[str] = []
    found: dict[str, bool] = {}
    for name, value in settings.cpu_options.items():
        level = settings.release.cpu_option(name)
        if level is None:
            wrong.append(f'unknown CPU Manager Policy option: "{name}"')
        elif level in _CPU_GATES and not _open(settings, _CPU_GATES[level]):
            wrong.append(_not_enabled("CPU Manager Policy", level, name))
        else:
            found[name.replace("-", "_")] = _bool(name, value, wrong)
    if wrong:
        raise Refused(*map(_static, wrong))
    for one, other in _EXCLUDE:
        if found.get(one.replace("-", "_")) and found.get(other.replace("-", "_")):
            raise Refused(_static(f"static policy options {one} and {other} can not be used at the same time"))
    return CpuOptions(**found)


def check_align_by_socket(settings: Settings, options: CpuOptions, topology: CpuTopology) -> None:
    """Raises Refused."""
    if not options.align_by_socket:
        return
    if settings.policy == SINGLE_NUMA_NODE:
        raise Refused(_static(  # the misspelling is upstream's
            "Topolgy manager single-numa-node policy is incompatible with CPUManager align-by-socket policy option"
        ))  # fmt: skip
    if len(topology.sockets) > len(topology.numa):
        raise Refused(_static(
            "Align by socket is not compatible with hardware where number of sockets are more than number of NUMA"
        ))  # fmt: skip


def _memory(settings: Settings, machine: Machine) -> MemoryState | None:
    if settings.memory_policy == "None":
        return None
    if settings.memory_policy != "Static":
        raise Refused(f'unknown policy: "{settings.memory_policy}"')
    known = set(machine.numa_ids)
    for node in settings.reserved_memory:
        if node not in known:
            raise Refused(
                f"the reserved memory configuration references a NUMA node {node} that does not exist on this machine"
            )
    if not sum(kinds.get("memory", 0) for kinds in settings.reserved_memory.values()):
        raise Refused("[memorymanager] you should specify the system reserved memory")
    memory = {node: machine.memory.get(node, {"memory": 0}) for node in machine.numa_ids}
    return memory_state.start(memory, settings.reserved_memory)
