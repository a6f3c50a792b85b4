"""The PCI Express capability in a function's config space: what a port is, and its link.

Only root reads past byte 64 of `config`. Capability id 0x10 (PCI Express Base Specification,
"PCI Express Capability Structure"): flags at +2 (bits 7:4 type: 4 root port, 5 upstream port, 6
downstream port, 7 and 8 bridges to conventional PCI), link capabilities at +12, link status at
+18; in both bits 3:0 are the speed and 9:4 the lanes.

    >>> config = bytearray(256)
    >>> config[6], config[0x34], config[0x40], config[0x42] = 0x10, 0x40, 0x10, 0x62
    >>> config[0x4C:0x4E], config[0x52:0x54] = b"\\x04\\x01", b"\\x83\\x00"
    >>> port_type(bytes(config)), port_type(bytes(64))
    (6, None)
    >>> link_codes(bytes(config))                   # 8 lanes of generation 3, of 16 of generation 4
    (3, 8, 4, 16)
"""

from __future__ import annotations

_HEADER, _STATUS, _HAS_LIST, _LIST = 64, 6, 0x10, 0x34
_EXPRESS = 0x10
_LIST_MOST = 48  # capabilities of 4 bytes that fit; a longer list runs in a circle


def port_type(config: bytes) -> int | None:
    """`None` where it cannot be read."""
    place = _capability(config)
    return None if place is None else config[place + 2] >> 4


def link_codes(config: bytes) -> tuple[int, int, int, int] | None:
    """Speed and lanes now, speed and lanes at most, as the registers hold them."""
    place = _capability(config)
    if place is None or place + 20 > len(config):
        return None
    most = int.from_bytes(config[place + 12 : place + 16], "little")
    now = int.from_bytes(config[place + 18 : place + 20], "little")
    return now & 0xF, now >> 4 & 0x3F, most & 0xF, most >> 4 & 0x3F


def _capability(config: bytes) -> int | None:
    if len(config) <= _HEADER or not config[_STATUS] & _HAS_LIST:
        return None
    place, seen = config[_LIST] & 0xFC, 0
    while place >= _HEADER and place + 4 <= len(config) and seen < _LIST_MOST:
        if config[place] == _EXPRESS:
            return place
        place, seen = config[place + 1] & 0xFC, seen + 1
    return None
