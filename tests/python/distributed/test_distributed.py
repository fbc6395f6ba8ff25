"""Maps, scores and clients on a real Dask cluster of two processes equal those of this process."""

import json
import os
from datetime import datetime
from pathlib import Path

import buckets
import numpy as np
import polars as pl
import pytest
from scored import DAY, MINUTE, START, bars

import liqdata
from liqdata import cli
from liqdata.errors import BadQuery

distributed = pytest.importorskip("distributed")

COINS = ["BTC", "ETH"]
DAYS = 12
BEGIN = START - 6 * DAY  # 2025-12-26
INSTANTS = [f"{day}T{hour:02}:00Z" for day in ("2025-12-30", "2026-01-03", "2026-01-06") for hour in (0, 12)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Bars, open interest and orders of two coins."""
    path = str(tmp_path_factory.mktemp("distributed") / "archive")
    chance = np.random.default_rng(4)
    writer = liqdata._core.ArchiveWriter(path)
    for coin in COINS:
        table = {name: np.round(cells, 4) for name, cells in bars(DAYS).items()}
        table["timestamp"] = BEGIN + 15 * MINUTE * np.arange(len(table["close"]))
        count = len(table["timestamp"])
        readings = {
            "symbol": [coin] * count,
            "timestamp": table["timestamp"] + 15 * MINUTE,
            "open_interest": np.round(1e2 * np.exp(np.cumsum(chance.normal(0, 0.002, count))), 6),
        }
        values = np.round(chance.lognormal(10, 1, 2000), 2)
        orders = {
            "exchange": ["okx"] * 2000,
            "symbol": [f"{coin}USDT"] * 2000,
            "side": chance.choice(["LONG", "SHORT"], 2000).tolist(),
            "price": [60_000.0] * 2000,
            "qty": np.round(values / 60_000, 8),
            "value_usd": values,
            "timestamp": np.sort(chance.integers(BEGIN, BEGIN + DAYS * DAY, 2000)),
        }
        writer.append(orders, {**table, "symbol": [coin] * count}, readings, "okx")
    writer.run("okx", "complete", BEGIN, BEGIN + DAYS * DAY)
    writer.roll(BEGIN + DAYS * DAY)
    writer.close()
    return path


@pytest.fixture(scope="module")
def cluster(store, tmp_path_factory):
    """Two processes that know the server of objects from their environment."""
    cache = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**buckets.KEYS, "AWS_ENDPOINT_URL": store.address, "XDG_CACHE_HOME": str(cache)}.items():
            patch.setenv(name, value)
        patch.setenv("DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED", "False")  # or it samples its threads all the time
        with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
            yield cluster


@pytest.fixture(scope="module")
def scored_here(folder):
    """The cards of all coins, scored in this process."""
    with liqdata.open(folder) as market:
        return {coin: liqdata.score(market, market, symbol=coin, start="2026-01-05") for coin in COINS}


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster, set_as_default=False) as client:
        yield client


def frame_of(out):
    """All rows of a data set of Parquet."""
    rows = pl.read_parquet(f"{out}/**/*.parquet", hive_partitioning=True)
    return rows.sort("symbol", "as_of", "price", "side")


def test_maps_of_a_cluster_equal_those_of_the_market(folder, client, tmp_path):
    done = liqdata.distributed.maps(folder, COINS, INSTANTS, client=client, out=tmp_path / "maps")
    assert (done.partitions, done.written, done.maps, done.missing) == (4, 4, 12, 0)
    frame = frame_of(done.out)
    with liqdata.open(folder) as market:
        for coin in COINS:
            for at in INSTANTS:
                map = market.liqmap(coin, "7d", as_of=at)
                instant = datetime.fromisoformat(at)
                rows = frame.filter((pl.col("symbol") == coin) & (pl.col("as_of") == instant))
                wanted = map.to_frame().sort_values(["price", "side"])
                for name in ("price", "2", "10", "100", "total"):
                    assert rows[name].to_numpy().tobytes() == wanted[name].to_numpy().tobytes()
                assert rows["side"].to_list() == wanted["side"].tolist()
                assert set(rows["current_price"]) == {map.current_price}
    alone = liqdata.distributed.maps(folder, COINS, INSTANTS, out=tmp_path / "alone")
    files = {file.relative_to(alone.out): file.read_bytes() for file in Path(alone.out).rglob("*.*")}
    assert len(files) == 8
    assert {file.relative_to(done.out): file.read_bytes() for file in Path(done.out).rglob("*.*")} == files


def test_a_second_call_writes_only_what_is_missing(folder, client, tmp_path):
    out = tmp_path / "maps"
    liqdata.distributed.maps(folder, COINS, INSTANTS, client=client, out=out)
    before = frame_of(out)
    # A killed worker leaves a file without its mark.
    (out / "symbol=BTC" / "month=2026-01" / "_complete.json").unlink()
    (out / "symbol=BTC" / "month=2026-01" / "maps.parquet").write_bytes(b"cut")
    done = liqdata.distributed.maps(folder, COINS, INSTANTS, client=client, out=out)
    assert (done.written, done.maps) == (1, 12)
    assert frame_of(out).equals(before)
    fewer = liqdata.distributed.maps(folder, COINS, INSTANTS[1:], client=client, out=out)
    assert (fewer.written, fewer.maps) == (2, 10)
    other = liqdata.distributed.maps(folder, COINS, INSTANTS[1:], client=client, out=out, range="1d")
    assert other.written == other.partitions == 4


def test_zarr_has_the_same_numbers(folder, client, tmp_path):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("zarr")
    done = liqdata.distributed.maps(folder, COINS, INSTANTS, client=client, out=tmp_path / "maps.zarr")
    assert (done.written, done.maps) == (4, 12)
    tree = xarray.open_datatree(done.out, engine="zarr", consolidated=False)
    assert set(tree.children) == {"symbol=BTC", "symbol=ETH"}
    data = tree["symbol=ETH/month=2026-01"].to_dataset()
    with liqdata.open(folder) as market:
        map = market.liqmap("ETH", "7d", as_of=INSTANTS[3])
    one = data.sel(as_of=INSTANTS[3].removesuffix("Z"))
    size = map.prices.size
    assert np.array_equal(one["tiers"].values[:size], map.tiers)
    assert np.array_equal(one["price"].values[:size], map.prices)
    assert np.array_equal(one["is_short"].values[:size], map.sides == "short")
    assert np.isnan(one["total"].values[size:]).all()
    again = liqdata.distributed.maps(folder, COINS, INSTANTS, client=client, out=tmp_path / "maps.zarr")
    assert again.written == 0


def test_instants_without_data_are_counted_and_others_refused(folder, tmp_path):
    early = liqdata.distributed.maps(folder, "BTC", ["2025-12-01", "2026-01-03"], out=tmp_path / "maps")
    assert (early.partitions, early.maps, early.missing) == (2, 1, 1)
    for symbols, instants, named in (
        ("BTC", ["2026-02-01"], "instants"),
        ("NOPE", ["2026-01-03"], "symbols"),
        ("BTC", [], "instants"),
        ("BTC", [None], "instants"),
    ):
        with pytest.raises(BadQuery) as raised:
            liqdata.distributed.maps(folder, symbols, instants, out=tmp_path / "others")
        assert raised.value.parameter == named
    with pytest.raises(BadQuery, match="client: a int"):
        liqdata.distributed.maps(folder, "BTC", ["2026-01-03"], client=1, out=tmp_path / "others")


def test_scores_of_a_cluster_equal_those_of_this_process(folder, client, scored_here):
    found = liqdata.distributed.score(folder, client=client, start="2026-01-05")
    assert {coin: (card.meta, repr(card.tables)) for coin, card in found.items()} == {
        coin: (card.meta, repr(card.tables)) for coin, card in scored_here.items()
    }


def test_the_command_scores_all_coins_on_a_cluster(folder, cluster, tmp_path, capsys):
    arguments = ["score", folder, "--start", "2026-01-05", "--markdown"]
    assert (
        cli.main([*arguments, str(tmp_path / "there.md"), "--coins", "all", "--dask", cluster.scheduler_address]) == 0
    )
    there = capsys.readouterr().out
    here = ""
    for coin in COINS:
        assert cli.main([*arguments, str(tmp_path / "here.md"), "--symbol", coin]) == 0
        here += capsys.readouterr().out
    assert there == here
    assert cli.main(["score", folder, "--dask", "tcp://127.0.0.1:1"]) == 2
    assert "dask: 'tcp://127.0.0.1:1' does not answer" in capsys.readouterr().err


def test_workers_read_the_archive_from_a_bucket(s3, folder, client, scored_here, tmp_path):
    with liqdata.open(folder) as market:
        market.export("s3://kept/here")
    done = liqdata.distributed.maps("s3://kept/here", COINS, INSTANTS, client=client, out="s3://kept/maps")
    again = liqdata.distributed.maps("s3://kept/here", COINS, INSTANTS, client=client, out="s3://kept/maps")
    cards = liqdata.distributed.score("s3://kept/here", COINS, client=client, start="2026-01-05")
    assert (done.written, again.written) == (4, 0)
    here = liqdata.distributed.maps(folder, COINS, INSTANTS, out=tmp_path / "maps")
    for file in Path(here.out).rglob("maps.parquet"):
        assert s3.get(f"maps/{file.relative_to(here.out)}") == file.read_bytes()
    assert json.loads(s3.get("maps/symbol=BTC/month=2025-12/_complete.json"))["maps"] == 2
    assert {coin: repr(card.tables) for coin, card in cards.items()} == {
        coin: repr(card.tables) for coin, card in scored_here.items()
    }


def test_workers_use_a_pickled_client(server, cluster, client):
    def ask(client, place):
        return os.getpid(), client.overview(), client.coins(limit=1 + place % 8)

    with liqdata.Client(server.url) as asking:
        workers = list(cluster.scheduler.workers)
        each = [client.map(ask, [asking] * 40, range(40), pure=False, workers=[one]) for one in workers]
        answers = [answer for asked in each for answer in client.gather(asked)]
        assert len({worker for worker, *_ in answers} - {os.getpid()}) == 2
        wanted = asking.overview()
        assert all(answer == wanted for _, answer, _ in answers)
        assert all(rows == asking.coins(limit=1 + place % 8) for place, (*_, rows) in enumerate(answers))
