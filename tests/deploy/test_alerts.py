"""Alerts and dashboard name only what is exported, and only rules that there are."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

from gputopo.documents.node import encode
from gputopo.reports.node_metrics import metrics
from gputopo.reports.pod_metrics import totals
from gputopo.topology.node import NodeTopology
from tests.deploy.commands import known_rules
from tests.deploy.kustomized import DEPLOY

RULES = yaml.safe_load((DEPLOY / "prometheus/rules.yaml").read_text())
BOARD = json.loads((DEPLOY / "grafana/gputopo.json").read_text())
FOREIGN = {"node_textfile_mtime_seconds"}  # node_exporter's
WORDS = {
    "sum", "min", "max", "count", "by", "on", "group_left", "max_over_time", "time", "vector", "or", "unless", "and",
}  # fmt: skip
LABELS = {"instance", "file", "job"}  # of the target, or of FOREIGN
TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*"|\[[^\]]*\]|[A-Za-z_:][A-Za-z0-9_:]*|\d+(?:\.\d+)?|[<>=!~]+|[-+*/(){},]|(\s+)|(.)'
)


def exported() -> dict[str, set[str]]:
    """Metric → its labels. Of an empty node: every metric is named there, with a sample or without."""
    node = encode(NodeTopology())
    audit = {"node": "n", "free": [], "containers": [], "findings": [{"rule": "GT402", "severity": "error"}]}
    made = (*metrics(node, "1", "s"), *totals(audit))
    labels = {one.name: {label for sample in one.samples for label in sample.labels} for one in made}
    for name in ("gputopo_read_success", "gputopo_last_read_timestamp_seconds", "gputopo_pods_known"):
        labels[name] = set()  # of --listen and --pods, tests/export/test_prometheus.py
    labels["gputopo_findings"] = labels["gputopo_pods_findings"]
    labels["gputopo_pairs"] = {"kind", "level"}
    return labels


EXPORTED = exported()


def alerts() -> list[dict[str, Any]]:
    return [rule for group in RULES["spec"]["groups"] for rule in group["rules"]]


def queries() -> dict[str, str]:
    found = {rule["alert"]: rule["expr"] for rule in alerts()}
    for panel in BOARD["panels"]:
        for target in panel["targets"]:
            found[f"{panel['title']} {target['refId']}"] = target["expr"].replace("$instance", ".*")
    return found


QUERIES = queries()


def names(query: str) -> set[str]:
    """Identifiers that are no words of the language; raises ValueError for what is no token or not closed."""
    found, depth = set(), []
    for token in TOKEN.finditer(query):
        word = token[0]
        if token[2]:
            raise ValueError(f"{word!r} is no token")
        if word in "({":
            depth.append(word)
        elif word in ")}" and (not depth or depth.pop() + word not in ("()", "{}")):
            raise ValueError("brackets")
        elif re.match("[A-Za-z_]", word) and word not in WORDS:
            found.add(word)
    if depth:
        raise ValueError("brackets")
    return found


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_names_only_metrics_and_labels_that_are_exported(name: str) -> None:
    used = names(QUERIES[name])
    ours = {one for one in used if one.startswith("gputopo_")}
    assert ours <= set(EXPORTED)
    assert ours
    labels = LABELS.union(*(EXPORTED[one] for one in ours))
    assert used - ours - FOREIGN <= labels


def test_what_is_no_query_is_found() -> None:
    for text in ("sum(gputopo_gpus", "gputopo_gpus}", "gputopo_gpus ; 1", "sum((gputopo_gpus}"):
        with pytest.raises(ValueError, match=r"brackets|no token"):
            names(text)


def test_rules_that_are_named_exist() -> None:
    text = json.dumps([RULES, BOARD])
    named = set(re.findall(r"GT\d{3}", text))
    assert named
    assert named <= known_rules()


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert["alert"])
def test_an_alert_says_where_what_and_what_next(alert: dict[str, Any]) -> None:
    assert re.fullmatch("Gputopo[A-Z][A-Za-z]+", alert["alert"])
    assert set(alert) == {"alert", "expr", "for", "labels", "annotations"}
    assert re.fullmatch(r"\d+[mh]", alert["for"])
    assert alert["labels"]["severity"] in ("critical", "warning", "info")
    assert "{{ $labels.instance }}" in alert["annotations"]["summary"]
    assert alert["annotations"]["description"]
    used = set(re.findall(r"\$labels\.(\w+)", json.dumps(alert["annotations"])))
    ours = {one for one in names(alert["expr"]) if one.startswith("gputopo_")}
    assert used <= LABELS.union(*(EXPORTED[one] for one in ours))


def test_no_two_alerts_are_of_one_rule() -> None:
    """The general one leaves out what has an alert of its own."""
    general = next(alert for alert in alerts() if alert["alert"] == "GputopoError")
    own = {code for alert in alerts() if alert is not general and "gputopo_findings" in alert["expr"]
           for code in re.findall(r"GT\d{3}", alert["expr"])}  # fmt: skip
    assert set(re.findall(r"GT\d{3}", general["expr"])) == own


def test_panels_do_not_overlap_and_have_a_datasource_to_choose() -> None:
    assert [one["name"] for one in BOARD["templating"]["list"]] == ["datasource", "instance"]
    cells = [
        (x, y)
        for panel in BOARD["panels"]
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
    assert len({panel["id"] for panel in BOARD["panels"]}) == len(BOARD["panels"])
    assert all(panel["datasource"]["uid"] == "${datasource}" and panel["description"] for panel in BOARD["panels"])
