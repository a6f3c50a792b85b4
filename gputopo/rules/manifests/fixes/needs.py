"""Which Kubernetes releases and versions of NVIDIA's DRA driver a manifest can be used with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gputopo.allocate.dra import published
from gputopo.allocate.dra.fields import GROUP
from gputopo.rules.manifests import attribute_names as names
from gputopo.rules.manifests.asks import CLAIMS, WITH_SELECTORS, asks, constraints, selectors
from gputopo.terms.manifest import Manifest

# apiVersion: the first minor that serves it and the last.
_SERVED = {"v1beta1": (32, 37), "v1beta2": (33, 38), "v1": (34, None)}


class Needs(NamedTuple):
    """`kubernetes`: the first and last minor; `driver`: the lines of versions, all of them where any will do."""

    kubernetes: tuple[int | None, int | None] = (None, None)
    driver: tuple[str, ...] = published.LINES

    @property
    def words(self) -> str:
        """"" where nothing is needed.

        >>> Needs((34, None), ("0.5",)).words
        "Kubernetes 1.34 or newer and NVIDIA's DRA driver 0.5 or newer (the newest release is 0.4.1)"
        """
        return " and ".join(part for part in (self._kubernetes(), self._driver()) if part)

    def _kubernetes(self) -> str:
        first, last = self.kubernetes
        if first is None:
            return ""
        return f"Kubernetes 1.{first} " + ("or newer" if last is None else f"to 1.{last}")

    def _driver(self) -> str:
        if self.driver == published.LINES:
            return ""
        of = "NVIDIA's DRA driver"
        if not self.driver:
            return f"what no one version of {of} publishes"
        newest = published.line_of(published.NEWEST)
        unreleased = f" (the newest release is {published.NEWEST})" if newest not in self.driver else ""
        if self.driver == published.LINES[-len(self.driver) :]:
            return f"{of} {self.driver[0]} or newer{unreleased}"
        return f"{of} {', '.join(self.driver)}{unreleased}"


def needs(manifests: Iterable[Manifest]) -> Needs:
    """Of all of them together."""
    first: int | None = None
    last: int | None = None
    lines = list(published.LINES)
    for one in manifests:
        said = one.object.body.get("apiVersion")
        group, _, version = said.rpartition("/") if isinstance(said, str) else ("", "", "")
        since, until = _SERVED.get(version, (None, None)) if group == GROUP else (None, None)
        first = max((number for number in (first, since) if number is not None), default=None)
        last = min((number for number in (last, until) if number is not None), default=None)
        if one.kind in WITH_SELECTORS:
            read = [name for name in _read(one) if names.ever(name)]
            lines = [line for line in lines if all(names.in_line(name, line) for name in read)]
    return Needs((first, last), tuple(lines))


def _read(manifest: Manifest) -> Iterator[str]:
    """The attributes of NVIDIA's devices that a manifest cannot do without."""
    for selector, of_nvidia in selectors(manifest):
        for one in selector.references:
            if one.kind == "attributes" and one.name is not None and not one.guarded:
                yield from _key(one.domain, one.name, of_nvidia)
    if manifest.kind not in CLAIMS:
        return
    asked = list(asks(manifest))
    for limit in constraints(manifest):
        domain, _, name = limit.attribute.partition("/")
        yield from _key(domain, name, any(ask.of_nvidia for ask in asked if limit.covers(ask)))


def _key(domain: str, name: str, of_nvidia: bool) -> Iterator[str]:
    if domain == published.DRIVER:
        yield name
    elif domain == names.STANDARD and of_nvidia:
        yield f"{domain}/{name}"
