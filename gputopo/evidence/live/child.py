"""A process of our own that may hang or die in our place: `python -c … gputopo.evidence.live.MODULE`."""

from __future__ import annotations

import os
import sys


def command_of(module: str, *arguments: str) -> list[str]:
    """Its command line. It sees exactly our modules: not the working directory's, no start-up hooks of other
    packages (`-S`). `sys.executable` must be known."""
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    paths = [*sys.path, *([] if here in sys.path else [here])]
    code = f"import sys; sys.path[:] = {paths!r}; from gputopo.evidence.live.{module} import main; main(sys.argv[1:])"
    return [sys.executable, "-S", "-c", code, *arguments]
