"""What the options of `--fleet` say; the rest of it is imported where there is a fleet."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from gputopo.commands import options
from gputopo.commands.allocate_place import Place
from gputopo.errors import GputopoError


class Fleet(NamedTuple):
    """The options of `--fleet` and those that every verb has."""

    paths: Sequence[str]
    fail_on: str
    place: Place
    timeout: float
    as_format: str | None = None
    assume: Sequence[str] | None = None


def fleet_of(
    paths: Sequence[str] | None, fail_on: str | None, place: Place, timeout: float, as_format: str | None,
    assume: Sequence[str] | None, alone: Sequence[tuple[str, object]],
) -> Fleet | None:  # fmt: skip
    """`None`: one node is asked about. `alone`: options that only make sense there. Raises GputopoError."""
    if not paths:
        if place.form == "junit" or fail_on is not None:
            raise GputopoError(f"{'-o junit' if place.form == 'junit' else '--fail-on'} is for --fleet")
        return None
    for option, value in alone:
        if value not in (None, False):
            raise GputopoError(f"{option} is about one node", option, "--fleet asks every saved node by itself")
    if place.form == "github":
        raise GputopoError("-o github is about one node", "--fleet", "-o junit, which test reporters of GitHub read")
    _check(paths)
    seconds = options.checked_timeout(timeout)
    return Fleet(paths, fail_on or "error", place, seconds, options.checked_format(as_format), assume)


def _check(paths: Sequence[str]) -> None:
    """A path that is not there is a typing error, not a bad file."""
    for path in paths:
        if path != "-" and not path.startswith("sample:") and not os.path.exists(path):
            raise GputopoError("no such file or folder", f"--fleet {path}")
