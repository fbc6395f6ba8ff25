"""The command ``ingest``: import files of historical data."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from liqdata.calls.progress import delayed_bar
from liqdata.cli.command import Command, flag, option
from liqdata.cli.words import Folder
from liqdata.errors import BadQuery
from liqdata.text.printable import counted, printable

if TYPE_CHECKING:
    from pathlib import Path

    from liqdata.archive import Ingested
    from liqdata.types import IngestRow, UndoRow

__all__ = ["command"]


def command(name: str, sentence: str) -> Command:
    """Build the command ``ingest``."""
    made = Command(
        name,
        sentence,
        _ingest,
        [
            click.Argument(["archive"], type=Folder(), metavar="DIR"),
            click.Argument(["files"], nargs=-1, metavar="FILES"),
            option("--format", metavar="NAME", help="Format of the files.  [default: detected from name and columns]"),
            option("--exchange", metavar="NAME", help="Exchange of rows that do not name one."),
            flag("--new-exchange", help="Accept an unknown exchange; refused by default."),
            option("--contract-size", metavar="NUMBER", help="Size of one contract, if amounts count contracts."),
            option("--quote-rates", metavar="RATES", help="USD per unit of other quotes, such as EUR=1.08,KRW=0.0007."),
            option("--source", metavar="TEXT", help="Origin of the files, as free text."),
            option(
                "--subscribe",
                metavar="URL",
                help="Store what `collect --publish` publishes to NATS JetStream, until Ctrl-C.",
            ),
            flag("--list", help="List the ingests of DIR, with their ids."),
            option("--undo", metavar="ID", help="Undo an ingest, and list the ingests to run again."),
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
    contract_size: str | None,
    quote_rates: str | None,
    source: str | None,
    subscribe: str | None,
    list: bool,
    undo: str | None,
    json: bool,
) -> None:
    from liqdata import ingest

    if subscribe is not None:
        _refuse_others(files, list=list, undo=undo)
        _subscribe(archive, subscribe, source, json=json)
        return
    if list or undo is not None:
        _manage(archive, files, list=list, undo=undo, json=json)
        return
    if not files:
        raise click.MissingParameter(param_hint="'FILES'", param_type="argument")
    shown = delayed_bar("ingest", " rows")
    try:
        done = ingest(
            archive,
            *files,
            format=format,
            exchange=exchange,
            new_exchange=new_exchange,
            contract_size=contract_size,
            quote_rates=_rates(quote_rates),
            source=source,
            progress=shown,
        )
    except KeyboardInterrupt as interrupted:
        for note in getattr(interrupted, "__notes__", ()):
            click.echo(note, err=True)
        raise
    except BadQuery as error:
        raise BadQuery(_as_options(str(error)), parameter=error.parameter) from None
    _print(done, json=json)
    if done.cut_short or (done.rows and done.rows == sum(done.refused.values())):
        click.get_current_context().exit(1)


def _print(done: Ingested, *, json: bool) -> None:
    if json:
        print(_json(asdict(done)))
        return
    for file, taken in done.files.items():
        print(printable(f"{file}: {taken}"))
    print(done)


def _refuse_others(files: tuple[str, ...], *, list: bool, undo: str | None) -> None:
    if files or list or undo is not None:
        message = "--subscribe takes neither FILES nor --list nor --undo; allowed: --source and --json with it"
        raise click.UsageError(message)


def _subscribe(archive: Path, url: str, source: str | None, *, json: bool) -> None:
    """Store the rows of a stream until SIGINT or SIGTERM."""
    from liqdata.cli.output.collect_screen import stop_signal
    from liqdata.messaging.stream import checked_url
    from liqdata.messaging.subscriber import subscribe

    server = checked_url(url, "subscribe")
    with stop_signal() as enough:
        print(f"rows of the stream go to {archive}; Ctrl-C ends it", file=sys.stderr, flush=True)
        done = subscribe(str(archive), server, source=source, is_over=enough.is_set)
    _print(done, json=json)


def _rates(text: str | None) -> dict[str, str] | None:
    if text is None:
        return None
    pairs = [part.partition("=") for part in text.split(",")]
    return {quote.strip(): rate.strip() for quote, _, rate in pairs}


def _manage(archive: Path, files: tuple[str, ...], *, list: bool, undo: str | None, json: bool) -> None:
    given = {"--list": list, "--undo": undo is not None, "FILES": bool(files)}
    named = [name for name, is_given in given.items() if is_given]
    if len(named) > 1:
        message = f"{' and '.join(named)} do not go together; allowed: one of --list, --undo ID and FILES"
        raise click.UsageError(message)
    if undo is None:
        _print_ingests(archive, json=json)
    else:
        _undo(archive, undo, json=json)


def _print_ingests(archive: Path, *, json: bool) -> None:
    from liqdata.archive import ingests

    rows = ingests(archive)
    if json:
        print(_json([*rows]))
        return
    for row in rows:
        tables = {name: row[name] for name in ("orders", "bars", "open_interest", "positions", "totals")}
        counts = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in tables.items() if count)
        at = datetime.fromtimestamp(row["received_at"] / 1000, UTC).isoformat(" ", "seconds")
        undone = "" if row["undone"] is None else "  undone"
        print(printable(f"{row['id']}  {at}  {counts or 'no new rows'}  ({_origin(row)}){undone}"))


def _undo(archive: Path, id: str, *, json: bool) -> None:
    from liqdata.archive import undo

    rows = undo(archive, id)
    if json:
        print(_json([*rows]))
        return
    for row in rows:
        if row["undone"] is not None:
            print(printable(f"undone: {row['id']} ({_origin(row)}), {counted(row['rows'], 'row')}"))
        else:
            repeated = counted(row["run_again"], "row")
            print(printable(f"run again: {row['id']} ({_origin(row)}), which repeated {repeated} of the undone ingest"))


def _origin(row: IngestRow | UndoRow) -> str:
    return ", ".join(filter(None, [row["source"], *row["files"].split("\n")])) or "tables"


def _as_options(text: str) -> str:
    """Replace argument names by option names: ``give exchange=`` becomes ``give --exchange``."""
    return re.sub(r'give (\w+)=("?)(\w*)\2', lambda found: f"give --{found[1]} {found[3]}".rstrip(), text)


def _json(value: object) -> str:
    return json.dumps(value, indent=2)
