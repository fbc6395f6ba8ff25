"""Completion for shells: the script that a shell reads once, and the answers that it asks for while one types."""

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

__all__ = ["VARIABLE", "answered", "command", "script"]

VARIABLE = "_LIQDATA_COMPLETE"
"""The variable by which the script of a shell asks."""

SHELLS: dict[str, type[ShellComplete]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}

# Where each shell looks for it by itself.
HOMES = {
    "bash": "~/.local/share/bash-completion/completions/liqdata",
    "zsh": "a folder of $fpath, as _liqdata",
    "fish": "~/.config/fish/completions/liqdata.fish",
}


def command(name: str, sentence: str) -> Command:
    """The command ``completion``."""
    shell = click.Argument(["shell"], type=OneOf(list(SHELLS)), metavar="|".join(SHELLS))
    made = Command(name, sentence, _print, [shell])
    kept = "\n".join(f"{one}: {home}" for one, home in HOMES.items())
    made.epilog = f"\b\nFor this shell alone: source <(liqdata completion bash)\nFor good, into a file:\n{kept}"
    return made


def _print(shell: str) -> None:
    sys.stdout.write(script(shell))


def script(shell: str) -> str:
    """The script of a shell."""
    from .menu import Menu

    kind = SHELLS[shell]
    made = kind(Menu(), {}, "liqdata", VARIABLE)
    # Without a look at which bash is there: the script may be for another machine.
    return kind.source_template % made.source_vars() + "\n"


def answered(menu: Menu, asked: str) -> int:
    """Answer what a shell asks while one types.

    Parameters
    ----------
    menu : Menu
        The command.
    asked : str
        What stands in :data:`VARIABLE`, such as ``bash_complete``.

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
