"""The `gputopo` command: a lazy group over a static table of verbs, one-line errors, exit codes.

Start-up is a design property: a verb's module is imported when that verb is called, rich only for
`--help`. Typer's boxed usage errors are replaced by `gputopo: error: WHAT (WHERE)` and at most one
`hint: NEXT`, so a script can rely on two lines of stderr.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, NoReturn

# Modules are kept: to look for cycles among them while they are imported costs 3 % of a call and frees nothing.
COLLECTING = gc.isenabled()
gc.disable()
import typer  # noqa: E402
from typer._click import Context  # noqa: E402  the type of TyperGroup's signatures; typer.Context is a subclass

from gputopo.errors import GputopoError  # noqa: E402
from gputopo.version import __version__  # noqa: E402

if COLLECTING:  # `main` decides for the command line; who imports this module keeps what they had
    gc.enable()

# Verb → its module and what `gputopo --help` says of it. A new verb is one line here and one file.
VERBS: dict[str, tuple[str, str]] = {
    "inspect": ("gputopo.commands.inspect", "What is on this node, how is it wired, what is odd."),
    "draw": ("gputopo.commands.draw", "The same as a picture."),
    "allocate": ("gputopo.commands.allocate", "Which devices would this request get, and why."),
    "pods": ("gputopo.commands.pods", "What running pods hold, and whether it crosses sockets."),
    "diagnose": ("gputopo.commands.diagnose", "Why is this job slow, and what should change."),
    "lint": ("gputopo.commands.lint", "What is wrong with this manifest or configuration file."),
    "check": ("gputopo.commands.check", "Has the node the shape it should have."),
    "diff": ("gputopo.commands.diff", "What differs between two nodes, or two times of one."),
    "export": ("gputopo.commands.export", "What is known of this node as another system's configuration."),
    "fleet": ("gputopo.commands.fleet", "Many nodes: which are wired differently, which pods are badly placed."),
    "collect": ("gputopo.commands.collect", "One bundle of evidence, redacted, to be read elsewhere."),
    "explain": ("gputopo.commands.explain", "A rule, or all rules."),
    "formats": ("gputopo.commands.formats", "What can be read, and what each format can tell."),
    "completion": ("gputopo.commands.completion", "Completion for bash, zsh or fish."),
}
DEFAULT_VERB = "inspect"
INTERRUPTED = 130
# Words that users of kubectl, gh and ruff type; `help VERB` too.
OPTION_WORDS = {"help": "--help", "version": "--version"}
COMPLETE = "__complete"  # what the shells' completion functions call, in Cobra's protocol, so that kubectl can too
_OWN_OPTIONS = ("--version", "-V", "--help", "-h")


class LazyGroup(typer.core.TyperGroup):
    """Knows its verbs by name; loads one when it is asked for."""

    def list_commands(self, ctx: Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: Context, cmd_name: str) -> Any:
        return load(cmd_name) if cmd_name in VERBS else None

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """No word, `-` or an option of inspect: what follows is for the default verb."""
        if args and args[0] in OPTION_WORDS:
            asked = args[1:2] if args[0] == "help" and args[1:2] != ["help"] else []
            args = [*asked, OPTION_WORDS[args[0]]]
        first = args[0] if args else "-"
        if first.startswith("-") and first.split("=")[0] not in _OWN_OPTIONS:
            args = [DEFAULT_VERB, *args]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Context, args: list[str]) -> Any:
        """A first word that is no verb is a source: `gputopo FILE` is `gputopo inspect FILE`."""
        word = args[0]
        if word not in VERBS:
            if not (word.startswith("sample:") or os.path.lexists(word)):
                raise GputopoError("no such file or verb", word, _verb_hint(word, ctx.command_path))
            args = [DEFAULT_VERB, *args]
        return super().resolve_command(ctx, args)


def load(verb: str) -> Any:
    """The command of a verb of the table, its module imported now."""
    from importlib import import_module

    name, summary = VERBS[verb]
    module = import_module(name)
    if hasattr(module, "group"):
        return module.group(verb, summary)
    app = new_app()
    app.command(verb, short_help=summary)(module.command)
    return typer.main.get_command(app)


def below(group: Any, name: str) -> Any:
    """The command of that name in a group, `None` where it has none."""
    return group.get_command(None, name)


def commands() -> Iterator[tuple[str, Any]]:
    """Every command with options of its own, under the words that call it: `inspect`, `allocate kubelet`."""
    for verb in VERBS:
        loaded = load(verb)
        if not hasattr(loaded, "list_commands"):
            yield verb, loaded
            continue
        for name in loaded.list_commands(None):
            yield f"{verb} {name}", below(loaded, name)


def group() -> Any:
    """The command with all its verbs."""
    app = new_app(cls=LazyGroup)
    app.callback()(_root)
    return typer.main.get_command(app)


def new_app(**settings: Any) -> typer.Typer:
    """A Typer app with the settings that every verb and every group of verbs has."""
    return typer.Typer(
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        # Typer's own would edit ~/.bashrc; `gputopo completion` prints, and what to do with it is the user's.
        add_completion=False,
        **settings,
    )


def _version(wanted: bool) -> None:
    if wanted:
        print(f"gputopo {__version__}")
        raise typer.Exit()


def _root(
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """How a GPU node is wired, which GPUs a request would get, and why: live or from saved text.

    `gputopo` alone inspects this node; `gputopo FILE` inspects a file, folder or archive.
    """


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """The console script, also of the kubectl plugin: `kubectl gputopo` runs `kubectl-gputopo`."""
    # One answer and out: collecting cycles on the way costs 5 % of a call and frees nothing of note.
    gc.disable()
    called = os.path.basename(sys.argv[0]) if sys.argv else ""
    program = "kubectl gputopo" if called.startswith("kubectl-gputopo") else "gputopo"
    _leave(run(sys.argv[1:] if arguments is None else arguments, program))


def complete() -> NoReturn:
    """The console script `kubectl_complete-gputopo`, which kubectl asks (1.26 and later) when Tab is pressed."""
    main([COMPLETE, *sys.argv[1:]])


def _leave(code: int) -> NoReturn:
    """Exit without taking 300 modules apart one by one, a sixth of a call; all else of an exit is done."""
    if sys.gettrace() or sys.getprofile() or threading.active_count() > 1:
        sys.exit(code)  # a debugger, a profiler, or a thread to wait for
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            pass  # said already, or there is nobody to say it to
    os._exit(code)


def run(arguments: Sequence[str], program: str = "gputopo") -> int:
    """The exit code of one command line. Never raises, unless GPUTOPO_DEBUG=1."""
    try:
        if arguments and arguments[0] == COMPLETE:
            from gputopo.commands.complete import answer

            return answer(arguments[1:], sys.stdout)
        return int(group().main(list(arguments), prog_name=program, standalone_mode=False) or 0)
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        return 0
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    except Exception as error:
        if os.environ.get("GPUTOPO_DEBUG") == "1":
            raise
        from gputopo.commands.failure import report

        return report(error, sys.stderr, program)


def _verb_hint(word: str, program: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(word, (*VERBS, *OPTION_WORDS), 1)
    return f"did you mean {program} {near[0]}?" if near else f"{program} --help lists the verbs"
