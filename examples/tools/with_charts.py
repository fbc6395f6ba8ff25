# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "altair==6.3.0", "vl-convert-python==1.9.0.post1", "pandas==3.1.1", "pyarrow==26.0.1", "plotly==7.1.0",
#     "matplotlib==3.11.2",
#     "bokeh==3.9.2", "great-tables==1.1.0",
# ]
# ///
"""Charts and tables of the libraries that turn frames into JSON, which has no exact numbers."""

import altair as alt
import great_tables
import pandas as pd
import plotly.express as px
import vl_convert
from bokeh.embed import json_item
from bokeh.plotting import figure
from common import line

import liqdata

market = liqdata.demo(seed=7)
rows = market.orders("PEPE", limit=50)
frame = rows.to_pandas()
right = [float(row["value_usd"]) for row in rows]

chart = alt.Chart(frame).mark_bar().encode(x="timestamp", y="value_usd")
(data,) = chart.to_dict()["datasets"].values()
assert [row["value_usd"] for row in data] == right
assert [pd.Timestamp(row["timestamp"]).value // 10**6 for row in data] == [row["timestamp"] for row in rows]
assert chart.to_dict()["encoding"]["x"]["type"] == "temporal"
assert "<svg" in vl_convert.vegalite_to_svg(chart.to_json())
try:
    alt.Chart(rows.to_pandas(decimals="arrow")).mark_bar().encode(x="timestamp", y="value_usd").to_json()
    raise SystemExit("exact amounts are written as JSON")
except TypeError as error:
    assert "Decimal" in str(error), error
line("altair", "charts of floats; exact columns are no JSON", "`rows.to_pandas()`, without `decimals=`", "altair")

picture = px.scatter(frame, x="timestamp", y="value_usd", color="exchange")
assert sorted(value for trace in picture.data for value in trace.y) == sorted(right)
assert len(picture.to_json()) > 1000
assert len(market.heatmap("BTC", "12h").plot(backend="plotly").to_json()) > 1000
line("plotly", 'charts of frames; `heatmap.plot(backend="plotly")` of its own', "`rows.to_pandas()`", "plotly")

drawn = figure(x_axis_type="datetime")
drawn.scatter("timestamp", "value_usd", source=frame.assign(timestamp=frame["timestamp"].dt.tz_localize(None)))
assert json_item(drawn)["doc"]
line("bokeh", "charts of frames", "`frame.timestamp.dt.tz_localize(None)` for axes without an offset", "bokeh")

shown = great_tables.GT(frame[["exchange", "price", "value_usd"]].head(3)).as_raw_html()
assert rows[0]["exchange"] in shown
line("great-tables", "tables of frames", "`rows.to_pandas()`", "great-tables")
