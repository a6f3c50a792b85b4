"""What redaction must not have left behind: every known identity, looked for in every spelling.

A number is looked for without separators and case, as bytes, in the other byte order, with its halves
exchanged (GUIDs are printed so by tools that read them as two words), as the EUI-64 that a MAC becomes
(RFC 4291, appendix A), and all that in base64; a name as a word of its own, and in base64.

    >>> leaks = Leaks({"0c42a1036ad2": "mac"}, {"gpu-17": "host"}, frozenset())
    >>> leaks.kind_in("enx0C42A1036AD2"), leaks.kind_in("fe80::e42:a1ff:fe03:6ad2"), leaks.kind_in("GPU-17.example")
    ('mac', 'mac', 'host')
    >>> leaks.kind_in("d2:6a:03:a1:42:0c"), leaks.kind_in("bm9kZSBncHUtMTc="), leaks.kind_in("gpu-170")
    ('mac', 'host', None)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

_SEPARATORS = str.maketrans("", "", ":-_. ")
_SHORTEST_IN_BASE64 = 6  # bytes: below, a few letters could be anything
_SERIAL_DIGITS = 8  # of a serial number, for finding it without its separators


class Leaks:
    """`digits`: hexadecimal identities without separators, `literals`: the others in lower case; both → kind."""

    __slots__ = ("_bare", "_exact", "_words")

    def __init__(self, digits: Mapping[str, str], literals: Mapping[str, str], keep: frozenset[str]) -> None:
        self._bare: dict[str, str] = {}  # looked for in the text without separators, in lower case
        self._words: dict[str, str] = {}  # as a word of the text in lower case
        self._exact: dict[str, str] = {}  # as they are
        kept = {value for value, kind in digits.items() if kind in keep}
        for value, kind in digits.items():
            if kind in keep or not value.strip("0") or not value.strip("f"):
                continue
            for form in _number_forms(value):
                if form not in kept:
                    self._bare.setdefault(form, kind)
            self._add_bytes(value, kind)
        for value, kind in literals.items():
            if kind not in keep:
                self._words[value] = kind
                bare = value.translate(_SEPARATORS)
                if kind == "serial" and len(bare) >= _SERIAL_DIGITS:
                    self._bare.setdefault(bare, kind)
                self._add_base64((value.encode(), value.upper().encode()), kind)

    def _add_bytes(self, value: str, kind: str) -> None:
        pairs = [value[at : at + 2] for at in range(0, len(value), 2)]
        written = [separator.join(pairs) for separator in ("", ":", "-")]
        texts = [form.encode() for one in written for form in (one, one.upper())]
        if len(value) % 2 == 0:
            content = bytes.fromhex(value)
            for order in (content, content[::-1]):
                self._exact.setdefault(order.decode("latin-1"), kind)
                texts.append(order)
        if len(value) == 32:
            texts += [form.encode() for form in (_as_uuid(value), _as_uuid(value).upper())]
        self._add_base64(tuple(texts), kind)

    def _add_base64(self, texts: tuple[bytes, ...], kind: str) -> None:
        for text in texts:
            if len(text) >= _SHORTEST_IN_BASE64:
                for core in _base64_cores(text):
                    self._exact.setdefault(core, kind)

    def kind_in(self, text: str) -> str | None:
        """The kind of the first that is there, or `None`."""
        low = text.lower()
        plain = low.translate(_SEPARATORS)
        for form, kind in self._bare.items():
            if form in plain:
                return kind
        for form, kind in self._exact.items():
            if form in text:
                return kind
        for form, kind in self._words.items():
            if _stands_in(form, low):
                return kind
        # An IPv6 address leaves out leading zeros: fe80::e42:a1ff:fe03:6ad2.
        return self._in_addresses(low)

    def _in_addresses(self, low: str) -> str | None:
        import re

        from gputopo.evidence.redact import full_address

        for address in re.findall(r"[0-9a-f:]*:[0-9a-f]{1,4}:[0-9a-f:]+", low):
            groups = address.strip(":").count(":")
            if 2 <= groups <= 7:
                whole = full_address(address)
                for form, kind in self._bare.items():
                    if form in whole:
                        return kind
        return None


def _number_forms(value: str) -> Iterator[str]:
    yield value
    if len(value) % 2 == 0:
        yield bytes.fromhex(value)[::-1].hex()
    if len(value) in (16, 32):
        half = len(value) // 2
        yield value[half:] + value[:half]
    if len(value) == 12:
        yield f"{value[:6]}fffe{value[6:]}"
        yield f"{int(value[:2], 16) ^ 2:02x}{value[2:6]}fffe{value[6:]}"  # the universal/local bit
    if len(value) == 16 and value[6:10] == "fffe":
        yield value[:6] + value[10:]


def _as_uuid(value: str) -> str:
    return "-".join((value[:8], value[8:12], value[12:16], value[16:20], value[20:]))


def _base64_cores(text: bytes) -> Iterator[str]:
    """The characters of base64 that depend on `text` alone, wherever in a longer text it begins (RFC 4648)."""
    from base64 import b64encode, urlsafe_b64encode

    for offset in range(3):
        first, last = -(-offset * 8 // 6), (offset + len(text)) * 8 // 6
        for encode in (b64encode, urlsafe_b64encode):
            yield encode(bytes(offset) + text).decode()[first:last]


def _stands_in(value: str, text: str) -> bool:
    """Whether a name is in a text and no part of a longer word."""
    at = text.find(value)
    while at >= 0:
        before, after = text[at - 1 : at] if at else "", text[at + len(value) : at + len(value) + 1]
        if not (before.isalnum() or after.isalnum()):
            return True
        at = text.find(value, at + 1)
    return False
