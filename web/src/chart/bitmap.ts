// From the matrix to pixels: codes that keep order, the strongest cell of a pixel, colours from a table.
import type { Grid } from "../data/grid";
import { TABLES } from "./palette";
import { bent, type Peaks } from "./peaks";

/** Codes of cells: 0 is not known, 1 is zero, the rest the logarithm of the value. */
export const UNKNOWN = 0;
export const ZERO = 1;
const FIRST = 2;
const LAST = 65535;
/** Values below the largest over this are coded alike: they are darker than any picture shows. */
const DEPTH = 1e7;

export interface Coded {
    codes: Uint16Array;
    rows: number;
    columns: number;
    /** Value of the highest code; 0 where nothing is above zero. */
    top: number;
}

export function encode(grid: Grid): Coded {
    let top = 0;
    for (const value of grid.values) if (value > top) top = value;
    const codes = new Uint16Array(grid.values.length);
    const low = Math.log(top / DEPTH);
    const scale = (LAST - FIRST) / Math.log(DEPTH);
    for (let i = 0; i < codes.length; i++) {
        const value = grid.values[i] ?? Number.NaN;
        if (value > 0) codes[i] = FIRST + Math.max(0, Math.round((Math.log(value) - low) * scale));
        else if (value === 0) codes[i] = ZERO;
    }
    return { codes, rows: grid.rows, columns: grid.columns, top };
}

export interface Range extends Peaks {
    threshold: number;
}

export type Map = keyof typeof TABLES | "peaks";

/**
 * 256 colours, dark to bright for a dark ground, and light to dark for paper, from which the lowest do not stand out. They
 * are bent at the knee of the scale. The colours of `peaks` are those of viridis, of which the dark ones have more room.
 */
export function colours(name: Map, paper: boolean, scale: Peaks): Uint32Array {
    const bytes = Uint8Array.from(atob(TABLES[name === "peaks" ? "viridis" : name]), (letter) => letter.charCodeAt(0));
    const table = new Uint32Array(256);
    const rgba = new Uint8Array(table.buffer);
    for (let i = 0; i < 256; i++) {
        const share = bent(scale, i / 255);
        const place = Math.floor(255 * (name === "peaks" ? share * share : share) + 0.5);
        const from = 3 * (paper ? 255 - place : place);
        const white = paper ? Math.max(0, 1 - 2 * share) : 0;
        for (let k = 0; k < 3; k++) rgba[4 * i + k] = Math.round((bytes[from + k] ?? 0) * (1 - white) + 255 * white);
        rgba[4 * i + 3] = 255;
    }
    return table;
}

/** The colour of every code, 0 where the ground shows. */
export function lookup(coded: Coded, range: Range, table: Uint32Array, unknown: number): Uint32Array {
    const all = new Uint32Array(LAST + 1);
    all[UNKNOWN] = unknown;
    const low = Math.log(coded.top / DEPTH);
    const scale = Math.log(DEPTH) / (LAST - FIRST);
    const from = Math.log(range.vmin);
    const per = 255 / (Math.log(range.vmax) - from || 1);
    // A cell that equals the threshold is shown, whichever way its code was rounded.
    const threshold = range.threshold > 0 ? Math.log(range.threshold) - scale / 2 : -Infinity;
    for (let code = FIRST; code <= LAST; code++) {
        const value = low + (code - FIRST) * scale;
        if (value < threshold) continue;
        const index = Math.max(0, Math.min(255, Math.round((value - from) * per)));
        all[code] = table[index] ?? 0;
    }
    return all;
}

/**
 * The rows of each pixel. `place(y)` is where in the rows the height `y` lies (row r from r to r + 1), falling with y.
 * A pixel that holds several rows takes all of them; one that is inside a row takes the row of its middle.
 */
export function bands(height: number, place: (y: number) => number): Int32Array {
    const found = new Int32Array(2 * height);
    for (let y = 0; y < height; y++) {
        const [top, bottom] = [place(y), place(y + 1)];
        if (top - bottom > 1) {
            found[2 * y] = Math.floor(bottom);
            found[2 * y + 1] = Math.ceil(top);
        } else {
            const row = Math.floor(place(y + 0.5));
            found[2 * y] = row;
            found[2 * y + 1] = row + 1;
        }
    }
    return found;
}

/** The strongest code of each pixel's rows, a line of columns for each pixel. Outside the rows nothing is drawn. */
export function squeeze(coded: Coded, rows: Int32Array, into?: Uint16Array): Uint16Array {
    const { codes, columns } = coded;
    const height = rows.length / 2;
    const out = into?.length === height * columns ? into : new Uint16Array(height * columns);
    for (let y = 0; y < height; y++) {
        const from = Math.max(0, rows[2 * y] ?? 0);
        const to = Math.min(coded.rows, rows[2 * y + 1] ?? 0);
        const line = y * columns;
        for (let c = 0; c < columns; c++) {
            let most = from < to ? UNKNOWN : ZERO;
            for (let i = c * coded.rows + from, end = c * coded.rows + to; i < end; i++) {
                const code = codes[i] ?? 0;
                if (code > most) most = code;
            }
            out[line + c] = most;
        }
    }
    return out;
}

/** The strongest code of the columns of each pixel; `edges` has where each pixel's columns begin, and the last end. */
export function narrow(lines: Uint16Array, columns: number, edges: Int32Array): Uint16Array {
    const width = edges.length - 1;
    const height = lines.length / columns;
    const out = new Uint16Array(width * height);
    for (let y = 0; y < height; y++) {
        for (let x = 0; x < width; x++) {
            let most = UNKNOWN;
            const from = Math.max(0, edges[x] ?? 0);
            const to = Math.min(columns, Math.max(from + 1, edges[x + 1] ?? 0));
            for (let c = from; c < to; c++) {
                const code = lines[y * columns + c] ?? 0;
                if (code > most) most = code;
            }
            out[y * width + x] = from < columns ? most : ZERO;
        }
    }
    return out;
}

export function paint(codes: Uint16Array, table: Uint32Array, pixels: Uint32Array): void {
    for (let i = 0; i < codes.length; i++) pixels[i] = table[codes[i] ?? 0] ?? 0;
}
