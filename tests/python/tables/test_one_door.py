"""One door: the same rows are equal, or refused for the same reason, whichever way they come in."""

import itertools
import os
import tempfile
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest
from doors import FILES, NUMBER_COLUMNS, Given, class_of, through_each
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import liqdata
from liqdata import BadQuery

KINDS = ("orders", "bars", "open_interest")
SOAK = bool(os.environ.get("LIQDATA_SOAK"))
EACH = (5_000 if SOAK else 24) // len(KINDS)
# Archives in memory: each is written once and read once.
MEMORY = next((folder for folder in ["/dev/shm"] if Path(folder).is_dir()), None)  # noqa: S108
START = datetime(2024, 1, 2, tzinfo=UTC)

SYMBOLS = [
    *("BTC", "BTCUSDT", "BTC-USDT-SWAP", "ETH/USDC:USDC", "SOLFDUSD", "BTC-USD", "BTCUSD_PERP", "XBTUSD", "BTC_USDT"),
    *("1000PEPEUSDT", "kPEPE", "1MBABYDOGEUSDT", "SHIB1000USDT", "1000CATUSDT", "10000SATSUSDT"),
    *("xyz:TSLA", "XYZ-TSLA/USDC:USDC"),
]
# Quotes that are not USD, dated contracts and options.
REFUSED = [
    *("BTC-EUR", "KRW-BTC", "ETHBTC", "BTC/EUR:EUR"),
    *("BTCUSDT_260327", "BTC-27MAR26", "BTC/USD:BTC-260327", "BTC-27MAR26-100000-C"),
    *("", None),
]
EXCHANGES = ["binance", "okx", "OKEX", "bybit", "hyperliquid", "deribit", "binanse", "", None]
SIDES = ["LONG", "SHORT", "long", " Short ", "BUY", "lnog", "", None]
PRICES = [Decimal(text) for text in ("0.0001", "0.5", "1", "101.25", "2500", "64000")]
ODD_PRICES = [Decimal(0), Decimal(-1), Decimal("NaN"), None]
ODD_TEXTS = ["abc", "1,5", "inf", "1e3", " 7 ", ""]
TIMES = {
    "ms": lambda at: round(at.timestamp() * 1000),
    "text": lambda at: at.isoformat(),
    "zulu": lambda at: at.strftime("%Y-%m-%d %H:%M:%SZ"),
    "datetime": lambda at: at,
    "seconds": lambda at: round(at.timestamp()),
    "micros": lambda at: round(at.timestamp() * 1_000_000),
    "nanos": lambda at: round(at.timestamp()) * 1_000_000_000,
}
# A column in which two rows of one instant may differ.
LAST = {"orders": "qty", "bars": "volume", "open_interest": "open_interest"}
NUMBERS = ["text", "float64", "float32", "int64", "decimal"]


def mostly(draw, common, odd, share=6):
    """One of `common`; of `odd` now and then."""
    return draw(st.sampled_from(odd if seldom(draw, share) else common))


def seldom(draw, share):
    """Whether one of so many cases is met; the simplest case is not."""
    return draw(st.integers(1, share)) == 3


def stored_as(numbers, cell):
    """A number as a column of this kind stores it."""
    if isinstance(cell, str):
        return cell if numbers == "text" else None
    if cell is None:
        return None
    if numbers in {"float64", "float32"}:
        return float(cell)
    if cell.is_nan():
        return "nan" if numbers == "text" else None
    if numbers == "int64":
        return int(cell)
    return f"{cell:f}" if numbers == "text" else cell


def order(draw):
    price, qty = (mostly(draw, PRICES, ODD_PRICES + ODD_TEXTS, 12) for _ in range(2))
    value = None
    if isinstance(price, Decimal) and isinstance(qty, Decimal):
        times = mostly(draw, [Decimal(1)], [Decimal(100), Decimal("0.01"), Decimal(0), Decimal(-1)], 5)
        value = price * qty * times
    return {"side": mostly(draw, SIDES[:4], SIDES[4:], 10), "price": price, "qty": qty, "value_usd": value}


