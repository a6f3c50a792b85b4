"""One command line, in this process."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gputopo.cli import run


class Said:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> Said:
    capsys.readouterr()
    code = run(arguments)
    caught = capsys.readouterr()
    return Said(code, caught.out, caught.err)
