"""The command ``fetch``: download public historical data into an archive."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Any

import click

from liqdata.calls.progress import delayed_bar
from liqdata.cli.command import Command, flag, option
from liqdata.cli.words import File, Folder, Names, Text
from liqdata.errors import BadQuery
from liqdata.files.safe_open import read_text
from liqdata.results.rows import Rows

if TYPE_CHECKING:
    from pathlib import Path

    from liqdata.archive import Fetched

__all__ = ["command"]


def command(name: str, sentence: str) -> Command:
    """Build the command ``fetch``."""
    made = Command(
        name,
        sentence,
        _fetch,
        [
            click.Argument(["archive"], type=Folder(), metavar="DIR"),
            option("--coins", type=Names(), metavar="COINS", required=True, help="Coins to fetch, such as BTC,ETH."),
            option(
                "--start",
                type=Text(("-1y", "-6M", "-30d")),
                metavar="DAY",
                required=True,
                help="First day (UTC), or a time before now, such as -1y, -6M or -30d.",
            ),
            option("--end", type=Text(), metavar="DAY", help="End, not included.  [default: the start of today]"),
            option("--sources", type=Names(), metavar="NAMES", help="Sources to fetch from.  [default: all]"),
            option("--settings", type=File(), metavar="FILE", help="TOML with mirrors, each as [fetch.NAME]."),
            option(
                "--pay",
                type=float,
                default=0.0,
                metavar="USD",
                help="Most that buckets may cost of which the downloader pays the traffic.  [default: 0]",
            ),
            flag("--keep", help="Keep the downloaded files in the folder `downloads` of DIR."),
            flag("--dry-run", help="Only print the plan: files, bytes, time, USD, and what will be known."),
            flag("--json", help="Print JSON."),
        ],
    )
    made.epilog = (
        "DIR is created if it is missing. Run the command again to go on after an interruption, or to fetch new days. "
        "A mirror in the settings has `like` (a source with the same layout) and `address`. Keys are read from "
        "$CRYPTOHFTDATA_API_KEY, $TARDIS_API_KEY, $COINALYZE_API_KEY and, with --pay, from AWS_ACCESS_KEY_ID and its "
        "like."
    )
    return made


def _fetch(
    *,
    archive: Path,
    coins: list[str],
    start: str,
    end: str | None,
    sources: list[str] | None,
    settings: Path | None,
    pay: float,
    keep: bool,
    dry_run: bool,
    json: bool,
) -> None:
    from liqdata import fetch

    try:
        done = fetch(
            archive,
            coins=coins,
            start=start,
            end=end,
            sources=_sources(sources, settings),
            pay=pay,
            keep=keep,
            dry_run=dry_run,
            progress=delayed_bar("fetch", "B"),
        )
    except KeyboardInterrupt as interrupted:
        for note in getattr(interrupted, "__notes__", ()):
            click.echo(note, err=True)
        raise
    print(_json(done) if json else done)
    if not done.plan and done.resumable:
        click.get_current_context().exit(1)


def _sources(names: list[str] | None, settings: Path | None) -> Any:
    """The named sources, or all, with those that the settings describe."""
    if settings is None:
        return names
    from liqdata.fetching.sources import built_in

    try:
        given = tomllib.loads(read_text(settings)).get("fetch", {})
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        msg = f"settings: {settings} cannot be read: {why}; allowed: a file of TOML in UTF-8 with [fetch.NAME]"
        raise BadQuery(msg, parameter="settings") from None
    every = {name: {} for name in built_in()} | given
    return every if names is None else {name: every.get(name, {}) for name in names}


def _json(done: Fetched) -> str:
    shown = {name: value.to_dicts() if isinstance(value, Rows) else value for name, value in vars(done).items()}
    return json.dumps(shown, indent=2)
