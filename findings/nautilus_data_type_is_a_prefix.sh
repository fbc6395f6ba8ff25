#!/usr/bin/env bash
# A subscription of nautilus_trader to a data type without metadata also gets all types whose names begin with its name.
#
# Seen with nautilus_trader 1.231.0 on CPython 3.12.1, 2026-11-30. The topic of `DataType(Trade)` is `Trade*`, which is matched as
# a pattern of names, so `data.Trade*` gets what is published of `TradeSummary` too. `on_data` has to look at the type of what it
# gets, or types need names of which none is the beginning of another.
#
# Output seen:
#   topic: Trade*
#   subscribed to Trade, received: Trade, TradeSummary
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3.12 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "nautilus_trader==1.231.0"
cd "$work"
venv/bin/python - <<'PYTHON'
import sys

from nautilus_trader.backtest.engine import BacktestEngine, BacktestEngineConfig
from nautilus_trader.common.actor import Actor
from nautilus_trader.config import LoggingConfig
from nautilus_trader.core.data import Data
from nautilus_trader.model.custom import customdataclass
from nautilus_trader.model.data import CustomData, DataType
from nautilus_trader.model.identifiers import ClientId

SOME = ClientId("SOME")


@customdataclass
class Trade(Data):
    price: float


@customdataclass
class TradeSummary(Data):
    price: float


class Watcher(Actor):
    def __init__(self):
        super().__init__()
        self.received = []

    def on_start(self):
        self.subscribe_data(DataType(Trade), client_id=SOME)

    def on_data(self, data):
        self.received.append(type(data).__name__)


engine = BacktestEngine(BacktestEngineConfig(logging=LoggingConfig(bypass_logging=True)))
for at, kind in enumerate((Trade, TradeSummary), start=1):
    engine.add_data([CustomData(DataType(kind), kind(ts_event=at, ts_init=at, price=1.0))], client_id=SOME)
watcher = Watcher()
engine.add_actor(watcher)
engine.run()
topic = DataType(Trade).topic
received = watcher.received
print("topic:", topic)
print("subscribed to Trade, received:", ", ".join(received))
sys.exit(0 if (topic, received) == ("Trade*", ["Trade", "TradeSummary"]) else "this has changed")
PYTHON
