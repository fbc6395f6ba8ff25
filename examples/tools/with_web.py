# /// script
# requires-python = ">=3.11"
# dependencies = ["fastapi==0.165.0", "httpx==0.28.1", "httpx2", "pydantic==2.14.4", "msgspec==0.23.0"]
# ///
"""A service returns answers as they are: as JSON with every digit, and as fields of models."""

import json
from decimal import Decimal

import fastapi
import msgspec
import pydantic
from common import line
from fastapi.testclient import TestClient

import liqdata

market = liqdata.demo(seed=7)
app = fastapi.FastAPI()


@app.get("/orders")
def orders() -> liqdata.Rows:
    """Return the latest orders."""
    return market.orders("PEPE", limit=20)


@app.get("/heatmap")
def heatmap() -> liqdata.Heatmap:
    """Return the heatmap."""
    return market.heatmap("BTC", "12h")


client = TestClient(app)
rows = market.orders("PEPE", limit=20)
found = client.get("/orders").json()
assert [Decimal(row["price"]) for row in found] == [row["price"] for row in rows]
assert client.get("/heatmap").json()["matrix"] == market.heatmap("BTC", "12h").to_dict()["matrix"]
assert client.get("/openapi.json").status_code == 200
line("FastAPI", "functions return `Rows`, `Heatmap` and maps; prices are text with every digit", "—", "fastapi")


class Report(pydantic.BaseModel):
    """A model with an answer in it."""

    rows: liqdata.Rows


assert json.loads(Report(rows=rows).model_dump_json())["rows"] == rows.to_dicts()
line("pydantic", "answers are fields of models", "—", "pydantic")

assert msgspec.json.decode(msgspec.json.encode(rows.to_dicts())) == rows.to_dicts()
line("msgspec", "plain dicts are encoded", "`rows.to_dicts()`", "msgspec")
