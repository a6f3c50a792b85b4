"""Texts in which nvidia-smi says why there is no matrix, and what to do then.

>>> find_refusal("GPU0 GPU1 CPU Affinity\\nFailed to run topology matrix\\n")[:2]
('Failed to run topology matrix', 2)
"""

from __future__ import annotations

# (fragment as printed, next step)
REFUSALS: tuple[tuple[str, str], ...] = (
    (
        "Failed to run topology matrix",
        "nvidia-smi could not read the CPUs here (a sandbox, a RoCE-over-TCP device or a cpuset without CPUs);"
        " run it on the host, or inspect the node's sysfs",
    ),
    (
        "The -i command line argument must be used in conjunction with",
        "`topo -m` prints all GPUs and takes no -i; run `nvidia-smi topo -m`",
    ),
    (
        "couldn't communicate with the NVIDIA driver",
        "the kernel driver is not loaded; see `dmesg | grep -i nvrm`, or inspect the node's sysfs",
    ),
    (
        "couldn't find libnvidia-ml.so",
        "the container has no driver libraries; run nvidia-smi on the host",
    ),
    ("Failed to initialize NVML", "driver and library do not fit or may not be used; run nvidia-smi on the host"),
    ("No devices were found", "the driver sees no GPU; check `lspci` and `dmesg | grep -i nvrm`"),
    ("Unable to determine the device handle for", "a GPU does not answer; see `dmesg | grep -i xid`"),
    ("Usage: nvidia-smi topo", "this is the help text; run `nvidia-smi topo -m`"),
    ("is not recognized. Please run 'nvidia-smi", "this nvidia-smi has no such option; run `nvidia-smi topo -m`"),
    ("Invalid combination of input arguments", "run `nvidia-smi topo -m` without other options"),
    ("nvidia-smi: command not found", "run it where the NVIDIA driver is installed"),
)


def find_refusal(text: str) -> tuple[str, int, str] | None:
    """The line as printed, its number and the next step; `None` where nvidia-smi refuses nothing."""
    for fragment, step in REFUSALS:
        at = text.find(fragment)
        if at >= 0:
            start = text.rfind("\n", 0, at) + 1
            end = text.find("\n", at)
            return text[start : len(text) if end < 0 else end].strip()[:160], text.count("\n", 0, at) + 1, step
    return None
