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
    /** Distance of rows in the logarithm of the price. */
    step: number;
    /** Length of a whole column in milliseconds. */
    every: number;
}

export const GRID_TYPE = "application/vnd.liqdata.grid";
const MAGIC = "LIQGRID1";
const UNKNOWN = 65535;

interface BinaryHead extends GridHead {
    rows: number;
    times: number[];
    values: "u16" | "f32" | "f64";
    low: number;
    high: number;
}

function spacing(prices: Float64Array): number {
    const first = prices[0] ?? Number.NaN;
    const last = prices[prices.length - 1] ?? Number.NaN;
    return prices.length > 1 ? Math.log(last / first) / (prices.length - 1) : 1e-3;
}

function length(times: Float64Array): number {
    // The last column may be partial, so it is the others that tell.
    const [first, second] = times;
    return first !== undefined && second !== undefined ? second - first : 600_000;
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
        prices,
        times,
        values,
        rows,
        columns,
        step: spacing(prices),
        every: length(times),
    };
}

/** Reads the form in bytes: magic, length of the head, the head, padding to 8, prices, then values column by column. */
export function gridOfBytes(buffer: ArrayBuffer): Grid {
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
    return { ...head, prices, times, values, rows, columns, step: spacing(prices), every: length(times) };
}

/** The row whose band holds a price, or -1. */
export function rowOf(grid: Grid, price: number): number {
    const first = grid.prices[0];
    if (first === undefined || !(price > 0)) return -1;
    const row = Math.floor(Math.log(price / first) / grid.step + 0.5);
    return row >= 0 && row < grid.rows ? row : -1;
}

export function bandOf(grid: Grid, row: number): [number, number] {
    const price = grid.prices[row] ?? Number.NaN;
    return [price * Math.exp(-grid.step / 2), price * Math.exp(grid.step / 2)];
}

/** When a column begins and ends. */
export function spanOf(grid: Grid, column: number): [number, number] {
    const end = grid.times[column] ?? Number.NaN;
    return [column > 0 ? (grid.times[column - 1] ?? end) : end - grid.every, end];
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
