// A heatmap's values in one flat buffer, column by column, whichever form they came in.
import type { Explain } from "./types";

export interface GridHead {
    symbol: string;
    range: string;
    model: number;
    updatedAt: number;
    currentPrice: number;
    units: string;
    simulated: boolean;
    explain: Explain | undefined;
    /** When another service served it, for a recorded map. */
    recordedAt?: number;
    /** Length of a whole column in milliseconds. */
    stepMs: number;
    /** Width of a row in the logarithm of the price; absent where `edges` are given. */
    rowStep?: number;
    /** Where the rows begin and the last one ends, where they are not equally far apart in the logarithm of the price. */
    edges?: number[];
}

export interface Grid extends GridHead {
    /** Price of each row's middle, ascending. */
    prices: Float64Array;
    /** End of each column in epoch milliseconds, ascending. */
    times: Float64Array;
    /** Value of row r in column c at c * rows + r; NaN where it is not known. */
    values: Float64Array | Float32Array;
    rows: number;
    columns: number;
}

export const GRID_TYPE = "application/vnd.liqdata.grid";
const MAGIC = "LIQGRID1";
const UNKNOWN = 65535;

interface BinaryHead extends GridHead {
    /** End of the last column that is left out, and that of the first column of the whole grid. */
    since?: number;
    begin?: number;
    rows: number;
    times: number[];
    values: "u16" | "f32" | "f64";
    low: number;
    high: number;
}

// biome-ignore lint/suspicious/noExplicitAny: a reply as it came, checked here
export function gridOfJson(reply: any): Grid {
    const prices = Float64Array.from(reply.prices);
    const times = Float64Array.from(reply.times);
    const matrix: (number | null)[][] = reply.matrix;
    const [rows, columns] = [prices.length, times.length];
    const values = new Float64Array(rows * columns);
    for (let r = 0; r < rows; r++) {
        const line = matrix[r] ?? [];
        for (let c = 0; c < columns; c++) values[c * rows + r] = line[c] ?? Number.NaN;
    }
    const explain: Explain | undefined = reply.explain;
    return {
        symbol: reply.symbol,
        range: reply.range,
        model: reply.model,
        updatedAt: reply.updatedAt,
        currentPrice: reply.currentPrice,
        units: reply.units ?? (explain?.openInterestScale === "relative" ? "relative" : "usd"),
        simulated: reply.simulated ?? false,
        explain,
        stepMs: reply.stepMs,
        rowStep: reply.rowStep,
        edges: reply.edges,
        prices,
        times,
        values,
        rows,
        columns,
    };
}

/**
 * What to ask for to have only the columns that follow those of a grid, in the same rows. A column is what the map was at
 * that instant, so it does not change; only the last is partial. Undefined where the price has come near the last row.
 */
export function newer(grid: Grid): { low: number; high: number; since: number } | undefined {
    const [low, high] = [grid.prices[0], grid.prices[grid.rows - 1]];
    const since = grid.times[grid.columns - 2];
    if (low === undefined || high === undefined || since === undefined) return undefined;
    const inside = grid.currentPrice > low * 1.04 && grid.currentPrice < high / 1.04;
    return inside ? { low, high, since } : undefined;
}

/** Puts new columns behind those of an earlier grid, of which a part may have left the range. */
function joined(before: Grid, after: Grid, begin: number, since: number): Grid {
    const first = before.times.indexOf(begin);
    const end = before.times.indexOf(since) + 1;
    if (first < 0 || end <= first || before.rows !== after.rows) throw new Error("the new columns do not follow");
    const { rows } = after;
    const times = new Float64Array(end - first + after.columns);
    times.set(before.times.subarray(first, end));
    times.set(after.times, end - first);
    const values = new Float32Array(rows * times.length);
    values.set(before.values.subarray(first * rows, end * rows));
    values.set(after.values, (end - first) * rows);
    return { ...after, times, values, columns: times.length };
}

/**
 * Reads the form in bytes: magic, length of the head, the head, padding to 8, prices, then values column by column. Where
 * it has new columns alone, they are put behind those of `before`.
 */
