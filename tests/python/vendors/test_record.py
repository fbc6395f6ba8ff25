"""Recordings of other services: no order lost or doubled, every map once, whatever happens in between."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
import vendor_replies as replies
from vendor_double import serving

import liqdata
from liqdata import vendors
from liqdata.recording.recorder import SourceRecorder
from liqdata.recording.sources import questions_of, sources_of
from liqdata.recording.store import Store

MINUTE = 60_000
HOUR = 60 * MINUTE
BEGIN = replies.MS // (24 * HOUR) * 24 * HOUR
ROOT = "/api/futures/liquidation/"
HEAT, ORDER, COINS = f"{ROOT}aggregated-heatmap/model2", f"{ROOT}order", f"{ROOT}coin-list"
EVERY = 5 * MINUTE
KEY = "k3y-that-no-one-sees"
PLAN = {"code": "401", "msg": "Upgrade plan"}


class Exchange:
    """CoinGlass on a virtual clock: orders arrive up to three minutes late, and some answers are refusals."""

    def __init__(self, seed):
        draw = random.Random(seed)
        self.now = BEGIN
        self.draw = draw
        self.served = []
        self.orders = []
        for _ in range(6000):
            at = BEGIN - 2 * HOUR + draw.randrange(26 * HOUR)
            at -= at % 250  # several at one instant
            order = {
                "exchange_name": "BINANCE", "symbol": draw.choice(["ETHUSDT", "ETHUSDC"]), "base_asset": "ETH",
                "price": 2000 + draw.randrange(2), "usd_value": draw.choice([100, 250.5]),
                "side": 1 + draw.randrange(2), "time": at,
            }  # fmt: skip
            copies = draw.choice([1, 1, 1, 2])  # equal orders
            self.orders += [(at + draw.choice([0, 0, 0, 3 * MINUTE]), order)] * copies
        self.orders.sort(key=lambda one: -one[1]["time"])

    def identity(self, order):
        """What makes an order different from others."""
        side = {1: "SHORT", 2: "LONG"}[order["side"]]
        return order["symbol"], order["price"], order["usd_value"], side, order["time"]

    def trouble(self):
        """A refusal now and then, as a body or as an HTTP status."""
        odds = self.draw.random()
        if odds < 0.05:
            return 429, {"code": "429", "msg": "slow"}, {"Retry-After": "0"}
        if odds < 0.08:
            return {"code": "429", "msg": "slow"}
        if odds < 0.1:
            return 500, b"oops"
        return None

    def page(self, query):
        end, start = int(query.get("end_time", 2**53)), int(query.get("start_time", 0))
        known = [order for seen, order in self.orders if seen <= self.now]
        self.now += self.draw.randrange(200)  # the feed moves between pages
        return self.trouble() or replies.glass([one for one in known if start <= one["time"] < end + 1][:200])

    def heatmap(self, _):
        if 5 * HOUR <= self.now - BEGIN < 6 * HOUR:
            return PLAN
        if (found := self.trouble()) is not None:
            return found
        # The map changes every ten minutes, so that every other round gets the same one.
        updated = self.now // (10 * MINUTE) * 10 * MINUTE
        body = json.dumps(
            replies.glass(
                {
                    "y_axis": replies.PRICES,
                    "liquidation_leverage_data": [[0, 0, updated % 10**9 / 8], *replies.CELLS[1:]],
                    "price_candlesticks": replies.CANDLES,
                    "update_time": updated,
                }
            )
        )
        self.served.append(body)
        return 200, body.encode()


def record_a_day(exchange, folder, monkeypatch):
    """Record 24 hours; return how often the recorder was killed and started, and how many rounds a plan refused."""
    plain_save = Store.save
    counts = Counter()

    def save(store):
        if exchange.draw.random() < 0.02:  # killed after the rows are stored, before the file of state is
            counts["killed"] += 1
            raise KeyboardInterrupt
        plain_save(store)

    def begin():
        counts["started"] += 1
        (source,) = sources_of(vendors.CoinGlass(KEY, base_url=double.url, retries=0))
        questions = questions_of(source, ["ETHUSDT"], [("orders", {"exchange": "binance"}), "heatmap"])
        return SourceRecorder(source, questions, Store(folder, source.name), EVERY)

    monkeypatch.setattr(Store, "save", save)
    with serving({ORDER: exchange.page, HEAT: exchange.heatmap}) as double:
        part = begin()
        for tick in range(24 * 12 + 3):
            exchange.now = max(exchange.now, BEGIN + tick * EVERY + 2000)
            if tick == 24 * 12:
                monkeypatch.setattr(Store, "save", plain_save)
            try:
                part.round(exchange.now)
            except KeyboardInterrupt:
                part.close()
                part = begin()
            counts["refused"] += any("the plan of the key" in why for why in part.trouble.values())
            if exchange.draw.random() < 0.05:
                part.close()
                part = begin()
        part.close()
    return counts


@pytest.mark.parametrize("seed", [1])
def test_a_day_with_restarts_and_refusals_is_recorded_without_loss_or_duplicates(seed, tmp_path, monkeypatch):
    exchange = Exchange(seed)
    folder = str(tmp_path / "archive")
    counts = record_a_day(exchange, folder, monkeypatch)
    assert counts["killed"] > 3
    assert counts["started"] > 15
    assert counts["refused"] >= 9
    with liqdata.open(folder) as market:
        found = Counter(
            (row["symbol"], int(row["price"]), float(row["value_usd"]), row["side"], row["timestamp"])
            for row in market.iter_orders(source="coinglass")
        )
        everything = [(seen, exchange.identity(one)) for seen, one in exchange.orders]
        due = Counter(one for seen, one in everything if seen <= exchange.now - EVERY)
        assert not due - found
        assert not found - Counter(one for _, one in everything)
        maps = market.maps(source="coinglass")
        bodies = maps.rows["reply"].tolist()
        assert len(bodies) == len(set(bodies))
        assert set(bodies) == set(exchange.served)
        assert maps[-1].units == "relative"
        assert [map.updated_at for map in maps] == sorted({map.updated_at for map in maps})
        # Totals of the market are those of its own exchanges, of which there are none.
        with pytest.warns(liqdata.NotCovered):
            assert market.overview()["24h"]["cnt"] == 0
        at = datetime.fromtimestamp((BEGIN + 20 * HOUR) / 1000, UTC)
        begin, later = at - timedelta(hours=10), at + timedelta(hours=1)
        hours = market.history("ETH", start=begin, end=at, source="coinglass", as_of=later)
        assert sum(row["cnt"] for row in hours) == sum(
            n for one, n in due.items() if BEGIN + 10 * HOUR <= one[-1] < BEGIN + 20 * HOUR
        )
        assert all(row["covered"] == 1 for row in hours)
        row = market.orders("ETH", limit=1, source="CoinGlass")[0]
        assert (row["source"], row["exchange"]) == ("coinglass", "binance")
        with pytest.raises(liqdata.BadQuery, match="'hyblock' is not recorded; allowed: 'coinglass'"):
            market.orders(source="hyblock")


def wait_for(recorder, done):
    limit = time.monotonic() + 60
    while not done(recorder.status()):
        assert time.monotonic() < limit, recorder.status()
        time.sleep(0.05)


def test_two_recorded_sources_of_an_archive_are_read_separately(tmp_path):
    folder = str(tmp_path / "archive")
    demo = liqdata.demo()
    paths = {HEAT: replies.HEATMAPS["served"], ORDER: PLAN}
    with liqdata.serve(demo) as server, serving(paths) as double, liqdata.Client(server.url) as client:
        service = vendors.CoinGlass(KEY, base_url=double.url)
        with liqdata.record([server.url, service], folder, symbols="ETH", every="1s") as recorder:
            wait_for(recorder, lambda found: found[0]["maps"] == 6 and found[0]["orders"] and found[1]["last"])
            name, other = (one["source"] for one in recorder.status())
            trouble = recorder.status()[1]["trouble"]
            with pytest.raises(liqdata.ArchiveError, match="writ"):
                liqdata.record(service, folder)
        assert recorder.closed
        assert recorder.wait(0)
        expected = {
            kind: getattr(client, kind)(*(["ETH"] if kind not in ("coins", "exchanges") else []))
            for kind in ("heatmap", "liqmap", "levels", "maxpain", "coins", "exchanges")
        }
    assert other == "coinglass"
    assert "the plan of the key is too small" in trouble["orders ETH exchange=okx"]
    with liqdata.open(folder) as market:
        for kind, answer in expected.items():
            (found,) = market.maps("ETH", kind=kind, source=name)
            assert found == answer, kind
            assert found.meta["recorded_at"]
        day = list(demo.iter_orders("ETH", start=demo.now - timedelta(hours=23)))
        recorded = list(market.iter_orders("ETH", start=demo.now - timedelta(hours=23), source=name))
        assert recorded == day
        assert market.maps("ETH", source="coinglass")[0].units == "relative"
        assert [one for one in (liqdata.archive.verify(folder)) if one["problem"] != "unexpected"] == []
        assert len(liqdata.archive.verify(folder)) == 0


def test_a_recording_is_compared_and_scored(tmp_path):
    folder, demo = str(tmp_path / "archive"), liqdata.demo()
    bars = list(demo.bars("BTC", interval="1h", start=demo.now - timedelta(days=14)))
    feed = iter(bars)

    def served(_):
        price = next(feed)["close"]
        levels = {str(level): [[level, usd, None, None]] for level, usd in ((0.99 * price, 5e6), (1.01 * price, 3e6))}
        item = {"instrument": {"exName": "Binance"}, "liqMapV2": levels}
        return replies.glass({"data": [item], "last_price": price})

    with serving({f"{ROOT}aggregated-map": served}) as double:
        (source,) = sources_of(vendors.CoinGlass(KEY, base_url=double.url))
        part = SourceRecorder(source, questions_of(source, ["BTC"], ["liqmap"]), Store(folder, source.name), HOUR)
        for bar in bars:
            part.round(bar["closes_at"])
        part.close()
    with liqdata.open(folder) as market:
        maps = market.maps("BTC", source="coinglass")
        assert len(maps) == len(bars)
        at = demo.now - timedelta(days=1)
        compared = liqdata.compare([maps, maps.newest("BTC", at)], as_of=at)
        assert compared.maps[0].meta["recorded_at"] == at
        assert compared.rows()[0]["overlap"] == 1.0
        with pytest.raises(liqdata.BadQuery, match="no realised data"):
            compared.score()
        scores = compared.score(demo)
    assert {row["map"] for row in scores.rows()} == {"coinglass"}


def test_the_command_records_until_it_is_stopped(tmp_path):
    folder = str(tmp_path / "archive")
    with liqdata.serve(liqdata.demo()) as server:
        for _ in range(2):
            command = [sys.executable, "-m", "liqdata", "record", folder, "--from", server.url, "--every", "1s"]
            lines, sent = [], False
            with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ) as process:
                for line in process.stderr:
                    lines.append(line)
                    if ", last " in line and not sent:
                        sent = True
                        process.send_signal(signal.SIGINT)
            assert process.returncode == 0, lines
        assert re.match(r"127\.0\.0\.1-\d+: 0 orders, 0 maps, last \d\d:\d\d:\d\d UTC$", lines[-1].strip()), lines
    with liqdata.open(folder) as market:
        (name,) = {one.split(":")[0] for one in lines}
        assert len(market.maps(source=name)) == 6


@pytest.mark.parametrize(
    "source, options, words",
    [
        ("coinboss", {}, "'coinboss' is not allowed; allowed: the name of a vendor"),
        (vendors.Velo(KEY), {}, "velo has no orders, maps or rankings"),
        (vendors.CoinGlass(KEY), {"questions": ["history"]}, "cannot be asked for 'history'"),
        (vendors.CoinGlass(KEY), {"questions": [("heatmap", {"span": "all"})]}, "has no argument 'span'"),
        (vendors.CoinGlass(KEY), {"every": "1ms"}, "every: '1ms' is not allowed"),
        ([vendors.CoinGlass(KEY)] * 2, {}, "'coinglass', 'coinglass' are given"),
    ],
)
def test_an_invalid_recording_is_refused_before_a_folder_is_created(source, options, words, tmp_path):
    with pytest.raises(liqdata.BadQuery, match=re.escape(words)):
        liqdata.record(source, tmp_path / "archive", **options)
    assert not (tmp_path / "archive").exists()
