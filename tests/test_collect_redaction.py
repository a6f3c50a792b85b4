"""`gputopo collect`: nothing of the site leaves the node."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.evidence import planted
from tests.evidence.bundles import called, driver_says
from tests.evidence.live import standin

MACHINE = planted.MACHINE
needs_compiler = pytest.mark.skipif(standin.compiler() is None, reason=standin.NO_COMPILER)


@pytest.fixture(scope="module")
def planted_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("planted")
    planted.plant(root)
    return root


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GPUTOPO_REDACT_SALT", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SECRET_OF_THE_CALLER", "hunter2-secret")


def contents(file: Path) -> bytes:
    """Everything a bundle shows: its own bytes, those inside, its names and its targets."""
    data = file.read_bytes()
    found = [data]
    if data[:2] == b"\x1f\x8b":
        found.append(gzip.decompress(data))
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for entry in archive:
                inside = archive.extractfile(entry).read() if entry.isfile() else b""  # type: ignore[union-attr]
                found.append(b"\n".join((entry.name.encode(), entry.linkname.encode(), inside)))
    else:
        for path, value in json.loads(data)["members"].items():
            text = value if isinstance(value, str) else value.get("link", "")
            inside = bytes.fromhex(value.get("hex", "")) if isinstance(value, dict) else b""
            found.append(b"\n".join((path.encode(), text.encode(), inside)))
    return b"\n".join(found)


@needs_compiler
@pytest.mark.parametrize("name", ["a.tar.gz", "a.ndjson"])
def test_nothing_planted_survives(
    name: str, planted_root: Path, library: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    said = standin.answers(MACHINE)
    driver_says(monkeypatch, tmp_path, {key: planted.with_uuids(value) for key, value in said.items()})
    file = tmp_path / name
    called(
        capsys,
        "collect",
        "--root",
        str(planted_root),
        "--driver-root",
        str(library.parent),
        "--with",
        "kubelet",
        "-o",
        str(file),
    )
    blob = contents(file)
    assert planted.survivors(blob, planted.planted_values()) == []
    assert b"hunter2" not in blob
    # It is the planted node all the same, whole and readable.
    document = json.loads(called(capsys, "inspect", str(file), "-o", "json"))
    assert [gpu["pci"] for gpu in document["gpus"]] == [gpu.pci for gpu in MACHINE.gpus]
    assert document["gpus"][0]["nvlinks"]["active"] == 6
    assert {"kubelet/" + one for one in (
        "kubelet_internal_checkpoint", "cpu_manager_state", "memory_manager_state", "dra_manager_state",
    )} <= {row["path"] for row in manifest(blob)["read"]}  # fmt: skip


def manifest(blob: bytes) -> Any:
    at = blob.index(b'{\n  "gputopo": "bundle"')
    return json.JSONDecoder().raw_decode(blob[at:].decode("latin-1"))[0]


def test_the_search_finds_what_is_planted(planted_root: Path) -> None:
    """Or the test above proves nothing."""
    files = (path for path in planted_root.rglob("*") if path.is_file())
    blob = b"\n".join(str(path).encode() + b"\n" + path.read_bytes() for path in files)
    values = planted.planted_values()
    assert {value for _, value, _ in planted.survivors(blob, values)} == {
        one for found in values.values() for one in found
    }


def collected(capsys: pytest.CaptureFixture[str], root: Path, *options: str) -> str:
    return called(
        capsys,
        "collect",
        "--root",
        str(root),
        "--driver-root",
        "/nowhere",
        "--with",
        "kubelet",
        "--stdout",
        "-q",
        *options,
    )


def test_what_is_kept_is_kept_and_nothing_else(planted_root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = collected(capsys, planted_root, "--keep", "uuid,serial").encode()
    assert planted.survivors(record, planted.planted_values("uuid", "serial")) == []
    here = {value for _, value, how in planted.survivors(record, planted.planted_values()) if how == "as it is"}
    assert here == {one.removeprefix("GPU-") for one in planted.GPU_UUIDS} | {
        planted.POD_UID, planted.OTHER_POD_UID, planted.VALUES["uuid"][3],
    }  # fmt: skip  # no serial number is collected at all
    assert manifest(json.loads(record)["members"]["manifest.json"].encode())["redaction"]["kept"] == ["uuid", "serial"]


def test_a_salt_gives_the_same_bundle_and_no_salt_another(
    planted_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = collected(capsys, planted_root, "--redact-salt", "site")
    assert collected(capsys, planted_root, "--redact-salt", "site") == first
    assert collected(capsys, planted_root, "--redact-salt", "other") != first
    assert collected(capsys, planted_root) != collected(capsys, planted_root)
    assert "site" not in json.loads(first)["members"]["manifest.json"]


def test_the_kubelets_files_still_join(planted_root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    members = json.loads(collected(capsys, planted_root))["members"]
    checkpoint, cpu, memory, dra = (json.loads(members[f"kubelet/{name}"]) for name in (
        "kubelet_internal_checkpoint", "cpu_manager_state", "memory_manager_state", "dra_manager_state"))  # fmt: skip
    [entry] = checkpoint["Data"]["PodDeviceEntries"]
    pod, container = entry["PodUID"], entry["ContainerName"]
    assert cpu["entries"] == {pod: {container: "2-33"}}
    assert memory["entries"][pod][container][0]["size"] == 137_438_953_472
    assert entry["AllocResp"] is None
    assert checkpoint["Checksum"] is None
    [state] = json.loads(dra["Data"])["ClaimInfoStateList"]
    [device] = state["DriverState"]["gpu.nvidia.com"]["Devices"]
    assert device["DeviceName"] == "gpu-3"
    assert device["CDIDeviceIDs"] == [f"k8s.gpu.nvidia.com/claim={state['ClaimUID']}-gpu-3"]
    host = members["root/proc/sys/kernel/hostname"].strip()
    assert {device["PoolName"][:5], host[:5]} == {"node-"}
    gpus = [members[path] for path in members if path.endswith("/information")]
    assert all(uuid in "".join(gpus) for uuid in checkpoint["Data"]["RegisteredDevices"]["nvidia.com/gpu"])