export function gridOfBytes(buffer: ArrayBuffer, before?: Grid): Grid {
    const magic = new TextDecoder().decode(new Uint8Array(buffer, 0, 8));
    if (magic !== MAGIC) throw new Error(`a grid begins with ${MAGIC}, not with ${JSON.stringify(magic)}`);
    const size = new DataView(buffer).getUint32(8, true);
    const head: BinaryHead = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 12, size)));
    const times = Float64Array.from(head.times);
    const [rows, columns] = [head.rows, times.length];
    const first = Math.ceil((12 + size) / 8) * 8;
    const prices = new Float64Array(buffer, first, rows);
    const at = first + 8 * rows;
    let values: Float64Array | Float32Array;
    if (head.values === "f64") values = new Float64Array(buffer, at, rows * columns);
    else if (head.values === "f32") values = new Float32Array(buffer, at, rows * columns);
    else {
        values = new Float32Array(rows * columns);
        const bytes = new Uint8Array(buffer, at, 2 * rows * columns);
        const scale = (Math.log(head.high) - Math.log(head.low)) / 65533 || 0;
        const cells = rows * columns;
        const before = new Uint16Array(rows);
        for (let i = 0; i < cells; i++) {
            // Each code is the difference to that of the column before.
            const row = i % rows;
            const code = (((bytes[i] ?? 0) << 8) + (bytes[cells + i] ?? 0) + (before[row] ?? 0)) & 0xffff;
            before[row] = code;
            values[i] = code === 0 ? 0 : code === UNKNOWN ? Number.NaN : head.low * Math.exp((code - 1) * scale);
        }
    }
    const { since, begin, ...members } = head;
    const grid = { ...members, prices, times, values, rows, columns };
    if (since === undefined || begin === undefined) return grid;
    if (!before) throw new Error("new columns came without those before them");
    return joined(before, grid, begin, since);
}

/** Where in the rows a price lies: row r is from r to r + 1. Below and above the rows it is negative and beyond them. */
export function placeOf(grid: Grid, price: number): number {
    const { edges, rows, rowStep = Number.NaN } = grid;
    if (!(price > 0)) return -1;
    if (!edges) return Math.log(price / (grid.prices[0] ?? 1)) / rowStep + 0.5;
    let [low, high] = [0, rows];
    while (low < high) {
        const middle = (low + high + 1) >> 1;
        if ((edges[middle] ?? Infinity) <= price) low = middle;
        else high = middle - 1;
    }
    const row = Math.min(low, rows - 1);
    const [from = 0, to = 1] = edges.slice(row, row + 2);
    return row + (price - from) / (to - from);
}

/** The row whose band holds a price, or -1. */
export function rowOf(grid: Grid, price: number): number {
    const row = Math.floor(placeOf(grid, price));
    return row >= 0 && row < grid.rows ? row : -1;
}

export function bandOf(grid: Grid, row: number): [number, number] {
    if (grid.edges) return [grid.edges[row] ?? Number.NaN, grid.edges[row + 1] ?? Number.NaN];
    const price = grid.prices[row] ?? Number.NaN;
    const half = (grid.rowStep ?? Number.NaN) / 2;
    return [price * Math.exp(-half), price * Math.exp(half)];
}

/** When a column begins and ends. */
export function spanOf(grid: Grid, column: number): [number, number] {
    const end = grid.times[column] ?? Number.NaN;
    return [column > 0 ? (grid.times[column - 1] ?? end) : end - grid.stepMs, end];
}

/** The column that holds an instant, or -1. */
export function columnOf(grid: Grid, instant: number): number {
    let [low, high] = [0, grid.columns];
    while (low < high) {
        const middle = (low + high) >> 1;
        if ((grid.times[middle] ?? Infinity) <= instant) low = middle + 1;
        else high = middle;
    }
    return low < grid.columns && instant >= spanOf(grid, low)[0] ? low : -1;
}

export function valueAt(grid: Grid, row: number, column: number): number {
    return grid.values[column * grid.rows + row] ?? Number.NaN;
}

/** Which side a cell is of: rows below the price are longs, those above it shorts. */
export function sideOf(grid: Grid, row: number, column: number): "long" | "short" | "both" | undefined {
    const middle = grid.explain?.sides?.row[column];
    if (middle === undefined) return undefined;
    return row < middle ? "long" : row > middle ? "short" : "both";
}
