"""The six realised answers against plain sums, at the edges of windows, with ties, late rows and `as_of`."""

import os
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal
from fractions import Fraction

import pytest
import samples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from samples import DAY, HOUR, MINUTE, NOW

import liqdata

pytestmark = pytest.mark.filterwarnings("ignore::liqdata.NotCovered")  # tables are drawn empty, too

WINDOWS = {"1h": HOUR, "4h": 4 * HOUR, "12h": 12 * HOUR, "24h": DAY}
LONGER = {"3d": 3 * DAY, "7d": 7 * DAY, "1M": 30 * DAY, "3M": 90 * DAY, "6M": 180 * DAY, "1y": 365 * DAY}
RANGES = WINDOWS | LONGER
COINS = {"BTCUSDT": "BTC", "BTCUSDC": "BTC", "ETHUSDT": "ETH", "1000PEPEUSDT": "PEPE", "PEPEUSDC": "PEPE"}
WIRE = ("exchange", "symbol", "side", "price", "qty", "value_usd", "timestamp")

edges = st.sampled_from([0, *RANGES.values(), 25 * HOUR]).flatmap(
    lambda edge: st.sampled_from([-1, 0, 1]).map(lambda off: edge + off)
)
ages = edges | st.integers(-HOUR, 25 * HOUR)
amounts = st.sampled_from(["1", "1.0", "0.1", "0.2", "0.3", "250000.75"]) | st.decimals(
    Decimal("0.00000001"), Decimal(99999999999), places=8, allow_nan=False
).map(str)
SHORT = Context(prec=9)


def agreeing(row):
    """The same row, with a quantity that agrees with its price and value."""
    return row | {"qty": str(SHORT.divide(Decimal(row["value_usd"]), Decimal(row["price"])))}


orders = st.fixed_dictionaries(
    {
        "exchange": st.sampled_from(["binance", "bybit", "okx"]),
        "symbol": st.sampled_from(sorted(COINS)),
        "side": st.sampled_from(["LONG", "SHORT"]),
        "price": amounts,
        "qty": amounts,
        "value_usd": amounts,
        "timestamp": ages.map(lambda age: NOW - age),
        "received_at": st.none() | st.integers(NOW - DAY, NOW + HOUR),
    }
).map(agreeing)
tables = st.lists(orders, max_size=40)
instants = ages.map(lambda age: NOW - age)
plenty = settings(
    max_examples=100 if os.environ.get("LIQDATA_SOAK") else 30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)


def market(table, **options):
    return liqdata.Market(orders=samples.columns(table) if table else None, **options)


