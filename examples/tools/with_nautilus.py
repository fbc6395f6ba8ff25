# /// script
# requires-python = ">=3.12"
# dependencies = ["nautilus_trader==1.231.0"]
# ///
"""nautilus_trader stores orders, sees features at the bar of their instant, and follows a service that is cut off."""

import asyncio
import tempfile
import threading
from contextlib import suppress
from urllib.parse import urlsplit

from common import line
from nautilus_trader.backtest.engine import BacktestEngine, BacktestEngineConfig
from nautilus_trader.config import LoggingConfig, TradingNodeConfig
from nautilus_trader.live.node import TradingNode
from nautilus_trader.model.currencies import USDT
from nautilus_trader.model.data import Bar, BarType, DataType
from nautilus_trader.model.enums import AccountType, OmsType
from nautilus_trader.model.identifiers import ClientId, Venue
from nautilus_trader.model.objects import Money
from nautilus_trader.test_kit.providers import TestInstrumentProvider
from nautilus_trader.trading.strategy import Strategy

import liqdata
from liqdata.nautilus import (
    LiqdataDataClientConfig,
    LiqdataLiveDataClientFactory,
    Liquidation,
    LiquidationFeatures,
    LiquidationGap,
    add_to_engine,
    write_catalog,
)

LIQDATA = ClientId("LIQDATA")
QUIET = LoggingConfig(bypass_logging=True)
INSTRUMENT = TestInstrumentProvider.btcusdt_perp_binance()
HOURS = BarType.from_str(f"{INSTRUMENT.id}-1-HOUR-LAST-EXTERNAL")
MILLISECOND = 1_000_000


def candles(rows) -> list[Bar]:
    """Return bars of nautilus_trader, which are labelled by their close."""
    found = []
    for row in rows:
        prices = [INSTRUMENT.make_price(row[name]) for name in ("open", "high", "low", "close")]
        at = row["closes_at"] * MILLISECOND
        found.append(Bar(HOURS, *prices, INSTRUMENT.make_qty(row["volume"]), at, at))
    return found


class Watcher(Strategy):
    """Keeps, for each bar, the instant of the features that it knew."""

    def __init__(self):
        super().__init__()
        self.features, self.seen = None, []

    def on_start(self):
        """Subscribe."""
        self.subscribe_data(DataType(LiquidationFeatures, metadata={"coin": "BTC"}), client_id=LIQDATA)
        self.subscribe_bars(HOURS)

    def on_data(self, data):
        """Keep the newest features."""
        self.features = data

    def on_bar(self, bar):
        """Note what is known at the bar."""
        self.seen.append((bar.ts_event, self.features.ts_event if self.features else None))


def watched(fill) -> list[tuple[int, int | None]]:
    """Run a backtest on an engine that a function fills."""
    engine = BacktestEngine(BacktestEngineConfig(logging=QUIET))
    engine.add_venue(Venue("BINANCE"), OmsType.NETTING, AccountType.MARGIN, [Money(100_000, USDT)])
    engine.add_instrument(INSTRUMENT)
    fill(engine)
    watcher = Watcher()
    engine.add_strategy(watcher)
    engine.run()
    engine.dispose()
    return watcher.seen


market = liqdata.demo()
bars = market.bars("BTC", interval="1h", start="-27d")
rows = market.features("BTC", bars, windows=["1h"], within=[1])
orders = market.orders("BTC", limit=300)

with tempfile.TemporaryDirectory() as folder:
    catalog = write_catalog(folder, orders=orders, features=rows)
    stored = [item.data for item in catalog.query(Liquidation)]
    kept = [item.data for item in catalog.query(LiquidationFeatures)]
