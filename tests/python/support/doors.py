"""The ways a table comes in, and what becomes of its rows at each: what is stored and answered, and what is refused."""

import csv
import json
import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from pyarrow import feather, parquet

import liqdata
from liqdata import BadQuery

END = datetime(2100, 1, 1, tzinfo=UTC)
NUMBER_COLUMNS = {"price", "qty", "value_usd", "open", "high", "low", "close", "volume", "open_interest"}


@dataclass
class Given:
    """A table and how it is handed in."""

    kind: str
    columns: dict[str, list]
    numbers: str = "text"
    """How its numbers are stored: ``text``, ``float64``, ``float32``, ``int64`` or ``decimal``."""
    times: str = "ms"
    """How its instants are stored."""
    options: dict = field(default_factory=dict)
    interval: int | None = None
    """The length of its bars in milliseconds."""

    @property
    def rows(self):
        return [dict(zip(self.columns, cells, strict=True)) for cells in zip(*self.columns.values(), strict=True)]


@dataclass(frozen=True)
class Outcome:
    """What becomes of a table: the rows that are answered, and the faults with their numbers."""

    stored: tuple = ()
    refused: tuple = ()
    is_whole: bool = True
    """Whether a fault refuses the table, not its row."""
    rows: tuple = ()
    """The first row, counted from 0, that is refused for each reason."""


# --- shapes of tables in memory


def as_dict(given):
    return {
        name: np.array(cells, dtype="float32") if given.numbers == "float32" and name in NUMBER_COLUMNS else cells
        for name, cells in single(given).items()
    }


def single(given):
    """The columns, with missing single-precision numbers as they are stored: not a number."""
    if given.numbers != "float32":
        return given.columns
    return {
        name: [float("nan") if cell is None else cell for cell in cells] if name in NUMBER_COLUMNS else cells
        for name, cells in given.columns.items()
    }


def as_rows(given):
    columns = as_dict(given)
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def as_pandas(given):
    columns = {}
    for name, cells in given.columns.items():
        if name in NUMBER_COLUMNS and given.numbers in {"float64", "float32"}:
            columns[name] = pd.Series(cells, dtype=given.numbers)
        elif all(isinstance(cell, int | None) for cell in cells) and any(cell is not None for cell in cells):
            columns[name] = pd.Series(cells, dtype="Int64")
        else:
            columns[name] = pd.Series(cells)
    return pd.DataFrame(columns)


def as_polars(given):
    kinds = {"float64": pl.Float64, "float32": pl.Float32, "int64": pl.Int64, "decimal": pl.Decimal(38, 12)}
    kind = kinds.get(given.numbers)
    return pl.DataFrame(
        given.columns, schema_overrides={name: kind for name in NUMBER_COLUMNS & set(given.columns) if kind}
    )


def as_arrow(given):
    kinds = {"float64": pa.float64(), "float32": pa.float32(), "int64": pa.int64(), "decimal": pa.decimal128(38, 12)}
    kind = kinds.get(given.numbers)
    return pa.table(
        {name: pa.array(cells, type=kind if name in NUMBER_COLUMNS else None) for name, cells in given.columns.items()}
    )


TABLES = {"dict": as_dict, "rows": as_rows, "pandas": as_pandas, "polars": as_polars, "pyarrow": as_arrow}


# --- files


def text_of(cell, numbers, name):
    """A cell as a file of text has it."""
    if cell is None or pd.isna(cell):
        return ""
    if isinstance(cell, datetime):
        return cell.isoformat()
    if numbers == "float32" and name in NUMBER_COLUMNS:
        return str(np.float32(cell))
    return f"{cell:f}" if isinstance(cell, Decimal) else str(cell)


def as_csv(given, path):
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(given.columns)
        lines.writerows([text_of(cell, given.numbers, name) for name, cell in row.items()] for row in given.rows)


def of_json(given):
    """Rows that JSON can write."""
    for row in given.rows:
        made = {}
        for name, cell in row.items():
            text = text_of(cell, given.numbers, name)
            is_number = isinstance(cell, int | float) and text
            made[name] = (json.loads(text) if is_number else text) if text else None
        yield made


def as_json(given, path):
    path.write_text(json.dumps(list(of_json(given))))


def as_json_lines(given, path):
    path.write_text("".join(json.dumps(row) + "\n" for row in of_json(given)))


FILES = {
    "csv": (as_csv, "csv"),
    "json": (as_json, "json"),
    "json lines": (as_json_lines, "jsonl"),
    "parquet": (lambda given, path: parquet.write_table(as_arrow(given), path), "parquet"),
    "feather": (lambda given, path: feather.write_feather(as_arrow(given), path), "feather"),
}


# --- outcomes

