"""Shell completion: the script that a shell loads, and the suggestions that this script requests."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click
from click.shell_completion import BashComplete, FishComplete, ZshComplete

from .command import Command
from .words import OneOf

if TYPE_CHECKING:
    from click.shell_completion import ShellComplete

    from .menu import Menu

__all__ = ["VARIABLE", "command", "print_completions", "script"]

VARIABLE = "_LIQDATA_COMPLETE"
"""The environment variable that the script sets to request suggestions."""

SHELLS: dict[str, type[ShellComplete]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}

# The place from which each shell loads the script automatically.
HOMES = {
    "bash": "~/.local/share/bash-completion/completions/liqdata",
    "zsh": "a folder of $fpath, as _liqdata",
    "fish": "~/.config/fish/completions/liqdata.fish",
}


def command(name: str, sentence: str) -> Command:
    """Build the command ``completion``."""
    shell = click.Argument(["shell"], type=OneOf(list(SHELLS)), metavar="|".join(SHELLS))
    made = Command(name, sentence, _print, [shell])
    places = "\n".join(f"{one}: {home}" for one, home in HOMES.items())
    made.epilog = f"\b\nFor this shell alone: source <(liqdata completion bash)\nFor good, into a file:\n{places}"
    return made


def _print(shell: str) -> None:
    sys.stdout.write(script(shell))


def script(shell: str) -> str:
    """The completion script for a shell."""
    from .menu import Menu

    kind = SHELLS[shell]
    made = kind(Menu(), {}, "liqdata", VARIABLE)
    # The local version of bash is not checked, because the script may be for another machine.
    return kind.source_template % made.source_vars() + "\n"


def print_completions(menu: Menu, asked: str) -> int:
    """Print the suggestions that a shell requests.

    Parameters
    ----------
    menu : Menu
        The root command.
    asked : str
        The value of :data:`VARIABLE`, such as ``bash_complete``.

    Returns
    -------
    int
        The exit code.
    """
    shell, _, what = asked.partition("_")
    kind = SHELLS.get(shell)
    if kind is None or what != "complete":
        return 2
    sys.stdout.write(kind(menu, {}, "liqdata", VARIABLE).complete() + "\n")
    sys.stdout.flush()
    return 0
