"""What is asked: the call of ours, the same by hand from parsed JSON, and how to tell that both are equal."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import payloads

MONEY = ("price", "qty", "value_usd")
LEVERAGES = ("10", "25", "50", "100")


@dataclass(frozen=True)
class Case:
    """One question; the peers send ``path`` and ``params`` and make of the JSON what ours gives."""

    key: str
    title: str
    path: str
    params: Mapping[str, str]
    ask: Callable[[Any], Any]
    body: Callable[[], bytes]
    convert: Callable[[Any], Any]
    same: Callable[[Any, Any], bool]
    # As `convert`, of a document of pysimdjson, where that can do better than make objects of it all.
    buffers: Callable[[Any], Any] | None = None
    finish: Callable[[Any], Any] = lambda answer: answer
    options: Mapping[str, Any] = field(default_factory=dict)
    coding: str = "plain"
    # Calls in a row that make one sample.
    inner: int = 1
    # Whether the rule "not slower than the best orjson stack" holds for it.
    ruled: bool = True


def heatmap_arrays(data: dict[str, Any]) -> dict[str, Any]:
    return {
        "prices": np.array(data["prices"], dtype=np.float64),
        "times": np.array(data["times"], dtype=np.int64).view("datetime64[ms]"),
        "matrix": np.array(data["matrix"], dtype=np.float64),
    }


def heatmap_buffers(document: Any) -> dict[str, Any]:
    prices = np.frombuffer(document["prices"].as_buffer(of_type="d"))
    times = np.frombuffer(document["times"].as_buffer(of_type="i"), dtype=np.int64)
    matrix = np.frombuffer(document["matrix"].as_buffer(of_type="d"))
    return {
        "prices": prices,
        "times": times.view("datetime64[ms]"),
        "matrix": matrix.reshape(len(prices), len(times)),
    }


def same_heatmap(ours: Any, theirs: dict[str, Any]) -> bool:
    return all(np.array_equal(getattr(ours, name), cells) for name, cells in theirs.items())


def liqmap_arrays(data: dict[str, Any]) -> dict[str, Any]:
    bins = data["bins"]
    return {
        "leverages": np.array(data["leverages"]),
        "prices": np.array([one["price"] for one in bins]),
        "sides": np.array([one["side"] for one in bins]),
        "tiers": np.array([[one["tiers"].get(leverage, 0.0) for leverage in LEVERAGES] for one in bins]),
        "total": np.array([one["total"] for one in bins]),
    }


def texts(data: dict[str, Any]) -> Any:
    return data["data"]


def floats(data: dict[str, Any]) -> Any:
    rows = data["data"]
    for row in rows:
        row["price"] = float(row["price"])
        row["qty"] = float(row["qty"])
        row["value_usd"] = float(row["value_usd"])
    return rows


def decimals(data: dict[str, Any]) -> Any:
    rows = data["data"]
    for row in rows:
        row["price"] = Decimal(row["price"])
        row["qty"] = Decimal(row["qty"])
        row["value_usd"] = Decimal(row["value_usd"])
    return rows


def frame(data: dict[str, Any]) -> pd.DataFrame:
    made = pd.DataFrame(data["data"])
    made[list(MONEY)] = made[list(MONEY)].astype("float64")
    made["timestamp"] = pd.to_datetime(made["timestamp"], unit="ms", utc=True)
    return made


def same_frame(ours: pd.DataFrame, theirs: pd.DataFrame) -> bool:
    return bool(ours.equals(theirs.astype(ours.dtypes)))


def equal(ours: Any, theirs: Any) -> bool:
    return bool(ours == theirs)


def heatmap(kind: str, span: str, *, coding: str = "plain", number: str = "") -> Case:
    rows, columns = payloads.SIZES[span]
    words = {"DENSE": "17 digits", "CENTS": "two decimals", "SPARSE": "92 % zeros"}[kind]
    packed = "" if coding == "plain" else f", {coding}"
    return Case(
        key=f"heatmap {kind} {span} {coding}",
        title=f"heatmap {rows} × {columns}, {words}{packed} → arrays",
        path="/api/liq-heatmap",
        params={"symbol": kind + number, "range": span, "model": "2"},
        ask=lambda client: client.heatmap(kind + number, span),
        body=lambda: payloads.heatmap(kind, span),
        convert=heatmap_arrays,
        buffers=heatmap_buffers,
        same=same_heatmap,
        coding=coding,
        inner={"12h": 4, "24h": 1, "7d": 1}[span],
    )


def orders(key: str, title: str, convert: Callable[[Any], Any], **kwargs: Any) -> Case:
    return Case(
        key=key,
        title=title,
        path="/api/liquidations",
        params={"limit": "1000", "offset": "0"},
        ask=lambda client: client.orders(limit=1000),
        body=payloads.orders,
        convert=convert,
        inner=5,
        **kwargs,
    )


SMALL = Case(
    key="overview",
    title="small call: overview → dict",
    path="/api/liquidations/overview",
    params={},
    ask=lambda client: client.overview(),
    body=payloads.overview,
    convert=texts,
    same=equal,
    inner=50,
)

SINGLE = (
    heatmap("DENSE", "12h"),
    *(heatmap(kind, "24h") for kind in payloads.KINDS),
    heatmap("DENSE", "7d"),
    heatmap("DENSE", "24h", coding="gzip"),
    heatmap("SPARSE", "24h", coding="gzip"),
    heatmap("DENSE", "24h", coding="zstd"),
    Case(
        key="liqmap",
        title="liqmap 400 bins × 4 tiers → arrays",
        path="/api/liq-map",
        params={"symbol": "BTC", "range": "1d"},
        ask=lambda client: client.liqmap(),
        body=payloads.liqmap,
        convert=liqmap_arrays,
        same=same_heatmap,
        inner=10,
    ),
    orders("text", "1,000 orders → dicts with text", texts, finish=list, same=equal, ruled=False,
           options={"decimals": "text"}),
    orders("float", "1,000 orders → dicts with float", floats, finish=list, same=equal, ruled=False,
           options={"decimals": "float"}),
    orders("decimal", "1,000 orders → dicts with Decimal", decimals, finish=list, same=equal, ruled=False),
    orders("frame", "1,000 orders → pandas DataFrame", frame, finish=lambda rows: rows.to_pandas(), same=same_frame),
    Case(
        key="coins",
        title="200 coins → dicts",
        path="/api/liquidations/coins",
        params={"range": "24h", "limit": "200"},
        ask=lambda client: client.coins(limit=200),
        finish=list,
        body=payloads.coins,
        convert=texts,
        same=equal,
        inner=20,
        ruled=False,
    ),
    SMALL,
)  # fmt: skip

MANY = tuple(heatmap("DENSE", "12h", number=f"{number:03}") for number in range(200))
