"""Buckets of which the downloader pays the traffic, on an S3 server of this machine."""

import io
import json
from decimal import Decimal

import dump_double
import pyarrow as pa
import pytest
from pyarrow import parquet

import liqdata
from liqdata.fetching import bucket

AT = 1_780_185_600_000  # 2026-05-31
USER = "0x5ef8000000000000000000000000000000000001"


def fills():
    """A block of fills as a node writes it: a liquidation of BTC, one of ETH, and a trade."""

    def leg(coin, *, is_liquidation=True, tid=1):
        fill = {
            "coin": coin,
            "px": "100",
            "sz": "2",
            "side": "A",
            "time": AT + tid,
            "startPosition": "3",
            "dir": "Close Long",
        }
        fill |= {"tid": tid}
        if is_liquidation:
            fill["liquidation"] = {"liquidatedUser": USER, "markPx": "100", "method": "market"}
        return [USER, fill]

    events = [leg("BTC"), leg("ETH", tid=2), leg("BTC", is_liquidation=False, tid=3)]
    lines = [json.dumps({"block_number": number, "events": found}) for number, found in enumerate((events, []))]
    return dump_double.lz4(("\n".join(lines) + "\n").encode())


def snapshot():
    columns = {
        "user": [USER, USER],
        "market": ["BTC", "ETH"],
        "size": [2.0, -1.0],
        "notional": [200.0, 10.0],
        "entry_price": [90.0, 11.0],
        "liquidation_price": [50.0, None],
        "leverage_type": ["cross", "cross"],
        "leverage": [10, 5],
    }
    out = io.BytesIO()
    parquet.write_table(pa.table(columns), out)
    return out.getvalue()


@pytest.fixture
def sources(s3):
    s3.put("node_fills_by_block/hourly/20260531/0.lz4", fills())
    s3.put(f"global/snapshots/perp/all/date=2026-05-31/7_{AT + 5}.parquet", snapshot())
    s3.requests.clear()
    return {name: {"address": "s3://kept", "rate": 6_000_000} for name in ("reservoir", "hyperliquid_fills")}


def test_nothing_is_opened_without_pay_and_the_newest_with_it(tmp_path, s3, sources):
    folder = tmp_path / "archive"
    asked = {"coins": "BTC", "start": "2026-05-30", "end": "2026-06-01", "sources": sources}
    assert len(liqdata.fetch(folder, **asked).plan) == 0
    assert s3.requests == []
    planned = liqdata.fetch(folder, **asked, pay=1, dry_run=True)
    assert planned.usd == pytest.approx(sum(row["usd"] for row in planned.plan))
    assert 0 < planned.usd < 1
    too_little = liqdata.fetch(folder, **asked, pay=planned.usd / 100, dry_run=True)
    assert len(too_little.plan) == 0
    assert "it costs more than pay=" in {row["reason"] for row in too_little.gaps}
    done = liqdata.fetch(folder, **asked, pay=1)
    assert {(row["source"], row["table"]): (row["files"], row["new"]) for row in done.rows} == {
        ("reservoir", "positions"): (1, 1),
        ("hyperliquid_fills", "orders"): (1, 1),
    }
    assert done.usd == pytest.approx(planned.usd)
    with liqdata.open(folder) as market:
        (order,) = market.iter_orders(start=0)
        assert (order["symbol"], order["side"], order["qty"]) == ("BTCUSDC", "LONG", Decimal(2))
        (position,) = market.positions("BTC")
        assert (position["side"], position["liquidation_price"]) == ("LONG", 50)
    assert len(liqdata.fetch(folder, **asked, pay=1, dry_run=True).plan) == 0


def test_missing_credentials_are_a_gap_with_what_to_do(tmp_path, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
    monkeypatch.setattr(bucket, "RETRY", {**bucket.RETRY, "max_retries": 0})
    done = liqdata.fetch(
        tmp_path / "archive", coins="BTC", start="2026-05-31", end="2026-06-01", sources="reservoir", pay=1
    )
    (gap,) = done.gaps
    assert gap["reason"].startswith("it cannot be read: ")
    assert done.resumable
