"""GT505 cuda-device-order

What it says
    The node has GPUs of several models, CUDA_VISIBLE_DEVICES names them by number, and CUDA_DEVICE_ORDER is not set.

Why it matters
    CUDA then counts the fastest GPU first (FASTEST_FIRST), nvidia-smi and NVML by PCI address: number 0 of one can be
    another card than number 0 of the other.

What to do
    CUDA_DEVICE_ORDER=PCI_BUS_ID, or UUIDs in CUDA_VISIBLE_DEVICES.

When it is silent
    All GPUs are of one model, CUDA_DEVICE_ORDER is in the log, the devices are UUIDs, or nothing says how the job
    chose its GPUs.

Example
    >>> from gputopo.job_records import FrameworkRecord, VisibleRecord
    >>> from gputopo.rules.jobs.example import diagnosis, node
    >>> on = node()
    >>> mixed = tuple(gpu._replace(name="Tesla T4" if gpu.id == "GPU0" else "NVIDIA A100") for gpu in on.gpus)
    >>> said = FrameworkRecord(visible=(VisibleRecord(("0",), "shell", line=2),))
    >>> [found] = check(diagnosis(on._replace(gpus=mixed), framework=said))
    >>> found.severity, found.message
    ('warning', 'CUDA_VISIBLE_DEVICES=0 may name another GPU than GPU0 (Tesla T4): CUDA_DEVICE_ORDER is not set')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Evidence, Finding
from gputopo.rules.jobs.diagnosis import Diagnosis
from gputopo.rules.wording import listed

CODE = "GT505"
SEVERITY = "warning"


def check(diagnosis: Diagnosis) -> Iterator[Finding]:
    framework = diagnosis.job.framework
    models = {gpu.id: gpu.name for gpu in diagnosis.node.gpus if gpu.name}
    if framework is None or framework.device_order or diagnosis.env("CUDA_DEVICE_ORDER"):
        return
    if len(set(models.values())) < 2:
        return
    for visible in framework.visible[:1]:
        numbers = [one for one in visible.devices if one.isdecimal()]
        if not numbers:
            continue
        named = [f"GPU{int(one)}" for one in numbers]
        setting = f"CUDA_VISIBLE_DEVICES={','.join(visible.devices)}"
        told = listed([f"{id} ({models[id]})" for id in named if id in models])
        all_models = listed([f"{id} {name}" for id, name in models.items()])
        yield Finding(
            CODE,
            SEVERITY,
            tuple(id for id in models if id in named) or tuple(models),
            f"{setting} may name another GPU than {told}: CUDA_DEVICE_ORDER is not set",
            matters="CUDA counts the fastest GPU first (FASTEST_FIRST), nvidia-smi by PCI address; the job may run on "
            f"others of {all_models}",
            because="the GPUs are of several models",
            remedy="CUDA_DEVICE_ORDER=PCI_BUS_ID, or UUIDs in CUDA_VISIBLE_DEVICES",
            evidence=(Evidence(diagnosis.job.framework_source, visible.line, setting),),
        )
