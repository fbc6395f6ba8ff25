"""The commands ``collect`` and ``record``, and their options."""

from __future__ import annotations

import json
import tomllib
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from liqdata.cli.command import Command, flag, option
from liqdata.cli.words import File, Folder, Names, OneOf, Text
from liqdata.errors import BadQuery
from liqdata.files.safe_open import read_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["command", "log_format", "options", "plan"]

RETAINED = ("orders", "bars", "open_interest", "positions", "maps", "raw")
"""Tables, and raw frames, that the retention may limit."""

RETAINED = ("orders", "bars", "open_interest", "positions", "maps", "raw")
"""Tables, and raw frames, that the retention may limit."""


def command(name: str, sentence: str) -> Command:
    """Build the command ``collect`` or ``record``."""
    folder = click.Argument(["archive"], type=Folder(), metavar="DIR")
    if name == "record":
        return Command(name, sentence, _record, [folder, *_recorded()])
    once = flag("--once", help="Backfill once and stop.")
    publish = option(
        "--publish", metavar="URL", help="Publish the stored rows to NATS JetStream, such as nats://10.0.0.1:4222."
    )
    return Command(name, sentence, _collect, [folder, once, publish, *options(), log_format()])


def log_format() -> click.Parameter:
    """The option for the form of all messages; :func:`liqdata.cli.logs.log_to_stderr` reads it."""
    return option(
        "--log-format",
        type=OneOf(("text", "json")),
        metavar="text|json",
        default="text",
        expose_value=False,
        help="Format of log records and messages; json writes all of them to standard error.  [default: text]",
    )


def options() -> list[click.Parameter]:
    """The options that select what to collect."""
    return [
        flag("--positions", help="Also poll the positions of the largest and most active Hyperliquid accounts."),
        option(
            "--exchanges",
            type=Names(),
            metavar="NAMES",
            help="Exchanges to collect, such as binance,bybit.  [default: all but hyperliquid]",
        ),
        option(
            "--coins", type=Names(), metavar="COINS", help="Coins to collect, such as BTC,ETH.  [default: all orders]"
        ),
        option("--settings", type=File(), metavar="FILE", help="Hosts, paths and intervals of the collector, as TOML."),
        option(
            "--retention",
            type=Text([f"{table}=" for table in RETAINED]),
            metavar="TABLE=DAYS",
            multiple=True,
            help="Delete the rows of a table after so many days; repeatable. TABLE is orders, bars, open_interest, "
            "positions, maps, or raw for raw frames.  [default: maps=30, raw=30, others for ever]",
        ),
    ]


def _recorded() -> list[click.Parameter]:
    return [
        option(
            "--from",
            "sources",
            type=Text(("coinglass", "coinank", "hyblock", "datamaxi")),
            metavar="SOURCE",
            multiple=True,
            required=True,
            help="A vendor, such as coinglass (its key is in the environment), or the URL of a liqdata server; may be "
            "repeated.",
        ),
        option("--symbols", type=Names(), metavar="COINS", help="Coins, such as BTC,ETH.  [default: BTC]"),
        option(
            "--every", type=Text(), default="5m", show_default=True, metavar="TIME", help="Time between two rounds."
        ),
    ]


def plan(
    exchanges: list[str] | None,
    coins: list[str] | None,
    settings: Path | None,
    retention: Sequence[str] = (),
    maps: Sequence[str] = (),
) -> dict[str, Any]:
    """The arguments of the collector for these options, which take precedence over the file of settings."""
    text = "" if settings is None else _read(settings)
    given: dict[str, Any] = dict(map(_days, retention)) | ({"maps": list(maps)} if maps else {})
    if given:
        with suppress(tomllib.TOMLDecodeError, TypeError):  # the collector names the mistake in the file
            text = json.dumps(tomllib.loads(text) | given)
    return {"exchanges": exchanges or [], "coins": coins or [], "settings": text}


def _days(text: str) -> tuple[str, int]:
    """The setting for an option such as ``orders=365``."""
    table, _, days = text.partition("=")
    table = table.strip().replace("-", "_")
    if table not in RETAINED or not days.strip().isdecimal():
        named = ", ".join(RETAINED)
        msg = f"retention: {text!r} is not allowed; allowed: TABLE=DAYS, where TABLE is one of {named}"
        raise BadQuery(msg, parameter="retention")
    return f"{table}_days", int(days)


def _collect(
    *,
    archive: Path,
    once: bool,
    publish: str | None,
    positions: bool,
    exchanges: list[str] | None,
    coins: list[str] | None,
    settings: Path | None,
    retention: tuple[str, ...],
) -> None:
    from liqdata.cli.output.collect_screen import collect
    from liqdata.messaging.stream import checked_url

    if positions and once:
        msg = "positions: past positions are not available; allowed: --positions without --once"
        raise BadQuery(msg, parameter="positions")
    server = None if publish is None else checked_url(publish, "publish")
    collect(archive, **plan(exchanges, coins, settings, retention), once=once, positions=positions, publish=server)


def _record(*, archive: Path, sources: tuple[str, ...], symbols: list[str] | None, every: str) -> None:
    from liqdata.cli.output.record_line import record

    record(archive, list(sources), symbols or ["BTC"], every)


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
