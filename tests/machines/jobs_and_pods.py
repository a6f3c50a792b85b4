"""The jobs and the pods that ship as samples, each on one of the machines: path below samples/ → text."""

from __future__ import annotations

from tests.machines.catalogue import MACHINES
from tests.machines.machine import Machine
from tests.machines.render_kubelet import Pod, render_checkpoint, render_list, render_podresources, render_pods
from tests.machines.render_nccl_log import Job, render_nccl_log

NODE = "node-a"


def job_files() -> dict[str, str]:
    machine = MACHINES["hgx-h100"]
    # P2P refused to everybody: NCCL falls back to shared memory in the host. Four channels: too few for NVLink.
    job = Job(machine, NODE, channels=4, via="SHM/direct/direct", environment={"NCCL_P2P_DISABLE": "1"})
    folder = "jobs/hgx-h100-p2p-disabled"
    return {
        f"{folder}/nccl.log": render_nccl_log(job),
        f"{folder}/gpus.csv": render_query(machine),
        f"{folder}/README.md": JOB_README,
    }


def pod_files() -> dict[str, str]:
    machine = MACHINES["pcie-2s-8gpu"]
    pods = (
        Pod("embed-0", "ml", "embed", (0,), "2026-08-04T08:00:00Z", ("ReplicaSet", "embed"), 1),
        Pod("embed-1", "ml", "embed", (4,), "2026-08-04T08:00:09Z", ("ReplicaSet", "embed"), 2),
        Pod("llm-tp4-0", "ml", "serve", (5, 2, 1, 3), "2026-08-04T09:12:30Z", ("StatefulSet", "llm-tp4"), 3),
    )
    folder = "pods/pcie-2s-8gpu-crossing"
    return {
        f"{folder}/podresources.json": render_podresources(machine, pods),
        f"{folder}/kubelet_internal_checkpoint": render_checkpoint(machine, pods),
        f"{folder}/pods.json": render_pods(pods, NODE),
        f"{folder}/gpus.txt": render_list(machine),
        f"{folder}/README.md": PODS_README,
    }


def render_query(machine: Machine) -> str:
    """nvidia-smi --query-gpu=index,uuid,pci.bus_id --format=csv"""
    rows = (f"{gpu.number}, {gpu.uuid}, 0000{gpu.pci.upper()}\n" for gpu in machine.gpus)
    return "index, uuid, pci.bus_id\n" + "".join(rows)


JOB_README = """\
# hgx-h100-p2p-disabled

A job of 8 ranks, a process each, on the machine of `sample:hgx-h100`, started with `NCCL_P2P_DISABLE=1`.

| file | what |
|---|---|
| `nccl.log` | `NCCL_DEBUG=INFO` of NCCL 2.27.3, ranks mixed as they print |
| `gpus.csv` | `nvidia-smi --query-gpu=index,uuid,pci.bus_id --format=csv`: joins the log's bus ids to GPU numbers |

Written, not captured. The words of each line are those of NCCL's source at that tag. Bus ids are the machine's. That
all pairs go through host memory (`SHM/direct/direct`) is what that variable does on one host; the number of channels is
made up.
"""

PODS_README = """\
# pcie-2s-8gpu-crossing

Three pods on the machine of `sample:pcie-2s-8gpu`. Two of one GPU came first, on GPU0 and GPU4; then one of four, for
which no socket had four left.

| file | what |
|---|---|
| `podresources.json` | List of the kubelet's podresources socket, as grpcurl prints it |
| `kubelet_internal_checkpoint` | the device manager's file of the same moment |
| `pods.json` | the pods as `kubectl get pods -n ml -o json` has them, cut to what is read |
| `gpus.txt` | `nvidia-smi -L`: joins the kubelet's UUIDs to GPU numbers |

Written, not captured. The formats are the kubelet's: List has pods by name and leaves out zeros (NUMA node 0 is `{}`),
the checkpoint has them by UID. {1,2,3,5} is one of the two sets that the device plugin can give then
(`gputopo allocate device-plugin sample:pcie-2s-8gpu -c 4 --in-use 0,4`). UIDs are made up. The checkpoint has 0 for its
checksum: only the kubelet can make it, and no other reader looks at it.
"""
