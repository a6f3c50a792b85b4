"""What `nvidia-smi topo -p2p` says of a pair: OK, or why not.

    >>> refusal({"read": "OK", "write": "GNS"}), refusal({"read": "OK"}), refusal({"atomics": "NS"}), refusal(None)
    ('GNS', None, None, None)

Words of its legend. Only reads and writes are what copies need; `-p2p n` says NS of every pair without NVLink,
atomics and `prop` are other capabilities.
"""

from __future__ import annotations

from collections.abc import Mapping

REFUSALS = {
    "CNS": "chipset not supported",
    "GNS": "GPU not supported",
    "TNS": "topology not supported",
    "NS": "not supported",
    "DR": "disabled by a regkey",
}
_COPIES = ("read", "write")


def refusal(p2p: Mapping[str, str] | None) -> str | None:
    """The status that refuses copies, or None: allowed, or not said."""
    return next((p2p[kind] for kind in _COPIES if p2p.get(kind) in REFUSALS), None) if p2p else None
