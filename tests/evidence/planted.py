"""A node on which everything that could name it, its site and its people is planted; and the search for it.

The root folder is that of a rendered machine; the values are invented, and stand where Linux, the
drivers, the kubelet and careless people put them. `survivors` looks for them in every spelling, with
its own list of spellings: what redaction believes is not asked.
"""

from __future__ import annotations

import base64
import json
from ipaddress import ip_address
from pathlib import Path

from tests.machines import MACHINES
from tests.machines.render_sysfs import render_sysfs

HOST, DOMAIN = "trondheim-gpu17", "cluster.example.org"
POD_UID, OTHER_POD_UID = "8f14e45f-ceea-467f-9d65-1b9f4c0a7e21", "c9f0f895-fb98-4b91-b0a4-2d7f1e6c5a38"
CONTAINER_ID = "3c59dc048e8850243be8079a5c74d079e6b0d1c2f4a5968778695a4b3c2d1e0f"
VALUES: dict[str, tuple[str, ...]] = {
    "host": (HOST, f"{HOST}.{DOMAIN}", DOMAIN, "build-9.example.org"),
    "user": ("berit", "olanordmann"),
    "serial": (
        "J3K9XW2Q",
        "CN7475197S00FD",
        "ASSET-00817-TRD",
        "S64GNE0R912345",
        "4c4c4544-004a-3310-804b-cac04f585732",
    ),
    "mac": ("b8:ce:f6:5a:01:07", "b8:ce:f6:5a:01:19"),
    "guid": ("b8ce:f603:005a:0107", "b8ce:f603:005a:0119"),
    "ip": ("10.141.7.23", "fe80:0000:0000:0000:b8ce:f603:005a:0107", "2001:db8:17::4a5b", "10.141.7.1"),
    "boot": ("b1946ac9-2492-4d23-a1f0-7e5c9d8b6a43",),
    "id": ("1f0e3dad99908345f7439f8ffabdffc4", CONTAINER_ID),
    "uuid": (POD_UID, OTHER_POD_UID, "5f93f983-524d-4ef7-8a3b-9c1d0e2f4a6b", "a87ff679-a2f3-471d-9181-a67b7542122c"),
    "pod": ("llm-trainer", "secret-project", "weights-loader", "claim-of-team-blue"),
}
GPU_UUIDS = tuple(f"GPU-{number:02d}8d7e3c-5b2a-4f19-9e60-7a4c1d8b3f9{number}" for number in range(8))


MACHINE = MACHINES["dgx1-v100"]


def with_uuids(text: str) -> str:
    """A rendered text with UUIDs that look like a driver's."""
    for gpu in MACHINE.gpus:
        text = text.replace(gpu.uuid, GPU_UUIDS[gpu.number])
    return text


def planted_values(*kept: str) -> dict[str, tuple[str, ...]]:
    """All that must be gone, but for these kinds."""
    values = VALUES | {"uuid": (*VALUES["uuid"], *(uuid.removeprefix("GPU-") for uuid in GPU_UUIDS))}
    return {kind: found for kind, found in values.items() if kind not in kept}


def plant(root: Path) -> None:
    """Fill the root folder of one node."""
    render_sysfs(MACHINE, root)
    for information in (root / "proc/driver/nvidia/gpus").rglob("information"):
        information.write_text(with_uuids(information.read_text()))
    for path, text in _files().items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="ascii")
    pci = next((root / "sys/devices").rglob("infiniband")).parent
    guid = VALUES["guid"]
    ib = next((pci / "infiniband").iterdir())
    for name, text in {
        "node_guid": guid[0],
        "sys_image_guid": guid[1],
        "ports/1/gids/0": VALUES["ip"][1],
        "node_desc": f"{HOST} HCA-1",
        "ports/1/gid_attrs/ndevs/0": "enxb8cef65a0119",
    }.items():
        (ib / name).parent.mkdir(parents=True, exist_ok=True)
        (ib / name).write_text(f"{text}\n")
    _devices_called_by_address(root, pci)
    (root / "sys/class/nvme/nvme0").mkdir(parents=True)
    (root / "sys/class/nvme/nvme0/serial").write_text(f"{VALUES['serial'][3]}\n")


