// Which orders a view shows.
import type { Order } from "./types";

export interface OrderFilter {
    /** Least USD of an order. */
    min_usd: number;
    /** The only coin; undefined for all coins. */
    coin: string | undefined;
    /** The only exchange; undefined for all exchanges. */
    exchange: string | undefined;
}

export function passes(order: Order, filter: OrderFilter): boolean {
    return (
        Number(order.value_usd) >= filter.min_usd &&
        (filter.coin === undefined || order.coin === filter.coin) &&
        (filter.exchange === undefined || order.exchange === filter.exchange)
    );
}
