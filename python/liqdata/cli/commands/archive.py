"""What is done to an archive, as commands: holding it against what was written, bringing it to object storage."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from liqdata.cli.command import Command, flag, option
from liqdata.cli.words import Folder, Names
from liqdata.text.printable import counted, printable

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["command"]

TABLES = ("orders", "bars", "open_interest", "maps", "positions")


def command(name: str, sentence: str) -> Command:
    """The commands ``verify`` and ``export``."""
    folder = click.Argument(["archive"], type=Folder(), metavar="DIR")
    as_json = flag("--json", help="Print JSON.")
    if name == "verify":
        repair = flag("--repair", help="Set aside what is damaged, and record what is missing as gaps.")
        return Command(name, sentence, _verify, [folder, repair, as_json])
    made = Command(
        name,
        sentence,
        _export,
        [
            folder,
            click.Argument(["url"], metavar="URL"),
            option("--start", metavar="DAY", help="Only days from the one that begins at this instant."),
            option("--end", metavar="DAY", help="Only days before the one that begins at this instant."),
            option(
                "--tables",
                type=Names(TABLES),
                metavar="NAMES",
                help="What to export; maps and positions, too.  [default: orders,bars,open_interest]",
            ),
            as_json,
        ],
    )
    made.epilog = "URL is a folder or an address that is this archive's alone, such as s3://bucket/prefix."
    return made


def _verify(*, archive: Path, repair: bool, json: bool) -> None:
    from liqdata.archive import verify

    found = verify(archive, repair=repair, progress=_bar())
    if json:
        print(_json(list(found)))
    elif len(found):
        for row in found:
            done = ", out of use and on record as missing" if row["repaired"] else ""
            print(f"{printable(row['file'])}: {row['problem']}{done}: {printable(row['detail'])}")
    else:
        print(f"{printable(str(archive))} is as it was written")
    if any(row["problem"] != "unexpected" and not row["repaired"] for row in found):
        click.get_current_context().exit(1)


def _export(
    *, archive: Path, url: str, json: bool, tables: list[Any] | None, start: str | None, end: str | None
) -> None:
    from liqdata import open

    given: dict[str, Any] = {} if tables is None else {"tables": tables}
    with open(archive) as market:
        done = market.export(url, start=start, end=end, **given, progress=_bar())
    if not done.files and not done.journaled and tables is None and (others := _others(archive)):
        # Nobody would look for a mistake in an export that says it was done.
        named = f"--tables {','.join(others)}"
        print(f"the archive has {' and '.join(others)} alone, which are exported with {named}", file=sys.stderr)
    if json:
        print(_json({**asdict(done), "until": done.until.isoformat()}))
        return
    files, rows = counted(done.files, "file"), counted(done.rows, "row")
    print(f"{printable(done.url)} has {files} of days until {done.until:%Y-%m-%d}: {rows}")
    print(f"{done.sent:,} of them {'is' if done.sent == 1 else 'are'} new: {counted(done.sent_bytes, 'byte')}")
    if done.journaled:
        beside = "lies in no file yet; it" if done.journaled == 1 else "lie in no file yet; they"
        print(f"{counted(done.journaled, 'row')} {beside} went along in the journal", file=sys.stderr)


def _others(archive: Path) -> list[str]:
    """The tables an archive has files of that an export leaves out unless it is told."""
    from liqdata import _core
    from liqdata.cloud.manifest import manifest_of

    return sorted({file.holds for file in manifest_of(_core.archive_lists(str(archive))).files} & {"maps", "positions"})


def _json(told: object) -> str:
    return json.dumps(told, indent=2)


def _bar() -> bool:
    """Whether a bar can be drawn; where standard error is no terminal, none is."""
    return find_spec("tqdm") is not None
