"""One resolver for every door and every table: a symbol is understood in any spelling, or refused with the nearest."""

import json
import urllib.error
import urllib.request

import pytest
import samples

import liqdata
from liqdata import BadQuery, _core

SPELLINGS = [
    "BTCUSDT",
    "btcusdt",
    " BTCUSDT ",
    "BTC/USDT:USDT",
    "BTC/USDT",
    "BTC-USDT-SWAP",
    "BTC-USDT",
    "BTC_USDT",
    "XBTUSDT",
    "BTCUSDTM",
    "XBTUSDTM",
    "BTCUSDT.P",
    "BTCUSDT_261225",
    "BTCUSDT_UMCBL",
    "tBTCF0:USTF0",
]
NOW = samples.NOW


def orders(symbols, exchange="binance"):
    count = len(symbols)
    return {
        "exchange": [exchange] * count,
        "symbol": list(symbols),
        "side": ["LONG"] * count,
        "price": ["100.5"] * count,
        "qty": ["2"] * count,
        "value_usd": ["201"] * count,
        "timestamp": [NOW - 1000 * (count - place) for place in range(count)],
    }


LISTED = ["BTCUSDT", "BTC/USDT:USDT", "BTCUSD", "1000PEPEUSDT", "PEPEUSDT", "FARTUSDT", "ETHUSDT"]


@pytest.fixture(scope="module")
def market():
    return liqdata.Market(orders=orders(LISTED), bars=samples.bars(("BTC",)), now=NOW)


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """The same orders with two days behind them, in files."""
    path = tmp_path_factory.mktemp("symbols") / "archive"
    writer = _core.ArchiveWriter(path)
    names = [name for name in LISTED if "/" not in name]
    writer.append(orders(names), samples.bars(("BTC",)), None)
    writer.append({**orders(["MELANIAUSDT"], "okx"), "timestamp": [NOW - 5 * samples.DAY]}, None, None)
    writer.roll(NOW - 2 * samples.DAY)
    writer.close()
    with liqdata.open(path, as_of=NOW) as market:
        yield market


@pytest.fixture(scope="module")
def client(market):
    with liqdata.serve(market) as server, liqdata.Client(server.url) as client:
        yield client


@pytest.fixture(params=["market", "client"])
def source(request):
    return request.getfixturevalue(request.param)


def symbols(rows):
    return sorted(row["symbol"] for row in rows)


@pytest.mark.parametrize("spelled", SPELLINGS)
def test_a_pair_is_understood_in_every_spelling(source, spelled):
    assert symbols(source.orders(spelled)) == ["BTC/USDT:USDT", "BTCUSDT"]
    assert sum(row["total_usd"] for row in source.chart(spelled)) == 402
    assert sum(row["cnt"] for row in source.history(spelled, sparse=True)) == 2
    assert symbols(source.iter_orders(spelled)) == ["BTC/USDT:USDT", "BTCUSDT"]


@pytest.mark.parametrize("spelled", ["BTC", "xbt", "BTCUSDT", "BTC_USDT", "PF_XBTUSD", "BTC-PERPETUAL"])
def test_a_pair_is_accepted_as_its_coin(source, spelled):
    assert source.heatmap(spelled).symbol == "BTC"
    assert source.liqmap(spelled).symbol == "BTC"
    assert source.levels(spelled)["symbol"] == "BTC"


def test_a_coin_is_all_its_pairs(source):
    assert symbols(source.orders("BTC")) == ["BTC/USDT:USDT", "BTCUSD", "BTCUSDT"]
    assert sum(row["total_usd"] for row in source.chart("XBT")) == 603
    assert symbols(source.orders("PEPE")) == ["1000PEPEUSDT", "PEPEUSDT"]


def test_a_contract_of_a_thousand_coins_is_a_separate_pair(source):
    assert symbols(source.orders("1000PEPE-USDT")) == ["1000PEPEUSDT"]
    assert symbols(source.orders("PEPE_USDT")) == ["PEPEUSDT"]


