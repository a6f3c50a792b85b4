"""NCCL's topology files: three kinds, RCCL, and the traps found in collected files."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputopo.parsers.nccl_xml import parse, sniff
from gputopo.parsers.nccl_xml.lint import KNOWN_SPEEDS
from gputopo.parsers.nccl_xml.tree import generation
from gputopo.parsers.unreadable import Unreadable
from gputopo.records import Key, Pcie
from gputopo.terms.pci_address import PciAddress
from gputopo.terms.unknown import Unknown
from tests.replay_kinds import nccl_xml as kind

SHARED = Path(os.environ.get("GPUTOPO_SHARED", Path(__file__).parents[3] / "shared"))
INDEX = SHARED / "data/nccl/xml/index.jsonl"


def system(inside, version="1"):
    return f'<system version="{version}">\n{inside}\n</system>'


def cpu(inside, numaid="0", more=""):
    return f'<cpu numaid="{numaid}" affinity="ff" {more}>\n{inside}\n</cpu>'


def gpu(busid, inside="", dev="0", sm="90", more='vendor="0x10de"'):
    return f'<pci busid="{busid}" class="0x030200" {more}><gpu dev="{dev}" sm="{sm}" rank="{dev}">{inside}</gpu></pci>'


def kinds(node):
    return [seen.kind for seen in node.observations]


def seen(node, kind):
    [found] = [seen for seen in node.observations if seen.kind == kind]
    return found


def node_of(inside, version="1"):
    [node] = parse(system(inside, version))
    return node


def test_a_dump_names_gpus_with_every_key_and_what_stands_above():
    node = node_of(cpu(f'<pci busid="0000:0A:00.0" class="0x060400">{gpu("0000:0F:00.0", dev="3")}</pci>', "1"))
    [h100] = node.gpus
    assert h100.label == "0000:0f:00.0"
    assert h100.keys == (Key("pci", "0000:0f:00.0"), Key("index", "3"), Key("rank", "3"))
    assert (h100.nvml_index, h100.compute_capability, h100.vendor) == (3, "9.0", "nvidia")
    assert (h100.numa_nodes, h100.chain) == ((1,), ("cpu:1", "0000:0a:00.0"))
    assert h100.nvlinks_active == 0  # a <gpu> without rows says that there is none
    assert [bridge.label for bridge in node.bridges] == ["0000:0a:00.0"]
    assert node.grain == "nccl"


@pytest.mark.parametrize(("sm", "capability"), [("70", "7.0"), ("103", "10.3"), ("121", "12.1")])
def test_sm_is_the_compute_capability(sm, capability):
    assert node_of(cpu(gpu("0000:0f:00.0", sm=sm))).gpus[0].compute_capability == capability


def test_nvlinks_end_at_switches_gpus_and_where_nobody_sees():
    rows = (
        '<nvlink target="0000:1c:00.0" count="5" tclass="0x068000"/>'
        '<nvlink target="0000:bd:00.0" count="4" tclass="0x030200"/>'
        '<nvlink target="fffffff:ffff:ff" count="6" tclass="0x068000"/>'
        '<nvlink target="fffffff:ff:ff.0" count="2" tclass="0x068001"/>'
    )
    node = node_of(cpu(gpu("0000:0f:00.0", rows)))
    links = node.gpus[0].links
    assert [(link.remote_kind, link.times) for link in links] == [("switch", 5), ("gpu", 4), ("switch", 6), ("cpu", 2)]
    assert [link.remote for link in links][:2] == [PciAddress(0, 0x1C, 0, 0), PciAddress(0, 0xBD, 0, 0)]
    assert [link.remote for link in links][2:] == [None, None]
    assert node.gpus[0].nvlinks_active == 17
    assert [switch.label for switch in node.nvswitches] == ["0000:1c:00.0"]
    assert any("not visible" in assumption.text for assumption in node.assumptions)


def test_an_nvlink_count_that_is_no_number_is_unknown_not_zero():
    node = node_of(cpu(gpu("0000:0f:00.0", '<nvlink target="0000:1c:00.0" count="many" tclass="0x068000"/>')))
    assert isinstance(node.gpus[0].nvlinks_active, Unknown)


def test_c2c_is_megabytes_a_second_of_one_link():
    node = node_of(cpu(gpu("0008:06:00.0", '<c2c bw="44712" count="10"/>')))
    assert node.gpus[0].c2c == {"count": 10, "gbpsPerLink": 44.712}


def test_a_skeleton_says_nothing_about_nvlink():
    leaf = '<pci busid="0001:00:00.0" class="0x030200"/><pci busid="0101:00:00.0" class="0x020700"/>'
    node = node_of(cpu(f'<pci busid="ffff:ff:01.0" class="0x060400">{leaf}</pci>'))
    [v100] = node.gpus
    assert (v100.nvlinks_active, v100.links, v100.nvml_index) == (None, None, None)
    assert v100.chain == ("cpu:0", "ffff:ff:01.0")
    assert [nic.label for nic in node.nics] == ["0101:00:00.0"]
    assert [(gap.subjects, gap.attribute) for gap in node.gaps] == [(("0001:00:00.0",), "nvlinks")]
    assert v100.vendor == "nvidia"  # version 1 is NCCL's; that this was supposed is said
    assert any("NVIDIA" in assumption.text for assumption in node.assumptions)
    assert "no-gpu-element" in kinds(node)


def test_without_classes_gpu_and_nic_cannot_be_told_apart():
    node = node_of('<cpu numaid="0"><pci busid="0000:45:00.0"><pci busid="0000:4f:00.0"/></pci></cpu>')
    assert (node.gpus, node.nics) == (None, None)
    [gap] = node.gaps
    assert gap.attribute == "gpus"
    assert "0000:4f:00.0" in gap.reason
    assert [bridge.label for bridge in node.bridges] == ["0000:45:00.0"]


def test_a_graph_file_holds_no_machine():
    [node] = parse('<graphs version="1">\n<graph id="0" pattern="4"><channel><gpu dev="0"/></channel></graph></graphs>')
    assert node.format == "nccl-graph"
    assert node.gpus is None
    assert [gap.attribute for gap in node.gaps] == ["gpus"]


def test_rccl():
    inside = (
        '<pci busid="0021:00:00.0" class="0x120000" vendor="0x1002"><gpu dev="1" sm="304" gcn="gfx942" rank="0">'
        '<xgmi target="0011:00:00.0" count="2" tclass="0x120000"/></gpu></pci>'
    )
    node = node_of(cpu(inside), version="2")
    [mi300] = node.gpus
    assert (mi300.vendor, mi300.architecture, mi300.compute_capability) == ("amd", "gfx942", None)
    assert [(link.remote_kind, link.times) for link in mi300.links] == [("gpu", 2)]
    assert mi300.nvlinks_active == 0
    assert "nccl-version-not-1" in kinds(node)


def test_numaid_minus_one_is_unknown():
    node = node_of(cpu(gpu("0000:07:00.0"), "-1"))
    assert isinstance(node.gpus[0].numa_nodes, Unknown)
    assert node.numa_nodes is None


def test_affinity_is_the_cpus_of_the_node():
    node = node_of('<cpu numaid="3" affinity="00000001,0000c0c0"/>')
    assert (node.numa_nodes[0].number, str(node.numa_nodes[0].cpus)) == (3, "6-7,14-15,32")


def test_hosts_of_a_multi_node_dump_are_nodes():
    nodes = parse(
        system(
            cpu(gpu("0008:06:00.0"), "0", 'host_hash="0x1"')
            + cpu(gpu("0009:06:00.0"), "1", 'host_hash="0x1"')
            + cpu(gpu("0008:06:00.0"), "0", 'host_hash="0x2"')
        )
    )
    assert [[gpu.label for gpu in node.gpus] for node in nodes] == [["0008:06:00.0", "0009:06:00.0"], ["0008:06:00.0"]]
    assert not any("duplicate-busid" in kinds(node) for node in nodes)


def test_names_on_one_card_are_devices_of_their_own():
    nets = (
        '<net name="mlx5_0" speed="180000" port="1"/><net name="mlx5_1" speed="200000" port="2"/>'
        '<net name="mlx5_1" speed="200000" port="3"/>'
    )
    node = node_of(cpu(f'<pci busid="0000:0c:00.0" class="0x020000" vendor="0x15b3"><nic>{nets}</nic></pci>'))
    first, second = node.nics
    assert (first.device, first.port, first.rate_gbps) == ("mlx5_0", 1, 180.0)
    assert first.keys == (Key("card", "0000:0c:00"), Key("name", "mlx5_0"))
    assert first.pci == PciAddress(0, 0x0C, 0, 0)
    assert (second.device, second.port, second.keys) == ("mlx5_1", None, (Key("name", "mlx5_1"),))
    assert isinstance(second.pci, Unknown)
    assert second.chain == first.chain == ("cpu:0",)


def test_a_fused_nic_is_one():
    node = node_of(cpu('<nic><net name="mlx5_0+mlx5_1" speed="200000"/></nic>'))
    [nic] = node.nics
    assert (nic.label, nic.rate_gbps) == ("mlx5_0+mlx5_1", 200.0)


def test_a_virtual_nic_below_every_cpu_is_one_without_a_place():
    eth0 = '<nic><net name="eth0" speed="-1"/></nic>'
    node = node_of(cpu(eth0, "0") + cpu(eth0, "1"))
    [nic] = node.nics
    assert isinstance(nic.pci, Unknown)
    assert isinstance(nic.numa_nodes, Unknown)
    assert isinstance(nic.rate_gbps, Unknown)
    assert nic.chain is None
    assert seen(node, "virtual-nic-repeated").subjects == ("eth0",)


def test_gpus_below_a_pci_with_a_nic_are_read_though_nccl_loses_them():
    inside = f'<pci busid="0002:00:00.0" class="0x060400">{gpu("0002:00:01.0")}<nic><net name="mlx5_5"/></nic></pci>'
    node = node_of(cpu(inside))
    assert node.gpus[0].chain == ("cpu:0", "0002:00:00.0")
    assert "0002:00:01.0" in seen(node, "nccl-pci-with-nic-and-children").text


def test_a_bus_id_that_stands_twice_is_named_and_one_gpu():
    node = node_of(cpu(gpu("0000:ba:00.0") + gpu("0000:bb:00.0", dev="1") + gpu("0000:BA:00.0", dev="2")))
    assert [(gpu.label, gpu.nvml_index) for gpu in node.gpus] == [("0000:ba:00.0", 0), ("0000:bb:00.0", 1)]
    assert seen(node, "duplicate-busid").subjects == ("0000:ba:00.0",)


@pytest.mark.parametrize(
    ("inside", "kind"),
    [
        (gpu("0001:00:00.0", '<nvlink target="0001:00:00.0" count="12" tclass="0x030200"/>'), "nccl-self-nvlink"),
        (gpu("0001:00:00.0", '<nvlink target="0:1:0.0" count="18"/>' * 7), "nccl-too-many-nvlinks"),
        (gpu("0001:00:00.0", more='link_width="0"'), "nccl-width-zero"),
        (gpu("0001:00:00.0", more='link_speed=""'), "nccl-speed-unsaid"),
        (gpu("0001:00:00.0", more='link_speed="32.0 GT/s"'), "nccl-unknown-speed"),
        (gpu("0001:00:00.0", '<nvlink target="0:1:0.0" count="7"/>', sm="70"), "nccl-too-many-nvlinks"),
        (
            gpu("0001:00:00.0", '<nvlink target="0002:00:00.0" count="4" tclass="0x030200"/>')
            + gpu("0002:00:00.0", '<nvlink target="0001:00:00.0" count="3" tclass="0x030200"/>', dev="1"),
            "nccl-nvlink-counts-differ",
        ),
        (
            gpu("0001:00:00.0", '<nvlink target="0002:00:00.0" count="4" tclass="0x030200"/>')
            + gpu("0002:00:00.0", dev="1"),
            "nccl-nvlink-counts-differ",
        ),
        (
            gpu("0001:00:00.0", '<nvlink target="0002:00:00.0" count="4" tclass="0x068000"/>')
            + gpu("0002:00:00.0", '<nvlink target="0001:00:00.0" count="4" tclass="0x030200"/>', dev="1"),
            "nccl-nvlink-class",
        ),
        (gpu("0001:00:00.0", sm="89", more='vendor="0x10de" link_speed="64.0 GT/s PCIe"'), "nccl-speed-above-hardware"),
        (gpu("0001:00:00.0", more=f'name="{"x" * 256}"'), "nccl-limit"),
        (gpu("0001:00:00.0", more=" ".join(f'a{n}="1"' for n in range(20))), "nccl-limit"),
        ("<pci busid='0001:00:00.0' class='0x030200'/>", "nccl-single-quotes"),
        ('<pci\tbusid="0001:00:00.0" class="0x030200"/>', "nccl-tab-in-tag"),
        ("".join(f'<pci busid="{n:04x}:00:00.0" class="0x020000"/>' for n in range(300)), "nccl-limit"),
        (
            '<pci busid="0000:81:00.0" class="0x060400" vendor="0x104c" device="0x8232" link_speed="2.5 GT/s PCIe"'
            f' link_width="1">{gpu("0000:83:00.0", more=chr(32) + "link_width=" + chr(34) + "16" + chr(34))}</pci>',
            "nccl-slow-switch",
        ),
    ],
)
def test_what_nccl_trips_over_is_observed_with_its_line(inside, kind):
    node = node_of(cpu(inside))
    found = [seen for seen in node.observations if seen.kind == kind]
    assert found
    assert all(seen.line for seen in found)
    assert kind not in kinds(node_of(cpu(gpu("0001:00:00.0", '<nvlink target="0:1:0.0" count="18"/>'))))


def test_amd_family_as_old_nccl_wrote_it():
    assert "nccl-amd-family" in kinds(node_of(cpu("", more='vendor="AuthenticAMD" familyid="175"')))
    assert "nccl-amd-family" not in kinds(node_of(cpu("", more='vendor="AuthenticAMD" familyid="25"')))
    assert "nccl-amd-family" not in kinds(node_of(cpu("", more='vendor="GenuineIntel" familyid="175"')))


def test_an_xml_declaration_is_read_here_and_not_by_nccl():
    [node] = parse('<?xml version="1.0"?>\n' + system(cpu(gpu("0001:00:00.0"))))
    assert seen(node, "nccl-xml-declaration").line == 1


@pytest.mark.parametrize(
    ("speed", "width", "pcie"),
    [
        ("32.0 GT/s PCIe", "16", Pcie(5, 16)),
        ("32 GT/s PCIe/s", "8", Pcie(5, 8)),
        ("2.5 GT/s", "1", Pcie(1, 1)),
        ("64 GT/s", "16", Pcie(6, 16)),
        ("8 GT/s", "0", Pcie(3, None)),
        ("fast", "4", Pcie(None, 4)),
    ],
)
def test_link(speed, width, pcie):
    node = node_of(cpu(gpu("0001:00:00.0", more=f'link_speed="{speed}" link_width="{width}"')))
    assert node.gpus[0].pcie == pcie


def test_an_empty_link_is_unknown_and_a_missing_one_not_said():
    empty = node_of(cpu(gpu("0001:00:00.0", more='link_speed="" link_width="0"')))
    assert isinstance(empty.gpus[0].pcie, Unknown)
    assert node_of(cpu(gpu("0001:00:00.0"))).gpus[0].pcie is None


def test_every_speed_that_nccl_knows_is_a_generation():
    assert all(generation(speed) for speed in KNOWN_SPEEDS)


def test_a_bus_id_that_is_no_address_is_kept_as_text():
    node = node_of(cpu(gpu("gpu-one")))
    assert node.gpus[0].label == "gpu-one"
    assert isinstance(node.gpus[0].pci, Unknown)


def test_a_file_without_gpus_says_so():
    assert [gap.attribute for gap in node_of("").gaps] == ["gpus"]


def test_a_cut_file_is_unreadable_with_its_line():
    text = system(cpu(gpu("0001:00:00.0")))
    with pytest.raises(Unreadable) as caught:
        parse(text[: text.index("</cpu>")])
    assert caught.value.line == text.count("\n", 0, text.index("</cpu>")) + 1


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_damaged_file_is_read_or_refused(data):
    nvlink = '<nvlink target="0:1:0.0" count="18"/>'
    text = system(cpu(gpu("0001:00:00.0", nvlink) + '<nic><net name="eth0"/></nic>'))
    start = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 12))
    damaged = text[:start] + data.draw(st.sampled_from(["", '"', "0", "<", "=''"])) + text[start + length :]
    try:
        nodes = parse(damaged)
    except Unreadable:
        return
    assert nodes


def test_sniff():
    assert sniff("<!-- licence -->\n" + system(cpu("")))
    assert sniff('<graphs version="1"><graph/></graphs>')
    assert not sniff('<topology version="2.0"><object type="Machine"/></topology>')
    assert not sniff("<system>")
    assert not sniff("a system of nodes")


@pytest.mark.skipif(not INDEX.exists(), reason=f"no recorded answers at {INDEX}; set GPUTOPO_SHARED")
class TestRecordedAnswers:
    def test_every_key_of_an_answer_is_compared_or_ignored(self):
        for case in kind.cases(INDEX):
            assert set(case.expected) <= {*kind.COMPARED, *kind.IGNORED}

    def test_all(self):
        differences = {case.name: kind.compare(case.expected, kind.answer(case)) for case in kind.cases(INDEX)}
        assert {file: found for file, found in differences.items() if found} == {}
        assert differences

    def test_a_wrong_answer_is_noticed(self):
        case = next(
            case
            for case in kind.cases(INDEX)
            if case.expected["gpus"] and case.expected["gpus"][0]["nic_pci_same_parent_switch"]
        )
        wanted = case.expected
        answer = kind.answer(case)
        for name, wrong in (("numaid", "77"), ("nvlinks", 77), ("near_nics", [])):
            changed = answer | {"gpus": [answer["gpus"][0] | {name: wrong}, *answer["gpus"][1:]]}
            assert kind.compare(wanted, changed), name
        assert kind.compare(wanted, answer | {"gpus": answer["gpus"][1:]})
        assert kind.compare(wanted, answer | {"duplicate_busids": ["0000:00:00.0"]})
        assert kind.compare(wanted | {"root": "graphs"}, answer | {"gpus": [], "unknown": []})
