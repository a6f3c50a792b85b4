"""What a page shows: commands and files of its console blocks, shell of its sh blocks, outputs it claims.

A console block holds lines of `$ COMMAND`, continued by a backslash; below `$ cat > FILE <<'EOF'` stands the file. A
comment `# exit 1` behind a command is the exit code it has; without one it is 0.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
OUTPUT = re.compile(r"(<!-- output: (.+?) -->\n```text\n)(.*?)(```\n<!-- end -->)", re.DOTALL)
_BLOCK = re.compile(r"^```(console|sh)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_HEREDOC = re.compile(r"^cat > (\S+) <<'EOF'$")
_OF_THEIR_OWN = ("check.md",)  # shows outputs over files that its own test makes: tests/checks/test_docs.py
_EXIT = re.compile(r"#.*\bexit (\d+)")


class Shown(NamedTuple):
    """One file that the page writes, or one command with what reads and what takes its output."""

    line: str
    file: str = ""
    text: str = ""
    programs: tuple[tuple[str, ...], ...] = ()  # joined by pipes
    into: str = ""
    code: int = 0


def pages() -> tuple[Path, ...]:
    own = (README, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md")
    beside = (ROOT / folder / "README.md" for folder in ("samples", "conformance", "e2e", "deploy"))
    docs = [page for page in sorted((ROOT / "docs").glob("*.md")) if page.name not in _OF_THEIR_OWN]
    return (*own, *beside, *docs, *sorted((ROOT / "docs" / "guides").glob("*.md")))


def shell(page: Path) -> str:
    """All of it as one script, for a shell to parse."""
    parts = []
    for kind, block in _BLOCK.findall(page.read_text(encoding="utf-8")):
        parts.append(re.sub(r"^\$ ", "", block, flags=re.MULTILINE) if kind == "console" else block)
    return "\n".join(parts)


def shown(page: Path) -> Iterator[Shown]:
    for kind, block in _BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "console":
            yield from _of_block(iter(block.splitlines()), page)


def _of_block(lines: Iterator[str], page: Path) -> Iterator[Shown]:
    for line in lines:
        assert line.startswith("$ "), f"{page.name}: no command; what it prints is an output block: {line}"
        command = line[2:]
        while command.endswith("\\"):
            command = f"{command[:-1]} {next(lines).strip()}"
        here = _HEREDOC.match(command)
        if here:
            body = "".join(f"{text}\n" for text in iter(lambda: next(lines), "EOF"))
            yield Shown(command, here[1], body)
        else:
            yield command_of(command)


def command_of(command: str) -> Shown:
    """
    >>> command_of("nvidia-smi topo -m | .venv/bin/gputopo - > node.txt   # exit 1")[3:]
    ((('nvidia-smi', 'topo', '-m'), ('gputopo', '-')), 'node.txt', 1)
    """
    words = shlex.shlex(command, posix=True, punctuation_chars="|<>;&")
    words.whitespace_split = True
    programs: list[list[str]] = [[]]
    into = ""
    for word in words:
        if word == "|":
            programs.append([])
        elif word == ">":
            into = next(words)
        else:
            programs[-1].append(word)
    said = _EXIT.search(command)
    named = tuple(tuple(_plain(one)) for one in programs)
    return Shown(command, programs=named, into=into, code=int(said[1]) if said else 0)


def _plain(words: list[str]) -> list[str]:
    """`.venv/bin/gputopo`, `kubectl gputopo` and what follows `--` or `python3` are gputopo, wherever another program
    runs it; `sudo` and VAR=VALUE in front are left out.

    >>> _plain("clush -b -g gpu python3 /tmp/gputopo.pyz check".split())
    ['gputopo', 'check']
    >>> _plain("kubectl debug node/NODE --image=$IMAGE -- gputopo inspect --root /host".split())
    ['gputopo', 'inspect', '--root', '/host']
    """
    for at in range(1, len(words)):
        if words[at - 1] in ("--", "python3") and words[at].rsplit("/", 1)[-1] in ("gputopo", "gputopo.pyz"):
            return ["gputopo", *words[at + 1 :]]
    while words and (re.fullmatch(r"[A-Z_]+=.*", words[0]) or words[0] == "sudo"):
        words = words[1:]
    if words[:2] == ["kubectl", "gputopo"]:
        return ["gputopo", *words[2:]]
    return [words[0].removeprefix(".venv/bin/"), *words[1:]] if words else words