@pytest.mark.parametrize("listed,asked", [("PEPEUSDT", "1000PEPEUSDT"), ("1000PEPEUSDT", "PEPE/USDT:USDT")])
def test_a_pair_listed_only_in_another_scale_is_refused_with_that_pair(listed, asked):
    market = liqdata.Market(orders=orders([listed]), now=NOW)
    with pytest.raises(BadQuery, match=f'listed with another scale as "{listed}"'):
        market.orders(asked)


@pytest.mark.filterwarnings("ignore::liqdata.NotCovered")
@pytest.mark.parametrize("spelled", ["okex", "OKX", "gateio", "huobi", "binanceusdm", "krakenfutures"])
def test_an_exchange_is_accepted_by_its_aliases(source, spelled):
    assert (source.orders(exchange=spelled) == []) == (spelled != "binanceusdm")


def refused(call):
    """What a market refuses, whether it is asked here or over HTTP."""
    with pytest.raises(BadQuery) as caught:
        call()
    return caught.value.parameter, str(caught.value)


@pytest.mark.parametrize("method", ["orders", "chart", "history", "iter_orders"])
@pytest.mark.parametrize("slip,meant", [("BTCSUDT", "BTCUSDT"), ("FRATUSDT", "FARTUSDT"), ("QQQ", None)])
def test_an_unknown_name_is_refused_with_the_nearest(source, method, slip, meant):
    parameter, message = refused(lambda: list(getattr(source, method)(slip)))
    assert parameter == "symbol"
    assert slip in message
    assert meant is None or meant in message


@pytest.mark.parametrize("method", ["orders", "history", "iter_orders"])
def test_an_unknown_exchange_is_refused_with_the_nearest(source, method):
    parameter, message = refused(lambda: list(getattr(source, method)(exchange="bnance")))
    assert parameter == "exchange"
    assert "binance" in message


@pytest.mark.parametrize("method", ["heatmap", "liqmap", "levels", "maxpain"])
def test_an_unknown_coin_is_refused(source, method):
    parameter, message = refused(lambda: getattr(source, method)("BTCC"))
    assert parameter == "symbol"
    assert "BTC" in message


@pytest.mark.parametrize("method", ["bars", "open_interest"])
def test_an_unknown_coin_is_refused_for_observations(market, method):
    parameter, _ = refused(lambda: getattr(market, method)("NOPE"))
    assert parameter == "symbol"
    assert getattr(market, method)("ETH") == []


def test_one_misspelt_name_of_several_is_refused(source):
    parameter, message = refused(lambda: source.history(["BTC", "FRAT"], by="coin"))
    assert parameter == "symbol"
    assert "FART" in message
    assert len(source.history(["BTC", "FART"], by="coin", sparse=True)) == 2


def test_a_known_coin_without_orders_is_empty(source):
    assert source.orders("SOLUSDT") == []
    with pytest.warns(liqdata.NotCovered, match="orders: no part of the period is covered"):
        assert source.orders("FARTUSDT", "okx") == []  # there are no orders of okx in the last day
    assert source.chart("SOLUSDT") == []


def test_an_empty_market_refuses_no_symbol():
    market = liqdata.Market(now=NOW)
    with pytest.warns(liqdata.NotCovered, match="this source has no orders"):
        assert market.orders("NOPEUSDT") == []
    with pytest.raises(BadQuery, match="binance"):
        market.orders(exchange="bnance")


@pytest.mark.parametrize("method", ["orders", "chart", "heatmap", "history"])
def test_an_exchange_prefix_of_a_symbol_is_refused_with_a_remedy(source, method):
    with pytest.raises(BadQuery, match=r'"BTC(USDT)?"\?.*exchange="binance"') as caught:
        getattr(source, method)("BINANCE:BTCUSDT")
    assert caught.value.parameter == "symbol"


