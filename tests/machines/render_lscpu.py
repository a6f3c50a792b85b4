"""`lscpu` of a machine (util-linux 2.37 and later, English)."""

from __future__ import annotations

from tests.machines.cpu_numbers import split
from tests.machines.machine import Machine


def render_lscpu(machine: Machine) -> str:
    package = machine.packages[0]
    total = sum(len(split(one.cpus)) for one in machine.packages)
    rows = [
        ("Architecture:", machine.arch),
        *([("  CPU op-mode(s):", "32-bit, 64-bit")] if machine.arch == "x86_64" else []),
        ("  Byte Order:", "Little Endian"),
        ("CPU(s):", str(total)),
        ("  On-line CPU(s) list:", machine.all_cpus),
        ("Vendor ID:", package.vendor),
        ("  Model name:", package.model_name),
        *([("    CPU family:", str(package.family))] if package.family else []),
        ("    Model:", str(package.model)),
        ("    Thread(s) per core:", str(package.threads)),
        ("    Core(s) per socket:", str(len(split(package.cpus)) // package.threads)),
        ("    Socket(s):", str(len(machine.packages))),
    ]
    if machine.numa_nodes:
        rows += [("NUMA:", ""), ("  NUMA node(s):", str(len(machine.numa_nodes)))]
        rows += [(f"  NUMA node{node.number} CPU(s):", node.cpus) for node in machine.numa_nodes]
    if machine.virtual:
        rows += [("Virtualization features:", ""), ("  Hypervisor vendor:", "KVM"), ("  Virtualization type:", "full")]
    width = max(len(name) for name, _ in rows) + 1
    return "".join(f"{name:<{width}}{value}".rstrip() + "\n" for name, value in rows)
