"""`python -m gputopo.protos --write|--check`: the generated code of the .proto files in this folder."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]  # so that a file is known to protobuf by its path in the project


def generated() -> dict[str, str]:
    """Name of a file in this folder → what it should hold."""
    from grpc_tools import protoc  # type: ignore[import-untyped]

    sources = [str(path.relative_to(ROOT)) for path in sorted(HERE.glob("*.proto"))]
    with tempfile.TemporaryDirectory() as folder:
        options = [f"-I{ROOT}", f"--python_out={folder}", f"--pyi_out={folder}"]
        if protoc.main(["protoc", *options, *sources]):
            raise SystemExit("protoc failed")
        made = Path(folder, HERE.relative_to(ROOT))
        return {path.name: path.read_text(encoding="utf-8") for path in sorted(made.iterdir())}


def main(arguments: Sequence[str]) -> int:
    """Exit code 1: a file is not what would be written now."""
    if list(arguments) not in (["--write"], ["--check"]):
        print("usage: python -m gputopo.protos --write|--check", file=sys.stderr)
        return 2
    try:
        wanted = generated()
    except ImportError:
        print("grpcio-tools is not installed: pip install 'gputopo[dev]'", file=sys.stderr)
        return 2
    if arguments[0] == "--write":
        for name, text in wanted.items():
            (HERE / name).write_text(text, encoding="utf-8")
        return 0
    there = {path.name: path.read_text(encoding="utf-8") for path in HERE.glob("*_pb2.py*")}
    stale = sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name))
    for name in stale:
        print(f"{HERE / name} is stale: python -m gputopo.protos --write", file=sys.stderr)
    return int(bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
