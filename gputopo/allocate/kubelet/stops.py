"""What ends in an error inside a manager, and what ends the kubelet itself."""

from __future__ import annotations

UNEXPECTED = "UnexpectedAdmissionError"
TOPOLOGY_AFFINITY = "TopologyAffinityError"
SMT_ALIGNMENT = "SMTAlignmentError"


class ManagerError(Exception):
    """An error that a manager's Allocate returns. `kind` is its admission type, None for a plain error."""

    def __init__(self, text: str, kind: str | None = None) -> None:
        super().__init__(text, kind)
        self.text = text
        self.kind = kind

    @property
    def reason(self) -> str:
        return self.kind or UNEXPECTED

    @property
    def message(self) -> str:
        """As pkg/kubelet/cm/admission/errors.go words it."""
        return self.text if self.kind else f"Allocate failed due to {self.text}, which is unexpected"


class KubeletStops(Exception):
    """The real code neither admits nor refuses: it loops for ever or crashes here."""
