"""A real browser for the page, where there is one: Playwright drives the Chromium of the system."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
ROOT = Path(__file__).resolve().parents[2]
# axe-core is no package of Python's: .ci/run puts it beside the environment's programs.
_AXE = Path("axe", "node_modules", "axe-core", "axe.min.js")


@contextmanager
def chromium() -> Iterator[Any]:
    """Skips, with the reason, where Playwright or a Chromium is missing."""
    api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed (pip install -e '.[dev]')")
    program = next((path for name in _PROGRAMS if (path := shutil.which(name))), None)
    with api.sync_playwright() as driver:
        own = driver.chromium.executable_path
        if program is None and not os.path.exists(own):
            pytest.skip("no Chromium: apt-get install chromium, or playwright install chromium")
        browser = driver.chromium.launch(executable_path=program or own, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


def axe() -> str:
    """The source of axe-core. Skips where it is missing."""
    for base in (os.environ.get("GPUTOPO_AXE"), sys.prefix, ROOT / ".venv"):
        file = Path(base) / _AXE if base else None
        if file is not None and file.is_file():
            return file.read_text("utf-8")
    pytest.skip("no axe-core: npm install --prefix .venv/axe axe-core")
