import type { CoinRow } from "../data/types";

/** Coins of one total keep their order from one answer to the next. */
export function coinOrder(rows: readonly CoinRow[]): CoinRow[] {
    return [...rows].sort((a, b) => (b.total_usd ?? 0) - (a.total_usd ?? 0) || (a.coin < b.coin ? -1 : 1)).slice(0, 10);
}
