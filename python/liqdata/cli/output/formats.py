"""How an answer is wanted, and writing it so: a table, JSON, CSV, Parquet or a picture."""

from __future__ import annotations

import csv
import json
import math
import sys
from datetime import UTC, datetime
from decimal import Decimal
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from liqdata import plot
from liqdata.calls.arguments import datetime_of
from liqdata.cli.command import flag, option
from liqdata.cli.mistakes import lacking, refuse
from liqdata.cli.words import File, Seconds
from liqdata.files.atomic_write import atomic_write
from liqdata.frames.import_order import pandas_first
from liqdata.text.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    import click

    from liqdata.cli.asked import Asked
    from liqdata.cli.source import Told
    from liqdata.rows import Rows

__all__ = ["Form", "as_csv", "as_json", "options", "taken", "write"]

SECTION = "The answer"


class Form(NamedTuple):
    """How an answer is wanted."""

    json: bool
    csv: bool
    parquet: Path | None
    png: Path | None
    watch: float | None

    @property
    def table(self) -> bool:
        """Whether it is wanted as a table."""
        return not (self.json or self.csv or self.parquet or self.png)


def options(name: str) -> list[click.Parameter]:
    """The options of a question."""
    made: list[click.Parameter] = [
        flag("--json", help="Print JSON, exact amounts as text.", section=SECTION),
        flag("--csv", help="Print CSV.", section=SECTION),
        option("--parquet", type=File(), metavar="FILE", help="Write Parquet (pyarrow or polars).", section=SECTION),
    ]
    if name in plot.__all__:
        made.append(option("--png", type=File(), metavar="FILE", help="Write a picture (matplotlib).", section=SECTION))
    made.append(
        option(
            "--watch",
            type=Seconds(),
            metavar="SECONDS",
            help="Ask again every so many seconds, until Ctrl-C: in place on a terminal, one answer below the other "
            "elsewhere.",
            section=SECTION,
        )
    )
    return made


def taken(given: dict[str, Any]) -> Form:
    """Take the options of :func:`options` out of what was given."""
    form = Form(*(given.pop(name, None) for name in Form._fields))
    named = [f"--{name}" for name in ("json", "csv", "parquet", "png") if getattr(form, name)]
    if len(named) > 1:
        refuse(f"output: {' and '.join(named)} are given; allowed: one of them", "output")
    if form.watch is not None and not (form.table or form.json):
        refuse(f"watch: one answer follows another, which {named[0]} is not for; allowed: a table, or --json", "watch")
    if form.png is not None and form.png.suffix.lower() not in {"", ".png"}:
        refuse(f"png: {str(form.png)!r} is not the name of a PNG; allowed: a name that ends in .png", "png")
    if form.png is not None and find_spec("matplotlib") is None:
        lacking("--png", "matplotlib", "plot")
    for name, file in (("parquet", form.parquet), ("png", form.png)):
        if file is not None:
            _to_be_written(name, file)
    return form


def _to_be_written(name: str, file: Path) -> None:
    """Say before anybody is asked that a file cannot be where it is wanted."""
    if file.is_dir():
        raise OSError(f"{name}: {file} is a folder; allowed: the path of a file")
    if not file.parent.is_dir():
        raise OSError(f"{name}: there is no folder {file.parent} for {file.name}; allowed: a file in one that is there")


def write(asked: Asked, answer: Any, told: Told, of: Any) -> None:
    """Write an answer as it is wanted.

    Parameters
    ----------
    asked : Asked
        The question.
    answer
        What its method returned.
    told : Told
        Where it came from.
    of
        Who was asked.
    """
    form = asked.form
    if form.table:
        from . import layout, table

        layout.show(table.sheet(asked, answer, told))
        return
    if form.json:
        as_json(plain(answer))
    elif form.csv:
        as_csv(*_flat(asked.name, answer))
    elif form.parquet is not None:
        with atomic_write(form.parquet) as unfinished:
            _parquet(asked.name, answer, unfinished)
        print(f"wrote {form.parquet}", file=sys.stderr)
    elif form.png is not None:
        with atomic_write(form.png) as unfinished:
            plot.picture(answer, price=_price(asked, answer, of)).savefig(unfinished, format="png")
        print(f"wrote {form.png}", file=sys.stderr)
    if told.simulated and not asked.source.demo:
        print("simulated market", file=sys.stderr)


def _price(asked: Asked, answer: Any, of: Any) -> Any:
    """The price to draw over a heatmap: only a market in this process knows it beside the estimate."""
    if asked.name != "heatmap" or not asked.source.here:
        return None
    # An archive may hold years.
    start = {} if not len(answer.times) else {"start": int(answer.times[0].astype("int64"))}
    return of.bars(answer.symbol, **start)


def as_json(value: Any) -> None:
    """Print JSON. It escapes controls, and all that is not ASCII with them: nothing in it steers a terminal."""
    json.dump(value, sys.stdout, default=exact, allow_nan=False)
    print()


