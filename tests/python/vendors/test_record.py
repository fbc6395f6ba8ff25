"""Recordings of other services: no order lost or doubled, every map once, whatever happens in between."""

import copy
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
import vendor_replies as replies
from vendor_double import Script, serving

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
HOURS = 24 if os.environ.get("LIQDATA_SOAK") else 12  # how long is recorded
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
        for _ in range(250 * (HOURS + 2)):
            at = BEGIN - 2 * HOUR + draw.randrange((HOURS + 2) * HOUR)
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


def record_hours(exchange, folder, monkeypatch):
    """Record some hours; return how often the recorder was killed and started, and how many rounds a plan refused."""
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
        for tick in range(HOURS * 12 + 3):
            exchange.now = max(exchange.now, BEGIN + tick * EVERY + 2000)
            if tick == HOURS * 12:
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
def test_hours_with_restarts_and_refusals_are_recorded_without_loss_or_duplicates(seed, tmp_path, monkeypatch):
    exchange = Exchange(seed)
    folder = str(tmp_path / "archive")
    counts = record_hours(exchange, folder, monkeypatch)
    assert counts["killed"] > 3
    assert counts["started"] > 10
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
        at = datetime.fromtimestamp((BEGIN + 10 * HOUR) / 1000, UTC)
        begin, later = at - timedelta(hours=8), at + timedelta(hours=1)
        hours = market.history("ETH", start=begin, end=at, source="coinglass", as_of=later)
        assert sum(row["cnt"] for row in hours) == sum(
            n for one, n in due.items() if BEGIN + 2 * HOUR <= one[-1] < BEGIN + 10 * HOUR
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


def rounds(double, folder, questions, instants, symbols=("ETH",)):
    """Ask every question at each instant with one recorder; return it, closed."""
    (source,) = sources_of(vendors.CoinGlass(KEY, base_url=double.url, retries=0))
    part = SourceRecorder(source, questions_of(source, symbols, questions), Store(folder, source.name), 1000)
    for at in instants:
        part.round(at)
    part.close()
    return part


def order(at, usd):
    named = {"exchange_name": "BINANCE", "symbol": "ETHUSDT", "base_asset": "ETH", "price": 2000, "side": 1}
    return {**named, "usd_value": usd, "time": at}


def orders_of(folder):
    with liqdata.open(folder) as market:
        return sorted(int(row["value_usd"]) for row in market.iter_orders("ETH", source="coinglass"))


BINANCE = [("orders", {"exchange": "binance"})]
ASKED = "orders ETH exchange=binance"


def page_of(every):
    """A path with these orders, newest first, by pages."""

    def page(query):
        start, end = int(query.get("start_time", 0)), int(query.get("end_time", 2**53))
        known = sorted(every, key=lambda one: -one["time"] if isinstance(one["time"], int) else 0)
        return replies.glass([one for one in known if start <= one["time"] <= end][:200])

    return page


@pytest.mark.parametrize("ahead", [14 * MINUTE, HOUR, 400 * 24 * HOUR, 8000 * 24 * HOUR])
def test_an_order_ahead_of_the_clock_is_refused_alone_and_those_after_it_are_recorded(ahead, tmp_path):
    folder = str(tmp_path / "archive")
    every = [order(BEGIN - HOUR, 1), order(BEGIN + ahead, 666)]
    with serving({ORDER: page_of(every)}) as double:
        part = rounds(double, folder, BINANCE, [BEGIN])
        assert "1 order not stored: timestamp: " in part.trouble[ASKED]
        assert "more than ten minutes ahead of this machine's clock" in part.trouble[ASKED]
        every += [order(BEGIN + MINUTE, 2), order(BEGIN + 2 * MINUTE, 3)]
        part = rounds(double, folder, BINANCE, [BEGIN + 3 * MINUTE])
        del every[1]
        every += [order(BEGIN + 4 * MINUTE, 4)]
        part = rounds(double, folder, BINANCE, [BEGIN + 5 * MINUTE])
    assert part.trouble == {}
    assert orders_of(folder) == [1, 2, 3, 4]
    last = json.loads((tmp_path / "archive/recorded/coinglass/recorder.json").read_bytes())["newest"]
    assert last == {ASKED: BEGIN + 4 * MINUTE}


@pytest.mark.parametrize("wrong", [0, 1, "soon", 10**18, 10**300, None])
def test_an_order_without_a_time_is_refused_alone(wrong, tmp_path):
    folder = str(tmp_path / "archive")
    every = replies.glass([order(BEGIN - 1, 1), order(wrong, 666), order(BEGIN - 2, 2)])
    with serving({ORDER: every}) as double:
        part = rounds(double, folder, BINANCE, [BEGIN])
    assert "1 order not stored: data[1].time: " in part.trouble[ASKED]
    assert orders_of(folder) == [1, 2]


def test_a_recording_with_a_mark_ahead_of_the_clock_reads_all_orders_again(tmp_path):
    """The clock was wrong, or an older version stored what a service dated wrongly."""
    folder = str(tmp_path / "archive")
    every = [order(BEGIN - HOUR, 1)]
    with serving({ORDER: page_of(every)}) as double:
        rounds(double, folder, BINANCE, [BEGIN])
        file = tmp_path / "archive/recorded/coinglass/recorder.json"
        state = json.loads(file.read_bytes())
        file.write_text(json.dumps({**state, "newest": {ASKED: BEGIN + 400 * 24 * HOUR}}))
        every += [order(BEGIN - HOUR // 2, 2), order(BEGIN + MINUTE, 3)]
        rounds(double, folder, BINANCE, [BEGIN + 2 * MINUTE])
    assert orders_of(folder) == [1, 2, 3]


@pytest.mark.parametrize("field", ["updatedAt", "times"])
def test_a_map_of_a_server_that_is_ahead_of_the_clock_is_not_recorded(field, tmp_path):
    with (
        liqdata.serve(liqdata.demo()) as server,
        urllib.request.urlopen(f"{server.url}/api/liq-heatmap?symbol=ETH") as reply,
    ):
        body = json.loads(reply.read())
    plain = body.get("data", body)
    right = copy.deepcopy(body)
    ahead = int(time.time() * 1000) + 2 * HOUR
    plain[field] = ahead if field == "updatedAt" else [ahead + MINUTE * place for place in range(len(plain["times"]))]
    answers = Script(body, right)
    with serving({"/api/liq-heatmap": lambda _: answers.take()}) as double, liqdata.Client(double.url) as client:
        (source,) = sources_of(client)
        part = SourceRecorder(source, questions_of(source, ["ETH"], ["heatmap"]), Store(tmp_path, source.name), 1000)
        now = int(time.time() * 1000)
        part.round(now)
        assert part.trouble["heatmap ETH"].startswith(field)
        assert part.maps == 0
        part.round(now + 1000)
        part.close()
    assert (part.trouble, part.maps) == ({}, 1)


def test_one_bad_question_does_not_end_a_round(tmp_path, monkeypatch):
    """Whatever it raises; each question has its trouble."""
    long = list(range(1, 4001))
    candles = [[replies.T - 60 * (4000 - place), "1", "1", "1", "1", "1"] for place in range(4000)]
    huge = {"y_axis": long, "liquidation_leverage_data": [[0, 0, 1.0]], "price_candlesticks": candles}
    coin = {"symbol": "ETH", "long_liquidation_usd_24h": 1, "short_liquidation_usd_24h": 1, "liquidation_usd_24h": 2}
    paths = {HEAT: replies.glass(huge), ORDER: replies.glass([]), COINS: replies.glass([coin])}

    def broken(*_, **__):
        raise MemoryError(KEY)

    monkeypatch.setattr(vendors.CoinGlass, "maxpain", broken)
    with serving(paths) as double:
        part = rounds(
            double, str(tmp_path / "archive"), ["heatmap", "maxpain", "exchanges", *BINANCE, "coins"], [BEGIN]
        )
    assert list(part.trouble) == ["heatmap ETH", "maxpain ETH", "exchanges ALL"]
    assert "has a grid of 4000 × 4000" in part.trouble["heatmap ETH"]
    assert part.trouble["maxpain ETH"] == "MemoryError: ***"
    assert part.maps == 1
    assert part.last == BEGIN


def test_a_walk_that_does_not_go_on_is_trouble_and_the_next_question_is_asked(tmp_path):
    newest = [order(BEGIN - place, 1 + place) for place in range(200)]
    with serving({ORDER: lambda _: replies.glass(newest), COINS: replies.glass([])}) as double:
        part = rounds(double, str(tmp_path / "archive"), [*BINANCE, "coins"], [BEGIN, BEGIN + 1000])
        assert len(double.asked) < 8
    assert "the service ignores the end" in part.trouble[ASKED]
    assert list(part.trouble) == [ASKED]
    assert orders_of(str(tmp_path / "archive")) == list(range(1, 201))


def test_a_state_that_cannot_be_written_is_trouble_that_names_the_file(tmp_path, caplog):
    folder = tmp_path / "archive"
    state = folder / "recorded/coinglass/recorder.json"
    with serving({COINS: replies.glass([]), ORDER: replies.glass([])}) as double:
        service = vendors.CoinGlass(KEY, base_url=double.url, retries=0)
        with liqdata.record(service, folder, symbols="ETH", questions=["coins", *BINANCE], every="1s") as recorder:
            wait_for(recorder, lambda found: found[0]["last"])
            state.unlink()
            state.mkdir()
            wait_for(recorder, lambda found: len(found[0]["trouble"]) == 2)
            trouble = recorder.status()[0]["trouble"]
            state.rmdir()
            wait_for(recorder, lambda found: not found[0]["trouble"])
    assert set(trouble) == {"coins ALL", ASKED}
    assert [why for why in trouble.values() if not why.startswith(f"{state} cannot be written: ")] == []
    assert caplog.text == ""


def test_a_round_that_fails_is_one_line_of_the_log(tmp_path, caplog, monkeypatch):
    plain, failed = Store.compact, []

    def compact(store, *given):
        if len(failed) < 2:
            failed.append(given)
            raise liqdata.ArchiveError("recorded/coinglass: no space left", path="recorded/coinglass")
        plain(store, *given)

    monkeypatch.setattr(Store, "compact", compact)
    with serving({ORDER: replies.glass([])}) as double:
        service = vendors.CoinGlass(KEY, base_url=double.url, retries=0)
        with liqdata.record(service, tmp_path / "archive", questions=BINANCE, every="1s") as recorder:
            wait_for(recorder, lambda found: found[0]["trouble"] == {"the round": "recorded/coinglass: no space left"})
            wait_for(recorder, lambda found: found[0]["last"] and not found[0]["trouble"])
    (record,) = caplog.records
    assert record.getMessage() == "the recording of coinglass failed: recorded/coinglass: no space left"
    assert record.exc_info is None


class Slow:
    """Orders of a week by pages of 200; the page after some waits until it is let go."""

    def __init__(self, free):
        self.free, self.asked, self.waits, self.go = free, 0, threading.Event(), threading.Event()
        now = int(time.time() * 1000)
        self.every = [order(now - 1000 - place * 10_000, 1 + place) for place in range(2000)]
        self.page = page_of(self.every)

    def __call__(self, query):
        self.asked += 1
        if self.asked > self.free:
            self.waits.set()
            self.go.wait(120)
        return self.page(query)


def test_a_first_recording_commits_as_it_goes_ends_at_once_and_continues(tmp_path):
    folder = str(tmp_path / "archive")
    slow = Slow(free=3)
    with serving({ORDER: slow}) as double:
        service = vendors.CoinGlass(KEY, base_url=double.url, retries=0, timeout=100)
        try:
            recorder = liqdata.record(service, folder, symbols="ETH", questions=BINANCE, every="1s")
            assert slow.waits.wait(60)
            stored = orders_of(folder)
            begun = time.monotonic()
            recorder.close()
            took = time.monotonic() - begun
        finally:
            slow.go.set()
        assert len(stored) >= 400
        # A page overlaps with the one before it by one order; what has come is stored at the end too.
        stored = orders_of(folder)
        assert stored == list(range(1, 599))
        assert took < 5, "the running request is not waited for"
        assert recorder.status()[0]["trouble"] == {}
        slow.free = 10**6
        with liqdata.record(service, folder, symbols="ETH", questions=BINANCE, every="1s") as recorder:
            wait_for(recorder, lambda found: found[0]["last"])
            status = recorder.status()[0]
        assert not service._access.core.closed, "the caller's client stays open"
        service.close()
    assert status["orders"] == 2000 - 598
    assert orders_of(folder) == list(range(1, 2001))


def test_the_command_ends_while_a_request_is_under_way(tmp_path):
    asked, go = threading.Event(), threading.Event()

    def hang(_):
        asked.set()
        go.wait(120)
        return {}

    with serving({"/api/liq-heatmap": hang}) as double:
        command = [sys.executable, "-m", "liqdata", "record", str(tmp_path / "archive"), "--from", double.url]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ) as process:
            try:
                assert asked.wait(60)
                begun = time.monotonic()
                process.send_signal(signal.SIGINT)
                lines = process.communicate(timeout=60)
            finally:
                go.set()
        assert process.returncode == 0, lines
        assert time.monotonic() - begun < 8, "the running request has a deadline of ten seconds"


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
