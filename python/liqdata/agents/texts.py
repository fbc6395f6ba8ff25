"""What the server says about itself: instructions, the model, scores and a glossary."""

from __future__ import annotations

from .schema import column

__all__ = ["GLOSSARY", "INSTRUCTIONS", "MODEL", "NOTE_COLUMNS", "SCORES"]

INSTRUCTIONS = (
    "Crypto liquidation data, read-only. Call `coverage` first: it says which exchanges were recorded and which gaps "
    "are known. A zero outside the coverage means unknown. Each reply has `kind`: realised liquidations happened, an "
    "estimate comes from a model. Before you use an estimate, call `score_note`. Repeat the `caveats` of a reply with "
    "its numbers. If `truncated` is true, rows are missing (`remaining` counts them if it is known): add the arguments "
    "of `next` for more. `side` is that of "
    "the liquidated position: LONG means that longs were closed by force. Times are UTC; decimals are strings."
)

MODEL = """\
# The model

The estimate follows open positions over time. It never sees an account.

1. Open interest that appears in a bar is placed at the prices that the bar traded, as longs and shorts of equal size.
2. A prior over leverage gives each position its liquidation price, with the maintenance margin of the exchange.
3. A position leaves when the price reaches its liquidation price, and when open interest falls.

The view `exposed` (model 2) counts open interest that waits at a price. The view `expected` (model 3) counts the
liquidations that exchanges are expected to report there. Without open interest, a multiple of the volume replaces it:
amounts are then `relative`, not USD.

`levels` and `maxpain` name the price with the most USD that the price is likely to reach (`headline=reach`), or at any
distance (`strongest`). "Max pain" is a name of this field; the price is not drawn to it by any known mechanism.
"""

GLOSSARY = """\
# Glossary

- **liquidation order**: an order with which an exchange closes a position by force.
- **side**: side of the liquidated position. A liquidated LONG is closed by selling.
- **realised**: liquidations that an exchange published.
- **estimate**: computed from price, volume and open interest; an account is never seen.
- **measured**: compared with what happened, or counted from published positions.
- **coverage**: share of a period for which an exchange was connected and has no known gap.
- **gap**: a time in which orders of an exchange are known to be missing.
- **completeness**: which liquidations an exchange publishes: complete, or sampled (such as one per second and pair).
- **cascade**: orders of one coin and side in quick succession.
- **cluster**: neighbouring price bins of one side, each above the mean of its side.
- **open interest**: size of all open contracts of one side.
- **as of**: an answer uses the data received up to this instant.
- **simulated**: a made-up market with the same interface; its numbers say nothing about a real market.
"""

NOTE_COLUMNS = [
    column("measure", "text", "What was measured, and on which data."),
    column("wanted", "text", "The gate that this project set itself."),
    column("found", "text", "What was found."),
    column("result", "text", "pass or fail."),
]

# The gates of docs/explanation/scorecard.md; a test compares them.
SCORES = [
    ("simulated: distance of the level 10, in sigma_R", "≤ 2", "1.78", "pass"),
    ("simulated: overlap with the true positions", "≥ 0.73", "0.75", "pass"),
    ("simulated: USD within 5 % over the true ones", "0.7 to 1.5", "1.23", "pass"),
    ("recorded: Hyperliquid, BTC, shares within 5, 10, 30 % inside the interval", "6 of 6", "6 of 6", "pass"),
    ("recorded: liquidated over crossed USD on Hyperliquid, ETH over BTC", "0.7 to 1.4", "1.39", "pass"),
    ("recorded: liquidated over crossed USD on Hyperliquid, SOL over BTC", "0.7 to 1.4", "0.99", "pass"),
    ("recorded: liquidated over crossed USD on Hyperliquid, BTC, shorts over longs", "0.6 to 1.6", "0.81", "pass"),
]
