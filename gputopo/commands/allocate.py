"""`gputopo allocate MECHANISM ...`: a lazy group; a mechanism's module is imported when it is called."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import typer
from typer._click import Context  # the type of TyperGroup's own signatures, as in cli.py

from gputopo.errors import GputopoError

# Mechanism → its module and what `gputopo allocate --help` says of it. One without a module is not there yet.
MECHANISMS: dict[str, tuple[str, str]] = {
    "device-plugin": ("gputopo.commands.allocate_device_plugin", "NVIDIA's device plugin: the GPUs it prefers."),
    "kubelet": ("gputopo.commands.allocate_kubelet", "The kubelet: hints, Topology Manager, CPUs, memory, GPUs."),
    "dra": ("gputopo.commands.allocate_dra", "Dynamic resource allocation: the devices of a claim."),
    "koordinator": ("gputopo.commands.allocate_koordinator", "Koordinator's device scheduling."),
    "hami": ("gputopo.commands.allocate_hami", "HAMi's scheduler and device plugin."),
    "all": ("gputopo.commands.allocate_all", "Every mechanism side by side, and the best possible set."),
    "sequence": ("gputopo.commands.allocate_sequence", "What many requests leave behind."),
}


def present() -> tuple[str, ...]:
    """The mechanisms whose module is there."""
    return tuple(name for name, (module, _) in MECHANISMS.items() if find_spec(module) is not None)


class MechanismGroup(typer.core.TyperGroup):
    """Knows its mechanisms by name; loads one when it is asked for."""

    def list_commands(self, ctx: Context) -> list[str]:
        return list(present())

    def summaries(self) -> tuple[tuple[str, str], ...]:
        """What --help and completion say of each, without loading it."""
        return tuple((name, MECHANISMS[name][1]) for name in present())

    def get_command(self, ctx: Context, cmd_name: str) -> Any:
        if cmd_name not in present():
            return None
        from gputopo.cli import new_app

        module, summary = MECHANISMS[cmd_name]
        app = new_app()
        app.command(cmd_name, short_help=summary)(import_module(module).command)
        return typer.main.get_command(app)

    def resolve_command(self, ctx: Context, args: list[str]) -> Any:
        word = args[0]
        if word not in present():
            raise GputopoError("no such mechanism", word, _hint(word))
        return super().resolve_command(ctx, args)


def _hint(word: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(word, present(), 1)
    return f"did you mean gputopo allocate {near[0]}?" if near else f"one of {', '.join(present())}"


def _root() -> None:
    """Which devices would this request get, and why: simulated, nothing is ever allocated."""


def group(name: str, summary: str) -> Any:
    """The group as a command of the command line."""
    from gputopo.cli import new_app

    app = new_app(cls=MechanismGroup, name=name, short_help=summary)
    app.callback()(_root)
    return typer.main.get_command(app)
