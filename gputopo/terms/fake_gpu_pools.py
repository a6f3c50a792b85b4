"""Pools of run-ai/fake-gpu-operator: how many GPUs a node of a pool is to have.

Source: run-ai/fake-gpu-operator 3a3f644 (2026-07-01): internal/common/topology (types.go, normalize.go: a pool with
`gpu` makes the whole document one of the new form; resolve.go), internal/common/profile (DeviceCount),
deploy/fake-gpu-operator/templates/profiles/builtin.yaml (the GPUs of a profile).

    >>> gpu_count({"gpuCount": 2}, False), gpu_count({"gpu": {"profile": "t4"}}, True)
    (2, 4)
    >>> gpu_count({"gpu": {"profile": "mine", "overrides": {"device_count": 3}}}, True)
    3
"""

from __future__ import annotations

from typing import Any

from gputopo.terms.kube_object import Body

KEY = "topology.yml"  # of the data of its ConfigMaps
FAKE_LABEL = "run.ai/fake.gpu"  # true on a node whose GPUs are fake
KWOK_KEY = "kwok.x-k8s.io/node"  # annotation, or label where it is so configured: fake
_PROFILES = {"a100": 8, "b200": 8, "gb200": 8, "gb300": 8, "h100": 8, "l40s": 8, "t4": 4}


def is_new_form(body: Body) -> bool:
    pools = [one for one in _mapping(body, "nodePools").values() if isinstance(one, dict)]
    if any("gpu" in one for one in pools):
        return True
    return not any(key in one for one in pools for key in ("gpuProduct", "gpuCount")) and "gpuOperator" in body


def gpu_count(pool: Body, new_form: bool) -> int | None:
    """None: the document does not say it."""
    if not new_form:
        count = pool.get("gpuCount", 0)
        return count if type(count) is int else None
    gpu = _mapping(pool, "gpu")
    overrides = _mapping(gpu, "overrides")
    count, devices = overrides.get("device_count"), overrides.get("devices")
    if type(count) is int and count > 0:
        return count
    if isinstance(devices, list):
        return len(devices)
    profile = gpu.get("profile")
    return _PROFILES.get(profile) if isinstance(profile, str) and profile else 0


def is_mock(pool: Body) -> bool:
    """Whether NVIDIA's own plugin counts the GPUs of a simulated driver, so that the pool does not decide."""
    return _mapping(pool, "gpu").get("backend") == "mock"


def mended(config_map: str, pool_changed: bool, kwok: bool) -> tuple[str, str]:
    """(why a node has another number of GPUs than its pool, the restarts that mend it)"""
    if not pool_changed:
        plugin = "deployment kwok-gpu-device-plugin" if kwok else "the device plugin's pod of the node"
        return f"the device plugin reads {config_map} at its start", f"restart {plugin}"
    remedy = f"delete ConfigMap {config_map} and restart deployment status-updater, which makes it anew"
    if not kwok:
        remedy += "; then restart the device plugin's pod of the node"
    return "a node's ConfigMap is made from its pool once, and stays as it is", remedy


def _mapping(body: Body, key: str) -> dict[str, Any]:
    found = body.get(key)
    return found if isinstance(found, dict) else {}
