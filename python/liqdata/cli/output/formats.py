"""Output formats of an answer: a table, JSON, CSV, Parquet or a picture."""

from __future__ import annotations

import json
import math
import sys
from datetime import UTC, datetime
from decimal import Decimal
from importlib.util import find_spec
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from liqdata import plot
from liqdata.calls.arguments import datetime_of
from liqdata.cli.command import flag, option
from liqdata.cli.encoding import data_output
from liqdata.cli.mistakes import lacking, refuse
from liqdata.cli.words import File, Seconds
from liqdata.files.atomic_write import atomic_write
from liqdata.files.csv_rows import write_csv
from liqdata.frames.import_order import pandas_first
from liqdata.text.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import click

    from liqdata.cli.asked import Asked
    from liqdata.cli.source import Origin
    from liqdata.results.heatmap import Heatmap
    from liqdata.results.map import LiquidationMap
    from liqdata.results.rows import Rows

__all__ = ["Form", "as_csv", "as_json", "as_json_line", "options", "taken", "write"]

SECTION = "Output"


class Form(NamedTuple):
    """The output format of an answer."""

    json: bool
    csv: bool
    parquet: Path | None
    png: Path | None
    watch: float | None

    @property
    def table(self) -> bool:
        """Whether the answer is printed as a table."""
        return not (self.json or self.csv or self.parquet or self.png)


def options(name: str) -> list[click.Parameter]:
    """The output options of a query."""
    made: list[click.Parameter] = [
        flag("--json", help="Print JSON, exact amounts as text.", section=SECTION),
        flag("--csv", help="Print CSV; a text like a formula gets an apostrophe.", section=SECTION),
        option("--parquet", type=File(), metavar="FILE", help="Write Parquet (pyarrow or polars).", section=SECTION),
    ]
    if name in plot.__all__:
        made.append(option("--png", type=File(), metavar="FILE", help="Write a picture (matplotlib).", section=SECTION))
    made.append(
        option(
            "--watch",
            type=Seconds(),
            metavar="SECONDS",
            help="Repeat the query at this interval until Ctrl-C; updates in place on a terminal.",
            section=SECTION,
        )
    )
    return made


def taken(given: dict[str, Any]) -> Form:
    """Remove the options of :func:`options` from ``given`` and check them."""
    form = Form(*(given.pop(name, None) for name in Form._fields))
    named = [f"--{name}" for name in ("json", "csv", "parquet", "png") if getattr(form, name)]
    if len(named) > 1:
        refuse(f"output: {' and '.join(named)} are given; allowed: one of them", "output")
    if form.watch is not None and not (form.table or form.json):
        refuse(f"watch: {named[0]} can contain only one answer; allowed: a table, or --json", "watch")
    if form.png is not None and form.png.suffix.lower() not in {"", ".png"}:
        refuse(f"png: {str(form.png)!r} is not a PNG file name; allowed: a name that ends in .png", "png")
    if form.png is not None and find_spec("matplotlib") is None:
        lacking("--png", "matplotlib", "plot")
    for name, file in (("parquet", form.parquet), ("png", form.png)):
        if file is not None:
            _check_target(name, file)
    return form


def _check_target(name: str, file: Path) -> None:
    """Refuse an unusable output path, before the query is sent."""
    if file.is_dir():
        raise OSError(f"{name}: {file} is a folder; allowed: the path of a file")
    if not file.parent.is_dir():
        raise OSError(
            f"{name}: there is no folder {file.parent} for {file.name}; allowed: a file in an existing folder"
        )


def write(asked: Asked, answer: Any, origin: Origin, of: Any) -> None:
    """Write an answer in its output format.

    Parameters
    ----------
    asked : Asked
        The query.
    answer
        The return value of the method.
    origin : Origin
        Source and instant of the answer.
    of
        The client or market that answered.
    """
    form = asked.form
    if form.table:
        from . import layout, table

        layout.show(table.sheet(asked, answer, origin))
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
    if origin.simulated and not asked.source.demo:
        print("simulated market", file=sys.stderr)


def _price(asked: Asked, answer: Any, of: Any) -> Any:
    """The bars to draw over a heatmap; ``None`` for other answers and for a service."""
    if asked.name != "heatmap" or not asked.source.here:
        return None
    # Limit the bars to the time of the map, because an archive may have bars of years.
    start = {} if not len(answer.times) else {"start": int(answer.times[0].astype("int64"))}
    return of.bars(answer.symbol, **start)


def as_json(value: Any) -> None:
    """Print JSON in ASCII, so that no text in it can control the terminal."""
    out = data_output()
    json.dump(value, out, default=exact, allow_nan=False)
    out.write("\n")


