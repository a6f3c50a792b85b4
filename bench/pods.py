"""What an audit of 5,000 containers on standard input costs, beside `import typer`: `make bench`.

CPU seconds of a child process, start-up included. Exit 1 above 3 s; twice the containers should cost about twice.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys

LIMIT = 3.0  # s of CPU
PODS = 5_000


def main() -> int:
    floor = min(cpu([sys.executable, "-c", "import typer"], b"") for _ in range(3))
    cost = {count: min(cpu(AUDIT, answer(count)) for _ in range(3)) for count in (PODS, 2 * PODS)}
    for count, seconds in cost.items():
        ratio = f"{seconds / floor:.1f} x import typer"
        print(f"gputopo pods - -o json, {count:,} containers: {seconds:.2f} s CPU, {ratio}")
    kept = cost[PODS] <= LIMIT
    print(f"limit {LIMIT:g} s for {PODS:,}: {'ok' if kept else 'MISSED'}")
    return 0 if kept else 1


AUDIT = [sys.executable, "-m", "gputopo", "pods", "-", "-o", "json", "--fail-on", "never"]


def answer(count: int) -> bytes:
    """A podresources List of so many pods with one container and one GPU each, as grpcurl prints it."""
    gpu = "GPU-00000000-0000-4000-8000-{:012d}"
    pods = [
        {"name": f"p{at}", "namespace": "ml", "containers": [{"name": "c", "devices": [
            {"resourceName": "nvidia.com/gpu", "deviceIds": [gpu.format(at)], "topology": {"nodes": [{"ID": "1"}]}}]}]}
        for at in range(count)
    ]  # fmt: skip
    return json.dumps({"podResources": pods}).encode()


def cpu(command: list[str], said: bytes) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(command, input=said, stdout=subprocess.DEVNULL, check=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    sys.exit(main())
