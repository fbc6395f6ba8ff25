"""The menu: every command with its sentence, made when it is asked for, and what is shown to who asks for none."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from liqdata.endpoints.contract import endpoints

from .command import dashed

if TYPE_CHECKING:
    from collections.abc import Callable

    from .command import Command

__all__ = ["Entry", "Menu", "entries"]

EXAMPLES = (
    ("liqdata demo", "a simulated market: ten questions, two pictures"),
    ("liqdata coins --demo", "one question; or --url URL, or --archive DIR"),
    ("liqdata collect my-archive", "listen to the exchanges and keep what they tell"),
)

# Commands beside the questions: where each is made, and what it does.
BESIDE = {
    "Archives": {
        "collect": ("commands.collection", "listen to the exchanges and keep what they tell, until Ctrl-C"),
        "ingest": ("commands.ingest", "bring files of the past into an archive"),
        "verify": ("commands.archive", "hold an archive against what was written"),
        "rebuild": ("commands.rebuild", "read what an archive keeps as it came anew, into corrected orders"),
        "replay": ("commands.replay", "tell an archive again: its orders as they arrived, or a server of them"),
        "export": ("commands.archive", "bring the closed days of an archive to object storage"),
        "score": ("commands.scorecard", "hold the estimate of an archive against what was liquidated"),
    },
    "Servers": {
        "serve": ("commands.serve", "put a market behind the HTTP contract until Ctrl-C"),
        "token": ("commands.serve", "make a token for a server: the token, and the line of its file"),
    },
    "Here": {
        "watch": ("commands.alerts", "show cascades as they come, and call a webhook or a command for large ones"),
        "demo": ("commands.demonstration", "a simulated market, served and asked all ten; writes two pictures"),
        "completion": ("completion", "print what makes a shell complete commands, options and their values"),
    },
}


class Entry(NamedTuple):
    """A command: its section, what it does, and how it is made."""

    section: str
    sentence: str
    make: Callable[[], Command]


def entries() -> dict[str, Entry]:
    """Every command by its name: a question for each endpoint, then those beside them."""
    told: dict[str, Entry] = {}
    for name, (sentence, home, extension) in _questions().items():
        section = "Beside them" if extension else "The ten questions"
        told[dashed(name)] = Entry(section, sentence, _making(home, name, sentence))
    for section, commands in BESIDE.items():
        for name, (home, sentence) in commands.items():
            told[name] = Entry(section, sentence, _making(home, name, sentence))
    return told


def _questions() -> dict[str, tuple[str, str, bool]]:
    """What each asks, which file makes it, and whether it stands beside the contract."""
    return {
        name: (endpoint.meaning, "commands.stream" if endpoint.reply == "events" else "question", endpoint.extension)
        for name, endpoint in endpoints().items()
    }


def _making(home: str, name: str, sentence: str) -> Callable[[], Command]:
    # What a command needs is read when it is asked for: the menu is shown at once.
    def make() -> Command:
        command: Command = import_module(f".{home}", __package__).command(name, sentence)
        return command

    return make


class Menu(click.Group):
    """The command ``liqdata``."""

    def __init__(self) -> None:
        super().__init__(
            "liqdata",
            help="Crypto liquidation data: totals, orders, and open estimates of where the next ones wait.",
            epilog="Without --url, --archive or --demo a question goes to $LIQDATA_BASE_URL.",
            invoke_without_command=True,
            no_args_is_help=False,
            callback=_greet,
            context_settings={"token_normalize_func": dashed, "help_option_names": ["--help", "-h"]},
            params=[
                click.Option(
                    ["--version"],
                    is_flag=True,
                    is_eager=True,
                    expose_value=False,
                    callback=_version,
                    help="Show the version and exit.",
                )
            ],
        )
        self._entries = entries()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words of a command; ``help`` before one, or alone, is ``--help`` behind it."""
        if args[:1] == ["help"] and not ctx.resilient_parsing:
            args = [*args[1:2], "--help"]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All of them, in order."""
        del ctx
        return list(self._entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        del ctx
        entry = self._entries.get(dashed(cmd_name))
        return None if entry is None else entry.make()

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the words name, or the nearest in the error."""
        word = args[0]
        if not word.startswith("-") and dashed(word) not in self._entries and not ctx.resilient_parsing:
            near = get_close_matches(dashed(word), self._entries, n=3, cutoff=0.5)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise click.UsageError(f"{word!r} is no command{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the menu, section by section."""
        del ctx
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, entry in self._entries.items():
            sections.setdefault(entry.section, []).append((name, entry.sentence))
        widest = max(map(len, self._entries))
        for section, rows in sections.items():
            with formatter.section(section):
                formatter.write_dl([(name.ljust(widest), sentence) for name, sentence in rows])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """The commands that begin so, without making them."""
        from click.shell_completion import CompletionItem

        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        begun = dashed(incomplete)
        return [
            CompletionItem(name, help=entry.sentence) for name, entry in self._entries.items() if name.startswith(begun)
        ]


def _version(context: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click calls it so
    if value and not context.resilient_parsing:
        from liqdata import __version__

        click.echo(f"liqdata {__version__}")
        context.exit()


@click.pass_context
def _greet(context: click.Context) -> None:
    """Show the way in, where no command is named."""
    if context.invoked_subcommand is not None:
        return
    sections: dict[str, list[str]] = {}
    for name, entry in entries().items():
        sections.setdefault(entry.section, []).append(name)
    widest = max(len(example) for example, _ in EXAMPLES)
    lines = ["Crypto liquidations: what happened, and open estimates of what waits.", ""]
    lines += [f"  {example.ljust(widest)}   {meaning}" for example, meaning in EXAMPLES]
    lines += [""]
    formatter = context.make_formatter()
    formatter.write_dl([(section, " ".join(names)) for section, names in sections.items()], col_max=20)
    lines += [
        formatter.getvalue().rstrip(),
        "",
        "liqdata --help says what each does, liqdata COMMAND --help what it takes.",
    ]
    sys.stdout.write("\n".join(lines) + "\n")
