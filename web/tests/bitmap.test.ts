import { describe, expect, it } from "vitest";
import { bands, colours, encode, lookup, narrow, squeeze, UNKNOWN, ZERO } from "../src/chart/bitmap";
import { peaksOf } from "../src/chart/peaks";
import { gridOfJson } from "../src/data/grid";
import cases from "./peaks.json";

function gridOf(matrix: (number | null)[][]) {
    const prices = matrix.map((_, r) => 100 * Math.exp(r * 0.001));
    const times = (matrix[0] ?? []).map((_, c) => (c + 1) * 60_000);
    return gridOfJson({ symbol: "X", range: "24h", model: 2, updatedAt: 0, currentPrice: 100, prices, times, matrix });
}

describe("codes", () => {
    it("keep the order of values, and tell unknown from zero", () => {
        const coded = encode(gridOf([[null, 0, 1e-3, 1, 1000, 1e6]]));
        const codes = [...coded.codes];
        expect(codes.slice(0, 2)).toEqual([UNKNOWN, ZERO]);
        expect([...codes].sort((a, b) => a - b)).toEqual(codes);
        expect(new Set(codes).size).toBe(6);
    });
});

describe("colours", () => {
    const coded = encode(gridOf([[0, 10, 100, 1000]]));
    const scale = { vmin: 10, vmid: 100, vmax: 1000 };
    const table = lookup(coded, { ...scale, threshold: 100 }, colours("inferno", false, scale), 0xff_00_00_01);
    const at = (cell: number) => table[coded.codes[cell] ?? 0];

    it("leave the ground where nothing is, and below the threshold", () => {
        expect([at(0), at(1)]).toEqual([0, 0]);
    });

    it("show what equals the threshold, and the brightest at the top", () => {
        expect(at(2)).not.toBe(0);
        expect(at(3)).toBe(colours("inferno", false, scale)[255]);
    });

    it("go from light to dark on paper, in the same order", () => {
        const light = (colour = 0) => (colour & 255) + ((colour >> 8) & 255) + ((colour >> 16) & 255);
        const [dark, paper] = [colours("peaks", false, scale), colours("peaks", true, scale)];
        expect(light(paper[0])).toBe(3 * 255);
        expect(paper[255]).toBe(dark[0]);
        for (let i = 16; i < 256; i += 16) expect(light(paper[i])).toBeLessThan(light(paper[i - 16]));
    });

    it("are bright in at most a sixth of the cells, and brightest in the largest rows", () => {
        for (const { prices, matrix, low, high, levels } of cases) {
            const rows = matrix as (number | null)[][];
            const made = { ...gridOf(rows), prices: Float64Array.from(prices) };
            expect(Object.values(peaksOf(made, low, high))).toEqual(levels);
        }
    });
});

describe("pixels", () => {
    it("that hold many rows show the strongest of them, wherever it lies", () => {
        const rows = 1000;
        for (const strong of [0, 1, 499, 998, 999]) {
            const coded = encode(gridOf(Array.from({ length: rows }, (_, r) => [r === strong ? 1e6 : 1 + (r % 7)])));
            const height = 37;
            const lines = squeeze(
                coded,
                bands(height, (y) => rows * (1 - y / height)),
            );
            expect(lines.indexOf(Math.max(...coded.codes))).toBe(Math.floor(((rows - 1 - strong) * height) / rows));
        }
    });

    it("inside a row show that row", () => {
        const coded = encode(gridOf([[1], [10], [100]]));
        const lines = squeeze(
            coded,
            bands(30, (y) => 3 * (1 - y / 30)),
        );
        expect([...lines]).toEqual([2, 1, 0].flatMap((row) => Array(10).fill(coded.codes[row])));
    });

    it("outside the rows show nothing", () => {
        const coded = encode(gridOf([[5]]));
        const lines = squeeze(
            coded,
            bands(3, (y) => 2 - y),
        );
        expect([...lines]).toEqual([ZERO, coded.codes[0], ZERO]);
    });

    it("that hold many columns show the strongest of them", () => {
        const line = Uint16Array.from({ length: 100 }, (_, c) => (c === 63 ? 500 : 2));
        const edges = Int32Array.from({ length: 11 }, (_, x) => 10 * x);
        expect([...narrow(line, 100, edges)].indexOf(500)).toBe(6);
    });
});
