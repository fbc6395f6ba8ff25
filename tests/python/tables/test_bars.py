"""Price bars: cut to a stretch of time, made into another length, and instants and lengths in a unit not meant."""

import pickle
import random
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import samples
from samples import DAY, HOUR, MINUTE, NOW

import liqdata
from liqdata import _core
from liqdata.errors import BadQuery, Refused
from liqdata.feeds import decode

SECONDS = NOW // 1000


@pytest.fixture(scope="module")
def tables():
    return liqdata.Market(bars=samples.bars())


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """An archive of the same bars."""
    path = tmp_path_factory.mktemp("bars") / "archive"
    writer = _core.ArchiveWriter(path)
    bars = samples.bars()
    writer.append(None, {**bars, "interval": [5 * MINUTE] * len(bars["symbol"])}, None)
    writer.roll(NOW)
    writer.close()
    with liqdata.open(path) as market:
        yield market


# --- a stretch of time


def test_a_bar_that_opened_before_the_start_is_excluded():
    market = liqdata.Market(bars=samples.bars(hours=36), now=NOW - 25 * MINUTE)
    hours = market.bars("BTC", interval="1h", start=market.now - timedelta(days=1))
    assert hours[0]["timestamp"] == int(datetime(2026, 5, 31, 0, tzinfo=UTC).timestamp()) * 1000
    assert hours[-1]["timestamp"] == int(datetime(2026, 5, 31, 22, tzinfo=UTC).timestamp()) * 1000
    whole = {row["timestamp"]: row for row in market.bars("BTC", interval="1h")}
    assert len(hours) == 23
    assert all(row == whole[row["timestamp"]] for row in hours)


@pytest.mark.parametrize("interval", [None, "5m", "15m", "1h", "4h"])
@pytest.mark.parametrize(
    "start,end",
    [
        (None, None),
        (NOW - 6 * HOUR, NOW - HOUR),
        (NOW - 6 * HOUR + 35 * MINUTE, None),
        (NOW - 6 * HOUR + 1, NOW - HOUR - 1),
        (NOW - 6 * HOUR + 35 * MINUTE, NOW - 25 * MINUTE),
        (NOW - 59 * MINUTE, NOW - 2 * MINUTE),
        (None, NOW - 3 * MINUTE),
        (NOW - 90 * MINUTE, NOW + DAY),
        (NOW + HOUR, None),
        (NOW + HOUR, NOW + DAY),
    ],
    ids=repr,
)
def test_tables_and_an_archive_cut_bars_alike(tables, archive, interval, start, end):
    asked = {"interval": interval, "start": start, "end": end}
    found, wanted = tables.bars("BTC", **asked), archive.bars("BTC", **asked)
    assert len(found) == len(wanted)
    for row, other in zip(found, wanted, strict=True):
        assert {**row, "volume": 0} == {**other, "volume": 0}
        assert row["volume"] == pytest.approx(other["volume"])
        assert start is None or row["timestamp"] >= start
        assert end is None or row["timestamp"] + row["interval"] <= end


