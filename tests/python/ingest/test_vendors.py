"""Files of Tardis and fills of Hyperliquid: what they become in an archive."""

import json
from decimal import Decimal

import pytest
from dumped import MINUTE, START, TARDIS, TICKER, orders_of, written

import liqdata
from liqdata.errors import BadQuery

UNKNOWN_SIZE = (
    "is in contracts, and the size of the contract is unknown; ingest and read take it as contract_size (a number, or "
    "a table of symbol and contract_size), the command as --contract-size"
)

# --- Tardis


def test_tardis_liquidations_have_the_order_side_and_the_receipt_time(tmp_path, folder):
    at = (START + 1) * 1000
    file = written(
        tmp_path,
        "binance-futures_liquidations_2024-01-02_PERPETUALS.csv.gz",
        f"binance-futures,BTCUSDT,{at},{at + 250_999},,sell,40000,0.5",
        f"binance-futures,ETHUSDT,{at},{at + 250_999},,buy,2000,1",
        f"binance-delivery,BTCUSD_PERP,{at},{at + 250_999},,sell,40000,4",
        f"bybit,BTCUSD,{at},{at + 250_999},abc,sell,40000,400",
        f"bybit,BTCUSDT,{at},{at + 250_999},abd,sell,40000,0.25",
        f"deribit,BTC-PERPETUAL,{at},{at + 250_999},5,sell,40000,1000",
        f"bitmex,XBTUSD,{at},{at + 250_999},6,buy,40000,1000",
        f"okex-swap,BTC-USDT-SWAP,{at},{at + 250_999},,sell,40000,3",
        f"unlisted,BTCUSDT,{at},{at + 250_999},,sell,40000,3",
        header=TARDIS,
    )
    done = liqdata.ingest(folder, file)
    assert (done.rows, done.new, sum(done.refused.values())) == (9, 7, 2)
    assert any("the size of the contract is unknown" in reason for reason in done.refused)
    worth = {(row["exchange"], row["symbol"], row["side"]): row["value_usd"] for row in orders_of(folder)}
    assert worth == {
        ("binance", "BTCUSDT", "LONG"): 20_000,
        ("binance", "ETHUSDT", "SHORT"): 2_000,
        ("binance", "BTCUSD", "LONG"): 400,
        ("bybit", "BTCUSD", "LONG"): 400,
        ("bybit", "BTCUSDT", "LONG"): 10_000,
        ("deribit", "BTCUSD", "LONG"): 1_000,
        ("bitmex", "BTCUSD", "SHORT"): 1_000,
    }
    # It was received a quarter of a second later, and not known before.
    with liqdata.open(folder, as_of=START + 250) as market:
        assert len(list(market.iter_orders(start=0))) == 0
    with liqdata.open(folder, as_of=START + 251) as market:
        assert len(list(market.iter_orders(start=0))) == 7
        (binance,) = (row for row in market.coverage("24h") if row["exchange"] == "binance")
    assert binance["completeness"] == "sampled"
    assert liqdata.ingest(folder, file).new == 0


def test_amounts_in_contracts_are_read_with_a_given_size(tmp_path, folder):
    at = (START + 1) * 1000
    file = written(
        tmp_path,
        "okex-swap_liquidations_2024-01-02_PERPETUALS.csv.gz",
        f"okex-swap,BTC-USDT-SWAP,{at},{at + 250_999},,sell,40000,3",
        header=TARDIS,
    )
    assert liqdata.ingest(folder, file, contract_size=0.01).new == 1
    assert [(float(row["qty"]), float(row["value_usd"])) for row in orders_of(folder)] == [(0.03, 1200)]


def test_trades_have_the_header_of_liquidations_and_are_not_taken_for_them(tmp_path, folder):
    line = f"binance-futures,BTCUSDT,{START * 1000},{START * 1000},7,sell,40000,1"
    for name, said in [
        ("binance-futures_trades_2024-01-02_BTCUSDT.csv.gz", "contains trades"),
        ("BTCUSDT.csv.gz", 'give format="tardis_liquidations"'),
    ]:
        file = written(tmp_path, name, line, header=TARDIS)
        with pytest.raises(BadQuery, match=said) as refused:
            liqdata.ingest(folder, file)
        assert refused.value.parameter == "files"
    assert liqdata.ingest(folder, file, format="tardis_liquidations").new == 1


