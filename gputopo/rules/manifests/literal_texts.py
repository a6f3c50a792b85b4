"""The nearest text that quantity() or semver() takes, for one that it does not; each is tried out.

    >>> quantity("80GB"), quantity("80 gi"), quantity("80Gi"), quantity("many")
    ('80G', '80Gi', '80Gi', '')
    >>> version("v580.105.08"), version("12.8"), version("latest")
    ("'580.105.8'", "'12.8.0'", '')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.cel.environment import DEFAULT_RELEASE
from gputopo.cel.program import Device, evaluate

_NO_DEVICE = Device("", {}, {})


def quantity(text: str, release: str = DEFAULT_RELEASE) -> str:
    """The text of the argument; "" where none of the usual slips was made."""
    return next((one for one in _quantities(text) if _works(f"isQuantity({quoted(one)})", release)), "")


def version(text: str, release: str = DEFAULT_RELEASE) -> str:
    """The arguments, as in `semver(...)`; "" as above."""
    return next((one for one in _versions(text) if _works(f"isSemver({one})", release)), "")


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{escaped}'"


def _works(call: str, release: str) -> bool:
    return evaluate(call, _NO_DEVICE, release) is True


def _quantities(text: str) -> Iterator[str]:
    """80GB, 80 GiB, 80gb, 80 Gi."""
    yield text
    plain = "".join(text.split())
    for one in (plain, plain.removesuffix("B"), plain.removesuffix("b")):
        number = one.rstrip("KMGTPEkmgtpeiI")
        suffix = one[len(number) :].upper().replace("I", "i")
        yield number + ("k" if suffix == "K" else suffix)


def _versions(text: str) -> Iterator[str]:
    yield quoted(text)
    plain = text.strip().removeprefix("v").removeprefix("V")
    parts = plain.split(".")
    if all(part.isascii() and part.isdigit() for part in parts) and len(parts) <= 3:
        yield quoted(".".join(str(int(part)) for part in [*parts, "0", "0"][:3]))
    yield f"{quoted(text)}, true"
    yield f"{quoted(plain)}, true"
