"""JSON Schemas (draft 2020-12), generated from the tables that encode and decode.

`python -m gputopo.documents.schema --write` renews docs/schema/, `--check` exits 1 where it is stale.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from gputopo.documents import (
    admission,
    allocation,
    allocation_comparison,
    check_result,
    diagnosis,
    diff,
    forecast,
    lint,
    pod_audit,
    shape,
)
from gputopo.documents.forms import REQUIRED, Schema
from gputopo.errors import GputopoError

_FOLDER = Path(__file__).resolve().parents[2] / "docs" / "schema"


def schemas() -> dict[str, Schema]:
    """The schema of each kind."""
    made = {shape.KIND: schema(), shape.LIST_KIND: _list_schema()}
    for kind, list_kind, (one, defs) in (
        (allocation.KIND, allocation.LIST_KIND, allocation.parts()),
        (allocation_comparison.KIND, allocation_comparison.LIST_KIND, allocation_comparison.parts()),
        (forecast.KIND, forecast.LIST_KIND, forecast.parts()),
        (pod_audit.KIND, pod_audit.LIST_KIND, pod_audit.parts()),
        (diagnosis.KIND, diagnosis.LIST_KIND, diagnosis.parts()),
    ):
        made[kind] = {**_head(kind), **one, "$defs": defs}
        made[list_kind] = _list_of(list_kind, kind, one, defs)
    for kind, (report, defs) in (
        (lint.KIND, lint.parts()), (admission.KIND, admission.parts()), (diff.KIND, diff.parts()),
        (check_result.KIND, check_result.parts()),
    ):  # fmt: skip
        made[kind] = {**_head(kind), **report, "$defs": defs}
    return made


def schema() -> Schema:
    """The schema of `kind: NodeTopology`. Further keys are allowed: later versions add some."""
    node, defs = _node()
    return {**_head(shape.KIND), **node, "$defs": defs}


def _list_schema() -> Schema:
    node, defs = _node()
    return _list_of(shape.LIST_KIND, shape.KIND, node, defs)


def _list_of(list_kind: str, kind: str, item: Schema, defs: dict[str, Schema]) -> Schema:
    return {
        **_head(list_kind),
        "type": "object",
        "properties": {
            "apiVersion": {"const": shape.API_VERSION},
            "kind": {"const": list_kind},
            "items": {"type": "array", "items": {"$ref": f"#/$defs/{kind}"}},
        },
        "required": ["apiVersion", "kind", "items"],
        "$defs": {kind: item, **defs},
    }


def _head(kind: str) -> Schema:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": kind,
        "description": f"{shape.API_VERSION} {kind}. null is unknown: `unknown` says why and what settles it.",
    }


def _node() -> tuple[Schema, dict[str, Schema]]:
    parts = {
        "name": shape.node_name.form, "taken": shape.taken,
        **{field.name: field.form for field in shape.BODY},
        "findings": shape.findings, "notChecked": shape.not_checked,
        "provenance": shape.PROVENANCE.form,
    }  # fmt: skip
    optional = {field.name for field in (*shape.BODY, shape.PROVENANCE) if field.absent is not REQUIRED}
    defs: dict[str, Schema] = {}
    for form in parts.values():
        defs.update(form.defs)
    node: Schema = {
        "type": "object",
        "properties": {
            "apiVersion": {"const": shape.API_VERSION},
            "kind": {"const": shape.KIND},
            **{name: form.schema for name, form in parts.items()},
        },
        "required": ["apiVersion", "kind", *(name for name in parts if name not in optional)],
    }
    return node, dict(sorted(defs.items()))


def main(arguments: list[str]) -> int:
    if arguments not in (["--write"], ["--check"]):
        raise GputopoError("--write or --check is needed", hint="python -m gputopo.documents.schema --write")
    stale = 0
    for kind, made in schemas().items():
        path = _FOLDER / f"{kind}.json"
        text = json.dumps(made, indent=2) + "\n"
        if arguments == ["--write"]:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            print(f"{path} is stale: python -m gputopo.documents.schema --write", file=sys.stderr)
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
