"""What a node must have (`gputopo check --spec FILE`): one YAML or JSON mapping, with the place of each value.

    >>> one = read("gpus:\\n  count: 8\\n")
    >>> one.object.body, one.at(("gpus", "count"))
    ({'gpus': {'count': 8}}, Place(line=2, column=10))
    >>> read("- a\\n")
    Traceback (most recent call last):
    gputopo.parsers.unreadable.Unreadable: ('a specification is one mapping: gpus, nics, pairs …', 1, '')
"""

from __future__ import annotations

from gputopo.parsers.kube_objects import yaml_nodes
from gputopo.parsers.unreadable import Unreadable
from gputopo.terms.kube_object import KubeObject
from gputopo.terms.manifest import Manifest, SourceText

_LARGEST = 4 << 20  # characters; a node of 256 devices takes some 200,000


def read(text: str) -> Manifest:
    """Raises Unreadable: not YAML, too large, several documents, no mapping."""
    if len(text) > _LARGEST:
        raise Unreadable("a specification of more than 4 MiB")
    found = [(node, body) for node, body in yaml_nodes(text) if body is not None]
    if len(found) != 1:
        raise Unreadable("several documents in one specification" if found else "nothing in it")
    [(node, body)] = found
    line = node.start_mark.line + 1
    if not isinstance(body, dict):
        raise Unreadable("a specification is one mapping: gpus, nics, pairs …", line)
    return Manifest(KubeObject(body, f"line {line}"), SourceText(text), node, line, None, node)