def test_a_ticker_gives_open_interest_where_it_changes_and_every_five_minutes(tmp_path, folder):
    def line(seconds, value, exchange="binance-futures", symbol="BTCUSDT", mark="40000"):
        at = (START + seconds * 1000) * 1000
        return f"{exchange},{symbol},{at},{at + 5000},,0.0001,,{value},40001,40000,{mark}"

    rows = [line(0, "100.5"), line(1, "100.5"), line(2, "101"), line(299, "101"), line(302, "101"), line(303, "")]
    inverse = [line(1, "800000", "deribit", "BTC-PERPETUAL"), line(2, "3", "okex-swap", "BTC-USDT-SWAP")]
    file = written(tmp_path, "x_derivative_ticker_2024-01-02_PERPETUALS.csv.gz", *rows, *inverse, header=TICKER)
    done = liqdata.ingest(folder, file)
    assert (done.rows, done.new, done.repeated) == (8, 4, 2)
    assert done.refused == {
        "open_interest: blank": 1,
        f"open_interest: {UNKNOWN_SIZE}": 1,
    }
    with liqdata.open(folder) as market:
        read = [
            (row["exchange"], row["timestamp"] - START, row["open_interest"]) for row in market.open_interest("BTC")
        ]
    assert sorted(read) == [
        ("binance", 0, 100.5),
        ("binance", 2000, 101.0),
        ("binance", 302_000, 101.0),
        ("deribit", 1000, 20.0),
    ]
    again = liqdata.ingest(folder, file)
    assert (again.new, again.repeated) == (0, 6)


# --- Hyperliquid

LIQUIDATED = "0x5ef8000000000000000000000000000000000001"
OTHER = "0xa775000000000000000000000000000000000002"


def fill(
    at=1, *, side="A", before="8.5", qty="0.58", price="72.153", coin="SOL", tid=11, of=LIQUIDATED, way="Close Long"
):
    """A fill as a node writes it; every member that is read is as in its files."""
    made = {"coin": coin, "px": price, "sz": qty, "side": side, "time": START + at, "startPosition": before}
    made |= {"dir": way, "closedPnl": "-1.5", "hash": "0x0", "oid": 5, "crossed": True, "fee": "0.01", "tid": tid}
    if of is not None:
        made["liquidation"] = {"liquidatedUser": of, "markPx": "72.149", "method": "market"}
    return made


def legs(*accounts_and_fills):
    return [json.dumps(list(one)) for one in accounts_and_fills]


FILLS = (
    (LIQUIDATED.upper().replace("0X", "0x"), fill(1)),
    (OTHER, fill(1, side="B", before="-162.6", way="Close Short")),  # the other side of the same trade
    (LIQUIDATED, fill(2, side="B", before="-3", coin="kPEPE", price="0.01", qty="1000", tid=12)),
    (OTHER, fill(3, of=None, tid=13)),
    (LIQUIDATED, fill(4, way="Auto-Deleveraging", tid=14)),
)


def assert_the_two_of(folder, file, again):
    done = liqdata.ingest(folder, file)
    assert (done.rows, done.new, done.refused) == (2, 2, {})
    assert done.files == {str(file): "hyperliquid_fills"}
    stored = [(row["symbol"], row["side"], row["qty"], row["price"], row["value_usd"]) for row in orders_of(folder)]
    assert stored == [
        ("KPEPEUSDC", "SHORT", Decimal(1000), Decimal("0.01"), Decimal(10)),
        ("SOLUSDC", "LONG", Decimal("0.58"), Decimal("72.153"), Decimal("41.84874")),
    ]
    with liqdata.open(folder, as_of=START + MINUTE) as market:
        assert [row["side"] for row in market.iter_orders("PEPE", start=0)] == ["SHORT"]
        (row,) = (row for row in market.coverage("24h") if row["exchange"] == "hyperliquid")
    assert row["completeness"] == "unknown"
    assert (liqdata.ingest(folder, again).new, liqdata.ingest(folder, again).repeated) == (0, 2)


def test_only_fills_of_the_liquidated_account_are_stored(tmp_path, folder):
    file = written(tmp_path, "8", *legs(*FILLS))
    block = {"local_time": "2024-01-02T00:00:00.5", "block_time": "2024-01-02T00:00:00.4", "block_number": 7}
    blocks = [json.dumps(block | {"events": events}) for events in ([], FILLS[:2], FILLS[2:])]
    assert_the_two_of(folder, file, written(tmp_path, "by_block.json.gz", *blocks))


