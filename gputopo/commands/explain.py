"""`gputopo explain [CODE]`: what a rule says, why it matters, what to do, when it is silent."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from gputopo.commands import options, output


def command(
    code: Annotated[
        Optional[str],  # noqa: UP045
        typer.Argument(metavar="[CODE]", help="GT112, a prefix (GT1), or a rule's name.", show_default=False),
    ] = None,
    form: options.TextOrJson = "text",
    output_file: options.OutputFile = None,
) -> int:
    """What a rule says, why it matters, what to do and when it is silent; without CODE: all rules."""
    if form == "json":
        text = _json(code)
    else:
        from gputopo.rules.explain import explain, explain_all

        text = explain(code) if code is not None else explain_all()
    output.write(text.rstrip("\n") + "\n", output_file)
    return 0


def _json(code: str | None) -> str:
    import json

    from gputopo.rules.codes import MODULES, load, matching, name
    from gputopo.rules.explain import sections

    codes = matching(code) if code is not None else tuple(MODULES)
    items = [
        {"rule": one, "name": name(one), "severity": load(one).SEVERITY, "sections": sections(one)} for one in codes
    ]
    return json.dumps({"apiVersion": "gputopo/v1alpha1", "kind": "RuleList", "items": items}, indent=2)