class Oracle:
    """The answers by plain sums of fractions over plain rows."""

    def __init__(self, table, now, received_by=None):
        self.now = now
        self.listed = {row["symbol"] for row in table}
        known = [
            row for row in table if row["timestamp"] <= now and (received_by is None or received(row) <= received_by)
        ]
        self.known = sorted(known, key=lambda row: (-row["timestamp"], received(row)))  # stable: else as in the table

    def window(self, length):
        return [row for row in self.known if row["timestamp"] > self.now - length]

    def overview(self):
        return {name: totals(self.window(length), float) for name, length in WINDOWS.items()}

    def ranked(self, window, name, number):
        groups = defaultdict(list)
        for row in self.window(RANGES[window]):
            groups[COINS[row["symbol"]] if name == "coin" else row[name]].append(row)
        rows = [{name: key, **totals(group, number)} for key, group in groups.items()]
        return sorted(rows, key=lambda row: (-row["total_usd"], row[name]))

    def largest(self, window, limit):
        rows = sorted(self.window(RANGES[window]), key=lambda row: -Decimal(row["value_usd"]))
        return [shown(row) for row in rows[:limit]]

    def has_other_pairs_alone(self, symbol):
        """Whether the table has the coin of a pair, though in other pairs."""
        return symbol not in self.listed and COINS[symbol] in {COINS[listed] for listed in self.listed}

    def orders(self, symbol=None, exchange=None):
        return [
            shown(row) for row in self.known if symbol in {None, row["symbol"]} and exchange in {None, row["exchange"]}
        ]

    def chart(self, symbol):
        hours = defaultdict(Fraction)
        for row in self.window(DAY):
            if row["symbol"] == symbol:
                hours[row["timestamp"] // HOUR * HOUR, row["side"]] += Fraction(row["value_usd"])
        return [
            {"hour": hour, "side": side, "total_usd": exact(hours[hour, side])}
            for hour, side in sorted(hours, key=lambda key: (key[0], key[1] == "SHORT"))
        ]


def received(row):
    return row["timestamp"] if row["received_at"] is None else row["received_at"]


def shown(row):
    return {name: Decimal(row[name]) if name in {"price", "qty", "value_usd"} else row[name] for name in WIRE}


def exact(value):
    """A fraction with few decimals as a decimal."""
    scaled = value * 10**8
    assert scaled.denominator == 1
    return Decimal(scaled.numerator).scaleb(-8)


def totals(rows, number):
    sums = {
        side: sum((Fraction(row["value_usd"]) for row in rows if row["side"] == side), Fraction()) for side in SIDES
    }
    give = exact if number is Decimal else float
    return {
        "long_usd": give(sums["LONG"]),
        "short_usd": give(sums["SHORT"]),
        "total_usd": give(sums["LONG"] + sums["SHORT"]),
        "cnt": len(rows),
    }


SIDES = ("LONG", "SHORT")


def agree(source, oracle, **options):
    """Hold every realised answer of a market against the oracle's."""
    assert source.overview(**options) == oracle.overview()
    for window in RANGES:
        assert source.coins(window, **options) == oracle.ranked(window, "coin", float)
        assert source.exchanges(window, **options) == oracle.ranked(window, "exchange", Decimal)
        assert source.largest(window, 1000, **options) == oracle.largest(window, 1000)
        assert source.largest(window, 3, **options) == oracle.largest(window, 3)
    for window, length in LONGER.items():
        longer = {window: totals(oracle.window(length), float)}
        assert source.overview(range=window, **options) == oracle.overview() | longer
    between = {"start": oracle.now - 3 * DAY + 1, "end": oracle.now + 1, **options}
    assert source.overview(**between)["period"] == totals(oracle.window(3 * DAY), float)
    assert source.coins(**between) == oracle.ranked("3d", "coin", float)
    assert source.exchanges(**between) == oracle.ranked("3d", "exchange", Decimal)
    assert source.largest(**between) == oracle.largest("3d", 20)
    assert source.orders(limit=1000, **options) == oracle.orders()
    assert list(source.iter_orders(page_size=7, **options)) == oracle.orders()
    for symbol in COINS:
        if oracle.has_other_pairs_alone(symbol):
            for ask in (source.orders, source.chart):
                with pytest.raises(liqdata.BadQuery, match="was never observed here"):
                    ask(symbol, **options)
            continue
        assert source.orders(symbol, limit=1000, **options) == oracle.orders(symbol)
        assert source.orders(symbol, "okx", 1000, **options) == oracle.orders(symbol, "okx")
        assert source.chart(symbol, **options) == oracle.chart(symbol)


@plenty
@given(tables, instants)
def test_every_realised_answer_is_the_plain_sum(table, now):
    agree(market(table, now=now), Oracle(table, now))


def is_too_early(table, as_of):
    """Whether no row of a table with rows is known as of an instant."""
    return bool(table) and all(max(row["timestamp"], row["received_at"] or 0) > as_of for row in table)


@plenty
@given(tables, instants)
def test_as_of_sets_now_and_hides_what_was_received_later(table, as_of):
    source = market(table, now=NOW + DAY)
    if is_too_early(table, as_of):
        with pytest.raises(liqdata.BadQuery, match="the first observation is of"):
            source.overview(as_of=as_of)
        return
    agree(source, Oracle(table, as_of, received_by=as_of), as_of=as_of)


@plenty
@given(tables, st.lists(orders, min_size=1, max_size=10), instants)
def test_as_of_never_uses_a_row_received_later(table, late, as_of):
    later = [{**row, "received_at": as_of + 1 + abs(row["received_at"] or 0)} for row in late]
    before = market(table, now=NOW)
    after = market(later + table, now=NOW)
    if is_too_early(table, as_of) or not table:
        with pytest.raises(liqdata.BadQuery):
            after.overview(as_of=as_of)
        return
    for answer in ("overview", "coins", "exchanges", "largest"):
        assert getattr(after, answer)(as_of=as_of) == getattr(before, answer)(as_of=as_of)
    assert after.orders(limit=1000, as_of=as_of) == before.orders(limit=1000, as_of=as_of)
    assert list(after.iter_orders(as_of=as_of)) == list(before.iter_orders(as_of=as_of))
    counts = [{row["exchange"]: row["cnt"] for row in one.coverage(as_of=as_of)} for one in (before, after)]
    assert counts[0] == counts[1]


@plenty
@given(tables, st.integers(1, 9), st.integers(0, 45))
def test_pages_follow_each_other_without_gap_or_overlap(table, limit, offset):
    whole = Oracle(table, NOW).orders()
    source = market(table, now=NOW)
    assert source.orders(limit=limit, offset=offset) == whole[offset : offset + limit]
    assert list(source.iter_orders(page_size=limit, max_rows=offset + 1)) == whole[: offset + 1]


def row(age, value="1", side="LONG", **changes):
    plain = {"exchange": "okx", "symbol": "BTCUSDT", "price": "1", "qty": value, "received_at": None}
    return {**plain, "side": side, "value_usd": value, "timestamp": NOW - age, **changes}


@pytest.mark.parametrize("window,length", WINDOWS.items())
def test_a_window_is_open_at_its_start_and_closed_at_its_end(window, length):
    table = [row(-1, "1"), row(0, "10"), row(length - 1, "100"), row(length, "1000")]
    source = market(table, now=NOW)
    assert source.overview()[window]["total_usd"] == 110.0
    assert source.coins(window)[0]["cnt"] == 2
    assert source.exchanges(window)[0]["total_usd"] == Decimal(110)
    assert len(source.largest(window)) == 2


def test_the_chart_covers_parts_of_the_first_and_of_the_last_hour():
    now = NOW + 30 * MINUTE
    table = [row(-30 * MINUTE, "1"), row(-30 * MINUTE + DAY, "10"), row(-30 * MINUTE + DAY - 1, "100", "SHORT")]
    rows = market(table, now=now).chart("BTCUSDT")
    assert rows == [
        {"hour": NOW - DAY, "side": "SHORT", "total_usd": Decimal(100)},
        {"hour": NOW, "side": "LONG", "total_usd": Decimal(1)},
    ]
    assert rows[0]["hour"] % HOUR == 0


def test_sums_are_exact_where_floats_are_not():
    table = [row(place, "0.1") for place in range(10)] + [row(20, "0.2", "SHORT")]
    source = market(table, now=NOW)
    assert source.overview()["1h"] == {"long_usd": 1.0, "short_usd": 0.2, "total_usd": 1.2, "cnt": 11}
    assert str(source.exchanges()[0]["long_usd"]) == "1"


def test_ties_go_by_name_by_time_and_by_the_order_of_the_table():
    table = [
        row(5, "7", exchange="okx", symbol="ETHUSDT"),
        row(3, "7", exchange="bybit", symbol="BTCUSDT", price="1"),
        row(3, "7", exchange="bybit", symbol="BTCUSDT", price="2"),
        row(9, "7", exchange="okx", symbol="ETHUSDT"),
    ]
    source = market(table, now=NOW)
    assert [found["coin"] for found in source.coins()] == ["BTC", "ETH"]
    assert [found["exchange"] for found in source.exchanges()] == ["bybit", "okx"]
    assert [(NOW - found["timestamp"], int(found["price"])) for found in source.largest()] == [
        (3, 1),
        (3, 2),
        (5, 1),
        (9, 1),
    ]
    assert source.orders() == source.largest()


def test_a_late_row_is_sorted_by_its_event_time():
    table = [row(2 * HOUR, "5", received_at=NOW), row(HOUR, "3")]
    source = market(table)
    assert source.orders()[1]["value_usd"] == Decimal(5)
    assert len(source.orders(as_of=NOW - 1)) == 1
    assert source.chart("BTCUSDT", as_of=NOW)[0] == {"hour": NOW - 2 * HOUR, "side": "LONG", "total_usd": Decimal(5)}


@pytest.mark.parametrize(
    "as_of",
    [
        NOW - HOUR,
        str(NOW - HOUR),
        "2026-05-31T23:00Z",
        "2026-05-31 23:00:00",
        datetime(2026, 5, 31, 23),  # noqa: DTZ001 - naive times are UTC
        datetime(2026, 5, 31, 23, tzinfo=UTC),
    ],
    ids=repr,
)
def test_as_of_takes_milliseconds_datetimes_and_text(as_of):
    source = market([row(0), row(HOUR), row(2 * HOUR)])
    assert len(source.orders(as_of=as_of)) == 2
    assert source.orders(as_of=as_of).meta["as_of"] == datetime(2026, 5, 31, 23, tzinfo=UTC)


BAR = {"symbol": "BTC", "open": 1.0, "high": 1.0, "low": 1.0, "close": 1.0, "volume": 1.0, "interval": "1h"}


def test_now_is_the_newest_of_order_close_and_reading():
    def at(order, close, reading, **options):
        return liqdata.Market(
            orders=samples.columns([row(order)]),
            bars=samples.columns([{**BAR, "timestamp": NOW - close - HOUR}]),
            open_interest=samples.columns([{"symbol": "BTC", "timestamp": NOW - reading, "open_interest": 1.0}]),
            **options,
        ).now

    whole = datetime.fromtimestamp(NOW / 1000, UTC)
    assert at(0, 1000, 1000) == at(1000, 0, 1000) == at(1000, 1000, 0) == whole
    assert at(1000, 2000, 3000) == whole - timedelta(seconds=1)
    assert at(0, 0, 0, now="2020-01-01") == datetime(2020, 1, 1, tzinfo=UTC)
    assert liqdata.Market().now is None


def test_now_counts_the_event_not_its_receipt():
    assert market([row(HOUR, received_at=NOW)]).now == datetime.fromtimestamp((NOW - HOUR) / 1000, UTC)


@pytest.mark.parametrize("back", [0, 1, 5 * MINUTE - 1, 5 * MINUTE, 6 * HOUR + 1])
def test_a_market_as_of_an_instant_equals_one_of_the_rows_received_by_then(back):
    """Nothing later counts: no order received, bar closed or reading taken after the instant."""
    at = NOW - back
    orders_, bars, readings = (samples.rows(table()) for table in (samples.orders, samples.bars, samples.open_interest))
    for place, order in enumerate(orders_):
        order["received_at"] = order["timestamp"] + place % 7 * HOUR
    whole = liqdata.Market(*(samples.columns(table) for table in (orders_, bars, readings)))
    known = liqdata.Market(
        samples.columns([order for order in orders_ if max(order["timestamp"], order["received_at"]) <= at]),
        samples.columns([bar for bar in bars if bar["timestamp"] + 5 * MINUTE <= at]),
        samples.columns([reading for reading in readings if reading["timestamp"] <= at]),
        now=at,
    )
    assert samples.ten(whole, as_of=at) == samples.ten(known)
    assert whole.bars("BTC", as_of=at) == known.bars("BTC")


def test_an_order_that_overflows_sums_is_refused():
    with pytest.raises(liqdata.BadQuery, match='column "value_usd", row 0') as caught:
        market([row(0, "9" * 28)])
    assert caught.value.parameter == "orders"
    most = "1" + 18 * "0"
    assert market([row(place, most) for place in range(20)]).exchanges()[0]["total_usd"] == 20 * Decimal(most)
