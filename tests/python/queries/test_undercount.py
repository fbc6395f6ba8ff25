"""The undercount of sampled exchanges: estimates compared with whole tapes that the test thins."""

import os
import random
from decimal import Decimal
from functools import cache

import pytest
import samples
from samples import HOUR, NOW
from scripted import answer

import liqdata
from liqdata import BadQuery

COLUMNS = ["exchange", "sampling", "observed_usd", "estimated_usd", "low_usd", "high_usd", "method"]
PAIRS = ("BTCUSDT", "ETHUSDT", "SOLUSDT", "XRPUSDT", "DOGEUSDT", "ADAUSDT")
TAPES = ("bybit", "gate", "kraken")


@cache
def lived(seed):
    """A day of four exchanges with the same habits: bursts, busier in some hours, in which orders share seconds."""
    chance = random.Random(seed)
    rows = []
    for hour in range(24):
        mood = chance.lognormvariate(0, 0.8)
        for venue in (*TAPES, "sampled"):
            for place, pair in enumerate(PAIRS):
                for _ in range(int(chance.expovariate(1 / (mood * 3 / (1 + place))))):
                    start = NOW - (hour + 1) * HOUR + 1 + chance.randrange(HOUR)
                    side = chance.choice(("LONG", "SHORT"))
                    pace = chance.choice((150, 900, 4000))
                    for _ in range(1 + int(chance.expovariate(0.2))):
                        rows.append(
                            {
                                "exchange": venue,
                                "symbol": pair,
                                "side": side,
                                "price": 1,
                                "qty": (value := Decimal(round(chance.lognormvariate(8.5, 1.3))) + 1),
                                "value_usd": value,
                                "timestamp": min(start, NOW),
                            }
                        )
                        start += int(chance.expovariate(1 / pace))
    return rows


def thinned(rows, name, rule):
    """The tape with the orders of ``sampled`` as an exchange publishes them, and what all of them were."""
    published = {}
    for row in sorted((row for row in rows if row["exchange"] == "sampled"), key=lambda row: row["timestamp"]):
        key = row["symbol"], row["timestamp"] // 1000, row["side"] if rule == "largest_of_side" else None
        if rule == "latest" or key not in published or row["value_usd"] > published[key]["value_usd"]:
            published[key] = row
    sent = [row | {"exchange": name} for row in published.values()]
    truth = sum(row["value_usd"] for row in rows if row["exchange"] == "sampled")
    return [row for row in rows if row["exchange"] != "sampled"] + sent, float(truth)


@pytest.fixture
def recorded(tmp_path):
    """A function that opens a market of rows from an archive; ``runs`` are its sessions, in hours before now."""
    opened = []

    def made(rows, runs=((25, 0),), until=NOW, completeness="complete"):
        folder = tmp_path / f"archive-{len(opened)}"
        writer = liqdata._core.ArchiveWriter(folder)
        writer.append(samples.columns(rows), None, None)
        for venue in TAPES:
            for start, end in runs:
                writer.run(venue, completeness, NOW - int(start * HOUR), min(NOW - int(end * HOUR), until) + 1)
        writer.close()
        opened.append(liqdata.open(folder))
        return opened[-1]

    yield made
    for market in opened:
        market.close()


def row_of(market, name, window="24h"):
    (row,) = (row for row in market.undercount(window, as_of=NOW) if row["exchange"] == name)
    return row


RULES = [
    ("aster", "latest", "latest"),
    ("bitget", "largest_of_side", "largest_of_side"),
    ("binance", "latest", "latest_or_largest"),
    ("okx", "largest", "latest_or_largest"),
]


DAYS = 40 if os.environ.get("LIQDATA_SOAK") else 10


@pytest.mark.parametrize("name,rule,sampling", RULES)
def test_the_interval_covers_the_truth_at_its_rate(recorded, name, rule, sampling):
    days, inside, ratios = DAYS, 0, []
    for seed in range(days):
        rows, truth = thinned(lived(seed), name, rule)
        row = row_of(recorded(rows), name)
        assert row["sampling"] == sampling
        assert row["observed_usd"] == sum(one["value_usd"] for one in rows if one["exchange"] == name)
        assert float(row["observed_usd"]) < row["low_usd"] <= row["estimated_usd"] <= row["high_usd"]
        inside += row["low_usd"] <= truth <= row["high_usd"]
        ratios.append(row["estimated_usd"] / truth)
    print(name, rule, inside / days, sum(ratios) / days)
    # Nine of ten are wanted: fewer than these have a chance below 1 in 100.
    assert inside >= {10: 6, 40: 31}[DAYS], inside
    if sampling == rule:
        assert sum(ratios) / days == pytest.approx(1, abs=0.05)


def test_without_a_complete_tape_nothing_is_estimated(recorded):
    rows, _ = thinned(lived(1), "okx", "latest")
    alone = [row for row in rows if row["exchange"] == "okx"]
    few = [row for row in rows if row["exchange"] == "bybit"][:15]
    for orders in (alone, alone + few):
        row = row_of(recorded(orders), "okx")
        assert row["estimated_usd"] is row["low_usd"] is row["high_usd"] is None
        assert row["method"].startswith("unknown: no complete tape")
        assert row["observed_usd"] == sum(one["value_usd"] for one in alone)


