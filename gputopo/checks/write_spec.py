"""A specification from a good node, as YAML that a person can read, shorten and edit.

    >>> from gputopo.topology.node import Gpu
    >>> text = write_spec(NodeTopology(gpus=(Gpu("GPU0", name="NVIDIA A10"),)), (), False)
    >>> print("\\n".join(line for line in text.splitlines() if not line.startswith("#")))
    apiVersion: gputopo/v1alpha1
    kind: NodeSpec
    gpus:
      count: 1
      name: NVIDIA A10
    wiring:
      matrix:
        - GPU0 X
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gputopo.checks.expect import said
from gputopo.checks.spec import KEYS
from gputopo.checks.values import NONE, values
from gputopo.checks.wiring import written
from gputopo.rules.finding import Finding
from gputopo.topology.node import Gpu, Nic, NodeTopology

_HEAD = """\
# What a node must have to pass `gputopo check --spec FILE`, written from a good one by --write-spec.
# What is not named is not checked: delete and change lines freely. One value is that of every device;
# [a, b] is one of them; {a: 6, b: 2} how many have which. Names take *, versions ranges: ">=550, <581".
"""
_WIRING = """\
# Which device is which is found by shape: names, order and addresses play no part. The matrix has the
# PCIe level of each pair, with direct NVLinks before it (NV12/NODE); ? is not known and not checked.
"""
# Of the node itself, not of its kind; and what the wiring says.
_LEFT_OUT = ("system.kernel", "system.cuda", "system.product", "nics.state", "numaNodes.gpus", "numaNodes.nics",
             "packages.gpus", "packages.nics", "packages.numaNodes")  # fmt: skip
_POLICIES = ("topologyManagerPolicy", "topologyManagerScope", "cpuManagerPolicy", "memoryManagerPolicy")
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9 ._/()+-]*")
_WORDS = ("true", "false", "yes", "no", "on", "off", "null", "y", "n")


def write_spec(
    node: NodeTopology, findings: Sequence[Finding], exact: bool, kubelet: Mapping[str, Any] | None = None
) -> str:  # fmt: skip
    """What the node does not know is left out."""
    lines = ["apiVersion: gputopo/v1alpha1", "kind: NodeSpec"]
    product = node.system.product if node.system is not None else None
    if product:
        lines.append(f"name: {_text(product)}")
    for section, keys in KEYS.items():
        own = list(_section(node, section, keys)) if section != "pairs" else []
        lines += [f"{section}:", *own] if own else []
    policies = [f"  {key}: {_text(str(kubelet[key]))}" for key in _POLICIES if kubelet and kubelet.get(key)]
    lines += ["kubelet:", *policies] if policies else []
    allowed = sorted({one.rule for one in findings if one.severity == "error"})
    if allowed:
        lines += ["findings:", f"  allow: [{', '.join(allowed)}]"]
    if node.gpus:
        lines += [*_WIRING.splitlines(), "wiring:", *_wiring(written(node))]
    if exact:
        devices: tuple[Gpu | Nic, ...] = (*node.gpus, *(node.nics or ()))
        addresses = [f"  {_text(one.id)}: {_text(one.pci)}" for one in devices if one.pci]
        lines += ["identity:", *addresses] if addresses else []
    return _HEAD + "\n".join(lines) + "\n"


def _section(node: NodeTopology, section: str, keys: dict[str, str]) -> Iterator[str]:
    for key in keys:
        name = f"{section}.{key}"
        if name in _LEFT_OUT:
            continue
        found = [one.value for one in values(node, name)]
        if not found or any(value is None for value in found) or set(found) == {NONE}:
            continue
        if name == "system.driver":
            yield f'  driver: ">={found[0]}"'
        else:
            yield f"  {key}: {_pattern(found)}"


def _pattern(found: Sequence[Any]) -> str:
    counts = Counter(found)
    if len(counts) == 1:
        return _value(found[0])
    shares = ", ".join(f"{_value(value)}: {count}" for value, count in counts.items())
    return f"{{{shares}}}"


def _value(value: Any) -> str:
    return _text(value) if isinstance(value, str) else said(value)


def _text(text: str) -> str:
    """Plain where YAML reads it as the same text, else quoted.

    >>> print(_text("NVIDIA H100 80GB HBM3"), _text("0000:0f:00.0"), _text("no"), _text("a: b"))
    NVIDIA H100 80GB HBM3 "0000:0f:00.0" "no" "a: b"
    """
    if _PLAIN.fullmatch(text) and text == text.strip() and text.lower() not in _WORDS:
        return text
    import json

    return json.dumps(text)


def _wiring(wiring: dict[str, Any]) -> Iterator[str]:
    if "places" in wiring:
        yield "  places:"
        yield from (f"    {home}: {_text(members)}" for home, members in wiring["places"].items())
    yield "  matrix:"
    yield from (f"    - {_text(row)}" for row in wiring["matrix"])
