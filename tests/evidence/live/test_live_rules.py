"""GT020 to GT023: how severe it is by what is known, and when nothing is said."""

from __future__ import annotations

import pytest

from gputopo.terms.cpu_set import CpuSet
from gputopo.topology.node import Gpu, NodeTopology, NoteUnknown, NumaNode, Observed, Source, System
from tests.rules.nodes import found

SYSFS = Source("sysfs-root", "/", "sysfs-root", "live", True)
NVML = Source("nvml-recording", "libnvidia-ml.so.1", "nvml-recording", "live", True)
SILENT = NVML._replace(whole=False)
VFIO = Gpu("GPU0", vendor="nvidia", driver="vfio-pci")
BOUND = Gpu("0000:0f:00.0", vendor="nvidia", pci="0000:0f:00.0", driver="nvidia")
LISTED = Gpu("GPU0", 0, vendor="nvidia", pci="0000:0e:00.0", driver="nvidia")


def silent(kind: str, *gpus: Gpu, view: str | None = None) -> NodeTopology:
    seen = Observed(kind, (), "what happened", "nvml-recording", None)
    return NodeTopology(view=view, gpus=gpus, observations=(seen,), sources=(SYSFS, SILENT))


@pytest.mark.parametrize("kind", ["no-answer", "crashed", "refused"])
def test_a_driver_in_trouble_is_an_error_where_a_gpu_waits_for_it(kind: str) -> None:
    [finding] = found("GT020", silent(f"driver-{kind}", BOUND, view="container"))
    assert (finding.severity, finding.message) == ("error", "what happened")
    assert "sysfs" in finding.matters
    assert finding.because
    assert finding.remedy
    assert [one.severity for one in found("GT020", silent(f"driver-{kind}", VFIO))] == ["warning"]
    assert [one.severity for one in found("GT020", silent(f"driver-{kind}"))] == ["warning"]


@pytest.mark.parametrize("kind", ["not-loaded", "no-library"])
def test_a_missing_driver_is_an_error_on_a_host_only(kind: str) -> None:
    def severity(*gpus: Gpu, view: str | None = None) -> list[str]:
        return [one.severity for one in found("GT020", silent(f"driver-{kind}", *gpus, view=view))]

    assert severity(BOUND) == ["error"]
    assert severity(BOUND, view="container") == ["info"]
    assert severity(VFIO) == ["info"]
    assert severity(VFIO, BOUND) == ["error"]
    assert severity() == []
    assert severity(Gpu("GPU0", vendor="amd")) == []


def test_a_file_that_did_not_come_is_a_warning() -> None:
    [finding] = found("GT020", silent("file-did-not-come", BOUND))
    assert finding.severity == "warning"
    assert "missing here" in finding.matters


def missing(gpu: Gpu, view: str | None, *seen: Observed, source: Source = NVML) -> list[tuple[str, str]]:
    node = NodeTopology(view=view, gpus=(LISTED, gpu), observations=seen, sources=(SYSFS, source))
    return [(one.severity, one.message) for one in found("GT021", node)]


def test_a_gpu_that_the_driver_does_not_list() -> None:
    assert missing(BOUND, "host") == [
        ("error", "0000:0f:00.0 is bound to the NVIDIA driver, which does not list it")
    ]  # fmt: skip
    assert missing(BOUND, "container") == [("info", "0000:0f:00.0 is not given to this container")]
    assert missing(BOUND, None)[0][0] == "warning"
    assert missing(BOUND._replace(driver=None), "host")[0][0] == "warning"
    assert missing(BOUND._replace(driver="nouveau"), "host") == [
        ("info", "0000:0f:00.0 is bound to nouveau, and not listed by the NVIDIA driver")
    ]


def test_what_another_rule_tells_or_nobody_knows_is_not_said_again() -> None:
    assert missing(BOUND._replace(driver="vfio-pci"), "host") == []
    for kind in ("gpu-lost", "gpu-excluded", "gpu-bound-to-vfio"):
        assert missing(BOUND, "host", Observed(kind, (BOUND.id,), "", "sysfs-root", None)) == []
    assert missing(BOUND, "host", source=SILENT) == []
    assert missing(BOUND, "host", source=SYSFS) == []
    assert missing(BOUND._replace(vendor="amd"), "host") == []
    assert missing(BOUND._replace(nvml_index=1), "host") == []


def test_no_gpus_says_how_that_is_known() -> None:
    node = NodeTopology(sources=(SYSFS,))
    [finding] = found("GT022", node)
    assert finding.severity == "info"
    with_driver = node._replace(system=System(driver="570.1"))
    assert found("GT022", with_driver)[0].message == "no GPUs: no GPU on PCI; NVIDIA driver 570.1 is loaded"
    [finding] = found("GT022", with_driver._replace(sources=(SYSFS, NVML)))
    assert finding.message == "no GPUs: no GPU on PCI; NVIDIA driver 570.1 lists none"
    assert found("GT022", node._replace(gpus=(BOUND,))) == ()
    assert found("GT022", node._replace(unknown=(NoteUnknown((), "gpus", "not captured", ""),))) == ()
    assert found("GT022", node._replace(sources=(NVML,))) == ()


def test_a_container_names_its_numbers_and_its_cpus() -> None:
    cpus = CpuSet.parse_list("0-7")
    node = NodeTopology(view="container", gpus=(LISTED,), numa_nodes=(NumaNode("NUMA0", 0, "cpu", cpus, None),))
    [finding] = found("GT023", node)
    assert "cpuset" not in finding.message
    [finding] = found("GT023", node._replace(allowed_cpus=CpuSet.parse_list("2-3")))
    assert finding.message.endswith("its cpuset allows CPUs 2-3, 2 of 8")
    assert found("GT023", node._replace(gpus=()))[0].message == "seen from a container"
    assert found("GT023", node._replace(view="host")) == found("GT023", node._replace(view=None)) == ()
