// What is under the pointer, in full: a cell, a bar of a liquidation map, realised amounts, an order or a cascade.
import { computed } from "@preact/signals";
import type { StripSource } from "../chart/draw";
import type { Cursor, Measured } from "../chart/plane";
import { bandOf, columnOf, rowOf, sideOf, spanOf, valueAt } from "../data/grid";
import type { LiqMap } from "../data/types";
import { isModelled, isRecorded } from "./address";
import { moment, percent, price, short, span, zoneName } from "./numbers";
import { cursor, distance, estimateOf, measured, realisedReadout, secondCursor, secondStrips, strips } from "./shown";
import { grids, type Side, sources, unfinisheds, view, wholes } from "./state";

export interface Reading {
    title: string;
    rows: [name: string, value: string][];
    /** Where in the chart it is, in CSS pixels. */
    at: { x: number; y: number };
}

const zone = () => view.value.tz;
const when = (instant: number) => `${moment(instant, zone())} ${zoneName(instant, zone())}`;

function binAt(map: LiqMap | undefined, level: number): number {
    return map ? map.bins.findIndex((bin) => Math.abs(bin.price - level) <= map.binWidth / 2) : -1;
}

/** The leverages of a bin, largest share first. */
function leverages(map: LiqMap, i: number): string {
    const bin = map.bins[i];
    if (!bin || !(bin.total > 0)) return "none";
    return Object.entries(bin.tiers)
        .filter(([, usd]) => usd > 0)
        .sort((a, b) => b[1] - a[1])
        .slice(0, 4)
        .map(([tier, usd]) => `${tier}× ${percent(usd / bin.total)}`)
        .join(", ");
}

function interval(map: LiqMap, i: number): string | undefined {
    const [low, high] = [map.bounds?.low[i], map.bounds?.high[i]];
    return typeof low === "number" && typeof high === "number" ? `${short(low)} to ${short(high)}` : undefined;
}

function candleRow(instant: number, side: Side): [string, string][] {
    const open = unfinisheds[side].value;
    const bar = [...wholes[side].value, ...(open ? [open] : [])].find(
        ({ timestamp, interval }) => timestamp <= instant && instant < timestamp + interval,
    );
    if (!bar) return [];
    const { open: first, high, low, close } = bar;
    const state = bar === open ? ", not finished" : "";
    return [[`candle${state}`, `O ${price(first)} H ${price(high)} L ${price(low)} C ${price(close)}`]];
}

function cellReading(side: Side, at: Cursor): Reading | undefined {
    const grid = grids[side].value;
    const row = grid ? rowOf(grid, at.price) : -1;
    const column = grid ? columnOf(grid, at.instant) : -1;
    const place: [string, string][] = [["distance", `${distance(at.price, side) ?? "unknown"} from the price`]];
    if (!grid || row < 0 || column < 0) {
        const rows: [string, string][] = [...place, ["time", when(at.instant)], ...candleRow(at.instant, side)];
        return { title: price(at.price), rows, at };
    }
    const [low, high] = bandOf(grid, row);
    const value = valueAt(grid, row, column);
    const source = sources.value[side] ?? "estimate";
    const unlike = grid.units === "relative" || (isRecorded(source) && grid.units !== "usd");
    const unit = unlike ? "" : " USD";
    const of = sideOf(grid, row, column);
    const known = grid.explain?.sides?.price?.[column] ?? grid.currentPrice;
    // From the price of the column to this cell, both included.
    const middle = rowOf(grid, known);
    let sum = 0;
    for (let r = Math.min(row, middle); middle >= 0 && r <= Math.max(row, middle); r++) {
        sum += valueAt(grid, r, column) || 0;
    }
    const words: Record<string, string> = { long: "longs", short: "shorts", both: "longs and shorts" };
    const rows: [string, string][] = [
        ...place,
        ["time", span(...spanOf(grid, column), zone())],
        [
            isRecorded(source) ? source : source === "served" ? "as served" : "estimate",
            Number.isNaN(value) ? "not known" : `${short(value)}${unit}`,
        ],
        ["side", words[of ?? (at.price < known ? "long" : "short")] ?? ""],
    ];
    const map = isModelled(source) && !unlike ? estimateOf(side).body : undefined;
    const bin = binAt(map, (low + high) / 2);
    if (map && bin >= 0) rows.push(["leverage, now", leverages(map, bin)]);
    if (middle >= 0) rows.push(["sum from the price", `${short(sum)}${unit}`]);
    const ends = map && interval(map, bin);
    if (ends) rows.push(["80 % interval, now", `${ends} USD`]);
    return { title: `${price(low)}–${price(high)}`, rows: [...rows, ...candleRow(at.instant, side)], at };
}

