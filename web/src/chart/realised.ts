// Realised amounts by period and exchange: shorts up, longs down, hatching where nobody listened.
import type { Period } from "../data/types";

export interface Stack {
    start: number;
    /** USD by exchange, in the order of `names`. */
    longs: number[];
    shorts: number[];
    /** Share of the period and the exchanges that was listened to. */
    covered: number;
}

export interface Stacks {
    names: string[];
    length: number;
    stacks: Stack[];
    most: number;
}

/** The name of rows of all exchanges together. */
const ALL = "all";

export function stacks(periods: readonly Period[], length: number): Stacks {
    const totals = new Map<string, number>();
    for (const { exchange, long_usd, short_usd } of periods) {
        const name = exchange ?? ALL;
        totals.set(name, (totals.get(name) ?? 0) + Number(long_usd ?? 0) + Number(short_usd ?? 0));
    }
    const names = [...totals].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([name]) => name);
    const place = new Map(names.map((name, i) => [name, i]));
    const found = new Map<number, Stack & { shares: number[] }>();
    for (const row of periods) {
        let stack = found.get(row.timestamp);
        if (!stack) {
            const none = () => names.map(() => 0);
            stack = { start: row.timestamp, longs: none(), shorts: none(), covered: 0, shares: [] };
            found.set(row.timestamp, stack);
        }
        const i = place.get(row.exchange ?? ALL) ?? 0;
        stack.longs[i] = Number(row.long_usd ?? 0);
        stack.shorts[i] = Number(row.short_usd ?? 0);
        stack.shares.push(row.covered ?? 0);
    }
    let most = 0;
    const list = [...found.values()].sort((a, b) => a.start - b.start);
    for (const stack of list) {
        stack.covered = stack.shares.reduce((sum, share) => sum + share, 0) / stack.shares.length;
        most = Math.max(most, sum(stack.longs), sum(stack.shorts));
    }
    return { names, length, stacks: list, most };
}

export function sum(values: readonly number[]): number {
    return values.reduce((total, value) => total + value, 0);
}

/** Colours that tell exchanges apart on either ground. */
export const GROUPS = ["#3d7fc4", "#e0a100", "#1f9e76", "#c774a5", "#6bb8e6", "#a9745b", "#7a6fc0", "#94979f"];

export function groupColour(i: number): string {
    return GROUPS[Math.min(i, GROUPS.length - 1)] ?? "#94979f";
}
