"""What `kubectl kustomize` makes of a folder of deploy/, built once."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
needs_kubectl = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
BUILDS = ("kubernetes/base", "kubernetes/overlays/nvidia-runtime", "kubernetes/overlays/pods", "prometheus")


@cache
def built(folder: str) -> list[dict[str, Any]]:
    done = subprocess.run(["kubectl", "kustomize", DEPLOY / folder], capture_output=True, text=True, check=True)
    return list(yaml.safe_load_all(done.stdout))


def of_kind(objects: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    [found] = [one for one in objects if one["kind"] == kind]
    return found
