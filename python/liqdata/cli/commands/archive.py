"""The commands ``verify``, ``backup``, ``export`` and ``publish``."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from liqdata.cli import source
from liqdata.cli.command import Command, flag, option
from liqdata.cli.words import Folder, Names
from liqdata.text.printable import counted, printable

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["command"]

TABLES = ("orders", "bars", "open_interest", "maps", "positions", "totals")


def command(name: str, sentence: str) -> Command:
    """Build the command ``verify``, ``backup``, ``export`` or ``publish``."""
    if name == "publish":
        return _publication(name, sentence)
    folder = click.Argument(["archive"], type=Folder(), metavar="DIR")
    as_json = flag("--json", help="Print JSON.")
    if name == "backup":
        places = [click.Argument([one], metavar=metavar) for one, metavar in (("source", "DIR"), ("target", "TARGET"))]
        made = Command(name, sentence, _backup, [*places, as_json])
        made.epilog = (
            "TARGET is a folder or an address for this archive only, such as s3://bucket/prefix. Only files that it "
            "lacks are copied. To restore a backup, name it first and a new folder second."
        )
        return made
    if name == "verify":
        repair = flag(
            "--repair",
            help="Move damaged files to the folder `damaged`, and list the others again if the journal is lost.",
        )
        return Command(name, sentence, _verify, [folder, repair, as_json])
    made = Command(
        name,
        sentence,
        _export,
        [
            folder,
            click.Argument(["url"], metavar="URL"),
            option("--start", metavar="DAY", help="Only days that start at this instant or later."),
            option("--end", metavar="DAY", help="Only days that start before this instant."),
            option(
                "--tables",
                type=Names(TABLES),
                metavar="NAMES",
                help="Tables to export; maps, positions and totals are possible.  [default: orders,bars,open_interest]",
            ),
            option(
                "--iceberg",
                metavar="CATALOG",
                help="Register the files in an Iceberg catalog: a name, NAME.NAMESPACE, or an address.",
            ),
            as_json,
        ],
    )
    made.epilog = "URL is a folder or an address for this archive only, such as s3://bucket/prefix."
    return made


def _publication(name: str, sentence: str) -> Command:
    """Build the command ``publish``."""
    made = Command(
        name,
        sentence,
        _publish,
        [
            click.Argument(["target"], metavar="URL"),
            option("--coins", type=Names(), metavar="COINS", help="Coins, such as BTC,ETH.  [default: all]"),
            option(
                "--stream",
                metavar="URL",
                help="Address of the server with live rows, which the browsers of the readers can reach.  "
                "[default: no live rows]",
            ),
            flag("--once", help="End after one publication."),
            *source.options(),
        ],
    )
    made.epilog = (
        "URL is a folder or an address for this page only, such as s3://bucket/prefix. Without --url, --archive or "
        "--demo the answers are those of $LIQDATA_BASE_URL."
    )
    return made


def _publish(*, target: str, coins: list[str] | None, stream: str | None, once: bool, **given: Any) -> None:
    from liqdata.cli.output.publication import publish

    names = None if coins is None else [coin.upper() for coin in coins]
    publish(source.taken(given), target, coins=names, stream=stream, once=once)


def _verify(*, archive: Path, repair: bool, json: bool) -> None:
    from liqdata.archive import verify

    found = verify(archive, repair=repair, progress=_bar())
    if json:
        print(_json(list(found)))
    elif len(found):
        for row in found:
            done = ""
            if row["repaired"]:
                in_place = row["holds"] == "journal"
                done = ", replaced" if in_place else ", moved to the folder `damaged` and recorded as a gap"
            print(f"{printable(row['file'])}: {row['problem']}{done}: {printable(row['detail'])}")
    else:
        print(f"{printable(str(archive))} has no damage")
    if any(row["problem"] != "unexpected" and not row["repaired"] for row in found):
        click.get_current_context().exit(1)


def _backup(*, source: str, target: str, json: bool) -> None:
    from liqdata.archive import backup

    done = backup(source, target, progress=_bar())
    if json:
        print(_json({**asdict(done), "taken_at": done.taken_at.isoformat()}))
        return
    files, rows = counted(done.files, "file"), counted(done.rows, "row")
    at = f"{done.taken_at:%Y-%m-%dT%H:%M:%SZ}"
    print(f"{printable(done.target)} has the archive as of {at}: {files}, {rows}")
    print(f"{done.sent:,} of them {'was' if done.sent == 1 else 'were'} copied: {counted(done.sent_bytes, 'byte')}")


def _export(
    *,
    archive: Path,
    url: str,
    json: bool,
    tables: list[Any] | None,
    start: str | None,
    end: str | None,
    iceberg: str | None,
) -> None:
    from liqdata import open

    given: dict[str, Any] = {} if tables is None else {"tables": tables}
    with open(archive) as market:
        done = market.export(url, start=start, end=end, **given, iceberg=iceberg, progress=_bar())
    if not done.files and not done.journaled and tables is None and (others := _others(archive)):
        # Without this hint, an export without files would look like a success.
        named = f"--tables {','.join(others)}"
        print(f"the archive has only {' and '.join(others)}; export with {named}", file=sys.stderr)
    if json:
        print(_json({**asdict(done), "until": done.until.isoformat()}))
        return
    files, rows = counted(done.files, "file"), counted(done.rows, "row")
    print(f"{printable(done.url)} has {files} of days until {done.until:%Y-%m-%d}: {rows}")
    print(f"{done.sent:,} of them {'is' if done.sent == 1 else 'are'} new: {counted(done.sent_bytes, 'byte')}")
    if iceberg is not None:
        print(f"{printable(iceberg)}: {counted(done.registered, 'file')} registered, {done.dropped:,} dropped")
    if done.journaled:
        verb = "is" if done.journaled == 1 else "are"
        print(f"{counted(done.journaled, 'row')} {verb} exported in the journal, not in a file", file=sys.stderr)


def _others(archive: Path) -> list[str]:
    """The tables that have files in the archive and that an export omits by default."""
    from liqdata import _core
    from liqdata.cloud.manifest import manifest_of

    tables = {file.holds for file in manifest_of(_core.archive_lists(str(archive))).files}
    return sorted(tables & {"maps", "positions", "totals"})


def _json(value: object) -> str:
    return json.dumps(value, indent=2)


def _bar() -> bool:
    """Whether tqdm is installed to draw a progress bar."""
    return find_spec("tqdm") is not None
