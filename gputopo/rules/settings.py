"""What a site decides for itself: findings it does not want to see, each with a reason, and thresholds of rules.

    >>> from gputopo.rules.finding import Finding
    >>> ours = Settings((Suppression(("GT112",), ("GPU3", "mlx5_*"), "riser with x8, ordered so"),))
    >>> one = Finding("GT112", "error", ("GPU3",), "GPU3 runs PCIe x8; GPU and slot both allow x16")
    >>> other = one._replace(subjects=("GPU3", "GPU4"))
    >>> kept, suppressed = ours.split([one, other], lambda found: found.subjects)
    >>> [found.subjects for found in kept], [one.reason for one in suppressed]
    ([('GPU3', 'GPU4')], ['riser with x8, ordered so'])

A finding of several subjects is suppressed only where all of them are named, so that a new one is seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple, Protocol, TypeVar


class HasRule(Protocol):
    @property
    def rule(self) -> str: ...


F = TypeVar("F", bound=HasRule)


class Threshold(NamedTuple):
    """A number of a rule that sites may set; `least` and `most` are what makes sense."""

    rule: str
    default: float
    least: float
    most: float
    what: str


THRESHOLDS: dict[str, Threshold] = {
    "slower_than_expected": Threshold("GT540", 0.5, 0.01, 1.0, "share of the expected bandwidth that is enough"),
    "emulated_link_gbps": Threshold("GT524", 1.0, 0.0, 100.0, "GB/s of a link in NCCL's topology that is too slow"),
    "nvls_gpus": Threshold("GT514", 5.0, 3.0, 8.0, "GPUs from which missing NVLS is a warning"),
}


class Suppression(NamedTuple):
    rules: tuple[str, ...]  # codes
    subjects: tuple[str, ...]  # patterns of ids or files; none: whatever it is about
    reason: str

    def holds(self, rule: str, subjects: Sequence[str]) -> bool:
        if rule not in self.rules:
            return False
        if not self.subjects:
            return True
        return bool(subjects) and all(any(fnmatchcase(one, each) for each in self.subjects) for one in subjects)


class Settings(NamedTuple):
    suppressions: tuple[Suppression, ...] = ()
    thresholds: Mapping[str, float] = {}
    source: str = ""  # the file

    def threshold(self, name: str) -> float:
        return self.thresholds.get(name, THRESHOLDS[name].default)

    def split(self, findings: Iterable[F], subjects: Callable[[F], Sequence[str]]) -> tuple[list[F], list[Suppressed]]:
        """(what is to be told, what is not)"""
        kept: list[F] = []
        suppressed: list[Suppressed] = []
        for one in findings:
            by = next((each for each in self.suppressions if each.holds(one.rule, subjects(one))), None)
            if by is None:
                kept.append(one)
            else:
                suppressed.append(Suppressed(one.rule, by.reason))
        return kept, suppressed


class Suppressed(NamedTuple):
    """A finding that is not told."""

    rule: str
    reason: str


NO_SETTINGS = Settings()


def counted(suppressed: Sequence[Suppressed], source: str) -> str:
    """One line of them all.

    >>> counted([Suppressed("GT112", "ordered so")] * 2 + [Suppressed("GT102", "no RDMA here")], "gputopo.toml")
    '3 findings by gputopo.toml: 2 GT112 (ordered so), 1 GT102 (no RDMA here)'
    """
    groups: dict[Suppressed, int] = {}
    for one in suppressed:
        groups[one] = groups.get(one, 0) + 1
    parts = ", ".join(f"{count} {one.rule} ({one.reason})" for one, count in groups.items())
    return f"{len(suppressed)} finding{'s' if len(suppressed) > 1 else ''} by {source}: {parts}"
