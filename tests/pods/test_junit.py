"""`gputopo pods -o junit`: a case a pod and a job, against the structure of junit-10.xsd."""

from __future__ import annotations

from typing import Any

import pytest

from gputopo.reports.pod_junit import junit
from tests.reports.test_junit import outcomes, valid


def container(pod: str) -> dict[str, Any]:
    return {"namespace": "ml", "pod": pod, "podUID": None, "container": "c"}


def finding(severity: str, *subjects: str, rule: str = "GT402") -> dict[str, Any]:
    said = {"rule": rule, "severity": severity, "message": f"{subjects[0]} <crosses>"}
    words = dict.fromkeys(("matters", "because", "remedy"), "")
    return {**said, **words, "subjects": list(subjects), "evidence": [{"source": None, "text": "GPU0-GPU4 SYS"}]}


def audit(*findings: dict[str, Any]) -> dict[str, Any]:
    job = {"kind": "Job", "namespace": "ml", "name": "train", "pods": ["ml/a", "ml/b"]}
    return {"node": "n1", "containers": [container("a"), container("b"), container("c")], "owners": [job],
            "findings": list(findings), "assumptions": [{"text": "sockets are NUMA nodes"}]}  # fmt: skip


@pytest.mark.parametrize(
    ("fail_on", "said"),
    [
        ("error", ["failure", "skipped", "passed", "passed"]),
        ("warning", ["failure", "failure", "passed", "passed"]),
        ("never", ["skipped", "skipped", "passed", "passed"]),
    ],
)
def test_a_pod_fails_by_its_worst_finding(fail_on: str, said: list[str]) -> None:
    found = (finding("warning", "ml/b/c"), finding("info", "ml/a"), finding("error", "ml/a/c"))
    assert outcomes(junit([audit(*found)], fail_on)) == said


def test_a_job_of_several_pods_and_what_is_of_no_pod_are_cases_of_their_own() -> None:
    found = (finding("error", "Job ml/train"), finding("warning", "GPU6", "GPU7", rule="GT421"))
    root = valid(junit([audit(*found)], "error"))
    cases = {one.get("name"): [child.tag for child in one] for one in root.iter("testcase")}
    assert cases == {"ml/a": [], "ml/b": [], "ml/c": [], "Job ml/train": ["failure"], "GT421 GPU6 GPU7": ["skipped"]}
    assert [one.get("value") for one in root.iter("property")] == ["1", "sockets are NUMA nodes"]
