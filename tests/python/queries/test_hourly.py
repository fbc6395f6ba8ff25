"""The recording of the simulated market: what it served at each full hour, with model 3."""

from datetime import timedelta

import pytest

import liqdata
from liqdata.errors import BadQuery, LiqdataError


def test_the_recording_is_the_map_of_the_last_full_hour():
    with liqdata.demo() as market, market.serve() as server, liqdata.Client(server.url) as client:
        hour = market.now.replace(minute=0, second=0, microsecond=0)
        for source in (market, client):
            for name, given in (("liqmap", {"range": "7d"}), ("heatmap", {"range": "24h"}), ("maxpain", {})):
                ask = getattr(source, name)
                found = ask("BTC", source="hourly", **given)
                assert found.meta["recording"] == "hourly"
                assert found.meta["recorded_at"] == hour
                wanted = getattr(market, name)("BTC", model=3, as_of=hour, **given)
                if name == "maxpain":
                    assert dict(found) == dict(wanted)
                    assert found.meta["simulated"] is True
                else:
                    assert found == wanted
                    assert found.simulated
        earlier = market.liqmap("BTC", "7d", source="hourly", as_of=hour - timedelta(minutes=1))
        assert earlier.meta["recorded_at"] == hour - timedelta(hours=1)


def test_what_is_not_recorded_is_refused_with_what_is():
    market = liqdata.demo()
    with pytest.raises(BadQuery, match='a recorded source: "hourly"'):
        market.liqmap("BTC", source="coinglass")
    with pytest.raises(LiqdataError, match=r"hourly has no recorded heatmap BTC 1M; it has heatmap .* 24h"):
        market.heatmap("BTC", "1M", source="hourly")
    with pytest.raises(LiqdataError, match="the first one is of"):
        market.heatmap("BTC", "24h", source="hourly", as_of=market.now - timedelta(days=8))
    with pytest.raises(BadQuery, match="has maps alone, for heatmap, liqmap and maxpain"):
        market.maps(source="hourly")
