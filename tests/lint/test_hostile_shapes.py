"""No rule raises, whatever stands where something else is meant."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from gputopo.parsers.manifests import read
from gputopo.rules.manifests.problem import Context
from gputopo.rules.manifests.run import run
from tests.lint import test_cluster_rules as cluster
from tests.lint import test_koordinator_rules as koordinator
from tests.lint.test_kubelet_rules import RIGHT as KUBELET

SAMPLES = {
    "NodeResourceTopology": cluster.NRT,
    "Kueue": cluster.RACKS + cluster.FLAVOR + cluster.NODE + cluster.JOB,
    "Numatopology": cluster.CPUS,
    "KAI": cluster.KAI + cluster.NODE + cluster.KAI_JOB,
    "KAI pod": cluster.NRT + cluster.PLACED,
    "Koordinator pod": koordinator.pod(koordinator.HINT, '{"gpu":{"requiredTopologyScope":"PCIe"}}'),
    "Koordinator device": koordinator.DEVICE.replace("spec:\n", koordinator.TABLE + "spec:\n"),
    "kubelet": KUBELET,
}
VALUES: tuple[Any, ...] = (None, [], {}, "x", -1, 1.5, True, [None], [["a"]], {"a": {}}, {"1": 1})
TEXTS = ("null", "[null]", '{"gpu": null}', '{"gpu": [null, 1, {"minor": []}]}', "[{}]", '{"1": [null]}', '{"x": {}}')


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        yield from paths(member, (*path, key))


def changed(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    copy = dict(document) if isinstance(document, dict) else list(document)
    copy[path[0]] = changed(document[path[0]], path[1:], value)
    return copy


@pytest.mark.parametrize("name", SAMPLES)
def test_any_value_anywhere(name: str) -> None:
    documents = list(yaml.safe_load_all(SAMPLES[name]))
    number = 0
    for path in paths(documents):
        if len(path) < 2 or path[1:] == ("kind",):
            continue
        texts = TEXTS if "annotations" in path[:-1] else ()
        for value in (*VALUES, *texts):
            document = changed(documents, path, value)
            manifests = read("\n---\n".join(json.dumps(one) for one in document))
            run(manifests, Context(together=manifests))
            number += 1
    assert number > 100
