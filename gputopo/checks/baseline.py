"""What was found before, so that only what is new is reported.

    >>> said = {"field": "nics.count", "found": "9", "code": "GT601"}
    >>> before = {"nodes": [{"name": "a17.txt", "mismatches": [said]}]}
    >>> one = Checked("a17.txt", None, FAIL, (Mismatch("nics.count", (), "10", "9"),))
    >>> without_known(one, known(before)).status, without_known(one, known({"nodes": []})).status
    ('pass', 'fail')
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gputopo.checks.result import FAIL, Checked, Mismatch, status_of

Known = frozenset["tuple[str, str, str, str]"]


def known(document: Mapping[str, Any]) -> Known:
    """Of a CheckResult. Raises KeyError or TypeError where it is none."""
    return frozenset(
        (str(node["name"]), str(one["field"]), str(one["found"]), str(one["code"]))
        for node in document["nodes"]
        for one in node["mismatches"]
    )


def without_known(one: Checked, before: Known) -> Checked:
    """The mismatches that were there before are marked; they fail no more. Of a finding the message tells."""
    if one.status != FAIL:
        return one
    marked = tuple(each._replace(known=_key(one, each) in before) for each in one.mismatches)
    return one._replace(mismatches=marked, status=status_of(marked, one.undecided))


def _key(one: Checked, each: Mismatch) -> tuple[str, str, str, str]:
    return one.name, each.field, each.found, each.code