def bar(draw):
    low, middle, high = sorted(draw(st.lists(st.sampled_from(PRICES), min_size=3, max_size=3)))
    prices = {"open": middle, "high": high, "low": low, "close": draw(st.sampled_from([low, middle, high]))}
    if seldom(draw, 8):
        prices[draw(st.sampled_from(sorted(prices)))] = draw(st.sampled_from(PRICES + ODD_PRICES + ODD_TEXTS))
    return prices | {"volume": mostly(draw, [*PRICES, Decimal(0)], [Decimal(-1), None, "abc"], 12)}


def reading(draw):
    return {"open_interest": mostly(draw, [*PRICES, Decimal(0)], [Decimal(-1), *ODD_TEXTS, None], 8)}


def lengths(draw, minutes, rows):
    """The columns that state the length of bars; none where their distances tell it."""
    stated = draw(st.sampled_from(["text", "ms", "not at all", "partly"]))
    if stated == "not at all":
        return {}
    cell = minutes * 60_000 if stated == "ms" else draw(st.sampled_from([f"{minutes}m", f"{minutes}min"]))
    cells = [cell] * rows
    if stated == "partly":
        cells[draw(st.integers(0, rows - 1))] = None
    return {"interval": cells}


def a_row(draw, kind, place, minutes):
    """A row without its names, at the place of the table that it has."""
    at = START + timedelta(minutes=minutes * (2 * place + 1 if seldom(draw, 12) else place))
    if seldom(draw, 20):
        at = datetime.now(UTC).replace(microsecond=0) + timedelta(days=2)
    cells = {"orders": order, "bars": bar, "open_interest": reading}[kind](draw)
    return {"timestamp": None if seldom(draw, 25) else at} | cells


def repeated(draw, kind, row):
    """The row alone; now and then with another of its instant, equal or not."""
    if not seldom(draw, 8):
        return [row]
    return [row, row | {LAST[kind]: Decimal(3)} if draw(st.booleans()) else dict(row)]


def names_of(draw, kind):
    """What the symbols and exchanges of a table are drawn from."""
    symbols = [mostly(draw, SYMBOLS, REFUSED, 5) for _ in range(draw(st.integers(1, 2)))]
    exchanges = [mostly(draw, EXCHANGES[:6], EXCHANGES[6:], 8)]
    if kind != "bars":  # a market has one series of bars
        exchanges.append(draw(st.sampled_from(EXCHANGES[:6])))
    return symbols, exchanges


def options_of(draw):
    options = {}
    if seldom(draw, 4):
        options["new_exchange"] = True
    if seldom(draw, 3):
        options["quote_rates"] = {"EUR": 1.25, "KRW": Decimal("0.0008")}
    return options


@st.composite
def tables(draw, kind):
    """A table of a few rows, most of them right."""
    numbers = draw(st.sampled_from(NUMBERS))
    times = mostly(draw, ["ms", "text", "zulu", "datetime"], ["seconds", "micros", "nanos"], 8)
    minutes = draw(st.sampled_from([1, 5, 60]))
    symbols, exchanges = names_of(draw, kind)
    made = []
    for place in range(draw(st.integers(1, 5))):
        names = {"exchange": draw(st.sampled_from(exchanges)), "symbol": draw(st.sampled_from(symbols))}
        made += repeated(draw, kind, names | a_row(draw, kind, place, minutes))
    columns = {name: [row[name] for row in made] for name in made[0]}
    for name in NUMBER_COLUMNS & columns.keys():
        columns[name] = [stored_as(numbers, cell) for cell in columns[name]]
    columns["timestamp"] = [at and TIMES[times](at) for at in columns["timestamp"]]
    options = options_of(draw)
    if kind == "bars":
        columns |= lengths(draw, minutes, len(made))
        if seldom(draw, 6):
            columns["count"] = [draw(st.integers(0, 3)) for _ in made]
    elif draw(st.booleans()):
        options["exchange"] = "bybit"
        if draw(st.booleans()):
            del columns["exchange"]
    if kind == "orders" and draw(st.booleans()):
        del columns["value_usd"]
    lacks_interval = None in columns.get("interval", [None])
    return Given(kind, columns, numbers, times, options, None if lacks_interval else minutes * 60_000)