def test_http_refuses_the_same_names(market):
    with liqdata.serve(market) as server:
        with urllib.request.urlopen(f"{server.url}/api/liquidations?symbol=BTC-USDT-SWAP") as reply:
            assert len(json.load(reply)["data"]) == 2
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(f"{server.url}/api/liquidations?exchange=bnance")
        assert caught.value.code == 400
        assert "binance" in json.load(caught.value)["error"]["message"]


def test_an_archive_knows_every_stored_name(archive):
    assert symbols(archive.orders("BTC-USDT-SWAP")) == ["BTCUSDT"]
    assert symbols(archive.iter_orders("BTC")) == ["BTCUSD", "BTCUSDT"]
    assert symbols(archive.iter_orders("PEPE-USDT")) == ["PEPEUSDT"]
    assert symbols(archive.iter_orders("kPEPE")) == ["1000PEPEUSDT", "PEPEUSDT"]
    assert archive.orders("MELANIAUSDT") == []
    assert symbols(archive.iter_orders("MELANIA")) == ["MELANIAUSDT"]
    assert sum(row["cnt"] or 0 for row in archive.history("MELANIA-USDT", start=NOW - 6 * samples.DAY)) == 1
    for ask in (archive.orders, archive.chart, archive.history, archive.iter_orders, archive.levels, archive.bars):
        with pytest.raises(BadQuery, match="MELANI") as caught:
            list(ask("MELANAI"))
        assert caught.value.parameter == "symbol"


# Tables.


@pytest.mark.parametrize("spelled", ["BTC", "XBT", "BTCUSDT", "BTC/USDT:USDT", "BTC-USDT-SWAP", "BTCUSDTM"])
def test_bars_and_open_interest_are_taken_in_every_spelling(spelled):
    bars = samples.bars(("BTC",))
    bars["symbol"] = [spelled] * len(bars["symbol"])
    reading = {"symbol": [spelled], "timestamp": [NOW - 1000], "open_interest": [1000.0]}
    market = liqdata.Market(bars=bars, open_interest=reading, now=NOW)
    assert market.symbols == ["BTC"]
    assert len(market.open_interest("BTC")) == 1


def test_bars_of_a_thousand_coins_are_those_of_one_coin():
    bars = samples.bars(("PEPE",))
    one = liqdata.Market(bars=bars, now=NOW).bars("PEPE")[0]
    bars["symbol"] = ["1000PEPEUSDT"] * len(bars["symbol"])
    scaled = liqdata.Market(bars=bars, now=NOW).bars("PEPE")[0]
    assert scaled["close"] == pytest.approx(one["close"] / 1000, rel=1e-12)
    assert scaled["volume"] == pytest.approx(one["volume"] * 1000, rel=1e-12)


def test_the_names_of_a_table_stay_as_they_are(market):
    assert "BTC/USDT:USDT" in set(market.orders()["symbol"])


# The resolver itself.


def test_a_symbol_has_all_its_parts():
    found = liqdata.symbols.parse("BTC/USDT:USDT", exchange="okex")
    assert found == liqdata.symbols.Symbol(
        coin="BTC",
        namespace=None,
        quote="USDT",
        pair="BTCUSDT",
        kind="perpetual",
        exchange="okx",
        native_id="BTC-USDT-SWAP",
        scale=1,
    )
    assert str(found) == "BTCUSDT"
    assert hash(found) == hash(liqdata.symbols.parse("okx:BTC_USDT"))
    coin = liqdata.symbols.parse("xbt")
    assert (coin.coin, coin.pair, coin.quote, coin.kind) == ("BTC", None, None, None)
    assert liqdata.symbols.parse("BTC/USDT").kind == "spot"
    assert liqdata.symbols.parse("BTCUSDT_261225").kind == "dated"
    assert liqdata.symbols.parse("1000PEPEUSDT").scale == 1000


