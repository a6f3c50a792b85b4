"""Cases kept in fuzz/corpus/PARSER/: as they are, or packed where they are long."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path
from typing import Any

from fuzz.judge import Failure
from fuzz.seeds import CORPUS
from fuzz.targets import Target

_PACKED = ".long.gz"
_LONG = 8_192


def files(name: str) -> list[Path]:
    folder = CORPUS / name
    return sorted(path for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []


def read(target: Target, path: Path) -> Any:
    data = path.read_bytes()
    return target.unpack(gzip.decompress(data) if path.name.endswith(_PACKED) else data)


def keep(target: Target, case: Any, failure: Failure) -> Path:
    """Write a failing case; its name says what was wrong."""
    data = target.pack(case)
    words = "".join(sign if sign.isalnum() else "-" for sign in failure.where.lower()).strip("-")[:60]
    name = f"{words}-{hashlib.sha256(failure.where.encode()).hexdigest()[:6]}"
    if len(data) > _LONG:
        data, name = gzip.compress(data, mtime=0), name + _PACKED
    path = CORPUS / target.name / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path