@pytest.mark.parametrize("kind", KINDS)
def test_every_interface_stores_the_same_rows(kind):
    @settings(
        max_examples=EACH,
        deadline=None,
        derandomize=not SOAK,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink] if SOAK else [Phase.generate],
    )
    @given(tables(kind))
    def check(table):
        with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
            agree(table, through_each(table, Path(folder)))

    check()


def agree(table, outcomes):
    """Every file becomes the same rows, and is refused at the same rows; every table takes what a file takes."""
    expected = outcomes["parquet"]
    faults = {fault for fault, _ in expected.refused}
    for name, outcome in outcomes.items():
        if is_meant(table, name, faults):
            continue
        if outcome.is_whole and outcome.refused and name not in FILES:
            assert {fault for fault, _ in outcome.refused} <= faults, (name, outcome, expected)
        else:
            assert (outcome.stored, outcome.refused) == (expected.stored, expected.refused), name
        if name in FILES:
            assert first_rows(outcome) == first_rows(expected), (name, outcome, expected)


def first_rows(outcome):
    """The first row with each fault. A cell of text is blank where a number is missing or none."""
    first = {}
    for reason, row in outcome.rows:
        column, _, why = reason.partition(": ")
        kind = column, class_of(column, why)
        first[kind] = min(row, first.get(kind, row))
    return first


def is_meant(table, name, faults):
    """Whether a door may differ: how the format of a file is detected, and what only an archive needs."""
    # The format of a file is detected: BUY or SELL in its first order refuses the file and names the format.
    if table.kind == "orders" and name not in FILES and str(table.columns["side"][0]).upper() in {"BUY", "SELL"}:
        return True
    if name != "Market" or table.kind == "orders":
        return False
    # A market counts bars and readings without an exchange for the coin as a whole. Of bars with an inferred length, it
    # refuses those that overlap, and an archive those that do not open at a multiple of it.
    return not {("exchange", "missing"), ("bars", "timestamp cannot be stored exactly")}.isdisjoint(faults)


BAR = {"exchange": "bybit", "timestamp": 1_704_153_600_000, "interval": "1m"}


@pytest.mark.parametrize(
    "kind, row",
    [
        # More digits than an exact decimal has.
        ("bars", BAR | dict.fromkeys(("open", "high", "low", "close"), "1e34") | {"volume": "1"}),
        ("open_interest", {"exchange": "bybit", "timestamp": 1_704_153_600_000, "open_interest": "1e34"}),
        # A length that does not divide a day.
        ("bars", BAR | dict.fromkeys(("open", "high", "low", "close", "volume"), "1") | {"interval": "7m"}),
    ],
)
def test_an_archive_refuses_values_that_only_a_market_accepts(tmp_path, kind, row):
    columns = {name: [cell] for name, cell in ({"symbol": "BTC"} | row).items()}
    outcomes = through_each(Given(kind, columns), tmp_path)
    assert outcomes.pop("Market").stored
    assert all(outcome.refused and not outcome.stored for outcome in outcomes.values()), outcomes


def a_table(kind, symbols, price="100"):
    """A row of each symbol, a minute apart."""
    columns = {
        "exchange": ["okx"] * len(symbols),
        "symbol": symbols,
        "timestamp": [1_704_153_600_000 + 60_000 * place for place in range(len(symbols))],
    }
    cells = {
        "orders": {"side": "LONG", "price": price, "qty": "2"},
        "bars": dict.fromkeys(("open", "high", "low", "close"), price) | {"volume": "5", "interval": "1m"},
        "open_interest": {"open_interest": "7"},
    }
    return columns | {name: [cell] * len(symbols) for name, cell in cells[kind].items()}


RATES = [
    {"EUR": 1.25},
    {"EUR": Decimal("1.25")},
    {"EUR": {"timestamp": [1_704_067_200_000, 1_704_240_000_000], "rate": ["1.25", "9"]}},
    {"EUR": pd.DataFrame({"timestamp": pd.to_datetime(["2024-01-01", "2024-01-03"], utc=True), "rate": [1.25, 9.0]})},
]


