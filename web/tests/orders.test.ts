import { expect, it } from "vitest";
import { passes } from "../src/data/orders";
import type { Order } from "../src/data/types";

function order(symbol: string, coin: string, more: Partial<Order> = {}): Order {
    return {
        exchange: "binance",
        symbol,
        side: "LONG",
        price: "1",
        qty: "1",
        value_usd: "100",
        timestamp: 1,
        coin,
        ...more,
    };
}

const all = { min_usd: 0, coin: undefined, exchange: undefined };

it("shows the orders of a coin by the coin that the server sends, not by the name of the pair", () => {
    const orders = [order("1000PEPEUSDT", "PEPE"), order("ETHUSDT", "ETH"), order("ETHFIUSDT", "ETHFI")];
    const shown = (coin: string) => orders.filter((one) => passes(one, { ...all, coin })).map(({ symbol }) => symbol);
    expect(shown("PEPE")).toEqual(["1000PEPEUSDT"]);
    expect(shown("ETH")).toEqual(["ETHUSDT"]);
    expect(shown("ETHFI")).toEqual(["ETHFIUSDT"]);
});

it("shows the orders of an exchange from an amount on", () => {
    const one = order("ETHUSDT", "ETH", { value_usd: "250.5" });
    expect(passes(one, all)).toBe(true);
    expect(passes(one, { ...all, min_usd: 250.5 })).toBe(true);
    expect(passes(one, { ...all, min_usd: 251 })).toBe(false);
    expect(passes(one, { ...all, exchange: "binance" })).toBe(true);
    expect(passes(one, { ...all, exchange: "okx" })).toBe(false);
});