def test_a_regional_exchange_is_one_of_its_own_unless_its_market_is_the_same():
    row = {"symbol": "BTCUSDT", "side": "LONG", "price": 100, "qty": 1, "timestamp": 1_790_000_000_000}
    for name, own in (("bybiteu", "bybiteu"), ("GateEU", "gateeu"), ("binanceus", "binanceus"), ("myokx", "okx")):
        assert liqdata.symbols.parse("BTC/USDT", exchange=name).exchange == own
        assert liqdata.symbols.parse(f"{name}:BTC/USDT").exchange == own
        assert liqdata.Market(orders=[row | {"exchange": name}]).orders("BTC", start=0)[0]["exchange"] == own
    with pytest.raises(BadQuery, match="not a known exchange"):
        liqdata.Market(orders=[row | {"exchange": "gateeuu"}])


@pytest.mark.parametrize(
    "exchange",
    [
        "aster",
        "binance",
        "bitfinex",
        "bitget",
        "bitmex",
        "bybit",
        "coinex",
        "deribit",
        "dydx",
        "extended",
        "gate",
        "htx",
        "kraken",
        "lighter",
        "lighter_rh",
        "okx",
        "orderly",
        "pacifica",
    ],
)
@pytest.mark.parametrize("pair", ["BTCUSDT", "BTCUSD", "ETHUSDC", "SOLUSDT"])
def test_a_native_symbol_is_parsed_as_its_pair(exchange, pair):
    named = liqdata.symbols.parse(pair, exchange=exchange)
    assert named.exchange == exchange
    if named.native_id is not None:
        again = liqdata.symbols.parse(named.native_id, exchange=exchange)
        assert (again.pair, again.coin, again.kind) == (pair, named.coin, "perpetual")


@pytest.mark.parametrize(
    "text,exchange,parameter,words",
    [
        ("", None, "symbol", "names nothing"),
        ("-", None, "symbol", "names nothing"),
        ("BTC?USDT", None, "symbol", "names nothing"),
        (3, None, "symbol", "not text"),
        ("BTCSUDT", None, "symbol", "BTCUSDT"),
        ("BTCUSTD", None, "symbol", "BTCUSDT"),
        ("BTCUSDT", "bnance", "exchange", 'did you mean "binance"'),
        ("BTCUSDT", 3, "exchange", "not text"),
        ("BYBIT:BTCUSDT", "okx", "exchange", "bybit"),
    ],
)
def test_an_invalid_argument_is_refused(text, exchange, parameter, words):
    with pytest.raises(BadQuery, match=words.replace("?", r"\?")) as caught:
        liqdata.symbols.parse(text, exchange=exchange)
    assert caught.value.parameter == parameter


@pytest.mark.parametrize(
    "text,coin,scale",
    [
        ("1000CATSUSDT", "CATS", 1000),
        ("1000000BOB-USDT", "BOB", 1_000_000),
        ("1MCHEEMS_USDT", "CHEEMS", 1_000_000),
        ("kBONK", "BONK", 1000),
        ("KAVAUSDT", "KAVA", 1),
        ("1000CAT/USDT:USDT", "1000CAT", 1),
        ("CATUSDT", "CAT", 1),
    ],
)
def test_a_scale_is_no_part_of_the_coin(text, coin, scale):
    found = liqdata.symbols.parse(text)
    assert (found.coin, found.scale) == (coin, scale)


@pytest.mark.parametrize("text,quote", [("WEMIXKRW", "KRW"), ("SOL/EUR", "EUR"), ("LDOBTC", "BTC"), ("SOL BNB", "BNB")])
def test_a_quote_other_than_usd_is_distinguished(text, quote):
    assert liqdata.symbols.parse(text).quote == quote


@pytest.mark.parametrize("text", ["ETH-25DEC26-4000-P", "SOL-USD-261225-200-C", "XRP/USDC:USDC-261225-2-C"])
def test_an_option_is_no_contract_of_the_coin(market, text):
    assert liqdata.symbols.parse(text).kind == "option"
    with pytest.raises(BadQuery, match="option"):
        market.orders(text)


