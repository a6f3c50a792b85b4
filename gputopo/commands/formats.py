"""`gputopo formats`: what can be read, how to get it, and what each format can tell and cannot.

`python -m gputopo.commands.formats --write` makes docs/formats.md, `--check` fails when it is stale.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gputopo.commands import options, output

if TYPE_CHECKING:
    from gputopo.parsers.formats import Format


def command(
    samples: Annotated[bool, typer.Option("--samples", help="The shipped samples instead.")] = False,
    form: options.TextOrJson = "text",
    output_file: options.OutputFile = None,
) -> int:
    """What can be read: format ids for --as, how to get each, what it can tell and cannot."""
    if form == "json":
        import json

        kind, rows = ("SampleList", _samples()) if samples else ("FormatList", _formats())
        text = json.dumps({"apiVersion": "gputopo/v1alpha1", "kind": kind, "items": rows}, indent=2) + "\n"
    elif samples:
        text = "".join(f"sample:{row['name']}\n" for row in _samples())
    else:
        from gputopo.reports.style import Style
        from gputopo.reports.text import render
        from gputopo.reports.views.formats import blocks

        text = render(blocks(_formats()), Style(*output.place("auto", output_file)))
    output.write(text, output_file)
    return 0


def _formats() -> list[dict[str, object]]:
    from gputopo.parsers.formats import BESIDE, FORMATS
    from gputopo.parsers.formats_jobs import JOBS

    return [
        {"id": row.id, "what": row.what, "get": list(row.get), "tells": row.tells, "cannot": row.cannot,
         "node": row in FORMATS, "job": row in JOBS}
        for row in (*FORMATS, *BESIDE, *JOBS)
    ]  # fmt: skip


def _samples() -> list[dict[str, object]]:
    from gputopo.sample_files import sample_names

    return [{"name": name} for name in sample_names()]


def page() -> str:
    """docs/formats.md."""
    from gputopo.parsers.formats import BESIDE, FORMATS
    from gputopo.parsers.formats_jobs import JOBS

    rows = (*FORMATS, *BESIDE, *JOBS)
    contents = "".join(f"| [`{row.id}`](#{row.id}) | {_escaped(row.what)} |\n" for row in rows)
    sections = "".join(_section(row) for row in FORMATS)
    return _HEAD + contents + sections + _BESIDE + "".join(map(_section, BESIDE)) + _JOBS + "".join(map(_section, JOBS))


_HEAD = """# Formats

<!-- Made from the table of formats by `python -m gputopo.commands.formats --write`. -->

What something is, is found by looking at it, never by its name; `--as ID` forces one. A text may hold
several formats, and much that is none. `gputopo formats` prints the same.

| id | what it is |
| --- | --- |
"""


_BESIDE = """
# Beside a node

No evidence of how a node is wired: `gputopo allocate` or `gputopo pods` reads these beside it, as sources or by
options.
"""

_JOBS = """
# Of a job

What a job writes: `gputopo diagnose` reads it, beside evidence of the node. All three may be mixed in one log.
"""


def _section(row: Format) -> str:
    commands = "\n".join(row.get)
    return (
        f"\n## {row.id}\n\n{_escaped(row.what)}\n\n```sh\n{commands}\n```\n\n"
        f"- tells: {_escaped(row.tells)}\n- cannot tell: {_escaped(row.cannot)}\n"
    )


def _escaped(text: str) -> str:
    """Markdown reads <, * and | as its own."""
    return "".join("\\" + letter if letter in "<*|_" else letter for letter in text)


if __name__ == "__main__":
    import sys

    from gputopo.commands import generated

    sys.exit(generated.main("gputopo.commands.formats", page, generated.DOCS / "formats.md", sys.argv[1:]))
