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
        "user": [USER, f"{USER}2", USER, f"{USER}2"],
        "market": ["BTC", "BTC", "ETH", "ETH"],
        "size": [2.0, -2.0, -1.0, 1.0],
        "notional": [200.0, 200.0, 10.0, 10.0],
        "entry_price": [90.0, 90.0, 11.0, 10.0],
        "liquidation_price": [50.0, None, None, 0.0],
        "leverage_type": ["cross"] * 4,
        "leverage": [10, 5, 3, 2],
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
        ("reservoir", "positions"): (1, 2),
        ("hyperliquid_fills", "orders"): (1, 1),
    }
    assert done.usd == pytest.approx(planned.usd)
    with liqdata.open(folder) as market:
        (order,) = market.iter_orders(start=0)
        assert (order["symbol"], order["side"], order["qty"]) == ("BTCUSDC", "LONG", Decimal(2))
        position, other = market.positions("BTC")
        assert (position["side"], position["liquidation_price"]) == ("LONG", 50)
        assert (other["side"], other["liquidation_price"]) == ("SHORT", None)
    assert len(liqdata.fetch(folder, **asked, pay=1, dry_run=True).plan) == 0


def test_a_census_is_planned_by_day_and_read_whole(tmp_path, s3):
    start = AT - 2 * 86_400_000  # 2026-05-29
    for day, name in (("2026-05-29", f"7_{start + 427_926}"), ("2026-05-30", "part-0")):
        s3.put(f"global/snapshots/perp/all/date={day}/{name}.parquet", snapshot())
    folder = tmp_path / "archive"
    sources = {"reservoir": {"address": "s3://kept", "rate": 6_000_000}}
    asked = {"coins": "BTC,ETH", "start": "2026-05-28", "end": "2026-05-31", "sources": sources, "pay": 1}
    planned = liqdata.fetch(folder, **asked, dry_run=True)
    assert [(row["table"], row["day"]) for row in planned.plan] == [
        ("positions", AT - 86_400_000),
        ("positions", start),
    ]
    assert all(row["bytes"] > 0 and row["usd"] > 0 for row in planned.plan)
    missing = [row for row in planned.gaps if row["table"] == "positions"]
    assert [row["reason"] for row in missing] == ["not published"]
    assert liqdata.fetch(folder, **asked).rows[0]["new"] == 8
    with liqdata.open(folder) as market:
        # Without an instant in its name, a file counts from the end of its day.
        rows = market.positions("BTC", as_of=AT)
        assert rows.meta["snapshot"].timestamp() * 1000 == AT
        assert [(row["side"], row["qty"]) for row in rows] == [("LONG", 2), ("SHORT", 2)]
        assert rows.meta["seen_share"] == 1
        assert market.positions("ETH", as_of=AT - 1).meta["snapshot"].timestamp() * 1000 == start + 427_926


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
