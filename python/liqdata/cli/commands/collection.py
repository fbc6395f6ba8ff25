"""The command ``collect`` and its options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from liqdata.cli.command import Command, flag, option
from liqdata.cli.words import File, Folder, Names
from liqdata.errors import BadQuery
from liqdata.files.safe_open import read_text

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["command", "options", "plan"]


def command(name: str, sentence: str) -> Command:
    """Build the command ``collect``."""
    folder = click.Argument(["archive"], type=Folder(), metavar="DIR")
    once = flag("--once", help="Backfill once and stop.")
    return Command(name, sentence, _collect, [folder, once, *options()])


def options() -> list[click.Parameter]:
    """The options that select what to collect."""
    return [
        flag("--positions", help="Also poll the positions of the largest and most active Hyperliquid accounts."),
        option(
            "--exchanges",
            type=Names(),
            metavar="NAMES",
            help="Exchanges to collect, such as binance,bybit.  [default: all]",
        ),
        option(
            "--coins", type=Names(), metavar="COINS", help="Coins to collect, such as BTC,ETH.  [default: all orders]"
        ),
        option("--settings", type=File(), metavar="FILE", help="Hosts, paths and intervals of the collector, as TOML."),
    ]


def plan(exchanges: list[str] | None, coins: list[str] | None, settings: Path | None) -> dict[str, Any]:
    """The arguments of the collector for these options."""
    return {"exchanges": exchanges or [], "coins": coins or [], "settings": "" if settings is None else _read(settings)}


def _collect(
    *,
    archive: Path,
    once: bool,
    positions: bool,
    exchanges: list[str] | None,
    coins: list[str] | None,
    settings: Path | None,
) -> None:
    from liqdata.cli.output.collect_screen import collect

    if positions and once:
        msg = "positions: past positions are not available; allowed: --positions without --once"
        raise BadQuery(msg, parameter="positions")
    collect(archive, **plan(exchanges, coins, settings), once=once, positions=positions)


def _read(file: Path) -> str:
    try:
        return read_text(file)
    except OSError as error:
        msg = f"settings: {file} cannot be read: {error.strerror}; allowed: a file of TOML"
        raise BadQuery(msg, parameter="settings") from None
    except UnicodeDecodeError as error:
        raise BadQuery(
            f"settings: {file} is not UTF-8 from byte {error.start}; allowed: TOML in UTF-8", parameter="settings"
        ) from None