def test_a_builder_market_is_a_separate_coin(folder):
    table = orders(["flx:GOLD", "FLX-OIL/USDH:USDH", "FLXUSDT", "GOLDUSDT"], "hyperliquid")
    found = liqdata.symbols.parse("FLX-OIL/USDH:USDH")
    assert (found.coin, found.namespace, found.quote) == ("FLX:OIL", "flx", "USDH")
    market = liqdata.Market(orders=table, now=NOW)
    liqdata.ingest(folder, orders=table)
    with (
        liqdata.open(folder, as_of=NOW) as archive,
        liqdata.serve(market) as server,
        liqdata.Client(server.url) as client,
    ):
        for door in (market, archive, client):
            coins = ["FLX", "FLX:GOLD", "FLX:OIL", "GOLD"]
            assert sorted(row["coin"] for row in door.coins("24h")) == coins
            assert [len(door.orders(coin)) for coin in coins] == [1] * 4
            assert len(door.orders("FLX-OIL/USDH:USDH")) == 1
            with pytest.raises(BadQuery, match="FLX"):
                door.orders("flx:SILVER")


@pytest.mark.parametrize("name", ["MELANIA", "WBTC", "STETH", "USDE", "PYUSD", "BTCDOM", "币安人生"])
def test_a_new_coin_is_not_taken_for_a_misspelling(name):
    assert liqdata.symbols.parse(name).coin == name


def test_a_table_without_coins_counts_each_spelling_under_its_coin(folder):
    spelt = ["XBTUSD", "PF_XBTUSD", "XBTUSDTM", "BTCUSDT.P", "tBTCF0:USTF0", "BTCUSDT", "BTC/USDT:USDT", "GMTUSD"]
    table = {
        "exchange": ["bitmex", "kraken", "gate", "bybit", "bitfinex", "binance", "okx", "bitmex"],
        "symbol": spelt,
        "side": ["LONG"] * 8,
        "price": [60_000.0] * 8,
        "qty": [1.0] * 8,
        "value_usd": [60_000.0] * 8,
        "timestamp": [samples.NOW - 1000] * 8,
    }
    market = liqdata.Market(orders=table)
    liqdata.ingest(folder, orders=table)
    with liqdata.open(folder) as archive:
        for door in (market, archive):
            found = door.coins("24h", as_of=samples.NOW)
            assert {row["coin"]: row["total_usd"] for row in found} == {"BTC": 420_000, "GMT": 60_000}
            assert len(door.orders("BTC", as_of=samples.NOW)) == 7


OF_PROGRAMS = [
    "BTCUSDT.PERP",
    "BTCUSDT.BINANCE",
    "BTCUSDT-PERP.BINANCE",
    "BTCUSDT-LINEAR.BYBIT",
    "BTC-USDT-SWAP.OKX",
    "BINANCE:BTCUSDT.P",
    "BINANCE:BTCUSDTPERP",
    "BINANCE_BTCUSDT.P",
    "BINANCEFTS_PERP_BTC_USDT",
    "OKEX_PERP_BTC_USDT",
    "binance-BTCUSDT-future",
    "BTCUSDT_PERP.A",
    "BTCUSDT@BINANCE",
    "BTCUSDT:USDT",
    "BTC_USDT:USDT",
    "BTC_USDT_USDT",
    "cmt_btcusdt",
    "binance/BTCUSDT",
    "BINANCE/BTC-USDT",
    "swap/BTC-USDT",
    "FUTURES:BTC-USDT",
    "PERP:BTCUSDT",
    "BINANCEUSDM:BTC/USDT:USDT",
    "tBTCUST",
    "tBTCF0:USTF0",
    "BTCF0USTF0",
    "bitfinex:tBTCUST",
]
# Listed names that look like a scale, a quote, a mark or an exchange.
REAL = [
    "1INCH",
    "0G",
    "4",
    "2Z",
    "1000CAT",
    "A",
    "A2Z",
    "AI16Z",
    "ASTER",
    "B",
    "B2",
    "B3",
    "BANANAS31",
    "BTCDOM",
    "C98",
    "CAT",
    "DEFI",
    "DYDX",
    "FDUSD",
    "FUN",
    "GAS",
    "GT",
    "HTX",
    "IN",
    "INIT",
    "IO",
    "IP",
    "KAIA",
    "KAS",
    "KAVA",
    "KEY",
    "KSM",
    "LIT",
    "M",
    "MASK",
    "MATIC",
    "MBOX",
    "ME",
    "MEMECORE",
    "MERL",
    "ONE",
    "OP",
    "ORDER",
    "P",
    "PERP",
    "PUMP",
    "PUSH",
    "PYUSD",
    "Q",
    "RED",
    "S",
    "SAFE",
    "SPX",
    "SPX6900",
    "SUN",
    "SWAP",
    "T",
    "TRUMP",
    "TRX",
    "TUSD",
    "TUT",
    "UB",
    "US",
    "USD1",
    "USDC",
    "USDE",
    "USTC",
    "USUAL",
    "VET",
    "W",
    "WBTC",
    "WSTETH",
    "X",
    "XAI",
    "XAU",
    "XAUT",
    "XPL",
    "XVG",
    "ZK",
    "ZKC",
    "币安人生",
]


