# /// script
# requires-python = ">=3.11"
# dependencies = ["joblib==1.6.0", "diskcache==5.6.3"]
# ///
"""A cache keyed by an opened archive asks again after rows were added."""

import tempfile

import diskcache
import joblib
from common import line

import liqdata

rows = list(liqdata.demo(seed=7).iter_orders("BTC", start="2026-05-10", end="2026-05-11"))
assert len(rows) > 100
with tempfile.TemporaryDirectory() as folder:
    store = f"{folder}/archive"
    answers = {}
    memory = joblib.Memory(f"{folder}/joblib", verbose=0)
    cache = diskcache.Cache(f"{folder}/diskcache")

    def counted(market):
        """Return how many orders a market has."""
        return sum(1 for _ in market.iter_orders())

    by_joblib, by_diskcache = memory.cache(counted), cache.memoize()(counted)
    for part in (rows[100:], rows[:100]):
        liqdata.ingest(store, orders=part, source="the demo, simulated")
        with liqdata.open(store) as market:
            for cached in (by_joblib, by_diskcache):
                assert cached(market) == cached(market) == counted(market)
    cache.close()
for name in ("joblib", "diskcache"):
    line(name, "an archive as an argument: it asks again after rows were added", "—", name)
