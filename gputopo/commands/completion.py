"""`gputopo completion SHELL`: the script that makes a shell complete verbs, options and their values."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from gputopo.commands import options, output

Shell = Literal["bash", "zsh", "fish"]


def command(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.", show_default=False)],
    output_file: options.OutputFile = None,
) -> int:
    """Completion for a shell, as a script on standard output. Nothing is installed:

    bash: `source <(gputopo completion bash)` in ~/.bashrc

    zsh: `source <(gputopo completion zsh)` in ~/.zshrc, after compinit

    fish: `gputopo completion fish > ~/.config/fish/completions/gputopo.fish`

    kubectl: nothing to do; kubectl finds kubectl_complete-gputopo on the PATH
    """
    from gputopo.commands.completion_scripts import SCRIPTS

    output.write(SCRIPTS[shell], output_file)
    return 0
