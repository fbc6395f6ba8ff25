import { describe, expect, it } from "vitest";
import { bandOf, columnOf, gridOfBytes, gridOfJson, newer, rowOf, spanOf, valueAt } from "../src/data/grid";

const reply = {
    symbol: "BTC",
    range: "24h",
    model: 2,
    updatedAt: 1_000_000,
    currentPrice: 100,
    stepMs: 600_000,
    rowStep: 0.01,
    prices: [99, 100, 101, 102].map((_, i) => 99 * Math.exp(i * 0.01)),
    times: [600_000, 1_200_000, 1_500_000],
    matrix: [
        [0, 1, 2],
        [3, null, 5],
        [6, 7, 8],
        [9, 10, 11],
    ],
};

/** The form in bytes of the same reply. */
function bytes(
    values: "u16" | "f32" | "f64",
    low = 1,
    high = 11,
    of: typeof reply & { since?: number; begin?: number } = reply,
): ArrayBuffer {
    const json = {
        ...of,
        units: "usd",
        simulated: false,
        rows: 4,
        values,
        low,
        high,
    };
    const head = new TextEncoder().encode(JSON.stringify({ ...json, prices: undefined, matrix: undefined }));
    const first = Math.ceil((12 + head.length) / 8) * 8;
    const at = first + 8 * 4;
    const cells = of.times.flatMap((_, c) => of.matrix.map((row) => row[c] ?? Number.NaN));
    const width = { u16: 2, f32: 4, f64: 8 }[values];
    const buffer = new ArrayBuffer(at + width * cells.length);
    const view = new DataView(buffer);
    const before: number[] = [0, 0, 0, 0];
    new Uint8Array(buffer).set(new TextEncoder().encode("LIQGRID1"));
    view.setUint32(8, head.length, true);
    for (const [i, price] of reply.prices.entries()) view.setFloat64(first + 8 * i, price, true);
    new Uint8Array(buffer).set(head, 12);
    for (const [i, value] of cells.entries()) {
        if (values === "f64") view.setFloat64(at + 8 * i, value, true);
        else if (values === "f32") view.setFloat32(at + 4 * i, value, true);
        else {
            const scale = 65533 / Math.log(high / low);
            const code = Number.isNaN(value) ? 65535 : value === 0 ? 0 : 1 + Math.round(Math.log(value / low) * scale);
            const difference = (code - (before[i % 4] ?? 0)) & 0xffff;
            before[i % 4] = code;
            view.setUint8(at + i, difference >> 8);
            view.setUint8(at + cells.length + i, difference & 255);
        }
    }
    return buffer;
}

describe("a grid", () => {
    const grid = gridOfJson(reply);

    it("has each value where the matrix has it", () => {
        expect(valueAt(grid, 0, 2)).toBe(2);
        expect(valueAt(grid, 3, 0)).toBe(9);
        expect(valueAt(grid, 1, 1)).toBeNaN();
    });

    it("finds the row of a price and the column of an instant, and nothing outside", () => {
        for (let row = 0; row < 4; row++) {
            const [low, high] = bandOf(grid, row);
            expect(rowOf(grid, low * 1.00001)).toBe(row);
            expect(rowOf(grid, high * 0.99999)).toBe(row);
        }
        expect(rowOf(grid, 90)).toBe(-1);
        expect(rowOf(grid, 120)).toBe(-1);
        expect(columnOf(grid, 0)).toBe(0);
        expect(columnOf(grid, 599_999)).toBe(0);
        expect(columnOf(grid, 600_000)).toBe(1);
        expect(columnOf(grid, 1_499_999)).toBe(2);
        expect(columnOf(grid, 1_500_000)).toBe(-1);
        expect(columnOf(grid, -1)).toBe(-1);
    });

    it("ends with a column that may be shorter", () => {
        expect(spanOf(grid, 0)).toEqual([0, 600_000]);
        expect(spanOf(grid, 2)).toEqual([1_200_000, 1_500_000]);
    });

    it.each(["f64", "f32", "u16"] as const)("is the same in bytes as %s", (values) => {
        const other = gridOfBytes(bytes(values));
        expect([...other.times]).toEqual([...grid.times]);
        for (let i = 0; i < grid.values.length; i++) {
            const [a, b] = [grid.values[i] ?? 0, other.values[i] ?? 0];
            if (Number.isNaN(a) || a === 0) expect(b).toEqual(a);
            else expect(Math.abs(b / a - 1)).toBeLessThan({ f64: 1e-15, f32: 6e-8, u16: 1e-4 }[values]);
        }
    });

    it("puts new columns behind those that it has", () => {
        const before = gridOfBytes(bytes("f32"));
        expect(newer({ ...before, currentPrice: 100.5 })).toBeUndefined();
        const wide = { ...before, prices: Float64Array.from([90, 100, 101, 110]), currentPrice: 100 };
        expect(newer(wide)).toEqual({ low: 90, high: 110, since: 1_200_000 });
        const times = [1_800_000, 2_000_000];
        const matrix = reply.matrix.map((_, row) => [20 + row, 30 + row]);
        const cut = { ...reply, times, matrix, begin: 1_200_000, since: 1_200_000 };
        const after = gridOfBytes(bytes("f32", 1, 33, cut), before);
        expect([...after.times]).toEqual([1_200_000, 1_800_000, 2_000_000]);
        expect([after.columns, after.stepMs]).toEqual([3, 600_000]);
        const rows = [0, 1, 2, 3].map((row) => [0, 1, 2].map((column) => valueAt(after, row, column)));
        expect(rows).toEqual(reply.matrix.map((line, row) => [line[1] ?? Number.NaN, 20 + row, 30 + row]));
        expect(() => gridOfBytes(bytes("f32", 1, 33, cut))).toThrow(/without those before/);
    });

    it("refuses bytes that are something else", () => {
        expect(() => gridOfBytes(new TextEncoder().encode("{}        ").buffer as ArrayBuffer)).toThrow(/LIQGRID1/);
    });
});

it("places prices among rows by the edges that the server sends", () => {
    const edges = [1800, 1920, 2000, 2200, 2400];
    const grid = gridOfJson({ ...reply, prices: [1900, 1950.5, 2100, 2300.25], rowStep: undefined, edges });
    for (let row = 0; row < 4; row++) {
        expect(bandOf(grid, row)).toEqual([edges[row], edges[row + 1]]);
        const [low, high] = bandOf(grid, row);
        expect([rowOf(grid, low), rowOf(grid, high * 0.999999)]).toEqual([row, row]);
    }
    expect([rowOf(grid, 1799), rowOf(grid, 2500)]).toEqual([-1, -1]);
});

it("takes the length of a column from the server", () => {
    const grid = gridOfJson({ ...reply, times: [600_000, 700_000], stepMs: 300_000 });
    expect(spanOf(grid, 0)).toEqual([300_000, 600_000]);
    expect(spanOf(grid, 1)).toEqual([600_000, 700_000]);
});