def plain(answer: Any) -> Any:
    """Give an answer as JSON spells it: the contract's object for a grid, rows as a list."""
    from liqdata.grids import Heatmap, LiquidationMap

    if isinstance(answer, Heatmap):
        return {
            "symbol": answer.symbol,
            "range": answer.range,
            "model": answer.model,
            "updatedAt": _millis(answer.updated_at),
            "currentPrice": answer.current_price,
            "prices": answer.prices.tolist(),
            "times": answer.times.astype("datetime64[ms]").astype("int64").tolist(),
            "matrix": [[_known(cell) for cell in row] for row in answer.matrix.tolist()],
        }
    if isinstance(answer, LiquidationMap):
        names = [str(leverage) for leverage in answer.leverages.tolist()]
        return {
            "symbol": answer.symbol,
            "range": answer.range,
            "updatedAt": _millis(answer.updated_at),
            "currentPrice": answer.current_price,
            "binWidth": answer.bin_width,
            "leverages": answer.leverages.tolist(),
            "bins": [
                {"price": price, "side": side, "tiers": dict(zip(names, usd, strict=True)), "total": total}
                for price, side, usd, total in zip(
                    answer.prices.tolist(),
                    answer.sides.tolist(),
                    answer.tiers.tolist(),
                    answer.total.tolist(),
                    strict=True,
                )
            ],
            **_measured(answer.meta),
        }
    return answer if isinstance(answer, dict) else list(answer)


def _measured(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Say of a map of positions that were seen that it is one, and of how many, in the words of HTTP."""
    if meta.get("view") != "measured":
        return {}
    told = meta["measured"]
    return {
        "measured": {
            "seenShare": meta["seen_share"],
            "observedAt": told["observed_at"],
            "positions": told["positions"],
            "accounts": told["accounts"],
            "unplacedUsd": told["unplaced_usd"],
            "crossedUsd": told["crossed_usd"],
        }
    }


def _known(cell: float) -> float | None:
    return None if math.isnan(cell) else cell


def _millis(when: datetime) -> int:
    since = when - datetime(1970, 1, 1, tzinfo=UTC)
    return since.days * 86_400_000 + since.seconds * 1000 + since.microseconds // 1000


def exact(value: object) -> str:
    """Spell an amount in JSON with every digit."""
    if isinstance(value, Decimal):
        return f"{value:f}"
    message = f"{type(value).__name__} has no JSON form"
    raise TypeError(message)


def as_csv(names: Sequence[str], rows: Iterable[Mapping[str, Any]], *, header: bool = True) -> None:
    """Print CSV."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    if header:
        writer.writerow(names)
    # Whoever reads a file or a pipe gets the text as it came.
    seen = printable if sys.stdout.isatty() else str
    for row in rows:
        writer.writerow([_field(row[name], seen) for name in names])


def _field(value: object, seen: Callable[[str], str]) -> object:
    if isinstance(value, str):
        return seen(value)
    return f"{value:f}" if isinstance(value, Decimal) else value


def _flat(name: str, answer: Any) -> tuple[list[str], Iterable[Mapping[str, Any]]]:
    """An answer as rows: those it has, a row per cell or bin of a grid, per window, tier or side of an object."""
    from liqdata.grids import Heatmap, LiquidationMap

    from .table import records

    if isinstance(answer, Heatmap):
        times = answer.times.astype("datetime64[ms]").astype("int64").tolist()
        return ["timestamp", "price", "estimate"], (
            {"timestamp": time, "price": price, "estimate": _known(cell)}
            for price, cells in zip(answer.prices.tolist(), answer.matrix.tolist(), strict=True)
            for time, cell in zip(times, cells, strict=True)
        )
    if isinstance(answer, LiquidationMap):
        tiers = [f"{leverage}x_usd" for leverage in answer.leverages.tolist()]
        return ["price", "side", *tiers, "total_usd"], (
            {"price": price, "side": side, **dict(zip(tiers, usd, strict=True)), "total_usd": total}
            for price, side, usd, total in zip(
                answer.prices.tolist(), answer.sides.tolist(), answer.tiers.tolist(), answer.total.tolist(), strict=True
            )
        )
    rows = records(name, answer)
    columns: list[str] = answer.columns if hasattr(answer, "columns") else list(rows[0]) if rows else []
    return columns, rows


def _parquet(name: str, answer: Any, file: Path) -> None:
    rows: Rows[Any] | None = answer if hasattr(answer, "to_arrow") else None
    columns: dict[str, list[Any]] = {}
    if rows is None:
        names, lines = _flat(name, answer)
        taken = list(lines)
        columns = {column: [line[column] for line in taken] for column in names}
        if "timestamp" in columns:
            columns["timestamp"] = [datetime_of(time) for time in columns["timestamp"]]
    if find_spec("pyarrow") is not None:
        import pyarrow as pa
        from pyarrow import parquet

        pandas_first()
        parquet.write_table(pa.table(columns) if rows is None else rows.to_arrow(), file)
    elif find_spec("polars") is not None:
        import polars as pl

        (pl.DataFrame(columns) if rows is None else rows.to_polars()).write_parquet(file)
    else:
        lacking("--parquet", "pyarrow or polars", "arrow")
