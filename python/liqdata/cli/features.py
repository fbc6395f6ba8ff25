"""The command ``features``."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from liqdata.cli.command import Command, option
from liqdata.cli.words import File, Place, Text
from liqdata.text.printable import counted, printable

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["command"]

_PART = 250
"""Number of instants that are computed and stored together."""


def command(name: str, sentence: str) -> Command:
    """Build the command ``features``."""
    parameters: list[click.Parameter] = [
        click.Argument(["archive"], type=Place(), metavar="DIR"),
        option("--coins", metavar="COINS", required=True, help="Coins, such as BTC,ETH."),
        option("--every", metavar="SPAN", required=True, help="Time from one decision to the next, such as 1h."),
        option("--to", type=File(), metavar="FILE", required=True, help="The Parquet file to write."),
        option("--start", metavar="WHEN", help="Only instants from this one on.  [default: the first data]"),
        option("--end", metavar="WHEN", help="Only instants before this one.  [default: the last data]"),
        option("--windows", metavar="SPANS", help="Windows of realised orders.  [default: 1h,24h]"),
        option("--within", metavar="PERCENT", help="Moves of the price.  [default: 1,2,5]"),
        option("--columns", metavar="NAMES", help="Only these columns.  [default: all]"),
        option("--model", type=Text(("2", "3")), metavar="MODEL", help="2 or 3.  [default: 3 where it is fitted]"),
        option("--exchange", metavar="EXCHANGE", help="Only this exchange."),
        option("--latency", metavar="SPAN", help="Delay of your own pipeline, such as 5m.  [default: none]"),
    ]
    made = Command(name, sentence, _features, parameters)
    made.epilog = (
        "DIR is an archive or its address. Finished parts are in FILE.parts until FILE is complete: the same command "
        "continues after an interruption."
    )
    return made


def _features(*, archive: str | Path, coins: str, every: str, to: Path, **given: Any) -> None:
    from liqdata import open

    options = {name: value for name, value in given.items() if value is not None}
    for name in ("windows", "within", "columns"):
        if name in options:
            options[name] = [part.strip() for part in options[name].split(",") if part.strip()]
    if "within" in options:
        options["within"] = [_number(part) for part in options["within"]]
    if "model" in options:
        options["model"] = int(options["model"])
    with open(archive) as market:
        _write(market, coins.split(","), every, to, options)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0  # which the query refuses


def _write(market: Any, coins: list[str], every: str, to: Path, options: dict[str, Any]) -> None:
    """Write the file from parts, of which those that were stored before are not computed again."""
    from liqdata import _core
    from liqdata.calls.progress import bar
    from liqdata.features.question import question
    from liqdata.files.atomic_write import atomic_write

    source = market._source  # noqa: SLF001 - the same package
    if "start" not in options:
        options["start"] = source.core.first
    defaults: dict[str, Any] = {"end": None, "columns": "all", "windows": ("1h", "24h"), "within": (1, 2, 5)}
    defaults |= {"range": "7d", "model": None, "exchange": None, "latency": 0}
    asked = question({"symbols": coins, "at": every, **defaults, **options}).at(source.open_core().now)
    parts = [asked.instants[first : first + _PART] for first in range(0, len(asked.instants), _PART)]
    folder = to.with_name(f"{to.name}.parts")
    folder.mkdir(exist_ok=True)
    about = json.dumps([*asked._replace(instants=[]), asked.instants[:1], every], default=str)
    if not _is_of(folder, about):
        for stale in folder.iterdir():
            stale.unlink()
        (folder / "question.json").write_text(about, encoding="utf-8")
    shown = bar(wanted=find_spec("tqdm") is not None, total=len(asked.instants), what="features", unit=" instants")
    files = []
    for part in parts:
        file = folder / f"{part[0]}-{part[-1]}.json"
        if not file.exists():
            table, _, _ = asked.ask(source.open_core(), part)
            state: Any = table.__reduce__()[1]  # the columns, as pickle stores them
            with atomic_write(file) as unfinished:
                unfinished.write_text(json.dumps(state), encoding="utf-8")
        files.append(file)
        shown.update(len(part))
    shown.close()
    rows = 0
    with atomic_write(to) as unfinished:
        written: _core.ParquetFile | None = None
        for file in files:
            table = _core.Table._restore(*_state(file))  # noqa: SLF001 - as above
            if written is None:
                written = _core.ParquetFile(unfinished, exact=False, table=table)
            written.write(table)
            rows += len(table)
        if written is not None:
            written.close()
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    print(f"wrote {printable(str(to))}: {counted(rows, 'row')}", file=sys.stderr)


def _state(file: Path) -> tuple[list[Any], int]:
    """The columns of a part, as pickle restores them."""
    columns, rows = json.loads(file.read_text(encoding="utf-8"))
    return [
        (name, kind, tuple(cells) if kind == "text" else cells, present) for name, kind, cells, present in columns
    ], rows


def _is_of(folder: Path, about: str) -> bool:
    """Whether the parts in a folder answer the same question."""
    try:
        return (folder / "question.json").read_text(encoding="utf-8") == about
    except OSError:
        return False