def as_json_line(row: Mapping[str, Any]) -> None:
    """Print a row as one line of JSON in ASCII."""
    data_output().write(json_line(row) + "\n")


def json_line(row: Mapping[str, Any]) -> str:
    """Return a row as JSON in ASCII, without a line break."""
    return json.dumps(row, default=exact, allow_nan=False)


def plain(answer: Any) -> Any:
    """Convert an answer for JSON: a grid to the object in the HTTP reply, rows to a list."""
    from liqdata.results.heatmap import Heatmap
    from liqdata.results.json_form import exact_members
    from liqdata.results.map import LiquidationMap
    from liqdata.results.record import Record

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
            **_labels(answer),
            **exact_members(answer.exact_share, answer.meta),
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
            **_labels(answer),
            **({} if answer.within is None else {"within": answer.within}),
            **exact_members(answer.exact_share, answer.meta),
        }
    if isinstance(answer, Record) and getattr(answer, "view", None) is not None:
        labels = {"units": answer.units, "view": getattr(answer, "view", None), "simulated": answer.simulated}
        beyond = {**labels, **_priced_at(answer.meta), "within": answer.within}
        return {**answer, **{name: value for name, value in beyond.items() if value is not None}}
    return answer if isinstance(answer, dict) else list(answer)


def _labels(answer: Heatmap | LiquidationMap) -> dict[str, Any]:
    """The labels of an estimate, and its sums outside of what it shows."""
    labels = {"units": answer.units, "view": answer.view, "simulated": answer.meta.get("simulated")}
    found: dict[str, Any] = {name: value for name, value in labels.items() if value is not None}
    found |= _priced_at(answer.meta)
    if answer.outside is None:
        return found
    outside = {}
    for side, usd in answer.outside.items():
        outside[side] = [_known(cell) for cell in usd.tolist()] if isinstance(usd, np.ndarray) else usd
    return {**found, "outside": outside}


def _priced_at(meta: Mapping[str, Any]) -> dict[str, int]:
    """The instant of the current price, if it is known."""
    return {"priceAt": _millis(meta["price_at"])} if "price_at" in meta else {}


def _measured(meta: Mapping[str, Any]) -> dict[str, Any]:
    """The additional keys of the HTTP reply for a map of measured positions.

    Empty for an estimate.
    """
    if meta.get("view") != "measured":
        return {}
    measured = meta["measured"]
    return {
        "measured": {
            "seenShare": meta["seen_share"],
            "observedAt": measured["observed_at"],
            "positions": measured["positions"],
            "accounts": measured["accounts"],
            "unplacedUsd": measured["unplaced_usd"],
            "crossedUsd": measured["crossed_usd"],
        }
    }


def _known(cell: float) -> float | None:
    return None if math.isnan(cell) else cell


def _millis(when: datetime) -> int:
    since = when - datetime(1970, 1, 1, tzinfo=UTC)
    return since.days * 86_400_000 + since.seconds * 1000 + since.microseconds // 1000


def exact(value: object) -> str:
    """Encode a ``Decimal`` as text with every digit, for :func:`json.dumps`."""
    if isinstance(value, Decimal):
        return f"{value:f}"
    message = f"{type(value).__name__} has no JSON form"
    raise TypeError(message)


def as_csv(names: Sequence[str], rows: Iterable[Mapping[str, Any]], *, header: bool = True) -> None:
    """Print CSV in UTF-8."""
    out = data_output()
    # Control characters are escaped for a terminal only.
    write_csv(out, names, rows, header=header, seen=printable if out.isatty() else str)


def _flat(name: str, answer: Any) -> tuple[list[str], Iterable[Mapping[str, Any]]]:
    """Flatten an answer to column names and rows: one row per cell or bin of a grid."""
    from liqdata.results.heatmap import Heatmap
    from liqdata.results.json_form import numbers
    from liqdata.results.map import LiquidationMap

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
        shares = answer.exact_share
        known = [{}] * len(answer.total) if shares is None else [{"exact_share": one} for one in numbers(shares)]
        return ["price", "side", *tiers, "total_usd", *([] if shares is None else ["exact_share"])], (
            {"price": price, "side": side.upper(), **dict(zip(tiers, usd, strict=True)), "total_usd": total, **share}
            for price, side, usd, total, share in zip(
                answer.prices.tolist(),
                answer.sides.tolist(),
                answer.tiers.tolist(),
                answer.total.tolist(),
                known,
                strict=True,
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

        whole = BytesIO()  # polars hides the errors of a file
        (pl.DataFrame(columns) if rows is None else rows.to_polars()).write_parquet(whole)
        file.write_bytes(whole.getbuffer())
    else:
        lacking("--parquet", "pyarrow or polars", "arrow")
