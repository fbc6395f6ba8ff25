"""The command ``ingest``: import files of historical data."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from liqdata.calls.progress import delayed_bar
from liqdata.cli.command import Command, flag, option
from liqdata.cli.words import Folder
from liqdata.errors import BadQuery
from liqdata.text.printable import printable

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["command"]


def command(name: str, sentence: str) -> Command:
    """Build the command ``ingest``."""
    made = Command(
        name,
        sentence,
        _ingest,
        [
            click.Argument(["archive"], type=Folder(), metavar="DIR"),
            click.Argument(["files"], nargs=-1, required=True, metavar="FILES"),
            option("--format", metavar="NAME", help="Format of the files.  [default: detected from name and columns]"),
            option("--exchange", metavar="NAME", help="Exchange of rows that do not name one."),
            flag("--new-exchange", help="Accept an unknown exchange; refused by default."),
            option("--source", metavar="TEXT", help="Origin of the files, as free text."),
            flag("--json", help="Print JSON."),
        ],
    )
    made.epilog = (
        "FILES are CSV, JSON, Parquet, Feather or Arrow, plain, packed by gzip, zstd, xz or bzip2, or in a zip; - is "
        "the standard input. DIR is created if it is missing; its parent folder must exist."
    )
    return made


def _ingest(
    *,
    archive: Path,
    files: tuple[str, ...],
    format: str | None,
    exchange: str | None,
    new_exchange: bool,
    source: str | None,
    json: bool,
) -> None:
    from liqdata import ingest

    shown = delayed_bar("ingest", " rows")
    try:
        asked = {"format": format, "exchange": exchange, "source": source}
        done = ingest(archive, *files, **asked, new_exchange=new_exchange, progress=shown)
    except KeyboardInterrupt as interrupted:
        for note in getattr(interrupted, "__notes__", ()):
            click.echo(note, err=True)
        raise
    except BadQuery as error:
        raise BadQuery(_as_options(str(error)), parameter=error.parameter) from None
    if json:
        print(_json(asdict(done)))
    else:
        for file, taken in done.files.items():
            print(printable(f"{file}: {taken}"))
        print(done)
    if done.cut_short or (done.rows and done.rows == sum(done.refused.values())):
        click.get_current_context().exit(1)


def _as_options(text: str) -> str:
    """Replace argument names by option names: ``give exchange=`` becomes ``give --exchange``."""
    return re.sub(r'give (\w+)=("?)(\w*)\2', lambda found: f"give --{found[1]} {found[3]}".rstrip(), text)


def _json(value: object) -> str:
    return json.dumps(value, indent=2)
