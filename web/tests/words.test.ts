import { expect, it } from "vitest";
import { candleLength, candles, instant, logical, periodLength, slotsOf } from "../src/chart/axis";
import { stacks } from "../src/chart/realised";
import { ladder } from "../src/chart/strip";
import { age, exact, interval, percent, price, short } from "../src/view/numbers";
import { planeWords } from "../src/view/sentences";

it("rounds to three digits, and into the next unit where that is what it rounds to", () => {
    const texts = [0, 12.345, 999.4, 999_600, 4_213_000, 1.5e9].map(short);
    expect(texts.map((text) => text.replace("\u202f", " "))).toEqual([
        "0",
        "12.3",
        "999",
        "1.00 M",
        "4.21 M",
        "1.50 B",
    ]);
});

it("never says whole of what is not", () => {
    expect([1, 0.99999, 0.969, 0].map((share) => percent(share).replace("\u00a0", " "))).toEqual([
        "100 %",
        "99.9 %",
        "96.9 %",
        "0.0 %",
    ]);
});

it("writes prices, decimals, ages and intervals", () => {
    expect([price(96103.25), price(0.0000123456), exact("1234567.8900")]).toEqual([
        "96,103.3",
        "0.0000123456",
        "1,234,567.8900",
    ]);
    expect([age(3000), age(180_000), age(26 * 3_600_000)]).toEqual(["3 s", "3 min", "26 h"]);
    expect([interval(900_000), interval(86_400_000)]).toEqual(["15m", "1d"]);
});

it("never calls relative amounts USD", () => {
    const explain = { view: "exposure", openInterestScale: "relative" };
    const shown = {
        model: "2",
        exchange: undefined,
        explain,
        units: "relative",
        servedAt: undefined,
        openInterestAge: 1000,
    };
    expect(planeWords({ ...shown, source: "estimate" }).join(" ")).not.toContain("USD");
    expect(planeWords({ ...shown, units: "usd", source: "estimate" })[0]).toMatch(
        /^ESTIMATE · model 2 .*USD|^ESTIMATE · model 2 · USD/,
    );
    const recorded = planeWords({
        ...shown,
        explain: undefined,
        source: "coinglass",
        servedAt: "2026-06-11 10:00 UTC",
    });
    expect(recorded[0]).toBe("AS SERVED BY coinglass · model 2 · relative amounts of coinglass");
    expect(recorded.join(" ")).toContain("2026-06-11 10:00 UTC");
    expect(recorded.join(" ")).not.toContain("USD");
});

it("divides columns into whole slots", () => {
    for (const every of [300_000, 600_000, 1_800_000, 3_600_000, 14_400_000]) {
        const slot = candleLength(every);
        expect(every % slot).toBe(0);
        expect(periodLength(every * 144, slot) % slot).toBe(0);
    }
    const slots = slotsOf(1000 * 60_000, 1060 * 60_000, 300_000);
    for (const at of [slots.start, slots.start + 123_456]) expect(instant(slots, logical(slots, at))).toBeCloseTo(at);
});

it("leaves a slot empty where no bar is known", () => {
    const slots = slotsOf(0, 900_000, 300_000);
    const bar = {
        symbol: "BTC",
        timestamp: 0,
        closes_at: 300_000,
        open: 1,
        high: 3,
        low: 0.5,
        close: 2,
        volume: 0,
        interval: 300_000,
    };
    const rows = candles(slots, [bar, { ...bar, timestamp: 600_000 }]);
    expect(rows.slice(0, 3).map((row) => row.close)).toEqual([2, undefined, 2]);
});

it("tells uncovered periods from zeros", () => {
    const row = { timestamp: 0, exchange: "a", long_usd: "5", short_usd: "0", cnt: 1, covered: 1 };
    const { stacks: found } = stacks(
        [row, { ...row, exchange: "b", long_usd: null, short_usd: null, cnt: null, covered: 0 }],
        60_000,
    );
    expect(found[0]?.covered).toBe(0.5);
});

it("sums a map outward from the price", () => {
    const bins = [
        { price: 90, side: "long" as const, tiers: { 10: 5 }, total: 5 },
        { price: 95, side: "long" as const, tiers: { 10: 1 }, total: 1 },
        { price: 105, side: "short" as const, tiers: { 10: 2 }, total: 2 },
    ];
    const map = { symbol: "X", range: "1d", updatedAt: 0, currentPrice: 100, binWidth: 1, leverages: [10], bins };
    const edges = Float64Array.from({ length: 41 }, (_, y) => 120 - y);
    const { sums, lines, most } = ladder(map, edges);
    const at = (level: number) => 119 - level;
    expect([sums[at(104)], sums[at(106)], sums[at(97)], sums[at(92)], sums[at(85)]]).toEqual([0, 2, 0, 1, 6]);
    expect([most, lines[at(90)]?.total, lines[at(100)]]).toEqual([5, 5, undefined]);
});