FAULT = re.compile(r'column "(?P<column>\w+)", row (?P<row>\d+): (?P<why>.*)', re.DOTALL)
CLASSES = {
    "unit": ("counts coins or contracts", "size of the contract is unknown"),
    "not above 0": ("not above 0", "not a price"),
    "seconds": ("epoch seconds",),
    "microseconds": ("epoch microseconds",),
    "nanoseconds": ("epoch nanoseconds",),
    "future": ("ahead of this machine's clock",),
    "instant": ("not an instant",),
    "exchange": ("not a known exchange", "is unknown"),
    "missing": ("blank", "a missing value", "NaN is", "NaN: "),
    "option": ("option",),
    "dated": ("dated", "expires", "delivery"),
    "quote": ("does not count as USD",),
    "contract": ("another contract",),
    "product": ("not within 1 %",),
    "order of prices": ("another price of the bar",),
    "conflict": ("at the same time", "already, in row", "has another"),
    "amount": ("not an amount", "not from 0 to", "below 0", "above 1000000000000000000"),
    "number": ("exact decimal",),
    "side": ("not a side", "not LONG or SHORT", "its side is BUY or SELL"),
    "trades": ("although the bar counts trades",),
    "no trades": ("is 0 in all bars although prices move",),
    "length": ("not a bar length", "not a length", "spacing"),
}


def class_of(column, why):
    """The kind of a fault, whatever the words around its value."""
    for name, words in CLASSES.items():
        if any(word in why for word in words):
            # A missing number is NaN in some tables and blank in others.
            return "number" if name == "missing" and column in NUMBER_COLUMNS else name
    return why


def fault_of(error):
    found = FAULT.search(str(error))
    return (found["column"], class_of(found["column"], found["why"])) if found else ("", class_of("", str(error)))


def counted(done):
    refused = Counter()
    for reason, count in done.refused.items():
        column, _, why = reason.partition(": ")
        refused[column, class_of(column, why)] += count
    return tuple(sorted(refused.items()))


ROW = re.compile(r":(\d+)(?: \(|$)")
FIRST_ROW = {"csv": 2, "json": 1, "json lines": 1}
"""The number of the first row of files of text; other rows are counted from 0."""


def places(done, name):
    """The first refused row of each reason."""
    found = ((reason, ROW.search(place)) for reason, place in done.first.items())
    return tuple(sorted((reason, int(row[1]) - FIRST_ROW.get(name, 0)) for reason, row in found if row))


def answered(market, given):
    """The rows of a kind that a market answers, of all that it has of this table."""
    if given.kind == "orders":
        rows = [
            row | {"symbol": liqdata.symbols.parse(row["symbol"]).pair or row["symbol"]}
            for row in market.iter_orders(start=0)
        ]
        return tuple(sorted(tuple(row.values()) for row in rows))
    rows = []
    for coin in coins_of(given):
        options = {"interval": given.interval} if given.kind == "bars" and given.interval else {}
        asked = market.bars if given.kind == "bars" else market.open_interest
        try:
            found = asked(coin, start=0, end=END, **options)
        except BadQuery as error:
            if "never observed" not in str(error):
                raise
            continue  # every row of the coin was refused
        rows += [tuple(row.values()) for row in found]
    return tuple(sorted(rows, key=repr))


def coins_of(given):
    return sorted({liqdata.symbols.parse(symbol).coin for symbol in given.columns["symbol"] if symbol})


def a_bar_of_each(coins):
    """Bars with readings: a market answers the open interest of coins that have bars."""
    cells = {"timestamp": 1_704_150_000_000, "open": 1, "high": 1, "low": 1, "close": 1, "volume": 1, "interval": "1m"}
    return [{"symbol": coin} | cells for coin in coins]


def through_market(given):
    tables = {given.kind: as_dict(given)}
    if given.kind == "open_interest":
        tables["bars"] = a_bar_of_each(coins_of(given))
    try:
        market = liqdata.Market(**tables, **given.options)
    except BadQuery as error:
        return Outcome(refused=((fault_of(error), 1),))
    return Outcome(stored=answered(market, given))


def ingested(folder, given, *files, name="", **tables):
    try:
        done = liqdata.ingest(folder, *files, **tables, **given.options)
    except BadQuery as error:
        return Outcome(refused=((fault_of(error), 1),))
    stored = ()
    if done.new:
        with liqdata.open(folder) as market:
            stored = answered(market, given)
    return Outcome(stored, counted(done), is_whole=False, rows=places(done, name))


def through_each(given, folder):
    """What becomes of a table at each door, each with an archive of its own."""
    outcomes = {"Market": through_market(given)}
    for name, made in TABLES.items():
        outcomes[name] = ingested(folder / name, given, **{given.kind: made(given)})
    for name, (write, ending) in FILES.items():
        file = folder / f"{given.kind}.{ending}"
        write(given, file)
        outcomes[name] = ingested(folder / name, given, file, name=name)
    return outcomes