@pytest.mark.parametrize("rates", RATES, ids=["number", "decimal", "table", "frame"])
@pytest.mark.parametrize("kind", ["orders", "bars"])
def test_a_quote_is_converted_at_its_rate_in_every_interface(tmp_path, kind, rates):
    table = Given(kind, a_table(kind, ["SOL-EUR", "SOL-EUR"]), options={"quote_rates": rates}, interval=60_000)
    outcomes = through_each(table, tmp_path)
    stored = outcomes["Market"].stored
    assert {outcome.stored for outcome in outcomes.values()} == {stored}
    if kind == "orders":
        assert [row[3:6] for row in stored] == [(100, 2, 250)] * 2
    else:
        assert [row[3:8] for row in stored] == [(125, 125, 125, 125, 5)] * 2


def test_a_quote_without_a_rate_is_refused_by_name_in_every_interface(tmp_path):
    given = [None, {"EUR": 1.25}, {"TRY": {"timestamp": [1_704_240_000_000], "rate": [0.03]}}]
    for place, (kind, rates) in enumerate(itertools.product(("orders", "bars"), given)):
        table = Given(kind, a_table(kind, ["SOL-TRY"]), options={"quote_rates": rates})
        (folder := tmp_path / str(place)).mkdir()
        for outcome in through_each(table, folder).values():
            assert not outcome.stored
            assert [column for (column, _), _ in outcome.refused] == ["symbol"]


@pytest.mark.parametrize("kind", ["bars", "open_interest"])
@pytest.mark.parametrize(
    "symbols", [["SOLUSDT", "SOLUSDC"], ["SOL/USDT:USDT", "SOLUSD_PERP"], ["1000BONKUSDT", "BONKUSDC"]]
)
def test_a_second_contract_of_a_coin_is_refused_in_every_interface(tmp_path, kind, symbols):
    outcomes = through_each(Given(kind, a_table(kind, symbols), interval=60_000), tmp_path)
    assert outcomes.pop("Market").refused == ((("symbol", "contract"), 1),)
    for outcome in outcomes.values():
        assert (len(outcome.stored), outcome.refused) == (1, ((("symbol", "contract"), 1),))


def test_a_dry_run_counts_like_a_real_run_and_writes_nothing(tmp_path):
    table = a_table("bars", ["SOLUSDT", "SOLUSDT", "SOLUSDC", "SOL-27MAR26"])
    file = tmp_path / "bars.csv"
    FILES["csv"][0](Given("bars", table), file)
    parquet = tmp_path / "bars.parquet"
    FILES["parquet"][0](Given("bars", table), parquet)
    for place, (files, tables) in enumerate([((), {"bars": table}), ((file,), {}), ((parquet,), {})]):
        folder = tmp_path / f"archive {place}"
        dry = liqdata.ingest(folder, *files, dry_run=True, **tables)
        assert not folder.exists()
        done = liqdata.ingest(folder, *files, **tables)
        assert (dry.rows, dry.new, dry.refused, dry.first) == (done.rows, done.new, done.refused, done.first)
        assert (done.rows, done.new) == (4, 2)


def test_a_market_takes_the_bars_of_one_exchange_and_knows_exchanges():
    table = a_table("bars", ["SOLUSDT", "SOLUSDT"]) | {"exchange": ["okx", "bybit"]}
    with pytest.raises(BadQuery, match="bybit, okx"):
        liqdata.Market(bars=table)
    for exchange, at in (("okx", 1_704_153_600_000), ("Bybit", 1_704_153_660_000)):
        market = liqdata.Market(bars=table, exchange=exchange)
        assert [row["timestamp"] for row in market.bars("SOL", interval="1m", start=0)] == [at]
    orders = a_table("orders", ["SOLUSDT"]) | {"exchange": ["basement"]}
    with pytest.raises(BadQuery, match=r"basement.*new_exchange"):
        liqdata.Market(orders=orders)
    market = liqdata.Market(orders=orders, new_exchange=True)
    assert [row["exchange"] for row in market.orders(start=0)] == ["basement"]
    del orders["exchange"]
    market = liqdata.Market(orders=orders, exchange="okx")
    assert [row["exchange"] for row in market.orders(start=0)] == ["okx"]
