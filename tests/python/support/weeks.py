"""An archive of three weeks: orders, bars, open interest and maps, most of it in files, with gaps in what was heard."""

import random
from decimal import Decimal

import samples
from samples import DAY, HOUR, MINUTE, NOW

import liqdata
from liqdata import _core

DAYS = 21


def orders(days=DAYS, a_day=120, seed=9):
    """Orders of every day up to now, a few of them at one instant, two of them equal."""
    chance = random.Random(seed)
    at = [NOW - chance.randrange(days * DAY) for _ in range(days * a_day)] + [NOW, NOW - HOUR, NOW - DAY, NOW - DAY]
    at += [NOW - 5 * DAY] * 7 + [NOW - 10 * DAY + 1] * 3
    rows = [
        {
            "exchange": chance.choice(samples.VENUES),
            "symbol": chance.choice(samples.PAIRS),
            "side": chance.choice(("LONG", "SHORT")),
            "price": Decimal(chance.randint(1, 999_999)) / 100,
            "value_usd": Decimal(chance.randint(1, 999_999)) / 10,
            "timestamp": when,
        }
        for when in at
    ]
    for row in rows:
        row["qty"] = (row["value_usd"] / row["price"]).quantize(Decimal("1e-12"))
    rows[1]["timestamp"] = rows[0]["timestamp"]
    return samples.columns([*rows, dict(rows[7])])


def positions():
    """Snapshots of three accounts, one a week ago and one of now, in which one has gone."""
    bars = samples.rows(samples.bars(hours=24 * 15))
    closes = {bar["timestamp"] + 5 * MINUTE: bar["close"] for bar in bars if bar["symbol"] == "BTC"}
    rows = [
        {
            "timestamp": at,
            "observed_at": at - place * 1000,
            "account": f"0x{place:040x}",
            "coin": coin,
            "side": side,
            "qty": Decimal(2 + place),
            "entry_price": None if place == 1 else Decimal(100),
            "leverage": (3.0, 25.0, None)[place],
            "margin_mode": ("cross", "isolated", None)[place],
            "liquidation_price": (Decimal(str(price * 0.9)), Decimal(str(price * 1.2)), None)[place],
            "value_usd": Decimal(str(round(price, 2))) * (2 + place),
            "seen_share": 0.125,
        }
        for at, price in ((at, closes[at]) for at in (NOW - 7 * DAY, NOW))
        for place, (coin, side) in enumerate([("BTC", "LONG"), ("BTC", "SHORT"), ("BTC", "LONG")])
        if at < NOW or place < 2
    ]
    return samples.columns(rows)


def write(path, found=None):
    """Write it to ``path``."""
    writer = _core.ArchiveWriter(path)
    writer.append(orders() if found is None else found, None, None)
    writer.append(None, samples.bars(hours=24 * 15), None, exchange="binance")
    writer.append(None, None, samples.open_interest(hours=24 * 15))
    for venue in samples.VENUES:
        writer.run(venue, "sampled" if venue == "binance" else "complete", NOW - DAYS * DAY, NOW + 1)
    writer.gap("okx", NOW - 90 * MINUTE, NOW - 60 * MINUTE, "a test")
    writer.gap("bybit", NOW - 9 * DAY, NOW - 9 * DAY + HOUR, "another test")
    for place, (kind, version) in enumerate([("levels", "2.abc"), ("maxpain", None), ("levels", "2.abc")]):
        close = NOW - place * DAY
        writer.map(kind, "BTC", "range=7d", close, close + 1000, f'{{"place":{place}}}', None, version)
    writer.roll(NOW - 2 * DAY)
    writer.close()
    liqdata.ingest(path, positions=positions(), exchange="hyperliquid")
    return path