def _devices_called_by_address(root: Path, pci: Path) -> None:
    relative = pci.relative_to(root)
    for number, (kind, name) in enumerate((
        ("net", "enxb8cef65a0119"), ("net", f"{HOST}-eth1"), ("infiniband", "rocexb8cef603005a0119"),
    )):  # fmt: skip
        here = pci / kind / name
        here.mkdir(parents=True)
        if kind == "net":
            for file, text in {
                "operstate": "up",
                "speed": "25000",
                "type": "1",
                "address": VALUES["mac"][number],
            }.items():
                (here / file).write_text(f"{text}\n")
        else:
            (here / "ports/1").mkdir(parents=True)
            (here / "ports/1/state").write_text("4: ACTIVE\n")
            (here / "node_guid").write_text(f"{VALUES['guid'][1]}\n")
        (here / "device").symlink_to("../..")
        (root / "sys/class" / kind / name).symlink_to(f"../../../{relative}/{kind}/{name}")


def _files() -> dict[str, str]:
    serial, user = VALUES["serial"], VALUES["user"]
    pod = POD_UID.replace("-", "_")
    group = (
        f"kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{pod}.slice/cri-containerd-{CONTAINER_ID}.scope"
    )
    dmi = ("product_serial", "board_serial", "chassis_asset_tag", "chassis_serial", "product_uuid")
    return {f"sys/class/dmi/id/{name}": f"{value}\n" for name, value in zip(dmi, serial)} | {
        "etc/machine-id": f"{VALUES['id'][0]}\n",
        "etc/hostname": f"{HOST}\n",
        "etc/passwd": f"root:x:0:0::/root:/bin/sh\n{user[0]}:x:1001:1001::/home/{user[0]}:/bin/sh\n"
        f"{user[1]}:x:1002:1002::/:/\n",
        "proc/sys/kernel/hostname": f"{HOST}.{DOMAIN}\n",
        "proc/sys/kernel/random/boot_id": f"{VALUES['boot'][0]}\n",
        "proc/net/if_inet6": "20010db8001700000000000000004a5b 02 40 00 80 eth0\n",
        "proc/version": f"Linux version {MACHINE.kernel} ({user[0]}@build-9.example.org) (gcc 12) #1 SMP\n",
        "proc/cmdline": f"root=UUID={VALUES['uuid'][2]} iommu=pt ip=10.141.7.23::10.141.7.1:255.255.255.0:{HOST}:eth0 "
        f"nfsroot=10.141.7.1:/home/{user[0]}/root token=hunter2-secret\n",
        "proc/driver/nvidia/version": f"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {MACHINE.driver}  "
        f"Release Build  ({user[0]}@{HOST})  Mon Nov  4\n",
        "proc/self/cgroup": f"0::/{group}\n",
        "proc/self/mounts": f"overlay / overlay rw,lowerdir=/home/{user[0]}/layers/{CONTAINER_ID} 0 0\n"
        "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n",
        "proc/self/status": "Name:\tsh\n",  # so that the cpuset is looked for in the control group's folder
        f"sys/fs/cgroup/{group}/cpuset.cpus.effective": "0-31\n",
        **_kubelet(),
    }


