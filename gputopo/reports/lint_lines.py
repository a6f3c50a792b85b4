"""A LintReport for people and for the machines that read the lines of compilers: FILE:LINE:COLUMN CODE MESSAGE."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gputopo.reports.sanitise import clean


def text(report: Mapping[str, Any], ascii_only: bool = False, quiet: bool = False) -> str:
    """One line a finding, indented below it why and what to do, and the sum at the end; before all what was mended."""
    lines = [mended(one) for one in report["mended"] if not quiet]
    for one in report["findings"]:
        place = f"{one['file']}:{one['line']}:{one['column']}"
        lines.append(f"{place} {one['rule']} {one['severity']}: {one['message']}")
        if not quiet:
            more = (
                one["because"],
                one["remedy"] and f"instead: {one['remedy']}",
                one["notFixed"] and f"not mended: {one['notFixed']}",
            )
            lines += [f"    {said}" for said in more if said]
    if not quiet:
        lines += [
            f"{one['file']}:{one['line']}:1 not checked: no rule knows kind {one['kind']}"
            for one in report["notChecked"]
        ]
        lines.append(_sum(report))
    return "".join(clean(line, ascii_only=ascii_only) + "\n" for line in lines)


def mended(one: Mapping[str, Any]) -> str:
    """How many findings of a file a mend takes away, and what the result needs."""
    count = f"{one['findings']} finding{'s' if one['findings'] != 1 else ''}"
    needs = f"; the result needs {one['needs']}" if one["needs"] else ""
    return f"{one['file']}: {count} {'mended' if one['written'] else 'would be mended'}{needs}"


def _sum(report: Mapping[str, Any]) -> str:
    counts = {"error": 0, "warning": 0, "info": 0}
    for one in report["findings"]:
        counts[one["severity"]] += 1
    said = [f"{count} {name}{'s' if count != 1 and name != 'info' else ''}" for name, count in counts.items() if count]
    driver = report["driver"]
    assumed = ", assumed" if driver["assumed"] else ""
    basis = f"Kubernetes {report['kubernetes']}, NVIDIA's DRA driver {driver['line']}{assumed}"
    mendable = sum(bool(one["fixes"]) for one in report["findings"])
    more = f"; --fix mends {mendable}" if mendable else ""
    return f"{', '.join(said) or 'nothing found'} ({basis}){more}"


def github(report: Mapping[str, Any]) -> str:
    """Workflow commands, which GitHub shows beside the lines of a change.

    >>> one = {"file": "a,b.yaml", "line": 2, "column": 3, "rule": "GT301", "severity": "info", "message": "50% x"}
    >>> print(github({"findings": [{**one, "because": "", "remedy": ""}]}), end="")
    ::notice file=a%2Cb.yaml,line=2,col=3,title=GT301::50%25 x
    """
    from gputopo.reports.annotations import Annotation, written

    return "".join(
        written(Annotation(one["severity"], one["rule"], clean(said(one)), one["file"], one["line"], one["column"]))
        for one in report["findings"]
    )


def said(one: Mapping[str, Any]) -> str:
    """A finding in one text."""
    message: str = one["message"]
    return message + (f" (instead: {one['remedy']})" if one["remedy"] else "")
