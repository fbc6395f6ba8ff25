// The default colour scale, which shows peaks; python/liqdata/plot/colours.py has the same rule, and says why.
import type { Grid } from "../data/grid";

const FLOOR = 0.25;
const KNEE = 0.9;
/** Share of the colours that are dark. */
export const DARK = 0.53;
const ROWS = 400;
const LARGEST = 10;
const LONGEST = 1000;

const rounded = (value: number) => Number(value.toPrecision(3));

export interface Peaks {
    vmin: number;
    /** Where the dark colours end. */
    vmid: number;
    vmax: number;
}

/** The scale for the rows between two prices. */
export function peaksOf(grid: Pick<Grid, "prices" | "values" | "rows" | "columns">, low: number, high: number): Peaks {
    const { prices, values, columns } = grid;
    let first = prices.findIndex((price) => price >= low);
    if (first < 0) first = grid.rows;
    let last = first;
    while (last < grid.rows && (prices[last] ?? 0) <= high) last++;
    const together = Math.max(1, Math.ceil((last - first) / ROWS));
    const known: number[] = [];
    const rows: number[] = [];
    for (let row = first; row < last; row += together) {
        let largest = 0;
        const end = Math.min(last, row + together);
        for (let c = 0; c < columns; c++) {
            let most = Number.NaN;
            for (let r = row; r < end; r++) {
                const value = values[c * grid.rows + r] ?? Number.NaN;
                if (!(value <= most) && !Number.isNaN(value)) most = value;
            }
            if (Number.isNaN(most)) continue;
            known.push(most);
            if (most > largest) largest = most;
        }
        rows.push(largest);
    }
    const sorted = Float64Array.from(known).sort();
    const most = sorted[sorted.length - 1] ?? 0;
    if (!(most > 0)) return { vmin: 1, vmid: 5, vmax: 10 };
    const ranked = Float64Array.from(rows).sort();
    const count = Math.min(LARGEST, Math.max(1, Math.floor(rows.length / 10)));
    const top = ranked[ranked.length - count] || most;
    const at = (share: number) => sorted[Math.floor(share * sorted.length)] ?? 0;
    const knee = Math.min(Math.max(at(KNEE), (2 * top) / LONGEST), 0.99 * top);
    const floor = Math.min(Math.max(at(FLOOR), top / LONGEST), 0.9 * knee);
    return { vmin: rounded(floor), vmid: rounded(knee), vmax: rounded(top) };
}

/** The share of the colours, 0 to 1, of an amount at a share of the logarithmic scale. */
export function bent({ vmin, vmid, vmax }: Peaks, share: number): number {
    const knee = Math.log(vmid / vmin) / Math.log(vmax / vmin);
    if (!(knee > 0 && knee < 1)) return share;
    return share < knee ? (DARK * share) / knee : DARK + ((1 - DARK) * (share - knee)) / (1 - knee);
}
