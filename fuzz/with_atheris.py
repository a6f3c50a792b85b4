"""`python -m fuzz.with_atheris PARSER SECONDS STATE`: the same target, guided by coverage.

Used by the runner where atheris (https://github.com/google/atheris) is installed; it is no dependency.
How many inputs were run is written to STATE. libFuzzer ends the process with 77 at a failure.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import atheris  # type: ignore[import-not-found,import-untyped,unused-ignore]

with atheris.instrument_imports(include=["gputopo"]):
    from fuzz import corpus_files
    from fuzz.judge import judge
    from fuzz.targets import target


def main(arguments: list[str]) -> None:
    chosen = target(arguments[0])
    state = os.open(arguments[2], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    count = 0

    def one(data: bytes) -> None:
        nonlocal count
        count += 1
        if count % 100 == 0:
            os.pwrite(state, b"%20d" % count, 0)
        failure, _ = judge(chosen, data, count % 8 == 0)
        if failure is not None:
            raise AssertionError(f"{failure.where}: {failure.what}: {corpus_files.keep(chosen, data, failure)}")

    with tempfile.TemporaryDirectory() as folder:
        for number, seed in enumerate(chosen.seeds()):
            (Path(folder) / str(number)).write_bytes(chosen.pack(seed))
        options = [f"-max_total_time={arguments[1]}", "-max_len=65536", "-rss_limit_mb=1024"]
        atheris.Setup([sys.argv[0], *options, f"-artifact_prefix={folder}/", folder], one)
        atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1:])
