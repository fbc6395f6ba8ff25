"""Bytes at hand into arrays, columns and dicts: the reading alone, by CPU time."""

import io
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import cases
import columns
import measure
import msgspec
import numpy as np
import orjson
import pandas as pd
import payloads
import polars as pl
import simdjson
from cases import MONEY
from measure import Result

from liqdata import _core

PIECE = 65_536


@dataclass(frozen=True)
class Reader:
    """One way to read; ours is the first of its case."""

    name: str
    read: Callable[[bytes], Any]


@dataclass(frozen=True)
class Reading:
    """One body, and those who read it."""

    key: str
    title: str
    body: Callable[[], bytes]
    readers: tuple[Reader, ...]
    same: Callable[[Any, Any], bool]
    inner: int


parser = simdjson.Parser()


class Map(msgspec.Struct):
    """The members that are read of a heatmap."""

    prices: list[float]
    times: list[int]
    matrix: list[list[float]]


class Order(msgspec.Struct):
    """A row as it is on the wire."""

    exchange: str
    symbol: str
    side: str
    price: str
    qty: str
    value_usd: str
    timestamp: int


class Page(msgspec.Struct):
    """A page of rows."""

    data: list[Order]


read_map = msgspec.json.Decoder(Map).decode
read_page = msgspec.json.Decoder(Page).decode


def heatmap_by_msgspec(body: bytes) -> dict[str, Any]:
    made = read_map(body)
    return cases.heatmap_arrays({"prices": made.prices, "times": made.times, "matrix": made.matrix})


def heatmap_by_polars(body: bytes) -> dict[str, Any]:
    frame = pl.read_json(io.BytesIO(body))
    prices, times = (frame[name].explode().to_numpy() for name in ("prices", "times"))
    matrix = frame["matrix"].explode().explode().cast(pl.Float64).to_numpy()
    return {
        "prices": prices,
        "times": times.view("datetime64[ms]"),
        "matrix": matrix.reshape(len(prices), len(times)),
    }


def by_pysimdjson(body: bytes) -> dict[str, Any]:
    return cases.heatmap_buffers(parser.parse(body))


def same_arrays(ours: dict[str, Any], theirs: dict[str, Any]) -> bool:
    return all(np.array_equal(ours[name], cells) for name, cells in theirs.items())


def columns_by_orjson(body: bytes) -> columns.Columns:
    names = columns.no_names()
    return columns.joined([columns.by_hand(orjson.loads(body)["data"], names)], names)


def columns_by_msgspec(body: bytes) -> columns.Columns:
    rows = read_page(body).data
    count = len(rows)
    made: columns.Columns = {}
    for name in columns.TEXTS:
        known: dict[str, int] = {}
        code = columns.code_of(known)
        made[name] = (np.fromiter((code(getattr(row, name)) for row in rows), np.int32, count), list(known))
    made |= {name: np.fromiter([float(getattr(row, name)) for row in rows], np.float64, count) for name in MONEY}
    made["timestamp"] = np.array([row.timestamp for row in rows], dtype=np.int64).view("datetime64[ms]")
    return made


def columns_by_polars(body: bytes) -> pl.DataFrame:
    frame = pl.DataFrame(orjson.loads(body)["data"], schema=dict.fromkeys((*columns.TEXTS, *MONEY), pl.String)
                         | {"timestamp": pl.Int64})  # fmt: skip
    return frame.with_columns(
        pl.col(*MONEY).cast(pl.Float64),
        pl.col(*columns.TEXTS).cast(pl.Categorical),
        pl.col("timestamp").cast(pl.Datetime("ms")),
    )


def same_columns(ours: columns.Columns, theirs: Any) -> bool:
    if isinstance(theirs, pd.DataFrame):
        theirs = theirs.assign(timestamp=theirs["timestamp"].dt.tz_localize(None).astype("datetime64[ms]"))
        theirs = {name: theirs[name].to_numpy() for name in theirs}
    if isinstance(theirs, pl.DataFrame):
        theirs = {name: theirs[name].cast(pl.String).to_numpy() if name in columns.TEXTS else theirs[name].to_numpy()
                  for name in ours}  # fmt: skip
    plain = {name: np.array(cells[1])[cells[0]] if isinstance(cells, tuple) else cells for name, cells in ours.items()}
    theirs = {name: theirs[name] for name in plain}
    return columns.same(plain, theirs)


