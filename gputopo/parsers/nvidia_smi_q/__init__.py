r"""`nvidia-smi -q`, as text and as XML (`-q -x`): all that the driver says of each GPU but its neighbours.

    >>> node, = parse('''
    ... ==============NVSMI LOG==============
    ...
    ... Timestamp                                 : Wed Mar  6 10:00:00 2024
    ... Driver Version                            : 550.54.14
    ... CUDA Version                              : 12.4
    ...
    ... Attached GPUs                             : 1
    ... GPU 00000008:01:00.0
    ...     Product Name                          : NVIDIA GB200
    ...     Product Architecture                  : Blackwell
    ...     MIG Mode
    ...         Current                           : Disabled
    ...     GPU UUID                              : GPU-00000000-2222-4000-8000-000000000000
    ...     Minor Number                          : 0
    ...     PCI
    ...         GPU Link Info
    ...             PCIe Generation
    ...                 Max                       : 6
    ...                 Current                   : 5
    ...             Link Width
    ...                 Max                       : 16x
    ...                 Current                   : N/A
    ...     FB Memory Usage
    ...         Total                             : 189471 MiB
    ...     Clocks Event Reasons
    ...         Idle                              : Not Active
    ...         HW Slowdown                       : Active
    ...             HW Thermal Slowdown           : Active
    ...     Fabric
    ...         State                             : Completed
    ...         CliqueId                          : 3
    ...     Processes                             : None
    ... ''')
    >>> gpu, = node.gpus
    >>> gpu.label, str(gpu.pci), gpu.mig, gpu.pcie
    ('GPU0', '0008:01:00.0', (), Pcie(generation=5, width=None, max_generation=6, max_width=16))
    >>> gpu.fabric.state, gpu.fabric.clique_id, node.whole, node.gpus_complete
    ('Completed', 3, True, True)
    >>> [(seen.kind, seen.text) for seen in node.observations]
    [('clocks-throttled', 'HW Slowdown, HW Thermal Slowdown')]

GPUs are printed in the order of their NVML indices, without the index: it is known only where as
many are listed as `Attached GPUs` counts. Texts of 418 to 580 and NVIDIA's own XML captures
(k8s-test-infra, tests/e2e/go/assertions/nvidiasmi/testdata/hardware) were read. Processes are not kept.
"""

from __future__ import annotations

from gputopo.parsers.nvidia_smi_q.build import FORMAT, build
from gputopo.parsers.nvidia_smi_q.text import GPU_LINE, LOG_LINE, read_text
from gputopo.parsers.nvidia_smi_q.xml import ROOT, read_xml
from gputopo.parsers.nvidia_smi_values import without_handle
from gputopo.parsers.pasted_text import clean_lines
from gputopo.parsers.unreadable import Unreadable
from gputopo.records import NodeRecords

__all__ = ["FORMAT", "parse", "sniff"]

_MARKS = ("Product Name", "GPU UUID", "Attached GPUs", "Link Width", "MIG Mode", "FB Memory Usage", "Fabric")
_NEXT = "save the whole output of `nvidia-smi -q` (or `nvidia-smi -q -x`) and pass that"


def sniff(text: str) -> bool:
    """Whether a text holds `-q`: its title, its XML root, or a GPU's line with its fields."""
    if LOG_LINE in text or f"<{ROOT}" in text:
        return True
    if " : " not in text or not any(mark in text for mark in _MARKS):
        return False
    return any(GPU_LINE.search(line) for line in text.splitlines() if "GPU " in line)


def parse(text: str) -> tuple[NodeRecords, ...]:
    """One `NodeRecords` an output, in order. Raises Unreadable."""
    logs = read_xml(text) if f"<{ROOT}" in text else []
    lines = clean_lines(text)
    logs += read_text(lines)
    nodes = [build(log) for log in logs if log.gpus]
    if not nodes:
        if logs:
            what = "`nvidia-smi -q` lists no GPU here"
            raise Unreadable(what, logs[0].line, _NEXT)
        raise Unreadable("no `nvidia-smi -q`: looked for `GPU 00000000:01:00.0` with its fields under it", None, _NEXT)
    lost = without_handle(lines)
    if lost:
        nodes[0] = nodes[0]._replace(observations=nodes[0].observations + lost)
    return tuple(nodes)
