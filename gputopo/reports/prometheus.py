r"""Metrics in the Prometheus text format, for node_exporter's textfile collector.

Source: https://prometheus.io/docs/instrumenting/exposition_formats (0.0.4): in a label's value backslash, double quote
and line feed are escaped, in a HELP text backslash and line feed.

    >>> free = Metric("gputopo_gpus_free", "GPUs that nothing holds.", (Sample({"node": 'a"b'}, 2),))
    >>> print(exposition([free]), end="")
    # HELP gputopo_gpus_free GPUs that nothing holds.
    # TYPE gputopo_gpus_free gauge
    gputopo_gpus_free{node="a\"b"} 2
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gputopo.reports.sanitise import clean


class Sample(NamedTuple):
    labels: Mapping[str, str]
    value: float


class Metric(NamedTuple):
    """A gauge."""

    name: str
    help: str
    samples: tuple[Sample, ...]


def exposition(metrics: Iterable[Metric]) -> str:
    """Metrics without a sample are left out. Of samples with the same labels the last one counts."""
    lines = []
    for metric in metrics:
        if not metric.samples:
            continue
        lines += [f"# HELP {metric.name} {_escaped(metric.help)}", f"# TYPE {metric.name} gauge"]
        own = {_labels(one.labels): one.value for one in metric.samples}
        lines += [f"{metric.name}{labels} {_number(value)}" for labels, value in own.items()]
    return "".join(line + "\n" for line in lines)


def _labels(labels: Mapping[str, str]) -> str:
    inner = ",".join(f'{name}="{_escaped(value, True)}"' for name, value in labels.items())
    return f"{{{inner}}}" if inner else ""


def _escaped(text: str, quoted: bool = False) -> str:
    seen = "\n".join(clean(line) for line in text.split("\n"))  # no terminal obeys what stands in a textfile
    made = seen.replace("\\", "\\\\").replace("\n", "\\n")
    return made.replace('"', '\\"') if quoted else made


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
