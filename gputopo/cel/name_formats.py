"""format.named() and its formats: what Kubernetes says of a text that is no label, no UUID, no date.

Source: k8s.io/apiserver/pkg/cel/library/format.go, k8s.io/apimachinery/pkg/util/validation.

    >>> validate(named("dns1123Label").value, "gpu-0").present, validate(named("uuid").value, "x").value
    (False, ['does not match the UUID format'])
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

from gputopo.cel import times, urls
from gputopo.cel.signatures import FORMATS
from gputopo.cel.values import NO_OVERLOAD, NONE, CelError, Optional_, register

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_35 = r"[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = rf"({_QUALIFIED})?"
# The words of k8s.io/apimachinery/pkg/util/validation, from their parts.
_EDGES = "and must start and end with an alphanumeric character"


def _words(what: str, examples: str, pattern: str) -> str:
    return f"{what} (e.g. {examples}, regex used for validation is '{pattern}')"


_WORDS_LABEL = _words(
    f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', {_EDGES}",
    "'my-name',  or '123-abc'",
    _LABEL,
)
_WORDS_SUBDOMAIN = _words(
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', {_EDGES}",
    "'example.com'",
    _SUBDOMAIN,
)
_WORDS_LABEL_35 = _words(
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character",
    "'my-name',  or 'abc-123'",
    _LABEL_35,
)
_WORDS_VALUE = _words(
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', " + _EDGES,
    "'MyValue',  or 'my_value',  or '12345'",
    _VALUE,
)
_WORDS_PART = _words(
    f"must consist of alphanumeric characters, '-', '_' or '.', {_EDGES}",
    "'MyName',  or 'my.name',  or '123-abc'",
    _QUALIFIED,
)


class Format:
    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def equals(self, other: Any) -> bool:
        if not isinstance(other, Format):
            raise CelError(NO_OVERLOAD)
        return self.name == other.name


register(Format, "kubernetes.NamedFormat")


def named(name: str) -> Optional_:
    return Optional_(Format(name)) if name in FORMATS else NONE


def _named_by(pattern: str, words: str, most: int, text: str, unit: str = "characters") -> list[str]:
    """Kubernetes counts bytes and says characters of DNS names, bytes of labels."""
    found = [f"must be no more than {most} {unit}"] if len(text.encode("utf-8", "surrogatepass")) > most else []
    return found if re.fullmatch(pattern, text) else [*found, words]


def _labelled(name: str, text: str) -> list[str]:
    if name.endswith("Prefix"):
        # A name that is only the beginning of one may end in a dash.
        text = text[:-2] + "a" if len(text) > 1 and text.endswith("-") else text
        name = name.removesuffix("Prefix")
    if name == "dns1123Label":
        words = "must not contain dots" if re.fullmatch(_SUBDOMAIN, text) else _WORDS_LABEL
        return _named_by(_LABEL, words, 63, text)
    if name == "dns1035Label":
        return _named_by(_LABEL_35, _WORDS_LABEL_35, 63, text)
    return _named_by(_SUBDOMAIN, _WORDS_SUBDOMAIN, 253, text)


def _qualified(text: str) -> list[str]:
    parts = text.split("/")
    found: list[str] = []
    if len(parts) > 2:
        tail = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {_WORDS_PART}{tail}"]
    if len(parts) == 2:
        if not parts[0]:
            found.append("prefix part must be non-empty")
        else:
            found += [
                f"prefix part {words}" for words in _named_by(_SUBDOMAIN, _WORDS_SUBDOMAIN, 253, parts[0], "bytes")
            ]
    name = parts[-1]
    if not name:
        found.append("name part must be non-empty")
    elif len(name.encode("utf-8", "surrogatepass")) > 63:
        found.append("name part must be no more than 63 bytes")
    return found if re.fullmatch(_QUALIFIED, name) else [*found, f"name part {_WORDS_PART}"]


def _faults(name: str, text: str) -> list[str]:
    if name.startswith("dns"):
        return _labelled(name, text)
    if name == "labelValue":
        return _named_by(_VALUE, _WORDS_VALUE, 63, text, "bytes")
    if name == "qualifiedName":
        return _qualified(text)
    if name == "uri":
        fault = urls.fault(text)
        return [fault] if fault else []
    if name == "uuid":
        hexadecimal = r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}"
        return [] if re.fullmatch(hexadecimal, text, re.IGNORECASE) else ["does not match the UUID format"]
    if name == "byte":
        return [] if _base64(text) else ["invalid base64"]
    return [] if _dated(name, text) else [f"invalid {name}"]


def _base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return bool(text) and len(text) % 4 == 0


def _dated(name: str, text: str) -> bool:
    full = text if name == "datetime" else f"{text}T00:00:00Z"
    if name == "date" and not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return False
    try:
        times.parse_timestamp(full.replace("t", "T").replace("z", "Z"))
    except CelError:
        return False
    return True


def validate(one: Format, text: str) -> Optional_:
    """The faults of the text, or nothing."""
    found = _faults(one.name, text)
    return Optional_(found) if found else NONE
