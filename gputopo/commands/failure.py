"""Any exception as one line and at most one hint; imported when something failed."""

from __future__ import annotations

import sys
from typing import Any, TextIO

# Typer has no public name for the base of its usage errors; the pin in pyproject covers this one.
from typer._click.exceptions import ClickException, NoSuchOption

from gputopo.errors import GputopoError

_INTERNAL = "internal error: "
DEBUG_HINT = "GPUTOPO_DEBUG=1 gives the traceback; please report it with the input"


def report(error: Exception, stream: TextIO | None, program: str = "gputopo") -> int:
    """Writes the error and returns the exit code it means. `program`: as it was called, `kubectl gputopo`."""
    what, where, hint, code = _parts(error)
    line = f"{program}: error: {what} ({where})" if where else f"{program}: error: {what}"
    message = plain(line) + "\n" + (f"hint: {plain(called_as(program, hint))}\n" if hint else "")
    if stream is not None:
        try:
            encoding = stream.encoding or "utf-8"
            stream.write(message.encode(encoding, "backslashreplace").decode(encoding))
            stream.flush()
        except OSError:
            pass  # nobody reads stderr: the exit code is all that is left
    return code


def in_words(error: Exception) -> str:
    """What and where, for a list of things that went wrong. Raises the error again with GPUTOPO_DEBUG=1."""
    import os

    what, where, _, _ = _parts(error)
    if what.startswith(_INTERNAL) and os.environ.get("GPUTOPO_DEBUG") == "1":
        raise error
    return f"{what} ({where})" if where else what


def called_as(program: str, hint: str) -> str:
    """The command lines of a hint, in the words of the caller.

    >>> called_as("kubectl gputopo", "`gputopo explain` lists all rules")
    '`kubectl gputopo explain` lists all rules'
    >>> called_as("kubectl gputopo", "kubectl gputopo inspect --help, or see /opt/gputopo x")
    'kubectl gputopo inspect --help, or see /opt/gputopo x'
    """
    if program == "gputopo":
        return hint
    import re

    return re.sub(r"(?<![\w./:-])(?<!kubectl )gputopo(?= [a-z-])", program, hint)


def _parts(error: Exception) -> tuple[str, str, str, int]:
    if isinstance(error, GputopoError):
        return error.what, error.where, error.hint, error.exit_code
    if isinstance(error, ClickException):
        return _usage(error)
    if isinstance(error, OSError):
        return (error.strerror or str(error)).lower(), str(error.filename or ""), "", 2
    place = _place(error)
    return f"{_INTERNAL}{type(error).__name__}: {error}", place, DEBUG_HINT, 2


def _usage(error: ClickException) -> tuple[str, str, str, int]:
    message = error.format_message().rstrip(".")
    context: Any = getattr(error, "ctx", None)
    if isinstance(error, NoSuchOption):
        return f"no such option: {error.option_name}", "", _option_hint(error.option_name, context), 2
    name = context.command_path if context is not None else "gputopo"
    return message[:1].lower() + message[1:], "", _choice_hint(error) or f"{name} --help", 2


def _option_hint(option: str, context: Any) -> str:
    from difflib import get_close_matches

    options: set[str] = set()
    place = context
    while place is not None:
        for parameter in place.command.get_params(place):
            options.update(name for name in parameter.opts if name.startswith("--"))
        place = place.parent
    near = get_close_matches(option, sorted(options), 1)
    name = context.command_path if context is not None else "gputopo"
    return f"did you mean {near[0]}?" if near else f"{name} --help lists the options"


def _choice_hint(error: ClickException) -> str:
    """The choice nearest to what was given: `'jsn' is not one of 'text', 'json'`."""
    choices = getattr(getattr(getattr(error, "param", None), "type", None), "choices", None)
    if not choices:
        return ""
    from difflib import get_close_matches

    given = error.message.split("'")[1:2]
    near = get_close_matches(given[0], [str(choice) for choice in choices], 1) if given else []
    return f"did you mean {near[0]}?" if near else ""


def _place(error: Exception) -> str:
    """File and line of our own code where it went wrong."""
    place = ""
    trace = error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_globals.get("__name__", "")
        if str(name).startswith("gputopo"):
            place = f"{name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place or f"Python {sys.version.split()[0]}"


def plain(text: str) -> str:
    """One line without control characters: names of files come from strangers."""
    joined = " ".join(text.split())
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in joined)
