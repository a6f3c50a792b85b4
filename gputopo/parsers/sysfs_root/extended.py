"""Extended capabilities in a function's config space: access control (ACS) and address translation (ATS).

They begin at byte 0x100, where only root reads. A header is 32 bits: id in 15:0, next in 31:20. ACS is id
0x000D with its control word at +6 (SV 1, TB 2, RR 4, CR 8, UF 0x10, EC 0x20, DT 0x40); ATS is id 0x000F
with its control word at +6, of which bit 15 enables it (PCI Express Base Specification; Linux,
include/uapi/linux/pci_regs.h). Words are spelled as `lspci -vvv` prints them.

    >>> config = bytearray(0x110)
    >>> config[0x100:0x104], config[0x106:0x108] = (0x0001_000D).to_bytes(4, "little"), b"\\x1d\\x00"
    >>> acs_control(bytes(config))
    'SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-'
    >>> acs_control(bytes(4096)), acs_control(bytes(64)) is None, ats_enabled(bytes(4096)) is None
    ('', True, True)
"""

from __future__ import annotations

_FIRST, _LAST = 0x100, 0x1000
_ACS, _ATS, _ATS_ENABLE = 0x000D, 0x000F, 0x8000
_FLAGS = ("SrcValid", "TransBlk", "ReqRedir", "CmpltRedir", "UpstreamFwd", "EgressCtrl", "DirectTrans")
_MOST = (_LAST - _FIRST) // 8  # the shortest capability is 8 bytes; a longer list runs in a circle
_ALL_ONES = 0xFFFF_FFFF  # a function that answers nothing


def acs_control(config: bytes) -> str | None:
    """The control word in words, "" for a function without ACS, `None` where nobody could read it."""
    place = _find(config, _ACS)
    if place is None:
        return None
    if not place:
        return ""
    if place + 8 > len(config):
        return None
    word = int.from_bytes(config[place + 6 : place + 8], "little")
    return " ".join(f"{name}{'+' if word >> bit & 1 else '-'}" for bit, name in enumerate(_FLAGS))


def ats_enabled(config: bytes) -> bool | None:
    """`None` where the function has no ATS, or nobody could read it."""
    place = _find(config, _ATS)
    if not place or place + 8 > len(config):
        return None
    return bool(int.from_bytes(config[place + 6 : place + 8], "little") & _ATS_ENABLE)


def _find(config: bytes, wanted: int) -> int | None:
    """Where the capability is; 0: it is not in the list; `None`: the list could not be read to its end."""
    place = _FIRST
    for _ in range(_MOST):
        if place + 4 > len(config):
            return None
        header = int.from_bytes(config[place : place + 4], "little")
        if header == _ALL_ONES:
            return None
        if header & 0xFFFF == wanted:
            return place
        place = header >> 20 & 0xFFC
        if place < _FIRST:
            return 0
    return None
