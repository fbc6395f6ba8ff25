#!/usr/bin/env bash
# ccxt reads a liquidation of Gate's coin-margined contract with a `baseValue` in contracts and no `contractSize`.
#
# Seen with ccxt 4.5.90 on CPython 3.11.7, 2026-11-29. One contract of BTC_USD is 1 USD, so 600 contracts at 28,070 USD are 600 USD
# or 0.021375 BTC. `parse_liquidation` multiplies contracts by the contract size as if the contract were linear: `baseValue`, an
# amount of BTC by its name, is 600, and `quoteValue` is 16,842,000 USD instead of 600. `contractSize` is None although the market
# has it, because `safe_liquidation` is called without the market and overwrites the size that was just read.
#
# Output seen:
#   contracts 600.0, contractSize None, baseValue 600.0, quoteValue 16842000.0
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "ccxt==4.5.90"
cd "$work"
venv/bin/python - <<'PYTHON'
import sys

import ccxt

market = {
    "id": "BTC_USD", "symbol": "BTC/USD:BTC", "base": "BTC", "quote": "USD", "settle": "BTC", "type": "swap", "swap": True,
    "spot": False, "contract": True, "linear": False, "inverse": True, "contractSize": 1.0,
}
# A row of Gate's public list of liquidations.
row = {"contract": "BTC_USD", "left": 0, "size": 600, "fill_price": "28070", "order_price": "28225", "time": 1696736132}
read = ccxt.gate().parse_liquidation(row, market)
seen = {name: read[name] for name in ("contracts", "contractSize", "baseValue", "quoteValue")}
print(", ".join(f"{name} {value}" for name, value in seen.items()))
same = seen == {"contracts": 600.0, "contractSize": None, "baseValue": 600.0, "quoteValue": 16842000.0}
sys.exit(0 if same else "this has changed")
PYTHON
