"""The kubelet's configuration: its file, the same in a ConfigMap, or what /configz answers.

    >>> parse("kind: KubeletConfiguration\\napiVersion: kubelet.config.k8s.io/v1beta1\\ncpuManagerPolicy: static\\n")
    {'kind': 'KubeletConfiguration', 'apiVersion': 'kubelet.config.k8s.io/v1beta1', 'cpuManagerPolicy': 'static'}
    >>> parse('{"kubeletconfig": {"cpuManagerPolicy": "static"}}')
    {'cpuManagerPolicy': 'static'}
    >>> parse("kind: Pod\\napiVersion: v1\\n")
    Traceback (most recent call last):
    gputopo.parsers.unreadable.Unreadable: ('no KubeletConfiguration in it', None, '')
"""

from __future__ import annotations

import json
from typing import Any

from gputopo.parsers.kube_objects import read
from gputopo.parsers.unreadable import Unreadable
from gputopo.terms.kube_object import KubeObject

KIND = "KubeletConfiguration"
_CONFIGZ = "kubeletconfig"


def sniff(text: str) -> bool:
    """Whether a text is one, or a ConfigMap that holds one."""
    if text.lstrip()[:1] == "{":
        return f'"{_CONFIGZ}"' in text or f'"{KIND}"' in text
    return f"kind: {KIND}" in text


def parse(text: str) -> dict[str, Any]:
    """The one configuration of a text. Raises Unreadable: none, several, or neither YAML nor JSON."""
    answer = _configz(text)
    if answer is not None:
        return answer
    found = [body for one in read(text) for body in _bodies(one)]
    if len(found) != 1:
        raise Unreadable(f"no {KIND} in it" if not found else f"{len(found)} {KIND}s in it")
    return found[0]


def _configz(text: str) -> dict[str, Any] | None:
    if not text.lstrip().startswith("{") or _CONFIGZ not in text:
        return None
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return None
    inside = body.get(_CONFIGZ) if isinstance(body, dict) else None
    return inside if isinstance(inside, dict) else None


def _bodies(one: KubeObject) -> list[dict[str, Any]]:
    if one.body.get("kind") == KIND:
        return [one.body]
    data = one.body.get("data")
    if one.body.get("kind") != "ConfigMap" or not isinstance(data, dict):
        return []
    texts = [value for value in data.values() if isinstance(value, str) and KIND in value]
    return [inner.body for text in texts for inner in read(text) if inner.body.get("kind") == KIND]
