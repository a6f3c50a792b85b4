"""A finding of a part of a rule, which knows neither the rule's code nor the manifest's places."""

from __future__ import annotations

from typing import NamedTuple

from gputopo.rules.manifests.problem import Problem, problem
from gputopo.terms.manifest import Manifest, Path


class Fault(NamedTuple):
    """`of_key`: it is the key that is wrong, not its value."""

    severity: str
    path: Path
    message: str
    because: str = ""
    remedy: str = ""
    of_key: bool = False

    def problem(self, code: str, manifest: Manifest) -> Problem:
        place = manifest.key(self.path) if self.of_key else manifest.at(self.path)
        return problem(code, self.severity, manifest, self.path, self.message, self.because, self.remedy, place)
