"""What a person sees: three small nodes at 80 and 100 columns. The test is the picture."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gputopo.inspection import Inspection
from gputopo.reports.style import Style
from gputopo.reports.text import render
from gputopo.reports.views.inspect import blocks
from tests.reports import nodes

SINGLE_80 = r"""
bench-1   1x NVIDIA L4   1 socket, 1 NUMA node   no NICs   driver 570.124.06
source    / (sysfs-root)   live

FOUND     nothing odd

WIRING
socket 0   NUMA 0   CPUs 0-15 (16)   64 GiB
  pci0000:00  GPU0 01:00.0  gen4 x16
  pci0000:00                          1 NVMe  02:00.0

more      -o json
"""

SINGLE_100 = r"""
bench-1   1x NVIDIA L4   1 socket, 1 NUMA node   no NICs   driver 570.124.06
source    / (sysfs-root)   live

FOUND     nothing odd

WIRING
socket 0   NUMA 0   CPUs 0-15 (16)   64 GiB
  pci0000:00  GPU0 01:00.0  gen4 x16
  pci0000:00                          1 NVMe  02:00.0

more      -o json
"""

BRIDGED_80 = r"""
a40-7     4x NVIDIA A40   2 sockets, 2 NUMA nodes   1 NIC
sources   a40-7.tar (sysfs-root) + topo.txt (nvidia-smi-topo)   1 conflict

FOUND     1 error, 1 info
error GT112  GPU2 runs PCIe x8; GPU and slot both allow x16
  matters    host-to-GPU bandwidth is halved, NVLink is not affected
  remedy     reseat the card, check riser and cable
  evidence   a40-7.tar  0000:a1:00.0 current_link_width 8, max_link_width 16
info  GT113  GPU numbers follow NUMA
             ranks can be bound by counting
not checked  GT101: ACS (lspci -vvv as root)

WIRING
socket 0   NUMA 0   CPUs 0-15 (16)   251 GiB
  pci0000:21  GPU0 21:00.0  gen4 x16   NVLink 4/4
  pci0000:41  GPU1 41:00.0  gen4 x16   NVLink 4/4
  pci0000:41                                       NIC0 mlx5_0  100G Eth up
socket 1   NUMA 1   CPUs 16-31 (16)   251 GiB
  pci0000:a1  GPU2 a1:00.0  gen4 x8 !  NVLink 4/4
  pci0000:c1  GPU3 c1:00.0  gen4 x16   NVLink 4/4
NVLink    direct links: NV4 GPU0-GPU1 GPU2-GPU3

PAIRS     GPU-GPU  2 NV4, 4 SYS; PCIe underneath: 2 NODE (from the PCI tree;
                   topo -m hides it)   4 cross sockets
          GPU-NIC  GPU0, GPU1: NIC0 (NODE)   GPU2, GPU3: NIC0 (SYS)
       GPU0 GPU1 GPU2 GPU3 NIC0
GPU0      X  NV4  SYS  SYS NODE
GPU1    NV4    X  SYS  SYS NODE
GPU2    SYS  SYS    X  NV4  SYS
GPU3    SYS  SYS  NV4    X  SYS

CONFLICT  NUMA node of GPU3: 1 (a40-7.tar) against 0 (topo.txt); used: 1

more      --matrix full (NIC rows) | -v (remedies, all evidence) | -o json |
          gputopo explain GT112
"""

BRIDGED_100 = r"""
a40-7     4x NVIDIA A40   2 sockets, 2 NUMA nodes   1 NIC
sources   a40-7.tar (sysfs-root) + topo.txt (nvidia-smi-topo)   1 conflict

FOUND     1 error, 1 info
error GT112  GPU2 runs PCIe x8; GPU and slot both allow x16
  matters    host-to-GPU bandwidth is halved, NVLink is not affected
  remedy     reseat the card, check riser and cable
  evidence   a40-7.tar  0000:a1:00.0 current_link_width 8, max_link_width 16
info  GT113  GPU numbers follow NUMA
             ranks can be bound by counting
not checked  GT101: ACS (lspci -vvv as root)

WIRING
socket 0   NUMA 0   CPUs 0-15 (16)   251 GiB
  pci0000:21  GPU0 21:00.0  gen4 x16   NVLink 4/4
  pci0000:41  GPU1 41:00.0  gen4 x16   NVLink 4/4
  pci0000:41                                       NIC0 mlx5_0  100G Eth up
socket 1   NUMA 1   CPUs 16-31 (16)   251 GiB
  pci0000:a1  GPU2 a1:00.0  gen4 x8 !  NVLink 4/4
  pci0000:c1  GPU3 c1:00.0  gen4 x16   NVLink 4/4
NVLink    direct links: NV4 GPU0-GPU1 GPU2-GPU3

PAIRS     GPU-GPU  2 NV4, 4 SYS; PCIe underneath: 2 NODE (from the PCI tree; topo -m hides it)
                   4 cross sockets
          GPU-NIC  GPU0, GPU1: NIC0 (NODE)   GPU2, GPU3: NIC0 (SYS)
       GPU0 GPU1 GPU2 GPU3 NIC0
