#!/usr/bin/env bash
# In Tardis' normalised liquidations of Bitfinex `price` is the entry price of the position, not a price of the liquidation.
#
# Seen with tardis-dev 13.35.3 (npm), 2026-11-29. Bitfinex announces a liquidation with the position's base price, and tells the
# price at which it was acquired in a later message with the match flag 1. The normaliser, which also makes the files of that
# vendor, keeps only the announcement. `amount` times `price` is the cost of the position, which can be far from the market.
#
# Output seen:
#   announcement: price 222.248906484356, amount 4.5, side buy
#   match at 235.52: 0 rows
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts tardis-dev@13.35.3 >/dev/null
node - <<'NODE'
const { normalizeLiquidations } = require("tardis-dev");

const time = new Date(1790000000700);
const mapper = normalizeLiquidations("bitfinex-derivatives", time);
mapper.canHandle({ event: "subscribed", channel: "status", chanId: 9, key: "liq:global" });
// The columns of a row: type, id, time, -, symbol, amount, base price, -, is match, is sold, -, price acquired.
const row = (match, price) => [
  9,
  [["pos", 70000001, 1790000000534, null, "tETHF0:USTF0", -4.5, 222.248906484356, null, match, 1, null, price]],
  7,
];
const rows = (message) => (mapper.canHandle(message) ? [...(mapper.map(message, time) ?? [])] : []);
const [announced] = rows(row(0, null));
const matched = rows(row(1, 235.52));
console.log(`announcement: price ${announced.price}, amount ${announced.amount}, side ${announced.side}`);
console.log(`match at 235.52: ${matched.length} rows`);
const same = announced.price === 222.248906484356 && announced.amount === 4.5 && announced.side === "buy" && matched.length === 0;
process.exit(same ? 0 : 1);
NODE
