"""gputopo(1), made from the command line itself: `python -m gputopo.commands.man --write`; `--check` fails
when docs/man/gputopo.1 is stale. One page: the verbs share most of their options and all of their errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from gputopo.cli import commands, group
from gputopo.parsers.formats import FORMATS
from gputopo.version import __version__

EXIT_CODES = (
    (0, "Answered, and nothing at or above --fail-on."),
    (1, "Findings at or above --fail-on."),
    (2, "Usage error, or input that cannot be read."),
    (3, "Could not decide: evidence is missing."),
    (130, "Interrupted."),
)
ENVIRONMENT = (
    ("COLUMNS", "Width of a report, 80 to 200; otherwise the terminal's, or 100."),
    ("NO_COLOR", "When set, --color auto means never."),
    ("GPUTOPO_REDACT_SALT", "The value of --redact-salt, where a command line can be seen by others."),
    ("GPUTOPO_DEBUG", "1: an internal error ends with its traceback."),
)
EXAMPLES = (
    ("gputopo", "This node, live."),
    ("gputopo topo.txt lscpu.txt", "Two texts of one node."),
    ("nvidia-smi topo -m | gputopo -", "Standard input."),
    ("gputopo --root /host -o json", "Live, from inside a container, as JSON."),
    ("gputopo collect -o node.tar.gz", "A redacted bundle, for gputopo inspect elsewhere."),
    ("gputopo allocate kubelet --pod pod.yaml --fleet nodes/ -o junit", "Would every saved node take this pod."),
    ("gputopo explain GT112", "What a rule says, why, and when it is silent."),
    ("kubectl gputopo topo.txt", "The same, as a plugin of kubectl."),
)
SEE_ALSO = ("nvidia-smi(1)", "lstopo(1)", "lscpu(1)", "lspci(8)", "numactl(8)", "kubectl(1)")


def page() -> str:
    """The page, for man's macros (groff_man(7))."""
    lines = [
        r'.\" Made from the command line by `python -m gputopo.commands.man --write`.',
        f'.TH GPUTOPO 1 "" "gputopo {plain(__version__)}" "User Commands"',
        ".SH NAME",
        r"gputopo \- how a GPU node is wired, live or from saved text",
        ".SH SYNOPSIS",
        *_synopsis(),
        ".SH DESCRIPTION",
        *_paragraphs(group().help),
        ".PP",
        marked("Errors are one line, `gputopo: error: WHAT (WHERE)`, and at most one more, `hint: NEXT STEP`."),
        ".SH VERBS",
    ]
    for words, command in commands():
        lines += _verb(words, command)
    lines += [".SH FORMATS", "What can be read; the ids are for", r"\fB\-\-as\fR.", *_formats()]
    lines += [".SH EXIT STATUS", *_tagged((str(code), plain(said)) for code, said in EXIT_CODES)]
    lines += [".SH ENVIRONMENT", *_tagged((bold(name), plain(said)) for name, said in ENVIRONMENT)]
    lines += [".SH EXAMPLES", *_tagged((bold(command), plain(said)) for command, said in EXAMPLES)]
    lines += [".SH SEE ALSO", ",\n".join(_reference(one) for one in SEE_ALSO)]
    return "\n".join(lines) + "\n"


def plain(text: str) -> str:
    r"""Text that roff prints as it is.

    >>> print(plain("-o json\\n"))
    \-o json\en
    >>> print(plain(".hidden"), plain("'quoted"))
    \&.hidden \&\(aqquoted
    """
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    escaped = ("\\&" if escaped[:1] in (".", "'") else "") + escaped
    for sign, name in (("'", "aq"), ("`", "ga"), ("~", "ti"), ("^", "ha")):
        escaped = escaped.replace(sign, f"\\({name}")
    return escaped


def bold(text: str) -> str:
    return f"\\fB{plain(text)}\\fR"


def marked(text: str) -> str:
    r"""Help text, in which `...` is what one types.

    >>> print(marked("`-` is standard input"))
    \fB\-\fR is standard input
    """
    parts = text.split("`")
    return "".join(bold(part) if n % 2 else plain(part) if part else "" for n, part in enumerate(parts))


def _synopsis() -> Iterator[str]:
    for words, command in commands():
        name = "[inspect]" if words == "inspect" else words
        arguments = "".join(f" {_italic(one.metavar)}" for one in command.params if one.param_type_name == "argument")
        yield f"{bold('gputopo')} {bold(name)} [{_italic('OPTIONS')}]{arguments}"
        yield ".br"
    yield f"{bold('gputopo')} {bold('help')} [{_italic('VERB')}]"
    yield ".br"
    yield f"{bold('gputopo')} {bold('--version')}"


def _verb(words: str, command: Any) -> Iterator[str]:
    yield f'.SS "gputopo {words}"'
    yield from _paragraphs(command.help)
    for one in command.params:
        yield ".TP"
        yield _italic(one.metavar) if one.param_type_name == "argument" else _option(one)
        yield marked(" ".join(part for part in (one.help, _more(one)) if part))
    yield ".TP"
    yield f"{bold('-h')}, {bold('--help')}"
    yield "Show the verb's help and exit."


def _option(option: Any) -> str:
    names = ", ".join(bold(name) for name in sorted(option.opts, key=len))
    if option.is_flag:
        return names
    choices = getattr(option.type, "choices", None)
    return f"{names} " + ("|".join(bold(str(one)) for one in choices) if choices else _italic(option.metavar))


def _more(option: Any) -> str:
    """What --help says in brackets."""
    said = []
    default = option.default
    if option.param_type_name == "option" and not option.is_flag and default is not None:
        said.append(f"Default: {default:g}." if isinstance(default, float) else f"Default: {default}.")
    if option.multiple:
        said.append("May be repeated.")
    if option.envvar:
        said.append(f"From the environment: {option.envvar}.")
    return " ".join(said)


def _formats() -> Iterator[str]:
    yield from _tagged((bold(row.id), plain(row.what)) for row in FORMATS)


def _paragraphs(help: str) -> Iterator[str]:
    for number, paragraph in enumerate(re.split(r"\n\s*\n", help.strip())):
        if number:
            yield ".PP"
        yield marked(" ".join(paragraph.split()))


def _tagged(items: Iterable[tuple[str, str]]) -> Iterator[str]:
    for tag, said in items:
        yield from (".TP", tag, said)


def _italic(text: str) -> str:
    return f"\\fI{plain(text)}\\fR"


def _reference(page: str) -> str:
    name, _, section = page.partition("(")
    return f"{bold(name)}({section}"


if __name__ == "__main__":
    import sys

    from gputopo.commands import generated

    sys.exit(generated.main("gputopo.commands.man", page, generated.DOCS / "man" / "gputopo.1", sys.argv[1:]))
