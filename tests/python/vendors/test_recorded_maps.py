"""Recorded maps of other services, as a server of the archive sends them."""

import asyncio
import json
import shutil
import urllib.error
import urllib.request
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
import vendor_replies as replies
from vendor_double import Script, serving

import liqdata
from liqdata import vendors
from liqdata.recording.recorder import SourceRecorder
from liqdata.recording.sources import questions_of, sources_of
from liqdata.recording.store import Store

ROOT = "/api/futures/liquidation/"
HEAT, PAIR_HEAT, MAP = f"{ROOT}aggregated-heatmap/model2", f"{ROOT}heatmap/model2", f"{ROOT}aggregated-map"
HOUR = 60 * 60 * 1000
BEGIN = replies.MS + HOUR
KEY = "k3y-that-no-one-sees"
QUESTIONS = ["heatmap", ("heatmap", {"exchange": "binance"}), ("heatmap", {"range": "7d"}), "liqmap", "maxpain"]
GRID = "application/vnd.liqdata.grid"


def heat(factor):
    cells = [[column, row, factor * float(amount)] for column, row, amount in replies.CELLS]
    return replies.glass(
        {"y_axis": replies.PRICES, "liquidation_leverage_data": cells, "price_candlesticks": replies.CANDLES}
    )


def levels(price):
    return replies.glass({"data": [replies.instrument("Binance", {1900: 10, 2000: 4.5, 2100: 7})], "last_price": price})


