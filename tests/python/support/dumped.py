"""Files of the past in the shapes their makers document, and what became of them, for the tests of ingest."""

import gzip
import zipfile

import liqdata

DAY = 86_400_000
MINUTE = 60_000
START = 1_704_153_600_000  # 2024-01-02

LIQUIDATIONS = (
    "time,side,order_type,time_in_force,original_quantity,price,average_price,order_status,"
    "last_fill_quantity,accumulated_fill_quantity"
)
METRICS = (
    "create_time,symbol,sum_open_interest,sum_open_interest_value,count_toptrader_long_short_ratio,"
    "sum_toptrader_long_short_ratio,count_long_short_ratio,sum_taker_long_short_vol_ratio"
)
KLINES = (
    "open_time,open,high,low,close,volume,close_time,quote_volume,count,taker_buy_volume,taker_buy_quote_volume,ignore"
)
TARDIS = "exchange,symbol,timestamp,local_timestamp,id,side,price,amount"
TICKER = (
    "exchange,symbol,timestamp,local_timestamp,funding_timestamp,funding_rate,predicted_funding_rate,"
    "open_interest,last_price,index_price,mark_price"
)


def force(at, side="SELL", qty="2", *, status="FILLED"):
    return f"{START + at},{side},LIMIT,IOC,{qty},40100,40000,{status},{qty},{qty}"


def kline(place, *, length=MINUTE, start=START, unit=1, volume="7", turnover="700"):
    opened = (start + place * length) * unit
    closed = (start + (place + 1) * length) * unit - 1
    return f"{opened},100,102.5,99,101,{volume},{closed},{turnover},3,1,1,0"


def written(folder, name, *lines, header=None):
    """A file of lines: plain, in gzip or in a zip, as its name says."""
    text = "\n".join([header] * (header is not None) + list(lines)) + "\n"
    path = folder / name
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(text.encode()))
    elif name.endswith(".zip"):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(name.removesuffix(".zip") + ".csv", text)
    else:
        path.write_text(text)
    return path


def orders_of(folder):
    with liqdata.open(folder) as market:
        return list(market.iter_orders(start=0))


def is_sound(folder):
    assert list(liqdata.archive.verify(folder)) == []
