"""The root command, which lists all commands and builds a command when it is used."""

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
    ("liqdata demo", "a simulated market: ten queries, two pictures"),
    ("liqdata coins --demo", "one query; or --url URL, or --archive DIR"),
    ("liqdata fetch --help", "download the past of a coin"),
    ("liqdata collect my-archive", "record liquidations from the exchanges"),
)

# Commands that are not queries, by section of the help text: the module of each command, and what it does.
COMMANDS = {
    "Archives": {
        "fetch": ("fetch", "download public historical data into an archive"),
        "collect": ("commands.collection", "record liquidations from the exchanges into an archive, until Ctrl-C"),
        "record": ("commands.collection", "record what vendors or other servers answer into an archive, until Ctrl-C"),
        "ingest": ("commands.ingest", "import files of historical data into an archive"),
        "verify": ("commands.archive", "check an archive for damaged and missing files"),
        "rebuild": ("commands.rebuild", "decode the recorded frames of an archive again, and correct its orders"),
        "replay": ("commands.replay", "replay an archive: print its orders as they arrived, or serve them"),
        "backup": ("commands.archive", "copy an archive to a folder or object storage, or a backup back"),
        "export": ("commands.archive", "copy the complete days of an archive to object storage"),
        "features": ("features", "write what was known at decision instants as a Parquet file"),
        "score": ("commands.scorecard", "compare the estimates of an archive with realised liquidations"),
        "league": ("commands.scorecard", "commit maps before each period, score them after it, and write a page"),
    },
    "Servers": {
        "serve": ("commands.serve", "serve a market over HTTP until Ctrl-C"),
        "publish": ("commands.archive", "write the page and its answers as files for a static file server"),
        "mcp": ("agents", "answer agents over the Model Context Protocol, on standard input and output"),
        "token": ("commands.serve", "create a token for a server, and the line for its token file"),
    },
    "Tools": {
        "watch": ("commands.alerts", "show cascades live, and call a webhook or a command for large ones"),
        "demo": ("commands.demonstration", "serve a simulated market, send it all ten queries, and write two pictures"),
        "completion": ("completion", "print the shell completion script for commands, options and values"),
    },
}


class Entry(NamedTuple):
    """A command: its section in the help text, what it does, and the function that builds it."""

    section: str
    sentence: str
    make: Callable[[], Command]


def entries() -> dict[str, Entry]:
    """Every command by name: a query for each endpoint, then the other commands."""
    found: dict[str, Entry] = {}
    for name, (sentence, home, extension) in _questions().items():
        section = "Extensions" if extension else "Standard queries"
        found[dashed(name)] = Entry(section, sentence, _lazy(home, name, sentence))
    for section, commands in COMMANDS.items():
        for name, (home, sentence) in commands.items():
            found[name] = Entry(section, sentence, _lazy(home, name, sentence))
    return found


def _questions() -> dict[str, tuple[str, str, bool]]:
    """The meaning and module of each query, and whether it is an extension of the contract."""
    return {
        name: (endpoint.meaning, "commands.stream" if endpoint.reply == "events" else "question", endpoint.extension)
        for name, endpoint in endpoints().items()
        if endpoint.reply != "csv"  # which a command of its own writes
    }


def _lazy(home: str, name: str, sentence: str) -> Callable[[], Command]:
    # The module of a command is imported only when the command is used, so that the menu appears quickly.
    def make() -> Command:
        command: Command = import_module(f".{home}", __package__).command(name, sentence)
        return command

    return make


class Menu(click.Group):
    """The command ``liqdata``."""

    def __init__(self) -> None:
        super().__init__(
            "liqdata",
            help="Crypto liquidation data: totals, orders, and estimates of future liquidations.",
            epilog="Without --url, --archive or --demo a query goes to $LIQDATA_BASE_URL.",
            invoke_without_command=True,
            no_args_is_help=False,
            callback=_show_overview,
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
        """Parse the arguments; ``help COMMAND`` means ``COMMAND --help``."""
        if args[:1] == ["help"] and not ctx.resilient_parsing:
            args = [*args[1:2], "--help"]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the names of all commands, in the order of the help text."""
        del ctx
        return list(self._entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Build the command of this name."""
        del ctx
        entry = self._entries.get(dashed(cmd_name))
        return None if entry is None else entry.make()

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; the error for an unknown name suggests similar ones."""
        word = args[0]
        if not word.startswith("-") and dashed(word) not in self._entries and not ctx.resilient_parsing:
            near = get_close_matches(dashed(word), self._entries, n=3, cutoff=0.5)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise click.UsageError(f"{word!r} is not a command{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands into the help text, by section."""
        del ctx
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, entry in self._entries.items():
            sections.setdefault(entry.section, []).append((name, entry.sentence))
        widest = max(map(len, self._entries))
        for section, rows in sections.items():
            with formatter.section(section):
                formatter.write_dl([(name.ljust(widest), sentence) for name, sentence in rows])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Complete a command name without building the command."""
        from click.shell_completion import CompletionItem

        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        begun = dashed(incomplete)
        return [
            CompletionItem(name, help=entry.sentence) for name, entry in self._entries.items() if name.startswith(begun)
        ]


def _version(context: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001 - signature required by click
    if value and not context.resilient_parsing:
        from liqdata import __version__

        click.echo(f"liqdata {__version__}")
        context.exit()


@click.pass_context
def _show_overview(context: click.Context) -> None:
    """Show examples and all command names if no command is given."""
    if context.invoked_subcommand is not None:
        return
    sections: dict[str, list[str]] = {}
    for name, entry in entries().items():
        sections.setdefault(entry.section, []).append(name)
    widest = max(len(example) for example, _ in EXAMPLES)
    lines = ["Crypto liquidation data: realised totals, orders and estimates.", ""]
    lines += [f"  {example.ljust(widest)}   {meaning}" for example, meaning in EXAMPLES]
    lines += [""]
    formatter = context.make_formatter()
    formatter.write_dl([(section, " ".join(names)) for section, names in sections.items()], col_max=20)
    lines += [
        formatter.getvalue().rstrip(),
        "",
        "liqdata --help describes each command, liqdata COMMAND --help its options.",
    ]
    sys.stdout.write("\n".join(lines) + "\n")
