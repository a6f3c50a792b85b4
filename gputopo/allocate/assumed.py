"""What an answer takes for granted, with what would settle it: one wording for text and JSON.

    >>> str(Assumed("kubelet v1.36", "--k8s-version"))
    'kubelet v1.36 (to settle: --k8s-version)'
    >>> Assumed.of(NoteAssumption((), "kubelet v1.36 (to settle: --k8s-version)", None)).settle
    '--k8s-version'
"""

from __future__ import annotations

from typing import NamedTuple

from gputopo.topology.node import NoteAssumption

_TO_SETTLE = " (to settle: "


class Assumed(NamedTuple):
    text: str
    settle: str = ""
    subjects: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.text}{_TO_SETTLE}{self.settle})" if self.settle else self.text

    @classmethod
    def of(cls, note: NoteAssumption) -> Assumed:
        text, _, settle = note.text.partition(_TO_SETTLE)
        return cls(text, settle.removesuffix(")"), note.subjects)

    @property
    def note(self) -> NoteAssumption:
        return NoteAssumption(self.subjects, str(self), None)
