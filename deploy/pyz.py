"""gputopo as one file that any Python 3.10 or later runs: python deploy/pyz.py dist/gputopo.pyz

Pure Python only, so that one file fits every processor, C library and version: from this environment's packages the
modules of gputopo and of what it depends on are taken, compiled ones are not. Packages that work without their
compiled half come along (PyYAML, protobuf); those that do not are left out, and gputopo says what it reads instead
(the kubelet's files instead of its socket). Nothing is fetched. Equal packages give an equal file.
"""

from __future__ import annotations

import os
import re
import sys
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
NAME = "gputopo"
COMPILED = (".so", ".pyd")
# Have compiled modules and work without them.
FALL_BACK = {"protobuf", "pyyaml"}
# Pygments colours source code in a hundred languages; rich imports it and gputopo prints none.
_NOT_NEEDED = re.compile(r"pygments/(lexers|formatters|styles)/(?!__init__|_mapping|_mapping_|default)\w+\.py\Z")
_KEPT = re.compile(r"(METADATA|LICEN[CS]E|COPYING|NOTICE|AUTHORS)[^/]*\Z", re.IGNORECASE)
ALSO = ("prometheus-client",)  # of an extra, and pure: taken where it is installed
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip knows: equal contents are an equal file
_MAIN = b"""\
import sys

if sys.version_info < (3, 10):
    sys.exit("gputopo: error: this is Python %d.%d, gputopo needs 3.10 or later" % sys.version_info[:2])
from gputopo.cli import main

main()
"""


class Bundle(NamedTuple):
    members: dict[str, bytes]
    without: tuple[str, ...]  # distributions that are left out


def bundle() -> Bundle:
    """What goes into the file. Raises metadata.PackageNotFoundError where a dependency is not installed."""
    members = {"__main__.py": _MAIN, "LICENSE": (ROOT / "LICENSE").read_bytes()}
    for path in sorted((ROOT / NAME).rglob("*")):
        if path.is_file() and path.suffix not in (".pyc", ".pyi") and "__pycache__" not in path.parts:
            members[path.relative_to(ROOT).as_posix()] = path.read_bytes()
    without = []
    for distribution in distributions():
        name = distribution.metadata["Name"].lower()
        files = distribution.files or []
        if any(file.suffix in COMPILED for file in files) and name not in FALL_BACK:
            without.append(name)
            continue
        for file in files:
            if _wanted(file.as_posix()):
                members[file.as_posix()] = Path(str(file.locate())).read_bytes()
    return Bundle(members, tuple(sorted(without)))


def distributions() -> Iterator[metadata.Distribution]:
    """What gputopo depends on here, without its extras; each once."""
    declared = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    listed = re.search(r"^dependencies = \[\n(.*?)^\]", declared, re.MULTILINE | re.DOTALL)
    assert listed is not None
    own = re.findall(r'^ *"([A-Za-z0-9._-]+)[^";]*;?([^"]*)"', listed[1], re.MULTILINE)
    waiting = [name for name, marker in own if _applies(marker)]
    waiting += [name for name in ALSO if any(metadata.Distribution.discover(name=name))]
    seen = set()
    while waiting:
        name = waiting.pop(0)
        if _normal(name) in seen:
            continue
        seen.add(_normal(name))
        distribution = metadata.distribution(name)
        yield distribution
        for requirement in distribution.requires or ():
            word = re.match(r"[A-Za-z0-9._-]+", requirement)
            if word is not None and _applies(requirement.partition(";")[2]):
                waiting.append(word[0])


def _applies(marker: str) -> bool:
    """Whether a requirement is of Linux, today's Python and no extra: nothing else occurs in what we depend on."""
    return not re.search(r"\bextra\b|win32|Windows|python_version *<", marker)


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _wanted(path: str) -> bool:
    if path.startswith("../") or "__pycache__" in path or path.endswith((*COMPILED, ".pyc", ".pyi")):
        return False
    if ".dist-info/" in path:
        return bool(_KEPT.search(path))
    return not _NOT_NEEDED.search(path)


def write(made: Bundle, file: Path) -> None:
    """Beside it first, then renamed."""
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with beside.open("wb") as out:
            out.write(b"#!/usr/bin/env python3\n")
            with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
                # A folder without __init__.py (google/ of protobuf) is a package only where the zip names it.
                for folder in sorted({f"{part.as_posix()}/" for name in made.members for part in Path(name).parents}):
                    if folder != "./":
                        packed.writestr(zipfile.ZipInfo(folder, _EPOCH), b"")
                for name in sorted(made.members):
                    info = zipfile.ZipInfo(name, _EPOCH)
                    info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
                    packed.writestr(info, made.members[name])
        beside.chmod(0o755)
        beside.replace(file)
    finally:
        beside.unlink(missing_ok=True)


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: python deploy/pyz.py FILE.pyz", file=sys.stderr)
        return 2
    file = Path(arguments[0])
    try:
        made = bundle()
    except metadata.PackageNotFoundError as error:
        print(f"pyz: {error.name} is not installed: make inspect sets up .venv", file=sys.stderr)
        return 2
    write(made, file)
    print(f"{file}: {file.stat().st_size / 1e6:.1f} MB, {len(made.members)} files; "
          f"without {', '.join(made.without) or 'nothing'} (compiled)")  # fmt: skip
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
