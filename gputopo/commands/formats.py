"""`gputopo formats`: what can be read, and what each format can tell and cannot."""

from __future__ import annotations

from typing import Annotated

import typer

from gputopo.commands import options, output


def command(
    samples: Annotated[bool, typer.Option("--samples", help="The shipped samples instead.")] = False,
    form: options.TextOrJson = "text",
    output_file: options.OutputFile = None,
) -> int:
    """What can be read: format ids for --as, and what each can tell and cannot."""
    rows = _samples() if samples else _formats()
    if form == "json":
        import json

        kind = "SampleList" if samples else "FormatList"
        text = json.dumps({"apiVersion": "gputopo/v1alpha1", "kind": kind, "items": rows}, indent=2)
    elif samples:
        text = "\n".join(f"sample:{row['name']}" for row in rows)
    else:
        text = "\n".join(_lines(row) for row in rows)
    output.write(text + "\n", output_file)
    return 0


def _formats() -> list[dict[str, str]]:
    from gputopo.parsers.formats import FORMATS

    return [{"id": row.id, "what": row.what, "tells": row.tells, "cannot": row.cannot} for row in FORMATS]


def _samples() -> list[dict[str, str]]:
    from gputopo.sample_files import sample_names

    return [{"name": name} for name in sample_names()]


def _lines(row: dict[str, str]) -> str:
    return "\n".join(
        (
            f"{row['id']:<16}  {row['what']}",
            f"{'':16}  tells   {row['tells']}",
            f"{'':16}  cannot  {row['cannot']}",
        )
    )