def test_only_exchanges_with_known_sampling_are_estimated(recorded):
    rows, _ = thinned(lived(2), "htx", "latest")
    market = recorded(rows)
    rows_of_all = market.undercount(as_of=NOW)
    assert rows_of_all.columns == COLUMNS
    assert [row["exchange"] for row in rows_of_all] == ["bybit", "gate", "htx", "kraken"]
    unsaid = row_of(market, "htx")
    assert (unsaid["sampling"], unsaid["estimated_usd"]) == ("unknown", None)
    assert unsaid["method"].startswith("unknown: the exchange does not say")
    for row in rows_of_all:
        if row["sampling"] == "complete":
            assert row["low_usd"] == row["high_usd"] == row["estimated_usd"] == float(row["observed_usd"])
    totals = {row["exchange"]: row["total_usd"] for row in market.exchanges("24h", as_of=NOW)}
    assert totals == {row["exchange"]: row["observed_usd"] for row in rows_of_all}, "totals hold what was published"


def test_a_window_uses_its_own_orders_and_repeats_its_draws(recorded):
    rows, _ = thinned(lived(3), "aster", "latest")
    market = recorded(rows)
    for window, hours in (("4h", 4), ("12h", 12), ("1d", 24)):
        seen = sum(r["value_usd"] for r in rows if r["exchange"] == "aster" and r["timestamp"] > NOW - hours * HOUR)
        assert row_of(market, "aster", window)["observed_usd"] == seen
    at = NOW - 7 * HOUR
    before = recorded([row for row in rows if row["timestamp"] <= at], until=at)
    assert list(market.undercount("12h", as_of=at)) == list(before.undercount("12h", as_of=at))
    assert market.undercount() == market.undercount()


def test_an_hour_busier_than_any_tape_is_reported(recorded):
    rows, _ = thinned(lived(4), "aster", "latest")
    burst = [
        {**rows[0], "exchange": "aster", "symbol": "BTCUSDT", "timestamp": NOW - 1000 * second}
        for second in range(3000)
    ]
    row = row_of(recorded(rows + burst), "aster")
    assert "busier than any hour of these tapes" in row["method"]


def test_the_simulation_has_a_sampled_exchange_a_gap_and_complete_tapes():
    rows = {row["exchange"]: row for row in samples.simulated().undercount()}
    sampled = rows.pop("binance")
    assert sampled["sampling"] == "latest_or_largest"
    assert float(sampled["observed_usd"]) < sampled["estimated_usd"] < sampled["high_usd"]
    assert {row["sampling"] for row in rows.values()} == {"complete"}
    interrupted = rows.pop("okx")
    assert interrupted["method"] == "unknown: a complete tape of only 96.9 % of the window"
    assert sorted(rows) == ["bitget", "bybit", "gate"]
    for row in rows.values():
        assert row["low_usd"] == row["high_usd"] == float(row["observed_usd"])


UNRECORDED = "unknown: no complete recording in the window"


@pytest.mark.parametrize("how", ["tables", "file", "sampled"])
def test_an_unrecorded_exchange_is_no_complete_tape(recorded, how):
    rows, _ = thinned(lived(6), "okx", "latest")
    if how == "tables":
        market = liqdata.Market(samples.columns(rows), now=NOW)
    else:
        market = recorded(rows, runs=((25, 0),) if how == "sampled" else (), completeness="sampled")
    for venue in TAPES:
        row = row_of(market, venue)
        assert (row["sampling"], row["method"]) == ("complete", UNRECORDED)
        assert row["estimated_usd"] is row["low_usd"] is row["high_usd"] is None
        assert row["observed_usd"] == sum(one["value_usd"] for one in rows if one["exchange"] == venue)
    row = row_of(market, "okx")
    assert row["estimated_usd"] is row["low_usd"] is row["high_usd"] is None
    assert row["method"].startswith("unknown: no complete tape in the window")


def test_only_the_recorded_part_of_a_tape_counts(recorded):
    rows, _ = thinned(lived(7), "aster", "latest")
    # Without a session the loss is unknown: rows of that time say nothing about the rest.
    silent = [
        {**row, "qty": row["qty"] * 1000, "value_usd": row["value_usd"] * 1000}
        for row in rows
        if row["exchange"] == "bybit"
    ]
    mixed = [row for row in rows if row["exchange"] != "bybit" or row["timestamp"] > NOW - 12 * HOUR]
    mixed += [row for row in silent if row["timestamp"] <= NOW - 12 * HOUR]
    market = recorded(mixed, runs=((12, 0),))
    row = row_of(market, "bybit")
    assert row["method"] == "unknown: a complete tape of only 50.0 % of the window"
    assert row["estimated_usd"] is row["low_usd"] is row["high_usd"] is None
    listened = [row for row in rows if row["exchange"] == "aster" or row["timestamp"] >= NOW - 12 * HOUR]
    assert row_of(market, "aster") == row_of(recorded(listened, runs=((12, 0),)), "aster")
    assert row_of(market, "aster")["estimated_usd"] is not None
    # Nearly all of it is a tape that says so.
    market = recorded(rows, runs=((25, 12), (11.9, 0)))
    row = row_of(market, "bybit")
    assert row["method"] == "a complete tape of 99.6 % of the window"
    assert row["estimated_usd"] == float(row["observed_usd"])


def test_both_clients_return_the_same_undercount(recorded, connect):
    rows, _ = thinned(lived(5), "binance", "largest")
    market = recorded(rows)
    with liqdata.serve(market) as server:
        client = connect(server)
        for window in ("1h", "4h", "24h"):
            found = client.undercount(window)
            assert list(found) == list(market.undercount(window))
            assert any(row["method"] == "a complete tape" for row in found)
        with pytest.raises(BadQuery, match="range"):
            client.undercount("2h")


def test_undercount_of_a_service_without_it_is_refused_by_name(script, connect):
    nowhere = answer({"success": False}, 404)
    with pytest.raises(BadQuery, match="does not announce undercount"):
        connect(script(nowhere, nowhere)).undercount()
