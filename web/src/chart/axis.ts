// The time axis of the chart: slots of one length without a hole, whether a bar is known of each or not.
import type { Bar } from "../data/types";
import { duration } from "../view/numbers";

export interface Slots {
    /** Start of the first slot, in epoch milliseconds. */
    start: number;
    /** Length of a slot in milliseconds. */
    length: number;
    count: number;
}

const LENGTHS = ["1m", "5m", "10m", "15m", "30m", "1h", "2h", "4h", "8h", "12h", "1d", "2d", "7d"].map(
    (text) => duration(text) ?? 0,
);

/** Length of candles for columns of this length: a divisor, so that each column is whole slots. */
export function candleLength(every: number): number {
    const least = Math.max(every / 2, 60_000);
    return LENGTHS.find((length) => length >= least && every % length === 0) ?? every;
}

/** Length of the periods of realised amounts: whole slots, at most about a hundred in a range. */
export function periodLength(total: number, slot: number): number {
    return (
        LENGTHS.find((length) => length % slot === 0 && total / length <= 100) ?? Math.ceil(total / 100 / slot) * slot
    );
}

export function slotsOf(start: number, end: number, length: number): Slots {
    const first = Math.floor(start / length) * length;
    const whole = Math.max(1, Math.ceil((end - first) / length));
    // Room to the right of now, where nothing is known.
    return { start: first, length, count: whole + Math.max(2, Math.round(whole * 0.03)) };
}

export interface Candle {
    time: number;
    open?: number;
    high?: number;
    low?: number;
    close?: number;
}

/** A row for every slot: the bars in it taken together, or nothing. */
export function candles(slots: Slots, bars: readonly Bar[]): Candle[] {
    const rows: Candle[] = Array.from({ length: slots.count }, (_, i) => ({
        time: (slots.start + i * slots.length) / 1000,
    }));
    for (const bar of bars) {
        const row = rows[Math.floor((bar.timestamp - slots.start) / slots.length)];
        if (!row) continue;
        if (row.open === undefined) row.open = bar.open;
        row.high = Math.max(row.high ?? -Infinity, bar.high);
        row.low = Math.min(row.low ?? Infinity, bar.low);
        row.close = bar.close;
    }
    return rows;
}

/** The prices that are in view at first: all that were traded, with some room, inside the rows of a map. */
export function pricesInView(
    rows: readonly { high?: number; low?: number }[],
    now: number | undefined,
    prices: Float64Array | undefined,
): [number, number] {
    let [low, high] = [Infinity, -Infinity];
    for (const row of rows) {
        if (row.low !== undefined && row.low < low) low = row.low;
        if (row.high !== undefined && row.high > high) high = row.high;
    }
    const middle = now ?? (high > 0 ? high : 1);
    low = Math.min(low, middle) / 1.06;
    high = Math.max(high, middle) * 1.06;
    const [first, last] = [prices?.[0], prices?.[prices.length - 1]];
    if (first === undefined || last === undefined || (first < low && last > high)) return [low, high];
    return [Math.max(low, first), Math.min(high, last)];
}

/** Where an instant lies on the chart's axis, whose whole numbers are the middles of slots. */
export function logical(slots: Slots, instant: number): number {
    return (instant - slots.start) / slots.length - 0.5;
}

export function instant(slots: Slots, at: number): number {
    return slots.start + (at + 0.5) * slots.length;
}
