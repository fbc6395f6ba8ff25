// The liquidation map at the right of the plane: a bar for each height, stacked by leverage, with the sum from the price.
import type { LiqMap } from "../data/types";

export interface Line {
    /** USD of each tier, highest leverage first. */
    tiers: number[];
    side: "long" | "short";
    total: number;
    /** Share of known positions; 0 of a map that has none. */
    exact: number;
}

export interface Ladder {
    lines: (Line | undefined)[];
    /** Largest total of a line. */
    most: number;
    /** Sum from the price to each height, of the height's own side. */
    sums: Float64Array;
    mostSum: number;
}

/** The strongest bin of each pixel; `edges[y]` is the price at the upper edge of pixel y, falling. */
export function ladder(map: LiqMap, edges: Float64Array): Ladder {
    const height = edges.length - 1;
    const lines: (Line | undefined)[] = new Array(height);
    const sums = new Float64Array(height).fill(Number.NaN);
    const half = map.binWidth / 2;
    const names = map.leverages.map(String).reverse();
    const shares = new Map(map.bins.map((bin, i) => [bin, map.exactShare?.[i] ?? 0]));
    const rising = [...map.bins].sort((a, b) => a.price - b.price);
    const longs = rising.filter(({ side }) => side === "long").reverse();
    const shorts = rising.filter(({ side }) => side === "short");
    let [most, mostSum] = [0, 0];
    for (const [bins, step] of [
        [longs, 1],
        [shorts, -1],
    ] as const) {
        let sum = 0;
        const reached: [number, number][] = [];
        for (const bin of bins) {
            sum += bin.total;
            reached.push([bin.price, sum]);
            const from = pixel(edges, bin.price + half);
            const to = Math.max(from + 1, pixel(edges, bin.price - half));
            for (let y = Math.max(0, from); y < Math.min(height, to); y++) {
                const known = lines[y];
                if (known && known.total >= bin.total) continue;
                const tiers = names.map((name) => bin.tiers[name] ?? 0);
                lines[y] = { tiers, side: bin.side, total: bin.total, exact: shares.get(bin) ?? 0 };
                most = Math.max(most, bin.total);
            }
        }
        // Heights on this side of the price have the sum of the bins up to them.
        let i = 0;
        const order = Array.from({ length: height }, (_, k) => (step === 1 ? k : height - 1 - k));
        for (const y of order) {
            const price = ((edges[y] ?? 0) + (edges[y + 1] ?? 0)) / 2;
            if (step === 1 ? price > map.currentPrice : price < map.currentPrice) continue;
            while (
                i < reached.length &&
                (step === 1 ? (reached[i]?.[0] ?? 0) >= price : (reached[i]?.[0] ?? 0) <= price)
            )
                i++;
            const value = i > 0 ? (reached[i - 1]?.[1] ?? 0) : 0;
            sums[y] = value;
            mostSum = Math.max(mostSum, value);
        }
    }
    return { lines, most, sums, mostSum };
}

/** The pixel whose band holds a price; below 0 or at the end where it is outside. */
function pixel(edges: Float64Array, price: number): number {
    let [low, high] = [0, edges.length];
    while (low < high) {
        const middle = (low + high) >> 1;
        if ((edges[middle] ?? 0) > price) low = middle + 1;
        else high = middle;
    }
    return low - 1;
}
