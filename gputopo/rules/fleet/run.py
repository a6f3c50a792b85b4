"""Runs the rules over a fleet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Protocol, cast

from gputopo.rules.codes import MODULES, is_fleet_rule
from gputopo.rules.finding import SEVERITIES, Finding
from gputopo.rules.fleet.seen import FleetSeen


class FleetRule(Protocol):
    CODE: str
    SEVERITY: str

    def check(self, fleet: FleetSeen) -> Iterator[Finding]: ...


def run(fleet: FleetSeen, select: Iterable[str] = (), ignore: Iterable[str] = ()) -> tuple[Finding, ...]:
    """Sorted by severity and code, within a code as they were seen. `select`, `ignore`: codes; none selected: all."""
    wanted, unwanted = set(select), set(ignore)
    codes = [code for code in MODULES if (not wanted or code in wanted) and code not in unwanted]
    rules = [cast(FleetRule, import_module(f"gputopo.rules.{MODULES[code]}")) for code in codes if is_fleet_rule(code)]
    found = [one for rule in rules for one in rule.check(fleet)]
    return tuple(sorted(found, key=lambda one: (SEVERITIES.index(one.severity), one.rule)))