@pytest.mark.parametrize("text", OF_PROGRAMS)
def test_spellings_of_other_programs_are_the_pair(text):
    assert liqdata.symbols.parse(text).pair == "BTCUSDT"
    exchange = liqdata.symbols.parse(text).exchange or "binance"
    market = liqdata.Market(orders=orders([text], exchange))
    assert [row["coin"] for row in market.coins()] == ["BTC"]
    assert len(market.orders("BTCUSDT")) == 1


@pytest.mark.parametrize("base", REAL)
def test_names_of_coins_are_no_marks(base):
    (pair,) = {liqdata.symbols.parse(text.format(base=base)).pair for text in ("{base}USDT", "{base}/USDT:USDT")}
    assert pair == f"{base}USDT"
    for text in ("{base}-USDT", "{base}_USDT", "{base}USDT.P", "{base}USDT-PERP.BINANCE", "BINANCE:{base}USDT.P"):
        assert liqdata.symbols.parse(text.format(base=base)).pair == pair
    assert [row["symbol"] for row in liqdata.Market(orders=orders([f"{base}USDT"])).orders()] == [pair]


@pytest.mark.parametrize(
    "text, meant",
    [
        ("FOOEX_BTCUSDT", "BTCUSDT"),
        ("FOOEX:ETHUSDT.P", "ETHUSDT"),
        ("BTCUSDT.FOOEX", "BTCUSDT"),
        ("BTC.D", "BTC"),
        ("BTCUSDTX", "BTCUSDT"),
        ("BTC-USDT-SWAP-FOO1X", "BTCUSDT"),
        ("CoinbasePro:BTC-USD", "BTCUSD"),
        ("fooex/BTCUSDT", "BTCUSDT"),
        ("FOOEX-BTC-USDT", "BTCUSDT"),
        ("USDT-BTC", "BTCUSDT"),
        ("BTC_ETH", "ETHBTC"),
    ],
)
def test_a_spelling_that_is_not_understood_is_refused_with_the_best_guess(text, meant):
    with pytest.raises(BadQuery, match=f'did you mean "{meant}"') as caught:
        liqdata.Market(orders=orders([text]))
    assert caught.value.parameter == "orders"


def test_a_pair_that_the_data_lack_is_refused_with_the_pairs_of_its_coin():
    market = liqdata.Market(orders=orders(["BTCUSDT", "BTCUSDT"]))
    for ask in (market.orders, market.history, lambda symbol: market.largest(symbol=symbol)):
        with pytest.raises(BadQuery, match="BTCUSDT"):
            ask("BTC-USD")
        assert ask("BTC-USDT-SWAP")
    assert market.orders("ETH") == []
