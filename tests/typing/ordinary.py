"""What users write every day: mypy and pyright take it without a word (`make lint`); it is never run."""

import asyncio
from datetime import timedelta
from decimal import Decimal

import liqdata
from liqdata.types import OrderRow

market = liqdata.demo()

total: float = market.overview()["24h"]["total_usd"]
worst: float = market.maxpain("BTC")["d7"]["totalLong"]
price: Decimal = market.orders("BTCUSDT", limit=5)[0]["price"]
coins: list[str] = [row["coin"] for row in market.coins("24h", limit=3)]
heat = market.heatmap("BTC", "24h")
mass: float = float(heat.matrix.sum())
many = market.levels(["BTC", "ETH"])
level: float = many["BTC"]["price"]
hours = market.history("BTC", interval="1h", by=("exchange",), start=market.now - timedelta(days=1))
usd: Decimal = sum((row["total_usd"] or Decimal(0) for row in hours), Decimal(0))
symbol: str | None = liqdata.symbols.parse("BTC-USDT-SWAP", exchange="okx").native_id

with liqdata.Client("https://data.example", timeout=5) as client:
    count: int = client.overview()["1h"]["cnt"]
    for order in client.iter_orders("BTC", max_rows=10):
        print(order["symbol"], order["value_usd"] * 2)
        spent: Decimal = order["price"] * order["qty"]
    with client.stream_cascades("BTC") as cascades:
        felt: Decimal = next(cascades)["usd"]

with liqdata.Client("https://data.example", decimals="float") as quick:
    plain: float = quick.exchanges()[0]["total_usd"]
    quantity: float = quick.orders("BTC")[0]["qty"] * quick.largest(limit=1)[0]["price"]
    walked: float = sum(order["value_usd"] * 2.5 for order in quick.iter_orders("BTC", min_usd=1000))
    with quick.stream_orders() as stream:
        arrived: float = next(stream)["price"] / 2.5
    known: float | None = quick.history("BTC")[0]["long_usd"]
    longs: float = quick.coins()[0]["long_usd"] + quick.chart()[0]["total_usd"]


def exact(client: liqdata.Client, row: OrderRow) -> Decimal:
    """Add amounts of a client that was made as by default."""
    return client.exchanges()[0]["total_usd"] + row["price"]


with liqdata.Client("https://data.example", timeout=5, decimals="decimal") as careful:
    amount: Decimal = exact(careful, careful.orders("BTC")[0])


async def both() -> float:
    """Ask two questions at once."""
    async with liqdata.AsyncClient("https://data.example", decimals="float") as quick:
        venues = await quick.exchanges()
        print(venues[0]["total_usd"] / 2.5)
        async for light in quick.iter_orders(max_rows=10):
            print(light["price"] / 2.5)
        async with quick.stream_cascades() as cascades:
            print((await anext(cascades))["usd"] / 2.5)
    async with liqdata.AsyncClient("https://data.example") as client:
        rows, levels = await asyncio.gather(client.coins(limit=3), client.levels("BTC"))
        async for order in client.iter_orders(max_rows=10):
            print(order["price"])
        price: float = levels["price"]
        return rows[0]["total_usd"] + price
