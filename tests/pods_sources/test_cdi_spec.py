"""CDI specifications: what a CDI name means. Layout: SPEC.md of container-device-interface; names: nvidia-ctk."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from gputopo.cli import run
from gputopo.holdings import DeviceHeld, DeviceName
from gputopo.parsers.cdi_spec import parse
from gputopo.parsers.recognise_holdings import recognise
from gputopo.parsers.unreadable import Unreadable
from tests.pods.machines import container, held, said, uuid

SMI = ("/dev/nvidiactl", "/dev/nvidia-uvm")


def spec(devices: dict[str, Iterable[str]], kind: str = "nvidia.com/gpu") -> str:
    listed = [
        {"name": name, "containerEdits": {"deviceNodes": [{"path": path} for path in paths]}}
        for name, paths in devices.items()
    ]
    return json.dumps({"cdiVersion": "0.6.0", "kind": kind, "devices": listed})


def names(text: str) -> dict[str, DeviceName]:
    return {one.id: one for one in parse(text)[0].names}


def test_a_name_means_a_minor_number_and_the_uuid_with_the_same_files() -> None:
    files = {"0": ("/dev/nvidia3", *SMI), "1": ("/dev/nvidia1",), uuid(7): (*SMI, "/dev/nvidia3")}
    found = names(spec({**files, "all": ("/dev/nvidia3", "/dev/nvidia1")}))
    assert found["nvidia.com/gpu=0"] == DeviceName("nvidia.com/gpu=0", "cdi", uuid=uuid(7), minor=3)
    assert found["nvidia.com/gpu=1"] == DeviceName("nvidia.com/gpu=1", "cdi", minor=1)
    assert "nvidia.com/gpu=all" not in found


def test_a_name_of_several_gpus_is_a_gap() -> None:
    [records] = parse(spec({"all": ("/dev/nvidia0", "/dev/nvidia1")}))
    assert [(gap.subjects, gap.reason) for gap in records.gaps] == [(("nvidia.com/gpu=all",), "it names 2 devices")]


def test_a_mig_device_is_not_its_gpu() -> None:
    cap = "/dev/nvidia-caps/nvidia-cap12"
    of_one, other = ("/dev/nvidia0", cap), ("/dev/nvidia0", cap + "3")
    found = names(spec({"0:1": of_one, "MIG-1": of_one, "0:2": other}))
    assert found["nvidia.com/gpu=0:1"] == DeviceName("nvidia.com/gpu=0:1", "cdi", uuid="MIG-1")
    assert "nvidia.com/gpu=0:2" not in found


def test_claims_of_dra_and_other_devices() -> None:
    claim = "aaaaaaaa-0000-4000-8000-000000000001-gpu-2"
    found = names(spec({claim: ("/dev/nvidia2",)}, "k8s.gpu.nvidia.com/claim"))
    assert found[f"k8s.gpu.nvidia.com/claim={claim}"].minor == 2
    assert names(spec({"mlx0": ("/dev/infiniband/uverbs3",)}, "x.io/nic"))["x.io/nic=mlx0"].name == "uverbs3"


def test_yaml_several_documents_and_the_file_on_the_host() -> None:
    text = "---\ncdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n- name: '0'\n  containerEdits:\n    deviceNodes:\n"
    text += "    - path: /dev/nvidia0\n      hostPath: /dev/nvidia5\n"
    assert recognise(text.encode()) == ("cdi-spec",)
    assert names(text)["nvidia.com/gpu=0"].minor == 5
    two = text + text.replace("'0'", "'1'")
    assert set(names(two)) == {"nvidia.com/gpu=0", "nvidia.com/gpu=1"}


@pytest.mark.parametrize(
    "text",
    [
        spec({"0": SMI})[:-9], "cdiVersion: [", "cdiVersion: 0.6.0\nkind: gpu\ndevices: []\n",
        '{"cdiVersion": "0.6.0", "devices": []}',
        "cdiVersion: 0.6.0\ndevices:\n" + "[" * 50_000, spec({str(at): () for at in range(5000)}),
    ],
)  # fmt: skip
def test_damaged_is_one_line(text: str) -> None:
    with pytest.raises(Unreadable):
        parse(text)


def test_other_shapes_name_nothing() -> None:
    assert parse('{"cdiVersion": "0.6.0", "kind": "a.b/c", "devices": [3, {"name": 1}, {"name": "x"}]}')[0].names == ()


def test_the_join_takes_the_name_s_device_and_not_its_number() -> None:
    """The node's minor numbers run against its indexes; the index is taken where no GPU has the file's number."""
    told = DeviceHeld("nvidia.com/gpu", "nvidia.com/gpu=1", "cdi", by="cdi")
    runtime = said("crictl-inspect", container("a", "u", "main", devices=(told,)))
    assert held(runtime).containers[0].placed.gpus == ("GPU1",)
    named = said("cdi-spec", names=parse(spec({"1": ("/dev/nvidia1",)}))[0].names)
    assert held(runtime, named).containers[0].placed.gpus == ("GPU2",)
    elsewhere = said("cdi-spec", names=parse(spec({"1": ("/dev/nvidia9",), uuid(9): ("/dev/nvidia9",)}))[0].names)
    assert held(runtime, elsewhere).containers[0].placed.gpus == ("GPU1",)


def test_alone_it_says_of_nobody_what_he_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "nvidia.json").write_text(spec({"0": SMI}))
    assert run(["pods", str(tmp_path / "nvidia.json")]) == 2
    assert capsys.readouterr().err.startswith("gputopo: error: nothing in it says who holds what")