function stripReading(source: StripSource, at: Cursor, chart: Side): Reading {
    const { map } = source;
    const unit = source.relative ? "" : " USD";
    const half = map.binWidth / 2;
    const i = binAt(map, at.price);
    const bin = map.bins[i];
    const side = at.price < map.currentPrice ? "long" : "short";
    const between = map.bins.filter((one) =>
        side === "long"
            ? one.side === side && one.price >= at.price - half
            : one.side === side && one.price <= at.price + half,
    );
    const sum = between.reduce((total, one) => total + one.total, 0);
    const rows: [string, string][] = [
        ["distance", `${distance(at.price, chart) ?? "unknown"} from the price`],
        ["time", `${when(map.updatedAt)}, map ${map.range}`],
        [source.word.toLowerCase(), bin ? `${short(bin.total)}${unit}` : "none here"],
        ["side", side === "long" ? "longs" : "shorts"],
    ];
    if (bin && map.exactShare) rows.push(["known positions", percent(map.exactShare[i] ?? 0)]);
    if (bin) rows.push(["leverage", leverages(map, i)]);
    rows.push(["sum from the price", `${short(sum)}${unit}`]);
    const ends = interval(map, i);
    if (ends) rows.push(["80 % interval", `${ends}${unit}`]);
    const title = bin ? `${price(bin.price - half)}–${price(bin.price + half)}` : price(at.price);
    return { title, rows, at };
}

function readingOf(side: Side, at: Cursor | undefined): Reading | undefined {
    if (!at) return undefined;
    if (at.strip !== undefined) {
        const shown = (side === 0 ? strips : secondStrips).value[at.strip];
        return shown && at.pane === 0 ? stripReading(shown, at, side) : undefined;
    }
    if (at.pane === 1) {
        const found = realisedReadout(at.instant, side);
        if (!found) return undefined;
        return { title: found.place, rows: [["REALISED", found.amount], ...found.notes.map(noteRow)], at };
    }
    if (at.order) {
        const { side: closed, exchange, symbol, value_usd, price: level, timestamp } = at.order;
        const rows: [string, string][] = [
            ["price", price(Number(level))],
            ["distance", `${distance(Number(level), side) ?? "unknown"} from the price`],
            ["time", when(timestamp)],
            ["amount", `${short(Number(value_usd))} USD`],
            ["side", closed === "LONG" ? "long, sold by the exchange" : "short, bought by the exchange"],
        ];
        return { title: `REALISED order · ${exchange} ${symbol}`, rows: [...rows, ...candleRow(at.instant, side)], at };
    }
    if (at.cascade) {
        const { side: closed, usd, cnt, exchanges, start, end } = at.cascade;
        const rows: [string, string][] = [
            ["time", span(start, end, zone())],
            ["amount", `≥ ${short(Number(usd))} USD`],
            ["side", closed === "LONG" ? "longs" : "shorts"],
            ["orders", `${cnt} on ${exchanges} exchanges`],
        ];
        return { title: "REALISED cascade", rows: [...rows, ...candleRow(at.instant, side)], at };
    }
    return cellReading(side, at);
}

const noteRow = (note: string): [string, string] => ["", note];

/** What is between two prices: the distance, and the USD of the newest liquidation map. */
function measuredReading({ from, to, x, y }: Measured): Reading {
    const [low, high] = [Math.min(from.price, to.price), Math.max(from.price, to.price)];
    const change = to.price - from.price;
    const sign = change < 0 ? "−" : "+";
    const share = Math.abs((100 * change) / from.price);
    const rows: [string, string][] = [
        ["price", `${sign}${price(Math.abs(change))}, ${sign}${share.toFixed(share < 10 ? 2 : 1)} %`],
        ["time", span(Math.min(from.instant, to.instant), Math.max(from.instant, to.instant), zone())],
    ];
    const source = strips.value[0];
    const map = source?.map ?? (isModelled(view.value.source) ? estimateOf(0).body : undefined);
    if (map) {
        const unit = map.units === "usd" ? " USD" : "";
        for (const side of ["long", "short"] as const) {
            const between = map.bins.filter((bin) => bin.side === side && bin.price >= low && bin.price <= high);
            const sum = between.reduce((total, bin) => total + bin.total, 0);
            rows.push([`${(source?.word ?? "estimate").toLowerCase()}, ${side}s, now`, `${short(sum)}${unit}`]);
        }
    }
    return { title: `between ${price(low)} and ${price(high)}`, rows, at: { x, y } };
}

export const reading = computed(() => (measured.value ? measuredReading(measured.value) : readingOf(0, cursor.value)));
export const secondReading = computed(() => readingOf(1, secondCursor.value));