def test_an_invalid_fill_is_refused_alone(tmp_path, folder):
    file = written(
        tmp_path,
        "8",
        *legs(
            (LIQUIDATED, fill(1)),
            (LIQUIDATED, fill(2, before="-1", tid=2)),
            (LIQUIDATED, fill(3, side="X", tid=3)),
            (LIQUIDATED, fill(4, price="0", tid=4)),
            (LIQUIDATED, fill(5, coin="xyz:TSLA", tid=5)),
            (LIQUIDATED, fill(6, coin="@107", tid=6)),
            (LIQUIDATED, {name: value for name, value in fill(7, tid=7).items() if name != "tid"}),
        ),
        '["0xa775", {"coin"',
    )
    done = liqdata.ingest(folder, file)
    assert (done.rows, done.new) == (8, 1)
    assert {reason.partition(":")[0] for reason in done.refused} == {
        "startPosition",
        "side",
        "price",
        "coin",
        "the fill has an unexpected format",
        "the line is neither a fill nor a block of fills",
    }
    assert done.first["side: not A or B"].startswith(f"{file}:3 ")
    packed = tmp_path / "8.lz4"
    packed.write_bytes(b"\x04\x22\x4d\x18" + b"\x40" * 40)
    with pytest.raises(BadQuery, match="it is cut short or damaged"):
        liqdata.ingest(folder, packed)


def test_a_reservoirs_fills_are_those_of_a_node(tmp_path, folder):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    ten = pyarrow.decimal128(20, 10)
    fills = [one for _, one in FILLS]
    columns = {
        "address": [account for account, _ in FILLS],
        "coin": [one["coin"] for one in fills],
        "dex": ["hyperliquid"] * len(fills),
        "asset_class": ["perp"] * len(fills),
        "base_symbol": [one["coin"] for one in fills],
        "quote_symbol": ["USDC"] * len(fills),
        "side": ["sell" if one["side"] == "A" else "buy" for one in fills],
        "direction": [one["dir"] for one in fills],
        "crossed": [one["crossed"] for one in fills],
        "is_liquidation": [True, False, True, None, True],
        "trade_id": [one["tid"] for one in fills],
        "order_id": [one["oid"] for one in fills],
    }
    amounts = {"price": "px", "size": "sz", "start_position": "startPosition"}
    table = pyarrow.table(
        columns
        | {name: pyarrow.array([Decimal(one[of]) for one in fills], ten) for name, of in amounts.items()}
        | {"timestamp": pyarrow.array([one["time"] for one in fills], pyarrow.timestamp("ms", "UTC"))}
    )
    file = tmp_path / "fills.parquet"
    parquet.write_table(table, file)
    assert_the_two_of(folder, file, written(tmp_path, "8", *legs(*FILLS)))
    # A builder's market is quoted in another currency, which is not taken for USD.
    usde = table.set_column(table.column_names.index("quote_symbol"), "quote_symbol", [["USDH"] * len(fills)])
    parquet.write_table(usde, tmp_path / "others.parquet")
    done = liqdata.ingest(folder, tmp_path / "others.parquet")
    assert (done.rows, done.new, sum(done.refused.values())) == (2, 0, 2)
    with pytest.raises(BadQuery, match='give format="hyperliquid_fills"'):
        liqdata.ingest(folder, file, format="orders")


def test_coin_margined_contracts_of_binance_have_their_size_in_files_of_cryptofeed(tmp_path, folder):
    names = "exchange,symbol,side,quantity,price,id,status,timestamp,receipt_timestamp"
    line = "BINANCE_DELIVERY,BTC-USD-PERP,sell,7,42000,,filled,1704153600,1704153600"
    file = tmp_path / "l.csv"
    file.write_text(f"{names}\n{line}\n{line.replace('BTC', 'ETH')}\n")
    assert liqdata.ingest(folder, file).new == 2
    with liqdata.open(folder) as market:
        assert {(row["symbol"], int(row["value_usd"])) for row in market.iter_orders()} == {
            ("BTCUSD", 700),
            ("ETHUSD", 70),
        }