def record(folder, double, instants, questions=QUESTIONS):
    """Ask every question at each instant; the recorder is restarted each time."""
    for at in instants:
        (source,) = sources_of(vendors.CoinGlass(KEY, base_url=double.url, retries=0))
        part = SourceRecorder(source, questions_of(source, ["ETH"], questions), Store(folder, source.name), HOUR)
        part.round(at)
        part.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An archive with recordings of a vendor at three instants, a week apart, and of a server."""
    folder = str(tmp_path_factory.mktemp("recorded") / "archive")
    paths = {
        HEAT: Script(heat(1), heat(11), heat(2), heat(12), heat(3), heat(13)),
        PAIR_HEAT: heat(9),
        MAP: Script(levels(2025.5), levels(2026.5), levels(2027.5)),
    }
    with serving(paths) as double:
        record(folder, double, instants())
    # Maps of closed days are in files.
    store = Store(folder, "coinglass")
    store.compact(BEGIN + 30 * 24 * HOUR)
    store.close()
    return folder


def instants():
    return [BEGIN + 7 * 24 * HOUR * number for number in range(3)]


@pytest.fixture(scope="module")
def url(folder):
    with liqdata.open(folder) as market, liqdata.serve(market) as server:
        yield server.url


def get(url, accept="application/json"):
    request = urllib.request.Request(url, headers={"Accept": accept})
    with urllib.request.urlopen(request) as response:
        return response.read(), response.headers


def refused(url):
    with pytest.raises(urllib.error.HTTPError) as caught:
        get(url)
    return caught.value.code, json.loads(caught.value.read())["error"]


def at(millis):
    return datetime.fromtimestamp(millis / 1000, UTC)


@pytest.mark.parametrize("name, path", [("heatmap", "liq-heatmap"), ("liqmap", "liq-map")])
@pytest.mark.parametrize("place", [0, 1, 2, None])
def test_a_server_sends_the_recorded_map_of_an_instant(folder, url, name, path, place):
    with liqdata.open(folder) as market:
        recorded = [one for one in market.maps("ETH", kind=name, source="coinglass") if one.range in {"24h", "1d"}]
        recorded = [one for one in recorded if one.meta.get("exchange") is None]
        assert len(recorded) == 3
        own = getattr(market, name)("ETH", source="coinglass", as_of=None if place is None else at(instants()[place]))
    wanted = recorded[-1 if place is None else place]
    asked = "" if place is None else f"&as_of={instants()[place] + HOUR}"
    sent = json.loads(get(f"{url}/api/{path}?symbol=ETH&source=coinglass{asked}")[0])
    assert sent["source"] == "coinglass"
    assert at(sent["recordedAt"]) == wanted.meta["recorded_at"]
    assert sent["units"] == wanted.units == "relative"
    assert "simulated" not in sent
    assert sent["currentPrice"] == wanted.current_price
    if name == "heatmap":
        assert np.array_equal(sent["matrix"], wanted.matrix)
        assert sent["prices"] == wanted.prices.tolist()
    else:
        assert [one["total"] for one in sent["bins"]] == wanted.total.tolist()
    instant = None if place is None else at(instants()[place]) + timedelta(hours=1)
    with liqdata.Client(url) as client:
        found = getattr(client, name)("ETH", source="CoinGlass", as_of=instant)
        explained = getattr(client, name)("ETH", source="coinglass", as_of=instant, explain=True)
    for one in (found, own, explained):
        assert one == wanted
        assert (one.meta["recording"], one.meta["recorded_at"]) == ("coinglass", wanted.meta["recorded_at"])
        assert (one.units, one.view) == ("relative", None)
        assert "USD" not in repr(one)
        assert "as served by coinglass at" in repr(one)
    words = f"as served by coinglass at {wanted.meta['recorded_at']:%Y-%m-%dT%H:%M:%S}"
    assert explained.meta["explain"]["asServed"].startswith(words)


def test_maps_of_different_ranges_and_exchanges_are_separate(folder, url):
    with liqdata.Client(url) as client, liqdata.open(folder) as market:
        week = client.heatmap("ETH", "7d", source="coinglass")
        pair = client.heatmap("ETH", exchange="binance", source="coinglass")
        day = client.heatmap("ETH", source="coinglass")
        stored = {
            (one.range, one.meta.get("exchange")): one for one in market.maps("ETH", kind="heatmap", source="coinglass")
        }
    assert [one.matrix.max() for one in (day, week, pair)] == [3 * 1600, 13 * 1600, 9 * 1600]
    assert (day, week, pair) == (stored["24h", None], stored["7d", None], stored["24h", "binance"])


@pytest.mark.parametrize("values", ["f64", "f32", "u16"])
def test_the_bytes_have_the_numbers_of_the_json(url, values):
    question = f"{url}/api/liq-heatmap?symbol=ETH&source=coinglass"
    sent = json.loads(get(question)[0])
    body, headers = get(f"{question}&values={values}", GRID)
    assert headers["content-type"] == GRID
    size = int.from_bytes(body[8:12], "little")
    head = json.loads(body[12 : 12 + size])
    names = ("symbol", "range", "units", "source", "recordedAt", "times", "currentPrice")
    assert {name: head[name] for name in names} == {name: sent[name] for name in names}
    numbers = body[(12 + size + 7) // 8 * 8 :]
    rows = len(sent["prices"])
    assert np.frombuffer(numbers, "<f8", rows).tolist() == sent["prices"]
    if values != "u16":
        kind = {"f64": "<f8", "f32": "<f4"}[values]
        cells = np.frombuffer(numbers[8 * rows :], kind).reshape(-1, rows).T
        assert np.allclose(cells, sent["matrix"], rtol=0 if values == "f64" else 1e-7, atol=0)
    again = urllib.request.Request(question, headers={"If-None-Match": get(question)[1]["etag"]})
    with pytest.raises(urllib.error.HTTPError, match="304"):
        urllib.request.urlopen(again)


def test_a_missing_recording_is_refused_with_the_available_ones(url):
    status, error = refused(f"{url}/api/liq-heatmap?symbol=ETH&source=hyblock")
    assert (status, error["parameter"]) == (400, "source")
    assert error["allowed"].endswith('or a recorded source: "coinglass"')
    status, error = refused(f"{url}/api/liq-heatmap?symbol=BTC&source=coinglass")
    assert (status, error["parameter"]) == (404, "source")
    assert error["message"] == (
        "coinglass has no recorded heatmap BTC 24h; it has heatmap ETH 24h, heatmap ETH 24h exchange=binance, "
        "heatmap ETH 7d, liqmap ETH 1d"
    )
    status, error = refused(f"{url}/api/liq-heatmap?symbol=ETH&source=coinglass&as_of={BEGIN - 1}")
    assert status == 404
    assert "has no recorded heatmap ETH 24h at or before" in error["message"]
    status, error = refused(f"{url}/api/liq-maxpain?symbol=ETH&source=coinglass")
    assert status == 404
    for more, name in (("span=all", "span"), ("opened=range", "opened"), ("low=1", "low")):
        status, error = refused(f"{url}/api/liq-heatmap?symbol=ETH&source=coinglass&{more}")
        assert (status, error["parameter"]) == (400, name)
    for name in ("..", "a/b", "", "recorder.json%00"):
        assert refused(f"{url}/api/liq-heatmap?symbol=ETH&source={name}")[0] == 400
    assert refused(f"{url}/api/liq-heatmap?symbol=ETH&source=positions")[0] == 400
    with liqdata.Client(url) as client, pytest.raises(liqdata.Refused, match="no recorded liqmap ETH 7d"):
        client.liqmap("ETH", "7d", source="coinglass")
    with liqdata.serve(liqdata.Market(bars=liqdata.demo().bars("BTC"))) as server:
        _, error = refused(f"{server.url}/api/liq-heatmap?source=coinglass")
        assert error["allowed"].endswith("; nothing is recorded in this market")


def test_the_index_lists_what_was_recorded(url):
    listed = json.loads(get(f"{url}/api")[0])["recorded"]
    assert listed == json.loads(get(f"{url}/openapi.json")[0])["x-liqdata-recorded"]
    (one,) = listed
    assert one["source"] == "coinglass"
    first, last = instants()[0], instants()[-1]
    assert {"endpoint": "liqmap", "symbol": "ETH", "range": "1d", "since": first, "last": last} in one["maps"]
    assert [each["range"] for each in one["maps"] if each["endpoint"] == "heatmap"] == ["24h", "24h", "7d"]


def test_a_map_that_is_recorded_while_a_server_runs_is_sent(tmp_path):
    folder = str(tmp_path / "archive")
    with serving({HEAT: Script(heat(1), heat(2))}) as double:
        record(folder, double, [BEGIN], ["heatmap"])
        with liqdata.open(folder) as market, liqdata.serve(market) as server, liqdata.Client(server.url) as client:
            assert client.heatmap("ETH", source="coinglass").matrix.max() == 1600
            # The file of state is lost before the recorder starts again.
            (tmp_path / "archive/recorded/coinglass/recorder.json").unlink()
            record(folder, double, [BEGIN + HOUR], ["heatmap"])
            assert client.heatmap("ETH", source="coinglass").matrix.max() == 3200
            assert client.heatmap("ETH", source="coinglass", as_of=at(BEGIN)).matrix.max() == 1600


def test_a_recorded_server_is_sent_with_its_own_labels(tmp_path):
    folder, demo = str(tmp_path / "archive"), liqdata.demo()
    with liqdata.serve(demo) as origin, liqdata.Client(origin.url) as client:
        (source,) = sources_of(client)
        questions = questions_of(source, ["BTC"], ["heatmap", "liqmap", "maxpain", ("liqmap", {"range": "7d"})])
        part = SourceRecorder(source, questions, Store(folder, source.name), HOUR)
        part.round(BEGIN)
        assert part.trouble == {}
        part.close()
        wanted = [client.heatmap(), client.liqmap(), client.maxpain(), client.liqmap("BTC", "7d")]
        name = source.name
    with liqdata.open(folder) as market, liqdata.serve(market) as server, liqdata.Client(server.url) as client:
        found = [
            client.heatmap(source=name),
            client.liqmap(source=name),
            client.maxpain(source=name),
            client.liqmap("BTC", "7d", source=name),
        ]
        assert found == wanted
        found.append(market.heatmap(source=name))
        found.append(market.maxpain(source=name))
        assert all(one.simulated for one in found)
        assert {one.units for one in found} == {"usd"}
        assert {one.meta["recording"] for one in found} == {name}


def test_recordings_without_maps_are_refused(tmp_path):
    folder = str(tmp_path / "archive")
    with serving({HEAT: heat(1), MAP: replies.MAPS["by leverage"]}) as double:
        record(folder, double, [BEGIN], ["heatmap", "liqmap"])
    file = tmp_path / "archive/recorded/coinglass/recorder.json"
    state = json.loads(file.read_bytes())
    # A map without a price has no form in the contract.
    assert list(state.pop("served")) == ["heatmap ETH"]
    file.write_text(json.dumps(state))  # as an older version wrote it
    with liqdata.open(folder) as market, liqdata.serve(market) as server:
        status, error = refused(f"{server.url}/api/liq-heatmap?symbol=ETH&source=coinglass")
        assert status == 404
        assert "recorded by an older liqdata" in error["message"]
        assert 'market.maps(source="coinglass") reads them in Python' in error["message"]
        assert len(market.maps("ETH", source="coinglass")) == 2


def test_a_damaged_recording_is_refused_where_its_maps_may_be_missing(folder, tmp_path):
    copied = tmp_path / "archive"
    shutil.copytree(folder, copied)
    (file,) = copied.glob(f"recorded/coinglass/maps/**/*{at(instants()[0]):%Y-%m-%d}*/**/*.parquet")
    file.write_bytes(file.read_bytes()[:-20])
    with liqdata.open(copied) as market, liqdata.serve(market) as server:
        status, error = refused(f"{server.url}/api/liq-heatmap?symbol=ETH&source=coinglass&as_of={instants()[0]}")
        assert status == 503
        assert str(tmp_path) not in error["message"]
        with liqdata.Client(server.url) as client:
            assert client.heatmap("ETH", source="coinglass").matrix.max() == 3 * 1600


def test_an_async_client_gets_recorded_maps_of_several_instants(url):
    async def ask():
        async with liqdata.AsyncClient(url) as client:
            maps = client.heatmap("ETH", source="coinglass", as_of=[at(one) for one in instants()])
            found = [one async for one in await maps]
            return found, await client.liqmap(["ETH"], source="coinglass")

    found, levels = asyncio.run(ask())
    assert [one.matrix.max() for one in found] == [1600, 3200, 4800]
    assert levels["ETH"].meta["recorded_at"] == at(instants()[-1])