def map_of(kind: str, words: str) -> Reading:
    rows, width = payloads.SIZES["24h"]
    return Reading(
        key=f"read {kind}",
        title=f"heatmap {rows} × {width}, {words} → arrays",
        body=lambda: payloads.heatmap(kind, "24h"),
        readers=(
            Reader("liqdata", lambda body: _core.read_reply("heatmap", body).members),
            Reader("liqdata in 64 KiB pieces", lambda body: _core.read_reply("heatmap", body, PIECE).members),
            Reader("orjson + numpy", lambda body: cases.heatmap_arrays(orjson.loads(body))),
            Reader("pysimdjson as_buffer", by_pysimdjson),
            Reader("msgspec + numpy", heatmap_by_msgspec),
            Reader("polars", heatmap_by_polars),
            Reader("json + numpy", lambda body: cases.heatmap_arrays(json.loads(body))),
        ),
        same=same_arrays,
        inner=2,
    )


def page_columns(*, turned: bool) -> Reading:
    order = "any order" if turned else "the documented order"
    return Reading(
        key="read columns turned" if turned else "read columns",
        title=f"1,000 orders, keys in {order} → columns",
        body=lambda: payloads.orders(turned=turned),
        readers=(
            Reader("liqdata", lambda body: columns.of_table(_core.read_reply("orders", body))),
            Reader("orjson + numpy", columns_by_orjson),
            Reader("msgspec + numpy", columns_by_msgspec),
            Reader("orjson + polars", columns_by_polars),
            Reader("orjson + pandas", lambda body: cases.frame(orjson.loads(body))),
        ),
        same=same_columns,
        inner=20,
    )


def money(row: Order, form: Callable[[str], Any]) -> dict[str, Any]:
    return {
        "exchange": row.exchange,
        "symbol": row.symbol,
        "side": row.side,
        "price": form(row.price),
        "qty": form(row.qty),
        "value_usd": form(row.value_usd),
        "timestamp": row.timestamp,
    }


def page_dicts(words: str, form: str, convert: Callable[[Any], Any], typed: Callable[[str], Any]) -> Reading:
    msgspec_read = (
        (lambda body: msgspec.json.decode(body)["data"])
        if typed is str
        else (lambda body: [money(row, typed) for row in read_page(body).data])
    )
    return Reading(
        key=f"read {form}",
        title=f"1,000 orders → dicts with {words}",
        body=payloads.orders,
        readers=(
            Reader("liqdata", lambda body: _core.read_reply("orders", body).dicts(form)),
            Reader("orjson", lambda body: convert(orjson.loads(body))),
            Reader("msgspec", msgspec_read),
            Reader("json", lambda body: convert(json.loads(body))),
        ),
        same=cases.equal,
        inner=20,
    )


MAPS = (
    map_of("DENSE", "17 digits"),
    map_of("CENTS", "two decimals"),
    map_of("SPARSE", "92 % zeros"),
)
PAGES = (page_columns(turned=False), page_columns(turned=True))
DICTS = (
    page_dicts("text", "text", cases.texts, str),
    page_dicts("float", "float", cases.floats, float),
    page_dicts("Decimal", "decimal", cases.decimals, Decimal),
)


def measured(reading: Reading, *, quick: bool) -> Result:
    """All readers in turn, their answers checked to equal ours first."""
    body = reading.body()
    ours = reading.readers[0].read(body)
    for reader in reading.readers[1:]:
        if not reading.same(ours, reader.read(body)):
            msg = f"{reader.name} does not give what liqdata gives: {reading.title}"
            raise SystemExit(msg)
    return measure.rounds(
        reading.title,
        {reader: lambda reader=reader: reader.read(body) for reader in reading.readers},
        key=reading.key,
        inner=reading.inner,
        most=5 if quick else 25,
        seconds=0.5 if quick else 5,
        order=random.Random(payloads.SEED),
    )
