"""The url library: Go's net/url.ParseRequestURI and Parse (k8s.io/apiserver/pkg/cel/library/urls.go).

>>> one = url("https://user@[::1]:80/a%20b?k=1&k=2#f")
>>> one.scheme, one.host, hostname(one), port(one), escaped_path(one), query(one).find("k")
('https', '[::1]:80', '::1', '80', '/a%20b', (['1', '2'], True))
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote_plus, unquote_to_bytes

from gputopo.cel.addresses import parsed
from gputopo.cel.values import NO_OVERLOAD, CelError, CelMap, register
from gputopo.terms.go_text import go_quoted

_HEX = re.compile(r"%[0-9a-fA-F]{2}")
# Characters that a path shows as they are.
_PATH = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~$&+,/:;=@!'()*[]")


class URL:
    __slots__ = ("host", "path", "query", "scheme", "text")

    def __init__(self, text: str, scheme: str, host: str, path: str, query_text: str) -> None:
        self.text, self.scheme, self.host, self.path, self.query = text, scheme, host, path, query_text

    def equals(self, other: Any) -> bool:
        if not isinstance(other, URL):
            raise CelError(NO_OVERLOAD)
        return self.text == other.text

    def __str__(self) -> str:
        return self.text


register(URL, "kubernetes.URL")


class _Wrong(Exception):
    pass


def _scheme(text: str) -> tuple[str, str]:
    for place, one in enumerate(text):
        if one.isascii() and one.isalpha():
            continue
        if one.isascii() and (one.isdigit() or one in "+-."):
            if place == 0:
                return "", text
        elif one == ":":
            if place == 0:
                raise _Wrong("missing protocol scheme")
            return text[:place], text[place + 1 :]
        else:
            return "", text
    return "", text


def _parse(text: str, request: bool) -> URL:
    if any(ord(one) < 0x20 or ord(one) == 0x7F for one in text):
        raise _Wrong("net/url: invalid control character in URL")
    if not text and request:
        raise _Wrong("empty url")
    if text == "*":
        return URL(text, "", "", "*", "")
    scheme, rest = _scheme(text)
    rest, _, query_text = rest.partition("?")
    host = ""
    if not rest.startswith("/"):
        if scheme:
            # mailto:x is opaque: nothing but a scheme.
            return URL(text, scheme.lower(), "", "", query_text)
        if request:
            raise _Wrong("invalid URI for request")
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, path = rest[2:].partition("/")
        host = _authority(authority, scheme.lower())
        rest = slash + path
    _escapes(rest)
    return URL(text, scheme.lower(), host, rest, query_text)


def _authority(text: str, scheme: str) -> str:
    user, at, host = text.rpartition("@")
    _escapes(user)
    if at and not re.fullmatch(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*", user):
        raise _Wrong("net/url: invalid userinfo")
    if host.startswith("["):
        close = host.rfind("]")
        if close < 0:
            raise _Wrong("missing ']' in host")
        _port(host[close + 1 :])
    elif host.find("[") > 0:
        raise _Wrong("invalid IP-literal")
    elif ":" in host:
        _port(host[host.index(":") if scheme in ("http", "https") else host.rindex(":") :])
    for one in host:
        if not one.isascii() or one.isalnum() or one in "-_.~!$&'()*+,;=:[]<>\"%":
            continue
        raise _Wrong(f"invalid character {go_quoted(one)} in host name")
    if "%" in host and not host.startswith("["):
        bad = re.search(r"%(?:[0-9a-fA-F]{0,2})?", host)
        raise _Wrong(f"invalid URL escape {go_quoted(bad[0] if bad else '%')}")
    if host.startswith("["):
        _six(host[1 : host.rindex("]")])
    return host


def _six(text: str) -> None:
    """Only an IPv6 address stands in brackets (net/url.parseHost)."""
    try:
        address = parsed(unquote_to_bytes(text).decode("utf-8", "replace"))
    except ValueError as error:
        raise _Wrong(f"invalid host: {error}") from error
    if address.version == 4:
        raise _Wrong("invalid IP-literal")


def _port(text: str) -> None:
    if text and not re.fullmatch(r":[0-9]*", text):
        raise _Wrong(f"invalid port {go_quoted(text)} after host")


def _escapes(text: str) -> None:
    place = text.find("%")
    while place >= 0:
        if not _HEX.match(text, place):
            raise _Wrong(f"invalid URL escape {go_quoted(text[place : place + 3])}")
        place = text.find("%", place + 3)


def url(text: str) -> URL:
    try:
        _parse(text, request=True)
        whole, _, _ = text.partition("#")
    except _Wrong as error:
        words = f"parse {go_quoted(text)}: {error}"
        raise CelError(f"URL parse error during conversion from string: {words}") from error
    try:
        made = _parse(whole, request=False)
    except _Wrong as error:
        words = f"parse {go_quoted(text)}: {error}"
        raise CelError(f"URL parse error during conversion from string: {words}") from error
    return URL(text, made.scheme, made.host, made.path, made.query)


def is_url(text: str) -> bool:
    try:
        _parse(text, request=True)
    except _Wrong:
        return False
    return True


def fault(text: str) -> str | None:
    """Why format.uri() refuses the text."""
    try:
        _parse(text, request=True)
    except _Wrong as error:
        return f"parse {go_quoted(text)}: {error}"
    return None


def hostname(one: URL) -> str:
    host = one.host
    if host.startswith("["):
        return host[1 : host.rfind("]")]
    head, colon, tail = host.rpartition(":")
    return head if colon and (tail.isdigit() or not tail) else host


def port(one: URL) -> str:
    tail = one.host[one.host.rfind("]") + 1 :] if one.host.startswith("[") else one.host
    _, colon, number = tail.rpartition(":")
    return number if colon else ""


def escaped_path(one: URL) -> str:
    """The path as it was written where that is a valid way of writing it, else with its own escapes."""
    if all(character in _PATH or character == "%" for character in one.path):
        return one.path
    raw = unquote_to_bytes(one.path.encode("utf-8", "surrogatepass"))
    keep = {ord(character) for character in _PATH if character not in "!'()*[]"}
    return "".join(chr(byte) if byte in keep else f"%{byte:02X}" for byte in raw)


def query(one: URL) -> CelMap:
    """Every name with its values; pairs with a semicolon or a bad escape are left out."""
    found: dict[str, list[Any]] = {}
    for pair in one.query.split("&"):
        name, _, value = pair.partition("=")
        if not pair or ";" in pair or any(not _HEX.match(pair, place.start()) for place in re.finditer("%", pair)):
            continue
        found.setdefault(unquote_plus(name), []).append(unquote_plus(value))
    return CelMap(dict(found))
