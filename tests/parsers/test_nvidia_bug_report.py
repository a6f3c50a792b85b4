"""nvidia-bug-report: sections with their lines, and the facts of the system."""

from __future__ import annotations

import pytest

from gputopo.parsers.nvidia_bug_report import parse, sections, sniff
from gputopo.parsers.unreadable import Unreadable

RULE = "_" * 44
REPORT = f"""\
{RULE}

Start of NVIDIA bug report log file.  Please include this file, along
with a detailed description of your problem.

nvidia-bug-report.sh Version: 34275500

Date: Tue Mar  4 10:11:12 UTC 2025
uname: Linux secret-host 6.8.0-45-generic #45-Ubuntu SMP PREEMPT_DYNAMIC x86_64 GNU/Linux
command line flags:

{RULE}

*** /proc/driver/nvidia/./version
*** ls: -r--r--r-- 1 root root 0 2025-03-04 10:11:12.000000000 +0000 /proc/driver/nvidia/./version
NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  565.57.01  Release Build  (dvs-builder)
GCC version:  gcc version 13.2.0

{RULE}

/usr/bin/lspci -t

-[0000:00]-+-00.0
           \\-01.0-[01]----00.0

{RULE}

*** /etc/redhat-release
*** ls: cannot access

{RULE}

End of NVIDIA bug report log file.
"""


def test_sections_have_titles_and_the_lines_of_their_content() -> None:
    lines = REPORT.split("\n")
    found = sections(REPORT)
    assert [section.title for section in found][1:4] == [
        "/proc/driver/nvidia/./version",
        "/usr/bin/lspci -t",
        "/etc/redhat-release",
    ]
    for section in found:
        first = section.text.split("\n")[0]
        assert lines[section.line - 1] == first or not section.text
    assert found[1].text.startswith("NVRM version")
    assert found[3].text.strip() == ""


def test_facts_of_the_system() -> None:
    [node] = parse(REPORT)
    assert node.whole
    assert node.system.driver == "565.57.01"
    assert node.system.kernel == "6.8.0-45-generic"
    assert node.system.taken_at == "Tue Mar  4 10:11:12 UTC 2025"
    assert node.observations[0].text == "nvidia-bug-report.sh version 34275500"


def test_the_name_of_the_host_is_the_nodes() -> None:
    assert parse(REPORT)[0].system.name == "secret-host"


@pytest.mark.parametrize(
    ("line", "driver"),
    [
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.256.02  Thu May  2 14:37:44 UTC 2024", "470.256.02"),
        ("NVRM version: NVIDIA UNIX aarch64 Kernel Module  550.90.07  Fri May 31", "550.90.07"),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  384.81  Sat Sep  2 02:43:11 PDT 2017", "384.81"),
        ("NVRM version: something else", None),
    ],
)
def test_driver_versions(line: str, driver: str | None) -> None:
    [node] = parse(f"Start of NVIDIA bug report log file.\n{line}\n")
    assert node.system.driver == driver
    assert not node.whole


def test_two_reports_in_one_text() -> None:
    second = REPORT.replace("565.57.01", "570.10.01")
    assert [node.system.driver for node in parse(REPORT + second)] == ["565.57.01", "570.10.01"]


def test_other_texts() -> None:
    assert not sniff(RULE)
    with pytest.raises(Unreadable):
        parse(RULE)
