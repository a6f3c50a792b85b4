"""How much is read of anything: a device that never ends must cost a line, not the memory."""

from __future__ import annotations

MIB = 1 << 20
TEXT_BYTES = 32 * MIB  # of one source, as stored and unpacked (archives: evidence/archive.py)
FOLDER_FILES = 200
FOLDER_DEPTH = 2
CHUNK = MIB
