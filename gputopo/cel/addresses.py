"""The ip and cidr libraries: Go's net/netip with Kubernetes' extra refusals (apiserver/pkg/cel/library/ip.go, cidr.go).

>>> str(ip("2001:db8::1")), ip("127.0.0.1").family, cidr("10.0.0.0/8").contains_ip("10.1.2.3")
('2001:db8::1', 4, True)
"""

from __future__ import annotations

import ipaddress
from typing import Any

from gputopo.cel.values import NO_OVERLOAD, CelError, register
from gputopo.terms.go_text import go_quoted


class IP:
    __slots__ = ("address", "family")

    def __init__(self, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
        self.address, self.family = address, address.version

    @property
    def byte_size(self) -> int:
        return 4 if self.family == 4 else 16

    def equals(self, other: Any) -> bool:
        if not isinstance(other, IP):
            raise CelError(NO_OVERLOAD)
        return self.address == other.address

    def __str__(self) -> str:
        return _text(self.address)


class CIDR:
    """An address with its prefix length; the address may have bits behind the prefix."""

    __slots__ = ("address", "bits")

    def __init__(self, address: IP, bits: int) -> None:
        self.address, self.bits = address, bits

    @property
    def byte_size(self) -> int:
        return (self.bits + 7) // 8

    def equals(self, other: Any) -> bool:
        if not isinstance(other, CIDR):
            raise CelError(NO_OVERLOAD)
        return self.bits == other.bits and self.address.address == other.address.address

    def masked(self) -> CIDR:
        width = self.address.byte_size * 8
        number = int(self.address.address) >> (width - self.bits) << (width - self.bits)
        return CIDR(IP(type(self.address.address)(number)), self.bits)

    def holds(self, address: IP) -> bool:
        if address.family != self.address.family:
            return False
        shift = address.byte_size * 8 - self.bits
        return int(address.address) >> shift == int(self.address.address) >> shift

    def contains_ip(self, other: IP | str) -> bool:
        """A text that is no address is for Kubernetes no address at all, not an error of its own."""
        try:
            return self.holds(ip(other) if isinstance(other, str) else other)
        except CelError as error:
            raise CelError(NO_OVERLOAD) from error

    def contains_cidr(self, other: CIDR | str) -> bool:
        inner = cidr(other) if isinstance(other, str) else other
        return self.bits <= inner.bits and self.holds(inner.address)

    def __str__(self) -> str:
        return f"{self.address}/{self.bits}"


register(IP, "net.IP")
register(CIDR, "net.CIDR")


def _text(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str:
    """RFC 5952 as Go has it: Python agrees but for one run of a single zero group, which stays."""
    return str(address)


def _unparsed(text: str, why: str, at: str | None = None) -> str:
    where = f" (at {go_quoted(at)})" if at is not None else ""
    return f"ParseAddr({go_quoted(text)}): {why}{where}"


def _parse_four(text: str, whole: str) -> str | None:
    """Why this is no IPv4 address: the first fault a reading from left to right meets."""
    value = digits = fields = 0
    for place, one in enumerate(text):
        if "0" <= one <= "9":
            if digits == 1 and value == 0:
                return _unparsed(whole, "IPv4 field has octet with leading zero")
            value, digits = value * 10 + int(one), digits + 1
            if value > 255:
                return _unparsed(whole, "IPv4 field has value >255")
        elif one == ".":
            if place == 0 or place == len(text) - 1 or text[place - 1] == ".":
                return _unparsed(whole, "IPv4 field must have at least one digit", text[place:])
            if fields == 3:
                return _unparsed(whole, "IPv4 address too long")
            fields, value, digits = fields + 1, 0, 0
        else:
            return _unparsed(whole, "unexpected character", text[place:])
    return _unparsed(whole, "IPv4 address too short") if fields < 3 else None


def parsed(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Raises ValueError with netip.ParseAddr's words (for IPv6 one text for all faults but the commonest)."""
    for one in text:
        if one == ".":
            fault = _parse_four(text, text)
            if fault:
                raise ValueError(fault)
            return ipaddress.IPv4Address(text)
        if one == ":":
            return _parsed_six(text)
        if one == "%":
            raise ValueError(_unparsed(text, "missing IPv6 address"))
    raise ValueError(_unparsed(text, "unable to parse IP"))


def _parsed_six(text: str) -> ipaddress.IPv6Address:
    body, percent, zone = text.partition("%")
    if percent and not zone:
        raise ValueError(_unparsed(text, "zone must be a non-empty string"))
    fault = _fault_of_six(text, body)
    if fault:
        raise ValueError(fault)
    try:
        return ipaddress.IPv6Address(f"{body}%{zone}" if zone else body)
    except ValueError as error:
        raise ValueError(_unparsed(text, "unable to parse IP")) from error


def _fault_of_six(whole: str, text: str) -> str | None:
    """netip.parseIPv6 step by step: 16-bit fields, one ellipsis, a dotted end."""
    ellipsis = text.startswith("::")
    rest = text[2:] if ellipsis else text
    if ellipsis and not rest:
        return None
    filled = 0
    while filled < 8:
        width = next((place for place, one in enumerate(rest) if one not in "0123456789abcdefABCDEF"), len(rest))
        if width == 0:
            return _unparsed(whole, "each colon-separated field must have at least one digit", rest)
        if width > 4:
            return _unparsed(whole, "each group must have 4 or less digits", rest)
        if rest[width : width + 1] == ".":
            if not ellipsis and filled != 6:
                return _unparsed(whole, "embedded IPv4 address must replace the final 2 fields of the address", rest)
            if filled + 2 > 8:
                return _unparsed(whole, "too many hex fields to fit an embedded IPv4 at the end of the address", rest)
            return _parse_four(rest, whole)
        filled, rest = filled + 1, rest[width:]
        if not rest:
            break
        if rest[0] != ":":
            return _unparsed(whole, "unexpected character, want colon", rest)
        if len(rest) == 1:
            return _unparsed(whole, "colon must be followed by more characters", rest)
        rest = rest[1:]
        if rest[0] == ":":
            if ellipsis:
                return _unparsed(whole, "multiple :: in address", rest)
            ellipsis, rest = True, rest[1:]
            if not rest:
                break
    if rest:
        return _unparsed(whole, "trailing garbage after address", rest)
    if filled < 8 and not ellipsis:
        return _unparsed(whole, "address string too short")
    if filled == 8 and ellipsis:
        return _unparsed(whole, "the :: must expand to at least one field of zeros")
    return None


def ip(text: str) -> IP:
    try:
        address = parsed(text)
    except ValueError as error:
        raise CelError(f"IP Address {go_quoted(text)} parse error during conversion from string: {error}") from error
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id:
            raise CelError(f"IP address {go_quoted(text)} with zone value is not allowed")
        if address.ipv4_mapped is not None:
            raise CelError(f"IPv4-mapped IPv6 address {go_quoted(text)} is not allowed")
    return IP(address)


def is_ip(text: str) -> bool:
    try:
        ip(text)
    except CelError:
        return False
    return True


def is_canonical(text: str) -> bool:
    return str(ip(text)) == text


def _prefix(text: str) -> tuple[Any, int]:
    """Raises ValueError with netip.ParsePrefix's words."""
    head = f"netip.ParsePrefix({go_quoted(text)}): "
    slash = text.rfind("/")
    if slash < 0:
        raise ValueError(f"{head}no '/'")
    try:
        address = parsed(text[:slash])
    except ValueError as error:
        raise ValueError(f"{head}{error}") from error
    if isinstance(address, ipaddress.IPv6Address) and address.scope_id:
        raise ValueError(f"{head}IPv6 zones cannot be present in a prefix")
    bits = text[slash + 1 :]
    wrong = f"{head}bad bits after slash: {go_quoted(bits)}"
    if (len(bits) > 1 and bits[0] not in "123456789") or not (bits.isascii() and bits.isdigit()):
        raise ValueError(wrong)
    if int(bits[:9]) > (32 if address.version == 4 else 128):
        raise ValueError(f"{head}prefix length out of range")
    return address, int(bits)


def cidr(text: str) -> CIDR:
    twice = "network address parse error during conversion from string: "
    try:
        address, bits = _prefix(text)
    except ValueError as error:
        raise CelError(f"{twice}{twice}{error}") from error
    if address.version == 6 and address.ipv4_mapped is not None:
        raise CelError(f"{twice}IPv4-mapped IPv6 address {go_quoted(text)} is not allowed")
    return CIDR(IP(address), bits)


def is_cidr(text: str) -> bool:
    try:
        cidr(text)
    except CelError:
        return False
    return True


def property_of(name: str, one: IP) -> bool:
    """isLoopback() and its kin."""
    address = one.address
    if name == "isUnspecified":
        return address.is_unspecified
    if name == "isLoopback":
        return address.is_loopback
    if name == "isLinkLocalUnicast":
        return address.is_link_local
    number = int(address)
    if one.family == 4:
        local = number >> 8 == 0xE00000
        broadcast = number == 0xFFFFFFFF
    else:
        # ff?2: multicast of the link's scope.
        local = number >> 120 == 0xFF and (number >> 112) & 0xF == 2
        broadcast = False
    if name == "isLinkLocalMulticast":
        return local
    return not (
        broadcast or address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
    )