def test_a_bar_is_the_same_in_every_time_range(tables):
    whole = {row["timestamp"]: row for row in tables.bars("BTC", interval="1h")}
    for minutes in range(0, 150, 5):
        cut = tables.bars("BTC", interval="1h", start=NOW - 5 * HOUR + minutes * MINUTE, end=NOW - minutes * MINUTE)
        assert all(row == whole[row["timestamp"]] for row in cut)
        assert len(cut) == max(0, 5 - 2 * -(-minutes // 60))


# --- a length that cannot be made


@pytest.mark.parametrize("interval,named", [("1m", "1 min"), ("7m", "7 min"), (timedelta(minutes=12), "12 min")])
def test_a_length_that_the_bars_cannot_be_made_into_is_refused(tables, archive, interval, named):
    for market in (tables, archive):
        with pytest.raises(Refused) as caught:
            market.bars("BTC", interval=interval)
        assert caught.value.status == 400
        assert named in str(caught.value)
        assert "whole multiples of 5 min" in str(caught.value)
    for market in (tables, archive):
        with pytest.raises(Refused):
            market.bars("BTC", interval=interval, start=NOW + DAY)
        assert market.bars("SOL", interval=interval) == []
        with pytest.raises(BadQuery, match="the first observation is of 2026-05-30"):
            market.bars("BTC", interval=interval, as_of=NOW - 40 * DAY)


# --- open and close times


def test_a_bar_has_its_close_time(tables, archive):
    for market in (tables, archive, liqdata.demo()):
        for interval in (None, "1h"):
            rows = market.bars("BTC", interval=interval)
            assert rows.columns[:3] == ["symbol", "timestamp", "closes_at"]
            assert len(rows)
            assert all(row["closes_at"] == row["timestamp"] + row["interval"] for row in rows)
            assert str(rows.to_pandas()["closes_at"].dtype) == "datetime64[ms, UTC]"
            assert str(rows.to_polars()["closes_at"].dtype) == "Datetime(time_unit='ms', time_zone='UTC')"


def test_a_given_close_time_is_the_length_or_is_checked_against_it(tables):
    wanted = tables.bars("BTC", interval="1h")
    hours = {name: wanted[name] for name in wanted.columns}
    for left_out in ("interval", "closes_at", ""):
        table = {name: cells for name, cells in hours.items() if name != left_out}
        assert liqdata.Market(bars=table).bars("BTC") == wanted
    # An exchange writes the last millisecond of a bar, and a file in seconds its last second.
    for last in (1, 1000):
        closes = hours["closes_at"] - np.timedelta64(last, "ms")
        table = {name: cells for name, cells in hours.items() if name != "interval"} | {"closes_at": closes}
        assert liqdata.Market(bars=table).bars("BTC") == wanted
    # A single bar has a length if its close time is given.
    one = {name: cells[:1] for name, cells in hours.items() if name != "interval"}
    assert liqdata.Market(bars=one).bars("BTC") == wanted[:1]
    assert liqdata.Market(bars=pickle.loads(pickle.dumps(wanted))).bars("BTC") == wanted


@pytest.mark.parametrize(
    "interval,later,said",
    [
        ("1h", MINUTE, "is not 3600000 ms \\(the interval\\) after the open"),
        (None, -2, "is 3599998 ms after the open"),
        (None, -HOUR, "is 0 ms after the open"),
        (None, -DAY, "is -82800000 ms after the open"),
    ],
)
def test_an_invalid_close_time_is_refused(tables, interval, later, said):
    hours = {name: tables.bars("BTC", interval="1h")[name] for name in ("timestamp", "open", "high", "low", "close")}
    count = len(hours["timestamp"])
    closes = hours["timestamp"] + np.timedelta64(HOUR + later, "ms")
    table = {**hours, "symbol": ["BTC"] * count, "volume": np.ones(count), "closes_at": closes}
    with pytest.raises(BadQuery, match=said) as caught:
        liqdata.Market(bars=table if interval is None else {**table, "interval": [interval] * count})
    assert caught.value.parameter == "bars"
    assert str(caught.value).startswith('bars: column "closes_at", row 0: ')


# --- lengths of bars that come in


@pytest.mark.parametrize(
    "interval",
    [
        15,
        900,
        300_001,
        300.0,
        "90s",
        "300ms",
        timedelta(seconds=15),
        pd.Timedelta(seconds=1),
        np.timedelta64(999, "ms"),
    ],
    ids=repr,
)
def test_an_interval_that_is_not_whole_minutes_is_refused(interval):
    bars = samples.bars()
    cells = [5 * MINUTE] * len(bars["symbol"])
    cells[17] = interval
    with pytest.raises(BadQuery, match=r"is not a bar length \(whole minutes: ") as caught:
        liqdata.Market(bars={**bars, "interval": cells})
    assert caught.value.parameter == "bars"
    assert str(caught.value).startswith('bars: column "interval", row 17: ')


@pytest.mark.parametrize(
    "column",
    [
        np.array([15] * 9),
        pd.Series([15] * 9, dtype="Int32"),
        pa.array([15] * 9, pa.int16()),
        pa.array([timedelta(seconds=1)] * 9, pa.duration("s")),
    ],
    ids=["numpy", "pandas", "arrow", "durations"],
)
def test_a_column_of_intervals_is_checked_like_a_list(column):
    bars = {name: cells[:9] for name, cells in samples.bars().items()}
    with pytest.raises(BadQuery, match="whole minutes") as caught:
        liqdata.Market(bars={**bars, "interval": column})
    assert str(caught.value).startswith('bars: column "interval", row 0: ')


def test_bars_one_second_apart_need_an_interval():
    bars = {name: cells[:4] for name, cells in samples.bars().items()}
    with pytest.raises(
        BadQuery, match="1000 ms is not a bar length; allowed: a positive whole number of minutes"
    ) as caught:
        liqdata.Market(bars={**bars, "timestamp": [NOW + 1000 * place for place in range(4)]})
    assert caught.value.parameter == "bars"


# --- epoch seconds


ASKING = {
    "Market": ("now", lambda _, at: liqdata.Market(now=at)),
    "demo": ("now", lambda _, at: liqdata.demo(now=at)),
    "open": ("as_of", lambda _, at: liqdata.open("no such archive", as_of=at)),
    "decode": ("received_at", lambda _, at: decode("bybit", "{}", received_at=at)),
    "orders": ("as_of", lambda market, at: market.orders(as_of=at)),
    "coins": ("as_of", lambda market, at: market.coins("1h", as_of=at)),
    "heatmap": ("as_of", lambda market, at: market.heatmap(as_of=at)),
    "liqmap": ("as_of", lambda market, at: market.liqmap(["BTC", "ETH"], as_of=at)),
    "coverage": ("as_of", lambda market, at: market.coverage(as_of=at)),
    "bars": ("as_of", lambda market, at: market.bars(as_of=at)),
    "bars from": ("start", lambda market, at: market.bars(start=at)),
    "open interest until": ("end", lambda market, at: market.open_interest(end=at)),
    "walk": ("as_of", lambda market, at: market.iter_orders(as_of=at)),
    "walk from": ("start", lambda market, at: market.iter_orders(start=at)),
    "gaps until": ("end", lambda market, at: market.gaps(end=at)),
    "maps from": ("start", lambda market, at: market.maps(start=at)),
}


@pytest.mark.parametrize("seconds", [SECONDS, np.int64(SECONDS), 10**9, 10**11 - 1], ids=repr)
@pytest.mark.parametrize("asking", ASKING)
def test_an_instant_in_epoch_seconds_is_refused(tables, asking, seconds):
    parameter, ask = ASKING[asking]
    with pytest.raises(BadQuery, match="looks like epoch seconds; give epoch milliseconds") as caught:
        ask(tables, seconds)
    assert caught.value.parameter == parameter
    assert str(caught.value).startswith(f"{parameter}: {seconds!r} ")


@pytest.mark.parametrize("millis", [1, -1, 10**9 - 1, 10**11, -SECONDS, NOW])
def test_other_numbers_are_epoch_milliseconds(millis):
    assert liqdata.Market(now=millis).now == datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=millis)


def test_an_instant_of_1971_must_be_a_datetime_or_text():
    market = liqdata.Market(now="1971-02-03T04:05Z")
    assert market.now == liqdata.Market(now=datetime(1971, 2, 3, 4, 5, tzinfo=UTC)).now
    assert pickle.loads(pickle.dumps(market)).now == market.now


@pytest.mark.parametrize("table", ["orders", "bars", "open_interest"])
@pytest.mark.parametrize("rows", [[7], [0], [7, 9], [-1]], ids=repr)
@pytest.mark.parametrize("form", [list, np.array, pa.array], ids=["list", "numpy", "arrow"])
def test_some_rows_in_epoch_seconds_are_refused_and_the_first_is_named(table, rows, form):
    columns = getattr(samples, table)()
    cells = list(columns["timestamp"])
    for row in rows:
        cells[row] //= 1000
    with pytest.raises(BadQuery, match="looks like epoch seconds; give epoch milliseconds") as caught:
        liqdata.Market(**{table: {**columns, "timestamp": form(cells)}})
    assert caught.value.parameter == table
    assert str(caught.value).startswith(f'{table}: column "timestamp", row {rows[0] % len(cells)}: ')


def test_epoch_seconds_among_datetimes_and_text_are_refused():
    columns = samples.orders()
    for other in (datetime.fromtimestamp(SECONDS, UTC), "2026-06-01", str(NOW)):
        cells = [other] * len(columns["timestamp"])
        cells[3] = SECONDS
        with pytest.raises(BadQuery, match="epoch seconds") as caught:
            liqdata.Market(orders={**columns, "timestamp": cells})
        assert str(caught.value).startswith('orders: column "timestamp", row 3: ')


def test_a_receipt_time_in_epoch_seconds_is_refused():
    columns = samples.orders()
    count = len(columns["timestamp"])
    for cells, row in ([SECONDS] * count, 0), ([NOW] * 5 + [SECONDS] + [None] * (count - 6), 5):
        with pytest.raises(BadQuery, match="epoch seconds") as caught:
            liqdata.Market(orders={**columns, "received_at": cells})
        assert str(caught.value).startswith(f'orders: column "received_at", row {row}: ')
    assert liqdata.Market(orders={**columns, "received_at": [None] * count}).now == liqdata.Market(orders=columns).now


def test_rows_of_early_1970_and_datetimes_of_1971_are_accepted():
    order = {name: cells[:1] for name, cells in samples.orders().items()}
    three = {name: cells * 3 for name, cells in order.items()}
    early = [0, 10**9, 5 * 10**9]
    assert liqdata.Market(orders={**three, "timestamp": early}).now.year == 1970
    dates = [datetime(1971, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC), NOW]
    market = liqdata.Market(orders={**three, "timestamp": dates})
    assert pickle.loads(pickle.dumps(market)).now == market.now


# --- bars of several lengths


FIRST = 1_704_153_600_000  # 2024-01-02
LATE = FIRST + DAY
FINE = LATE + 15 * HOUR + 30 * MINUTE
ENDS = FIRST + 3 * DAY


def bars_of(length, opens):
    """Bars with the minutes since the first of all as close, and their length as volume."""
    opens = list(opens)
    closes = [10_000.0 + (at + length - FIRST) / MINUTE for at in opens]
    return {
        "timestamp": opens,
        "symbol": ["BTC"] * len(opens),
        "interval": [length] * len(opens),
        "open": [close - length / MINUTE for close in closes],
        "high": closes,
        "low": [close - length / MINUTE for close in closes],
        "close": closes,
        "volume": [length / MINUTE] * len(opens),
    }


def is_present(at):
    """Whether the bar of five minutes exists: one hour and one half hour are missing."""
    of_day = at - LATE
    return not (20 * HOUR <= of_day < 21 * HOUR or 22 * HOUR + HOUR // 2 <= of_day < 23 * HOUR)


HOURS = bars_of(HOUR, range(FIRST, ENDS, HOUR))
FIVES = bars_of(5 * MINUTE, filter(is_present, range(FINE, ENDS, 5 * MINUTE)))


@pytest.fixture(scope="module", params=["at once", "one after the other"])
def mixed(request, tmp_path_factory):
    """An archive of hours, in which five minutes begin in a day, and an event in an hour without."""
    path = tmp_path_factory.mktemp("mixed") / "archive"
    at = LATE + 20 * HOUR + 30 * MINUTE
    orders = {"timestamp": [at, at + 1], "exchange": ["okx"] * 2, "symbol": ["BTCUSDT"] * 2, "side": ["LONG"] * 2}
    orders |= {"price": [100.0] * 2, "qty": [1000.0] * 2, "value_usd": [100_000.0] * 2}
    bars = [HOURS, FIVES]
    if request.param == "at once":
        bars = [{name: HOURS[name] + FIVES[name] for name in HOURS}]
    for some in bars:
        liqdata.ingest(path, bars=some, orders=orders, exchange="okx")
    with liqdata.open(path) as market:
        yield market


def test_longer_bars_fill_gaps_of_shorter_ones_without_double_counting(mixed, connect):
    wanted = [(at, HOUR) for at in HOURS["timestamp"] if at < LATE + 15 * HOUR or at == LATE + 20 * HOUR]
    wanted += [(at, 5 * MINUTE) for at in FIVES["timestamp"]]
    rows = mixed.bars("BTC")
    assert [(row["timestamp"], row["interval"]) for row in rows] == sorted(wanted)
    assert sum(row["volume"] for row in rows) == 3 * DAY / MINUTE - 30 - 30
    for row, behind in pairwise(rows):
        assert row["closes_at"] <= behind["timestamp"]
    cut = mixed.bars("BTC", start=LATE + 12 * HOUR, end=LATE + 22 * HOUR)
    assert list(cut) == [
        row for row in rows if row["timestamp"] >= LATE + 12 * HOUR and row["closes_at"] <= LATE + 22 * HOUR
    ]
    with liqdata.serve(mixed) as server:
        assert connect(server).bars("BTC") == rows


def test_an_estimate_uses_bars_of_all_lengths_and_counts_gaps(mixed):
    for grid in (mixed.heatmap("BTC", "7d"), mixed.liqmap("BTC", "7d")):
        # The half hour before the first five minutes, in which their hour began, and the missing half hour.
        assert (grid.meta["explain"]["gaps"], grid.meta["explain"]["bars"]) == (2, len(mixed.bars("BTC")))
    assert mixed.heatmap("BTC", "7d").times[0] < np.datetime64(FINE, "ms")
    hours = mixed.heatmap("BTC", "7d", as_of=FINE)
    assert (hours.meta["explain"]["gaps"], hours.meta["explain"]["bars"]) == (0, 39)


def test_prices_around_an_event_fall_back_to_longer_bars(mixed, connect):
    (row,) = mixed.cascades("BTC", start=LATE, end=ENDS)
    close = 10_000 + (LATE - FIRST) / MINUTE + 20 * 60
    assert (row["price_before"], row["price_after"]) == (close, close + 60)
    assert (row["change_1m"], row["change_1h"]) == (None, pytest.approx((close + 120) / (close + 60) - 1))
    with liqdata.serve(mixed) as server:
        assert list(connect(server).cascades("BTC", start=LATE, end=ENDS)) == [row]


def test_resampled_bars_report_earlier_bars_of_other_lengths(mixed, connect):
    at = datetime(2024, 1, 2, tzinfo=UTC)
    fives = mixed.bars("BTC", interval="5m")
    assert fives[0]["timestamp"] == FINE
    assert fives.meta["earlier"] == {"timestamp": at, "interval": HOUR}
    nothing = mixed.bars("BTC", interval="5m", start=at + timedelta(hours=3), end=at + timedelta(hours=9))
    assert list(nothing) == []
    assert nothing.meta["earlier"] == {"timestamp": at + timedelta(hours=3), "interval": HOUR}
    for asked in ({}, {"interval": "1h"}, {"interval": "5m", "start": FINE}):
        assert "earlier" not in mixed.bars("BTC", **asked).meta, asked
    assert mixed.bars(["BTC"], interval="5m")["BTC"].meta["earlier"]["interval"] == HOUR
    with pytest.raises(Refused, match=r"5m|5 min"):
        mixed.bars("BTC", interval="1m")
    day = {name: cells[:24] for name, cells in HOURS.items()}
    of_tables = liqdata.Market(bars={name: day[name] + FIVES[name] for name in day})
    assert of_tables.bars("BTC", interval="5m").meta["earlier"] == {"timestamp": at, "interval": HOUR}
    with liqdata.serve(mixed) as server:
        client = connect(server)
        assert client.bars("BTC", interval="5m").meta["earlier"] == fives.meta["earlier"]
        assert (
            client.bars(["BTC"], interval="5m", start=at + timedelta(hours=3))["BTC"].meta["earlier"]["interval"]
            == HOUR
        )
        assert "earlier" not in client.bars("BTC", interval="1h").meta


# --- bars of lengths that do not nest


@pytest.fixture(scope="module", params=range(3))
def apart(request, tmp_path_factory):
    """An archive of bars of two hours and of three, of which some are missing, and the bars."""
    chance = random.Random(request.param)
    path = tmp_path_factory.mktemp("apart") / "archive"
    opens_by_length = {}
    for length in (2 * HOUR, 3 * HOUR):
        opens = [at for at in range(FIRST, ENDS, length) if chance.random() < 0.7]
        opens_by_length[length] = opens
        liqdata.ingest(path, bars=bars_of(length, opens), exchange="okx")
    with liqdata.open(path) as market:
        yield market, opens_by_length


@pytest.mark.parametrize("hours", [2, 3, 4, 6, 9, 10, 12, 24, 36])
def test_a_bar_of_overlapping_lengths_uses_the_minutes_of_one_of_them(apart, hours):
    market, opens_by_length = apart
    size, chance = hours * HOUR, random.Random(hours)
    for _ in range(4):
        start = FIRST + chance.randrange(0, DAY)
        end = ENDS - chance.randrange(0, DAY)
        wanted = []
        for opened in range(start // size * size, end, size):
            if opened < start or opened + size > end:
                continue
            within = {
                length: [at for at in opens if opened <= at < opened + size]
                for length, opens in opens_by_length.items()
                if size % length == 0
            }
            # What was observed longest, of equals the finest.
            length = min(within, key=lambda one, within=within: (-one * len(within[one]), one), default=None)
            if length is not None and within[length]:
                minutes = [at // MINUTE + place for at in within[length] for place in range(length // MINUTE)]
                first, last = (10_000.0 + at - FIRST // MINUTE for at in (minutes[0], minutes[-1] + 1))
                wanted.append((opened, first, last, len(minutes)))
        rows = market.bars("BTC", interval=size, start=start, end=end)
        assert [(row["timestamp"], row["open"], row["close"], row["volume"]) for row in rows] == wanted


@pytest.mark.parametrize("hours", [1, 5, 7])
def test_a_length_that_no_bar_divides_is_refused(apart, hours):
    with pytest.raises(Refused, match=f"{hours} h|{hours * 60} min"):
        apart[0].bars("BTC", interval=hours * HOUR, start=FIRST)


def test_stored_bars_of_overlapping_lengths_contain_no_minute_twice(apart):
    market, opens_by_length = apart
    rows = [(row["timestamp"], row["interval"]) for row in market.bars("BTC", start=FIRST, end=ENDS)]
    minutes = [at + place * MINUTE for at, length in rows for place in range(length // MINUTE)]
    assert len(set(minutes)) == len(minutes)
    # The shortest, and of the others those that lie in the time of none of them.
    twos = {(at, 2 * HOUR) for at in opens_by_length[2 * HOUR]}
    free = {
        (at, 3 * HOUR)
        for at in opens_by_length[3 * HOUR]
        if not any(at < other + 2 * HOUR and other < at + 3 * HOUR for other in opens_by_length[2 * HOUR])
    }
    assert set(rows) == twos | free
