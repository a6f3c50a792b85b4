"""All machines, by the name of their sample."""

from __future__ import annotations

from tests.machines import dgx_machines, nvswitch_machines, pcie_machines, small_machines
from tests.machines.machine import Machine

MACHINES: dict[str, Machine] = {
    machine.name: machine
    for machine in (
        nvswitch_machines.hgx_h100(),
        nvswitch_machines.hgx_h200_container(),
        nvswitch_machines.hgx_b200(),
        dgx_machines.dgx_a100(),
        dgx_machines.dgx_a100_nps4(),
        dgx_machines.dgx1_v100(),
        dgx_machines.dgx2(),
        dgx_machines.gb200_tray(),
        pcie_machines.pcie_2s_8gpu(),
        pcie_machines.pcie_bridged(),
        pcie_machines.pcie_10gpu(),
        small_machines.rtx_4090_x4(),
        small_machines.l40s_vm_flat(),
        pcie_machines.soc_era_p40(),
        small_machines.mixed_5gpu(),
        small_machines.single_gpu(),
    )
}
