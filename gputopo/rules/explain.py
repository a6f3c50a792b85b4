"""What a rule says of itself: its docstring, as text and as docs/rules/*.md.

`python -m gputopo.rules.explain --write` makes the Markdown pages, `--check` fails when they are stale.
"""

from __future__ import annotations

from gputopo.rules.codes import MODULES, load, matching, name

HEADINGS = ("What it says", "Why it matters", "What to do", "When it is silent", "Example")
_MADE_BY = "<!-- Made from the rule's docstring by `python -m gputopo.rules.explain --write`. -->\n"


def explain(code: str) -> str:
    """The text of one rule, or of each that a prefix names. Raises GputopoError for no such rule."""
    return "\n\n".join(_text(found) for found in matching(code))


def explain_all() -> str:
    """One line a rule: code, usual severity, name, what it says."""
    lines = []
    for code in MODULES:
        says = " ".join(sections(code)[HEADINGS[0]].split())
        lines.append(f"{code}  {load(code).SEVERITY:7}  {name(code)}\n         {says}")
    return "\n".join(lines)


def sections(code: str) -> dict[str, str]:
    """Heading → text, without the indent."""
    found: dict[str, list[str]] = {}
    for line in (load(code).__doc__ or "").splitlines()[1:]:
        if line in HEADINGS:
            found[line] = []
        elif found:
            found[next(reversed(found))].append(line[4:] if line.startswith("    ") else line)
    return {heading: "\n".join(lines).strip("\n") for heading, lines in found.items()}


def page(code: str) -> str:
    """The Markdown page of a rule."""
    parts = [f"# {code} {name(code)}\n", _MADE_BY, f"Usual severity: {load(code).SEVERITY}\n"]
    for heading, text in sections(code).items():
        body = f"```python\n{text}\n```" if heading == "Example" else text
        parts.append(f"## {heading}\n\n{body}\n")
    return "\n".join(parts)


def pages() -> dict[str, str]:
    """File name → content of docs/rules."""
    index = ["# Rules\n", _MADE_BY, "| code | usual severity | rule |", "| --- | --- | --- |"]
    for code in MODULES:
        index.append(f"| {code} | {load(code).SEVERITY} | [{name(code)}]({code}.md) |")
    return {"README.md": "\n".join(index) + "\n"} | {f"{code}.md": page(code) for code in MODULES}


def main(arguments: list[str]) -> int:
    """`--write [FOLDER]` or `--check [FOLDER]`; the folder is docs/rules of this checkout."""
    import sys
    from pathlib import Path

    if not arguments or arguments[0] not in ("--write", "--check") or len(arguments) > 2:
        print("usage: python -m gputopo.rules.explain --write|--check [FOLDER]", file=sys.stderr)
        return 2
    root = Path(__file__).resolve().parents[2]
    folder = Path(arguments[1]) if len(arguments) == 2 else root / "docs" / "rules"
    wanted = pages()
    made = (*folder.glob("GT*.md"), *folder.glob("README.md")) if folder.is_dir() else ()
    there = {path.name: path.read_text(encoding="utf-8") for path in made}
    stale = sorted(file for file in wanted.keys() | there.keys() if wanted.get(file) != there.get(file))
    if arguments[0] == "--check":
        for file in stale:
            print(f"{folder / file} is stale: python -m gputopo.rules.explain --write", file=sys.stderr)
        return 1 if stale else 0
    folder.mkdir(parents=True, exist_ok=True)
    for file in stale:
        if file in wanted:
            (folder / file).write_text(wanted[file], encoding="utf-8")
        else:
            (folder / file).unlink()
    return 0


def _text(code: str) -> str:
    return (load(code).__doc__ or "").strip()


if __name__ == "__main__":
    import sys

    sys.exit(main(sys.argv[1:]))