GPU0      X  NV4  SYS  SYS NODE
GPU1    NV4    X  SYS  SYS NODE
GPU2    SYS  SYS    X  NV4  SYS
GPU3    SYS  SYS  NV4    X  SYS

CONFLICT  NUMA node of GPU3: 1 (a40-7.tar) against 0 (topo.txt); used: 1

more      --matrix full (NIC rows) | -v (remedies, all evidence) | -o json | gputopo explain GT112
"""

PASTED_80 = r"""
stdin     3 GPUs   sockets unknown, NUMA 0,1 seen   1 NIC
source    stdin (nvidia-smi-topo)   line 12   cut short

FOUND     1 warning
warning GT003  the matrix is incomplete: row of GPU1 cut
  matters      levels of this row are known from the other side only
  because      lines were lost when it was copied
  remedy       nvidia-smi topo -m > topo.txt
  evidence     stdin:14  GPU1 NV12 X N\x1b[0m

WIRING    not in this evidence: sockets, PCIe bridges
NUMA 0   CPUs 0-31,64-95 (may be cut)
  GPU0  NV12  NIC0 mlx5_0\x1b[31m
NUMA 1   CPUs 32-63 (32)
  GPU2  NV12
NUMA unknown
  GPU1  NV12
NVLink    NV12 GPU0-GPU1 GPU0-GPU2. Direct, or through NVSwitches: not in this
          evidence.

PAIRS     GPU-GPU  2 of 2 NV12; PCIe underneath: 1 SYS (decided by third
                   devices; topo -m hides it), GPU0-GPU1 undecided: NODE or SYS
                   1 of 3 with NVLinks not known; PCIe: undecided
          GPU-NIC  GPU0: NIC0 (PIX)   GPU1: nearest undecided   GPU2: NIC0 (SYS)
       GPU0 GPU1 GPU2 NIC0
GPU0      X NV12 NV12  PIX
GPU1   NV12    X    ?    ?
GPU2   NV12    ?    X  SYS

UNKNOWN   PCIe level of GPU0-GPU1: topo -m hides it behind NV#
          settle it: nvidia-smi topo -mp
          matrix row of GPU1: the row is cut
          settle it: nvidia-smi topo -m > FILE
          UUID and model of GPU0-GPU2   settle it: nvidia-smi -L
          sockets   settle it: lscpu
ASSUMED   the legend's order is that of the columns (NIC0)

more      --matrix full (NIC rows) | -v (remedies, all evidence) | -o json |
          gputopo explain GT003
"""

PASTED_100 = r"""
stdin     3 GPUs   sockets unknown, NUMA 0,1 seen   1 NIC
source    stdin (nvidia-smi-topo)   line 12   cut short

FOUND     1 warning
warning GT003  the matrix is incomplete: row of GPU1 cut
  matters      levels of this row are known from the other side only
  because      lines were lost when it was copied
  remedy       nvidia-smi topo -m > topo.txt
  evidence     stdin:14  GPU1 NV12 X N\x1b[0m

WIRING    not in this evidence: sockets, PCIe bridges
NUMA 0   CPUs 0-31,64-95 (may be cut)
  GPU0  NV12  NIC0 mlx5_0\x1b[31m
NUMA 1   CPUs 32-63 (32)
  GPU2  NV12
NUMA unknown
  GPU1  NV12
NVLink    NV12 GPU0-GPU1 GPU0-GPU2. Direct, or through NVSwitches: not in this evidence.

PAIRS     GPU-GPU  2 of 2 NV12; PCIe underneath: 1 SYS (decided by third devices; topo -m hides it),
                   GPU0-GPU1 undecided: NODE or SYS   1 of 3 with NVLinks not known; PCIe: undecided
          GPU-NIC  GPU0: NIC0 (PIX)   GPU1: nearest undecided   GPU2: NIC0 (SYS)
       GPU0 GPU1 GPU2 NIC0
GPU0      X NV12 NV12  PIX
GPU1   NV12    X    ?    ?
GPU2   NV12    ?    X  SYS

UNKNOWN   PCIe level of GPU0-GPU1: topo -m hides it behind NV#   settle it: nvidia-smi topo -mp
          matrix row of GPU1: the row is cut   settle it: nvidia-smi topo -m > FILE
          UUID and model of GPU0-GPU2   settle it: nvidia-smi -L
          sockets   settle it: lscpu
ASSUMED   the legend's order is that of the columns (NIC0)

more      --matrix full (NIC rows) | -v (remedies, all evidence) | -o json | gputopo explain GT003
"""

PICTURES = [
    (nodes.single, 80, SINGLE_80),
    (nodes.single, 100, SINGLE_100),
    (nodes.bridged, 80, BRIDGED_80),
    (nodes.bridged, 100, BRIDGED_100),
    (nodes.pasted, 80, PASTED_80),
    (nodes.pasted, 100, PASTED_100),
]


@pytest.mark.parametrize(
    ("make", "width", "picture"), PICTURES, ids=[f"{make.__name__}-{width}" for make, width, _ in PICTURES]
)
def test_the_report_is_this(make: Callable[[], Inspection], width: int, picture: str) -> None:
    assert render(blocks(make()), Style(width)) == picture.removeprefix("\n")
