# /// script
# requires-python = ">=3.11"
# dependencies = ["prefect==3.9.1"]
# ///
"""A cache of Prefect that is keyed by an opened archive asks again after rows were added."""

import tempfile

from common import line
from prefect.cache_policies import INPUTS

import liqdata


def key(market):
    """Return the key of a task that is given an archive."""
    return INPUTS.compute_key(task_ctx=None, inputs={"market": market}, flow_parameters={})


rows = list(liqdata.demo(seed=7).iter_orders("BTC", start="2026-05-10", end="2026-05-11"))
keys = []
with tempfile.TemporaryDirectory() as store:
    for part in (rows[100:], rows[:100]):
        liqdata.ingest(store, orders=part, source="the demo, simulated")
        with liqdata.open(store) as market:
            keys.append(key(market))
        with liqdata.open(store) as again:
            assert key(again) == keys[-1]
assert None not in keys
assert len(set(keys)) == 2
line("Prefect", "an archive as an input: tasks run again after rows were added", "`cache_policy=INPUTS`", "prefect")
