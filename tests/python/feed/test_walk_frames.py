"""A walk over the order feed as columns: the same rows as its dicts, without going through them."""

import asyncio
import json
from decimal import Decimal

import pytest
from scripted import Service, answer, data

import liqdata


def rows(count):
    """So many rows, newest first; names, scales and long decimals vary."""
    return [
        {
            "exchange": ["binance", "okx", "é"][at % 3],
            "symbol": f"C{at % 40}USDT",
            "side": "LONG" if at % 2 else "SHORT",
            "price": f"{at}.{'5' * (at % 4 + 1)}",
            "qty": "0.12345678901234567890123" if at % 50 == 7 else "1e-3",
            "value_usd": f"{at * 7}",
            "timestamp": 1_781_000_000_000 - at,
        }
        for at in range(count)
    ]


def feed(all_rows, broken=None):
    """The pages of ``all_rows``; a 500 from offset ``broken`` on."""

    def play(exchange):
        if exchange.request.path == "/api":
            return answer(b"{}", 404)(exchange)
        query = exchange.request.query
        offset, limit = int(query["offset"]), int(query["limit"])
        if broken is not None and offset >= broken:
            return answer(b"{}", 500)(exchange)
        return data(all_rows[offset : offset + limit])(exchange)

    return play


def plain(walk):
    return [
        {**row, "price": str(row["price"]), "qty": str(row["qty"]), "value_usd": str(row["value_usd"])} for row in walk
    ]


def expected(all_rows):
    return [{**row, "qty": "0.001" if row["qty"] == "1e-3" else row["qty"]} for row in all_rows]


@pytest.mark.parametrize("taken", [0, 1, 250, 999, 1000])
def test_a_frame_has_the_rows_that_were_not_iterated(taken):
    with Service(feed(rows(1000))) as service, liqdata.Client(service.url, decimals="text") as client:
        walk = client.iter_orders(page_size=100)
        begun = [next(walk) for _ in range(taken)]
        table = walk.to_arrow(decimals="decimal", scale=23)
        assert next(walk, None) is None
    assert plain(begun) == expected(rows(1000))[:taken]
    assert table.column_names == ["exchange", "symbol", "coin", *list(rows(1)[0])[2:]]
    assert table["coin"].to_pylist() == [row["symbol"].removesuffix("USDT") for row in rows(1000)][taken:]
    assert table["timestamp"].cast("int64").to_pylist() == [row["timestamp"] for row in rows(1000)][taken:]
    for name in ("exchange", "symbol", "side"):
        assert table[name].to_pylist() == [row[name] for row in rows(1000)][taken:]
    for name in ("price", "qty", "value_usd"):
        assert table[name].to_pylist() == [Decimal(row[name]) for row in expected(rows(1000))][taken:]


def test_the_three_frames_are_those_of_a_page():
    with Service(feed(rows(700))) as service, liqdata.Client(service.url) as client:
        page = client.orders(limit=700)
        assert client.iter_orders(page_size=90).to_pandas().equals(page.to_pandas())
        assert client.iter_orders(page_size=90).to_polars().equals(page.to_polars())
        assert client.iter_orders(page_size=90).to_arrow().equals(page.to_arrow())
        frame = client.iter_orders(page_size=90).to_pandas()
        assert frame.attrs["source"] == service.url


def test_a_feed_without_rows_has_its_columns():
    with Service(feed([])) as service, liqdata.Client(service.url) as client:
        assert client.iter_orders().to_pandas().dtypes.equals(client.orders().to_pandas().dtypes)
        assert client.iter_orders().to_arrow().schema.equals(client.orders().to_arrow().schema)


def test_a_failed_walk_resumes_with_the_received_rows():
    with Service(feed(rows(900), broken=400)) as service, liqdata.Client(service.url, retries=0) as client:
        walk = client.iter_orders(page_size=100)
        with pytest.raises(liqdata.Refused):
            walk.to_pandas()
        service.play(feed(rows(900)))
        first = next(walk)
        rest = walk.to_pandas()
    assert [first["timestamp"], *rest["timestamp"].astype("int64")] == [row["timestamp"] for row in rows(900)]


def test_an_awaited_frame_is_the_same():
    async def ask(url):
        async with liqdata.AsyncClient(url) as client:
            walk = client.iter_orders(page_size=100)
            first = await anext(walk)
            frames = (
                await walk.to_pandas(),
                await client.iter_orders().to_polars(),
                await client.iter_orders().to_arrow(),
            )
            return first, frames

    with Service(feed(rows(500))) as service:
        first, (pandas, polars, arrow) = asyncio.run(ask(service.url))
    assert first["timestamp"] == rows(1)[0]["timestamp"]
    assert (len(pandas), len(polars), len(arrow)) == (499, 500, 500)


def test_a_markets_walk_gives_frames_too():
    market = liqdata.demo()
    bounds = {"start": market.now.timestamp() * 1000 - 7_200_000, "end": market.now.timestamp() * 1000 - 3_600_000}
    bounds = {name: int(at) for name, at in bounds.items()}
    dicts = list(market.iter_orders("BTCUSDT", **bounds))
    assert dicts
    frame = market.iter_orders("BTCUSDT", **bounds).to_pandas(decimals="decimal")
    assert frame["price"].tolist() == [row["price"] for row in dicts]
    assert len(market.iter_orders(max_rows=70_000).to_pandas()) == min(70_000, sum(1 for _ in market.iter_orders()))
    assert len(market.iter_orders("BTCUSDT", max_rows=3, **bounds).to_pandas()) == 3


def test_decimals_as_text_have_every_digit():
    sent = rows(60)
    with Service(data(sent)) as service, liqdata.Client(service.url, decimals="text") as client:
        got = client.orders()
        assert list(got) == expected(sent)
        json.dumps(list(got))
        assert "0.12345678901234567890123" in client.orders()._repr_html_()
    with pytest.raises(liqdata.BadQuery, match="decimals"):
        liqdata.Client("http://127.0.0.1:1", decimals="str")
