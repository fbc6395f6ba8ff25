"""The command ``rebuild``: decode recorded frames again."""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib.util import find_spec
from typing import TYPE_CHECKING

import click

from liqdata.cli.command import Command, flag, option
from liqdata.cli.words import Folder, Names
from liqdata.errors import BadQuery

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["command"]


def command(name: str, sentence: str) -> Command:
    """Build the command ``rebuild``."""
    return Command(
        name,
        sentence,
        _rebuild,
        [
            click.Argument(["archive"], type=Folder(), metavar="DIR"),
            option("--from", "start", metavar="WHEN", help="Only frames received from this instant on."),
            option("--to", "end", metavar="WHEN", help="Only frames received before this instant."),
            option(
                "--exchanges", type=Names(), metavar="NAMES", help="Exchanges, such as binance,bybit.  [default: all]"
            ),
            flag("--dry-run", help="Print the changes without making them."),
            flag("--json", help="Print JSON."),
        ],
    )


def _rebuild(
    *, archive: Path, start: str | None, end: str | None, exchanges: list[str] | None, dry_run: bool, json: bool
) -> None:
    from liqdata.archive import rebuild

    shown = find_spec("tqdm") is not None
    try:
        done = rebuild(archive, start=start, end=end, exchange=exchanges, dry_run=dry_run, progress=shown)
    except BadQuery as error:
        option = {"start": "from", "end": "to", "exchange": "exchanges"}.get(error.parameter or "")
        what, colon, why = str(error).partition(":")
        if option is None or what != error.parameter:
            raise
        raise BadQuery(option + colon + why, parameter=option) from None
    print(_json(asdict(done)) if json else done)


def _json(value: object) -> str:
    return json.dumps(value, indent=2)
