import { expect, it } from "vitest";
import { CMAPS, comparedOf, PANELS, parse, RANGES, SOURCES, standard, type View, write } from "../src/view/address";

function random(seed: number) {
    let state = seed;
    return () => {
        state = (state * 1664525 + 1013904223) >>> 0;
        return state / 4294967296;
    };
}

it("gives the view back that it was written from", () => {
    for (let seed = 1; seed < 300; seed++) {
        const next = random(seed);
        const one = <T>(list: readonly T[]) => list[Math.floor(next() * list.length)] as T;
        const maybe = <T>(value: T) => (next() < 0.5 ? value : undefined);
        const view: View = {
            ...standard(),
            symbol: one(["BTC", "1000PEPE", "XYZ:TSLA", "币安人生"]),
            range: one(RANGES),
            exchange: maybe("binance"),
            source: one([...SOURCES, "coinglass"]),
            compare: maybe(one([...SOURCES, "127.0.0.1-8765", "model:3", "exchange:okx", "coin:XYZ:TSLA"])),
            as_of: maybe("2026-06-11T00:00Z"),
            t: maybe([1_700_000_000_000, 1_700_000_600_000] as [number, number]),
            p: maybe([0.000012, 0.5] as [number, number]),
            thr: maybe(Math.floor(next() * 1e6)),
            cmap: one(CMAPS),
            panel: one(PANELS),
            min_usd: Math.floor(next() * 1e5),
        };
        expect(parse(write(view)).view).toEqual(view);
    }
});

it("compares with another source, model, exchange or coin, and with nothing that is shown already", () => {
    const first = { symbol: "BTC", model: "2", exchange: undefined, source: "estimate" } as const;
    const second = (compare: string) => comparedOf({ ...standard(), compare });
    expect(second("positions")).toEqual({ ...first, source: "positions" });
    expect(second("model:3")).toEqual({ ...first, model: "3" });
    expect(second("exchange:okx")).toEqual({ ...first, exchange: "okx" });
    expect(second("coin:XYZ:TSLA")).toEqual({ ...first, symbol: "XYZ:TSLA" });
    expect(["estimate", "model:2", "coin:BTC"].map(second)).toEqual([undefined, undefined, undefined]);
});

it("leaves out what is as usual, and keeps what it does not know", () => {
    expect(write(standard())).toBe("");
    const { view, unknown } = parse("#v=1&range=7d&later=yes");
    expect(write(view, unknown)).toBe("#v=1&range=7d&later=yes");
});

it("names what cannot be used", () => {
    const { view, notices } = parse("#range=forever&thr=-3&symbol=ETH");
    expect([view.range, view.thr, view.symbol]).toEqual(["24h", undefined, "ETH"]);
    expect(notices).toHaveLength(2);
    expect(notices[0]).toContain("range=forever");
});
