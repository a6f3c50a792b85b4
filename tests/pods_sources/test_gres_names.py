"""`slurmd -G` beside a job: places in Slurm's list as GPUs. Lines: SchedMD/slurm src/interfaces/gres.c."""

from __future__ import annotations

import pytest

from gputopo.parsers.gres_names import parse
from gputopo.parsers.recognise_holdings import recognise
from gputopo.parsers.slurm_job import parse as jobs
from gputopo.parsers.unreadable import Unreadable
from tests.pods.machines import held, node, said


def line(file: str, kind: str = "gpu") -> str:
    return f"slurmd: Gres Name={kind} Type=h100 Count=1 Index=0 ID=7696487 File={file} Links=(null) Flags=ENV_NVML\n"


def test_the_place_is_the_line_s_and_the_file_has_the_minor_number() -> None:
    text = line("/dev/nvidia2") + line("/dev/mlx5_0", "nic") + line("/dev/nvidia[0-1]")
    assert recognise(text.encode()) == ("gres-conf",)
    assert [(one.id, one.minor) for one in parse(text)[0].names] == [("0", 2), ("1", 0), ("2", 1)]


def test_mig_devices_share_a_file_and_are_not_told_apart() -> None:
    assert parse(line("/dev/nvidia0") * 2)[0].names == ()


@pytest.mark.parametrize("file", ["/dev/nvidia[3-1]", "/dev/nvidia[0-99999]"])
def test_a_list_that_slurm_cannot_read(file: str) -> None:
    with pytest.raises(Unreadable):
        parse(line(file))


def test_a_job_s_gpus_by_slurm_s_own_list_and_not_by_pci_order() -> None:
    """Minor numbers of the node run against its PCI order."""
    [shown] = jobs("JobId=1 JobState=RUNNING\n Nodes=n1 CPU_IDs=0 Mem=0 GRES=gpu:1(IDX:0)\n")
    job = said("slurm-job", *shown.containers)
    listed = said("gres-conf", names=parse("".join(line(f"/dev/nvidia{at}") for at in range(4)))[0].names)
    assert held(job).containers[0].placed.gpus == ("GPU0",)
    found = held(job, listed)
    assert found.containers[0].placed.gpus == ("GPU3",)
    assert not any("PCI bus order" in note.text for note in found.assumptions)
    assert node().gpus[3].minor == 0
