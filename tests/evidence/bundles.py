"""What tests of bundles share: a command line's output, and documents without what may differ."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from gputopo.cli import run


def called(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Standard output of a command line that must succeed."""
    assert run(arguments) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def driver_says(monkeypatch: pytest.MonkeyPatch, folder: Path, said: dict[str, str]) -> None:
    """What the C stand-in for the driver's library answers."""
    file = folder / "driver.txt"
    file.write_text("".join(f"{key} {value}\n" for key, value in said.items()))
    monkeypatch.setenv("GPUTOPO_NVML_STANDIN", str(file))


def shown(document: dict[str, Any]) -> dict[str, Any]:
    """Without what the source is called and where it is."""
    for source in document["sources"]:
        del source["name"], source["where"]
    return document


def unnamed(document: dict[str, Any]) -> str:
    """Without what redaction replaces."""
    text = json.dumps(document | {"name": None, "taken": None})
    return re.sub(r"GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UUID", text)
