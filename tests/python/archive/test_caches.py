"""Caches that are keyed by an archive never answer with numbers of an earlier content."""

import pickle
import subprocess
import sys

import pytest

import liqdata

HOUR = 3_600_000
NOW = 1_780_272_000_000


def order(at):
    return {"timestamp": at, "exchange": "okx", "symbol": "BTCUSDT", "side": "LONG", "price": "1", "qty": "1"}


@pytest.fixture
def folder(tmp_path):
    """An archive of one order."""
    path = tmp_path / "archive"
    liqdata.ingest(path, orders=[order(NOW)])
    return path


def orders(market, symbol):
    """What a cache stores."""
    asked.append(symbol)
    return [row["timestamp"] for row in market.orders(symbol, start=NOW - 24 * HOUR, limit=10)]


asked = []


def test_a_pickle_changes_with_the_content_of_an_archive_and_only_then(folder):
    with liqdata.open(folder) as market, liqdata.replay(folder, start=NOW - HOUR, speed=1) as replay:
        pickles = [pickle.dumps(market)]
        market.orders("BTC")
        assert pickle.dumps(market) == pickles[0]
        script = "import pickle, sys, liqdata; sys.stdout.buffer.write(pickle.dumps(liqdata.open(sys.argv[1])))"
        elsewhere = subprocess.run([sys.executable, "-c", script, folder], capture_output=True, check=True)
        assert elsewhere.stdout == pickles[0]
        replayed = replay.__reduce__()[1][-1]
        # The newest row stays that of before.
        added = liqdata.ingest(folder, orders=[order(NOW - HOUR)])
        pickles.append(pickle.dumps(market))
        assert replay.__reduce__()[1][-1] != replayed
        liqdata.archive.undo(folder, added.id)
        pickles.append(pickle.dumps(market))
        assert len(set(pickles)) == 3
        # An earlier pickle opens what is there now.
        for pickled in pickles:
            with pickle.loads(pickled) as again:
                assert again.orders("BTC") == market.orders("BTC")


def test_a_pickle_of_a_download_changes_with_the_export(folder, tmp_path):
    pytest.importorskip("obstore", reason="needs the extra cloud")
    pickles = []
    for at in (NOW, NOW - HOUR):
        liqdata.ingest(folder, orders=[order(at)])
        with liqdata.open(folder) as market:
            market.export(tmp_path / "export")
        for _ in range(2):
            with liqdata.open((tmp_path / "export").as_uri(), cache=tmp_path / "cache") as copy:
                pickles.append(pickle.dumps(copy))
    assert pickles[0] == pickles[1] != pickles[2] == pickles[3]


def stored_by_joblib(path):
    joblib = pytest.importorskip("joblib", reason="not installed")
    return joblib.Memory(path, verbose=0).cache(orders)


def stored_by_diskcache(path):
    diskcache = pytest.importorskip("diskcache", reason="not installed")
    return diskcache.Cache(str(path)).memoize()(orders)


@pytest.mark.parametrize("made", [stored_by_joblib, stored_by_diskcache])
def test_a_cache_computes_again_after_the_archive_has_changed(folder, tmp_path, made):
    function = made(tmp_path / "cache")
    asked.clear()
    with liqdata.open(folder) as market:
        assert function(market, "BTC") == function(market, "BTC") == [NOW]
        assert asked == ["BTC"]
        liqdata.ingest(folder, orders=[order(NOW - HOUR)])
        assert function(market, "BTC") == [NOW, NOW - HOUR]
    with liqdata.open(folder) as again:
        assert function(again, "BTC") == [NOW, NOW - HOUR]
    assert asked == ["BTC", "BTC"]