oldest_first = sorted(orders, key=lambda row: row["timestamp"])
assert [(one.ts_event, one.price, one.value_usd) for one in stored] == [
    (row["timestamp"] * MILLISECOND, float(row["price"]), float(row["value_usd"])) for row in oldest_first
]
assert [{"at": one.ts_event // MILLISECOND, "coin": one.coin, **one.values} for one in kept] == rows.to_dicts()


def ours_last(engine):
    """Add bars, then features as nautilus_trader's own method does."""
    engine.add_data(candles(bars))
    other = BacktestEngine(BacktestEngineConfig(logging=QUIET))
    add_to_engine(other, features=rows)
    engine.add_data(other.data, client_id=LIQDATA)


def ours_first(engine):
    """Add bars, then features before them."""
    engine.add_data(candles(bars))
    add_to_engine(engine, features=rows)


seen = watched(ours_first)
assert len(seen) == len(bars) == 648
assert all(bar == feature for bar, feature in seen)
late = [bar - feature for bar, feature in watched(ours_last) if feature is not None]
assert late == [3600 * 1000 * MILLISECOND] * 647


class Cable:
    """A connection to a server that can be cut."""

    def __init__(self, url):
        self.port = urlsplit(url).port
        self.writers = set()
        self.url = None

    async def open(self):
        """Listen on a port of its own."""
        server = await asyncio.start_server(self.join, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    async def join(self, reader, writer):
        """Join a connection with one to the server."""
        reader_there, writer_there = await asyncio.open_connection("127.0.0.1", self.port)
        self.writers |= {writer, writer_there}
        with suppress(asyncio.CancelledError):  # when the loop ends
            await asyncio.gather(self.carry(reader, writer_there), self.carry(reader_there, writer))

    async def carry(self, reader, writer):
        """Carry bytes one way."""
        try:
            while data := await reader.read(65536):
                writer.write(data)
        except OSError:
            pass
        finally:
            writer.close()

    def cut(self):
        """Break all connections."""
        for writer in self.writers:
            writer.transport.abort()
        self.writers.clear()


class Follower(Strategy):
    """Keeps the orders and gaps that arrive."""

    def __init__(self):
        super().__init__()
        self.orders, self.gaps = [], []

    def on_start(self):
        """Subscribe to the orders of all coins, and to gaps."""
        self.subscribe_data(DataType(Liquidation, metadata={"coin": None}), client_id=LIQDATA)
        self.subscribe_data(DataType(LiquidationGap), client_id=LIQDATA)

    def on_data(self, data):
        """Keep what arrived."""
        (self.gaps if isinstance(data, LiquidationGap) else self.orders).append(data)


async def more_than(items, count):
    """Wait until a list has more items."""
    while len(items) <= count:  # noqa: ASYNC110 - the lists are filled by nautilus_trader
        await asyncio.sleep(0.05)


async def live(url):
    """Follow a service, cut the connection twice, and return what arrived."""
    cable = Cable(url)
    await cable.open()
    config = TradingNodeConfig(
        trader_id="TRADER-001",
        logging=LoggingConfig(log_level="OFF"),
        data_clients={"LIQDATA": LiqdataDataClientConfig(url=cable.url)},
    )
    node = TradingNode(config, loop=asyncio.get_running_loop())
    follower = Follower()
    node.trader.add_strategy(follower)
    node.add_data_client_factory("LIQDATA", LiqdataLiveDataClientFactory)
    node.build()
    running = asyncio.create_task(node.run_async())
    for cuts in range(2):
        await more_than(follower.orders, len(follower.orders) + 50)
        cable.cut()
        await more_than(follower.gaps, cuts)
    await more_than(follower.orders, len(follower.orders) + 50)
    await node.stop_async()
    running.cancel()
    return follower


with liqdata.serve(liqdata.demo(live=True, speed=3600)) as server, liqdata.Client(server.url) as client:
    sent = []
    stream = client.stream_orders()
    threading.Thread(target=lambda: sent.extend(stream), daemon=True).start()
    follower = asyncio.run(live(server.url))
    stream.close()
arrived = [(one.ts_event // MILLISECOND, one.symbol, one.price) for one in follower.orders]
told = [(row["timestamp"], row["symbol"], float(row["price"])) for row in sent]
begin = told.index(arrived[0])
assert told[begin : begin + len(arrived)] == arrived
assert [gap.lost for gap in follower.gaps] == [False, False]
line(
    "nautilus_trader",
    "catalogs give back orders and features; `on_bar` sees the features of its own instant in 648 of 648 bars, and in "
    "none if they were added after the bars; a cut connection is reported, every order comes once",
    "`liqdata.nautilus.add_to_engine(engine, features=rows)`",
    "nautilus_trader",
)