def _kubelet() -> dict[str, str]:
    """As kubelet 1.32 and later write them; their checksums are invented."""
    trainer, namespace, loader, claim = VALUES["pod"]
    response = base64.b64encode(f"NVIDIA_VISIBLE_DEVICES={GPU_UUIDS[0]} /home/berit".encode()).decode()
    entry = {"PodUID": POD_UID, "ContainerName": trainer, "ResourceName": "nvidia.com/gpu",
             "DeviceIDs": {"0": [GPU_UUIDS[0], GPU_UUIDS[1]]}, "AllocResp": response}  # fmt: skip
    state = {"ClaimUID": VALUES["uuid"][3], "ClaimName": claim, "Namespace": namespace, "PodUIDs": {OTHER_POD_UID: {}},
             "DriverState": {"gpu.nvidia.com": {"Devices": [
                 {"PoolName": HOST, "DeviceName": "gpu-3", "RequestNames": [loader],
                  "CDIDeviceIDs": [f"k8s.gpu.nvidia.com/claim={VALUES['uuid'][3]}-gpu-3"]}]}}}  # fmt: skip
    files = {
        "device-plugins/kubelet_internal_checkpoint": {
            "Data": {"PodDeviceEntries": [entry], "RegisteredDevices": {"nvidia.com/gpu": list(GPU_UUIDS)}},
            "Checksum": 2_994_105_811,
        },
        "cpu_manager_state": {
            "policyName": "static",
            "defaultCpuSet": "0-1,56-57",
            "entries": {POD_UID: {trainer: "2-33"}},
            "checksum": 1_353_318_690,
        },
        "memory_manager_state": {
            "policyName": "Static",
            "machineState": {"0": {"numberOfAssignments": 1, "cells": [0]}},
            "entries": {POD_UID: {trainer: [{"numaAffinity": [0], "type": "memory", "size": 137_438_953_472}]}},
            "checksum": 4_200_000_017,
        },
        "dra_manager_state": {
            "Data": json.dumps({"kind": "DRACheckpoint", "ClaimInfoStateList": [state]}),
            "Checksum": 7,
        },
    }
    return {f"var/lib/kubelet/{name}": json.dumps(document) for name, document in files.items()}


def survivors(blob: bytes, values: dict[str, tuple[str, ...]]) -> list[tuple[str, str, str]]:
    """(kind, value, spelling) of everything that is still there."""
    text = blob.decode("latin-1")
    low = text.lower()
    bare = low.translate(_SEPARATORS)
    return [
        (kind, value, how)
        for kind, found in values.items()
        for value in found
        for how, needle, hay in _spellings(kind, value, text, low, bare)
        if needle in hay
    ]


_SEPARATORS = str.maketrans("", "", ":-_. ")


def _spellings(kind: str, value: str, text: str, low: str, bare: str) -> list[tuple[str, str, str]]:
    plain = value.lower().translate(_SEPARATORS)
    found = [("as it is", value.lower(), low)]
    found += [(f"base64 {at}", core, text) for at, core in enumerate(_base64(value.encode()))]
    found += [(f"base64 upper {at}", core, text) for at, core in enumerate(_base64(value.upper().encode()))]
    if len(plain) >= 8 or kind == "user":
        found.append(("without separators", plain, bare))
    if len(plain) in (12, 16, 32, 64) and not plain.strip("0123456789abcdef"):
        number = bytes.fromhex(plain)
        half = len(plain) // 2
        found += [
            ("the other byte order", number[::-1].hex(), bare),
            ("halves exchanged", plain[half:] + plain[:half], bare),
            ("bytes", number.decode("latin-1"), text),
            *((f"base64 of bytes {at}", core, text) for at, core in enumerate(_base64(number))),
            *((f"base64 bare {at}", core, text) for at, core in enumerate(_base64(plain.encode()))),
        ]
    if kind == "ip" and ":" in value:
        found.append(("in full", ip_address(value).exploded.replace(":", ""), bare))
    if kind == "mac":
        found.append(("EUI-64", f"{plain[:6]}fffe{plain[6:]}", bare))
        found.append(("modified EUI-64", f"{int(plain[:2], 16) ^ 2:02x}{plain[2:6]}fffe{plain[6:]}", bare))
    return found


def _base64(content: bytes) -> list[str]:
    """What stays the same of it in base64, wherever it begins; too short to mean something: nothing."""
    if len(content) < 6:
        return []
    found = []
    for offset in range(3):
        encoded = base64.b64encode(bytes(offset) + content + bytes(3)).decode()
        found.append(encoded[-(-offset * 8 // 6) : (offset + len(content)) * 8 // 6])
    return found
