// What is shown, what is known and what stands in the way, as signals.
import { computed, effect, signal } from "@preact/signals";
import { candleLength, periodLength, pricesInView } from "../chart/axis";
import { type Peaks, peaksOf } from "../chart/peaks";
import { path } from "../data/api";
import { GRID_TYPE, type Grid, gridOfBytes, gridOfJson, newer, spanOf } from "../data/grid";
import { Loader, type Region, type Trouble } from "../data/loader";
import type { StreamState } from "../data/stream";
import type {
    Bar,
    Cascade,
    CoinRow,
    Coverage,
    Gap,
    Index,
    Levels,
    LiqMap,
    Order,
    Pain,
    Period,
    Ready,
    Served,
    Totals,
    Undercount,
} from "../data/types";
import { type Asked, comparedOf, isModelled, isRecorded, parse, SOURCES, type View, write } from "./address";
import { layoutOf, saveLayout } from "./layout";
import { day, duration, interval, moment, zoneName } from "./numbers";

interface Data<T> {
    data: T;
}

const first = parse(location.hash);
// An address that says nothing opens what was chosen here before.
export const view = signal<View>(location.hash ? first.view : { ...first.view, ...layoutOf(first.view.symbol) });
export const notices = signal<string[]>(first.notices);
let unknown = first.unknown;

export const stream = signal<StreamState>({ is: "connecting" });
export const tokenNeeded = signal(false);
export const tick = signal(Date.now());
/** Newest instant that anything is known of, by the market's clock, when this was heard, and whether it was ever another. */
export const newest = signal<{ now: number; heard: number; moved: boolean } | undefined>(undefined);
export const damaged = signal(0);
export const simulated = signal(false);
export const serverVersion = signal("");

/** The address of a view, relative to this page. */
export const addressOf = (shown: View) => write(shown, unknown) || location.pathname + location.search;

/** What differs from the view before; with `step` the browser's back button leads back to it. */
export function change(patch: Partial<View>, step = false): void {
    const { symbol } = patch;
    const next = { ...view.value, ...(symbol === undefined ? {} : layoutOf(symbol)), ...patch };
    if (
        patch.symbol !== undefined ||
        patch.range !== undefined ||
        patch.exchange !== undefined ||
        patch.source !== undefined ||
        patch.model !== undefined
    ) {
        // Another map has other prices, times and amounts.
        next.t = patch.t;
        next.vmin = patch.vmin;
        next.vmid = patch.vmid;
        next.vmax = patch.vmax;
        next.thr = patch.thr;
        if (patch.symbol !== undefined) next.p = patch.p;
    }
    view.value = next;
    saveLayout(next, patch);
    const address = addressOf(next);
    if (step) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
}

addEventListener("hashchange", readAddress);
addEventListener("popstate", readAddress);
function readAddress(): void {
    const found = parse(location.hash);
    unknown = found.unknown;
    view.value = found.view;
    notices.value = found.notices;
}

function trouble(found: Trouble): void {
    if (found.is === "token") tokenNeeded.value = true;
}

export const index = new Loader<Index>(trouble);

/** The first chart, or the second. */
export type Side = 0 | 1;

function pairOf<T>(make: () => T): [T, T] {
    return [make(), make()];
}

/** What each chart is asked for; there is a second chart where something is compared. */
export const charts = computed<[Asked, Asked | undefined]>(() => [view.value, comparedOf(view.value)]);

/** The source of each chart. */
export const sources = computed<[string, string | undefined]>(() => {
    const [{ source }, second] = charts.value;
    return [source, second?.source];
});

/** The coin of the second chart, where it is another: it has prices of its own. */
export const otherCoin = computed(() => {
    const symbol = charts.value[1]?.symbol;
    return symbol === view.value.symbol ? undefined : symbol;
});

async function readGrid(response: Response, before: Grid | undefined): Promise<Grid> {
    return gridOfBytes(await response.arrayBuffer(), before);
}

export const heatmap = new Loader<Grid>(trouble, GRID_TYPE, readGrid, newer);
export const liqmap = new Loader<LiqMap>(trouble);
export const measured = new Loader<LiqMap>(trouble);
export const servedGrid = new Loader<Data<Served[]>>(trouble);
export const servedMap = new Loader<Data<Served[]>>(trouble);
/** Recorded maps of other services for the first and the second chart, and estimates for the second. */
export const ownGrid = pairOf(() => new Loader<Grid>(trouble, GRID_TYPE, readGrid));
export const ownMap = pairOf(() => new Loader<LiqMap>(trouble));
export const bars = new Loader<Data<Bar[]>>(trouble);
/** Bars and realised amounts of the coin that is compared. */
export const otherBars = new Loader<Data<Bar[]>>(trouble);
export const otherPeriods = new Loader<Data<Period[]>>(trouble);
/** A bar for each day of a year, for the ranges that can be asked. */
export const days = new Loader<Data<Bar[]>>(trouble);
export const levels = new Loader<Data<Levels>>(trouble);
export const pain = new Loader<Data<Pain>>(trouble);
/** The largest orders of parts of what is in view, so that every part has some. */
const PARTS = 8;
export const largestOrders = Array.from({ length: PARTS + 1 }, () => new Loader<Data<Order[]>>(trouble));
export const cascades = new Loader<Data<Cascade[]>>(trouble);
export const overview = new Loader<Data<Record<string, Totals>>>(trouble);
export const coins = new Loader<Data<CoinRow[]>>(trouble);
export const exchanges = new Loader<Data<{ exchange: string; total_usd: string }[]>>(trouble);
export const undercount = new Loader<Data<Undercount[]>>(trouble);
export const periods = new Loader<Data<Period[]>>(trouble);
export const coverage = new Loader<Data<Coverage[]>>(trouble);
export const gaps = new Loader<Data<Gap[]>>(trouble);
export const ready = new Loader<Ready>(trouble);

type Reloads = Pick<Loader<unknown>, "load">;

const recordings = computed(() => index.region.value.body?.recorded ?? []);

/** What the first chart can be compared with, in the words of the address. */
export const comparisons = computed(() => {
    const { symbol, model, exchange, source, compare } = view.value;
    const places = (exchanges.region.value.body?.data ?? []).map((row) => row.exchange).sort();
    const found = [
        ...allSources.value.filter((name) => name !== source),
        ...["2", "3"].filter((other) => other !== model).map((other) => `model:${other}`),
        ...places.filter((other) => other !== exchange).map((other) => `exchange:${other}`),
        ...coinNames.value.filter((other) => other !== symbol).map((other) => `coin:${other}`),
    ];
    if (charts.value[1] && compare !== undefined && !found.includes(compare)) found.push(compare);
    return found;
});

/** All sources that can be shown, with those that are. */
export const allSources = computed(() => {
    const names = [...SOURCES, ...recordings.value.map(({ source }) => source)];
    for (const source of sources.value) if (source !== undefined && !names.includes(source)) names.push(source);
    return names;
});

/** The coins that have estimates or recorded maps. */
export const coinNames = computed(() => {
    const recorded = recordings.value.flatMap(({ maps }) => maps.map(({ symbol }) => symbol));
    return [...new Set([...(index.region.value.body?.coins ?? []), ...recorded])].sort();
});

/** Recorded maps, for which there are no events, are requested periodically. */
export const RECORDED = [...ownGrid, ...ownMap, index] as Reloads[];

/** Which answers a kind of change makes old. */
export const KINDS = {
    estimate: [heatmap, liqmap, levels, pain, bars, ownGrid[1], ownMap[1], otherBars] as Reloads[],
    realised: [overview, coins, exchanges, undercount, periods, otherPeriods, cascades] as Reloads[],
    record: [coverage, gaps, measured, servedGrid, servedMap] as Reloads[],
};

export const LENGTH: Record<string, string> = {
    "12h": "12h",
    "24h": "1d",
    "3d": "3d",
    "7d": "7d",
    "1M": "30d",
    "3M": "90d",
    "6M": "180d",
    "1y": "365d",
};
const EVERY: Record<string, string> = {
    "12h": "5m",
    "24h": "10m",
    "3d": "30m",
    "7d": "1h",
    "1M": "4h",
    "3M": "12h",
    "6M": "1d",
    "1y": "2d",
    all: "1d",
};

/** The market's now: the instant that is looked at, or the newest that is known. */
export const now = computed(() => {
    const asked = view.value.as_of;
    if (asked !== undefined) {
        const at = /^\d+$/.test(asked)
            ? Number(asked)
            : Date.parse(asked.includes("T") ? asked.replace(/Z?$/, "Z") : `${asked}T00:00Z`);
        if (Number.isFinite(at)) return at;
    }
    return newest.value?.now;
});

/** The time that the chart covers. */
export const covers = computed<[number, number] | undefined>(() => {
    const shown = isRecorded(view.value.source) ? grid.value : undefined;
    // A recorded map is of its own time.
    if (shown) return [spanOf(shown, 0)[0], shown.times[shown.columns - 1] ?? 0];
    const end = now.value;
    if (!end) return undefined;
    const length = duration(LENGTH[view.value.range] ?? "") ?? 730 * 86_400_000;
    return [end - length, end];
});

export const columnLength = computed(() => duration(EVERY[view.value.range] ?? "10m") ?? 600_000);

export const period = computed(() => {
    const slot = candleLength(columnLength.value);
    const wanted = view.value.interval === "auto" ? undefined : duration(view.value.interval);
    if (wanted !== undefined && wanted % slot === 0) return wanted;
    return periodLength(duration(LENGTH[view.value.range] ?? "") ?? 730 * 86_400_000, slot);
});

const mapRange = computed(() => {
    const { range } = view.value;
    return range === "24h" ? "1d" : range;
});

// The start of what is asked moves in whole columns, so that the same question is asked again within one.
const start = computed(() => {
    const covered = covers.value;
    const every = columnLength.value;
    return covered ? Math.floor(covered[0] / every) * every : undefined;
});

const DAY = 86_400_000;

/** Ranges that begin before the first bar, with the reason. */
export const tooLong = computed<ReadonlyMap<string, string>>(() => {
    const first = days.region.value.body?.data[0]?.timestamp;
    const end = now.value;
    const found = new Map<string, string>();
    if (first === undefined || end === undefined) return found;
    for (const [name, text] of Object.entries(LENGTH)) {
        if (end - (duration(text) ?? 0) < first - DAY) found.set(name, `bars begin ${day(first, "utc")}`);
    }
    return found;
});

/** A link that shows a time before its range is of that time. */
function openOld(): void {
    const { t, as_of } = view.value;
    const shown = covers.value;
    if (!t || as_of !== undefined || !shown || isRecorded(view.value.source) || t[1] >= shown[0]) return;
    const at = Math.round(t[1]);
    change({ as_of: String(at), t });
    notices.value = [
        ...notices.peek(),
        `This link is older than its range: everything is shown as of ${moment(at, view.peek().tz)} ${zoneName(at, view.peek().tz)}.`,
    ];
}

/** Asks for the largest orders of each part of what is in view. */
function askOrders(): void {
    const { symbol, exchange, as_of, t } = view.value;
    const { body, trouble: refused } = heatmap.region.value;
    const shown = covers.value;
    // After the map, which matters more.
    if (!shown || !(body || refused)) return;
    const [from, to] = [Math.max(t?.[0] ?? shown[0], shown[0]), Math.min(t?.[1] ?? shown[1], shown[1])];
    const every = columnLength.value;
    // Parts begin at multiples of their length, so that a small move asks for nothing new.
    const length = every * 2 ** Math.max(0, Math.ceil(Math.log2(Math.max(1, to - from) / PARTS / every)));
    const begin = Math.floor(from / length) * length;
    const orders = { symbol, exchange, as_of };
    for (const [i, loader] of largestOrders.entries()) {
        const start = begin + i * length;
        // The newest part has no end: what arrives later is in it.
        const end = start + length >= shown[1] ? undefined : start + length;
        const asked = { ...orders, limit: 25, start, end };
        loader.to(
            start < to ? path("api/liquidations/largest", asked) : undefined,
            i === 0 ? path("api/liquidations/largest", { ...orders, limit: 300, range: "24h" }) : undefined,
        );
    }
}

/** The orders that are known of what is in view. */
export const ordersInView = computed(() => largestOrders.flatMap(({ region }) => region.value.body?.data ?? []));

/** Asks again for the orders of the parts that have no end. */
export function askNewestOrders(): void {
    for (const loader of largestOrders) {
        const { question } = loader.region.peek();
        if (question !== undefined && !question.includes("end=")) loader.load();
    }
}

/** Begins to ask for what the view shows. */
export function follow(): () => void {
    index.to("api");
    effect(openOld);
    effect(askOrders);
    effect(() => {
        const { symbol } = view.value;
        const { body, trouble: refused } = heatmap.region.value;
        const end = newest.value?.now;
        // After the map, which matters more.
        if (!end || !(body || refused)) return;
        const start = Math.floor(end / DAY) * DAY - 366 * DAY;
        days.to(path("api/bars", { symbol, start, interval: "1d" }));
    });
    return effect(() => {
        const { symbol, model, exchange, as_of, beside, opened } = view.value;
        const range = view.value.range;
        const blended = (source: string | undefined) => (source === "blended" ? { view: source } : {});
        const shows = (name: string) => sources.value.includes(name) || beside === name;
        const everywhere = { as_of };
        // Where a server knows the windows of the contract alone, the panels are of a day, and say so.
        const oneDay = { range: "24h", ...everywhere };
        const window = { ...(range === "all" ? { start: start.value } : { range }), ...everywhere };
        const totals = ["12h", "24h"].includes(range) ? everywhere : window;
        // Known positions are of any age.
        const openedOf = (source: string | undefined) => (opened === "range" && source !== "blended" ? { opened } : {});
        const first = view.value.source;
        heatmap.to(
            path("api/liq-heatmap", {
                symbol,
                range,
                model,
                exchange,
                explain: 1,
                values: "u16",
                ...openedOf(first),
                ...blended(first),
                ...everywhere,
            }),
        );
        liqmap.to(
            shows("estimate") || first === "blended"
                ? path("api/liq-map", {
                      symbol,
                      range: mapRange.value,
                      model,
                      exchange,
                      ...blended(first),
                      ...everywhere,
                  })
                : undefined,
        );
        measured.to(
            shows("positions")
                ? path("api/liq-map", { symbol, range: mapRange.value, source: "positions", explain: 1, ...everywhere })
                : undefined,
        );
        for (const side of [0, 1] as const) {
            const chart = charts.value[side];
            const recorded = chart !== undefined && isRecorded(chart.source);
            const estimate = side === 1 && isModelled(chart?.source);
            const asked = recorded || estimate ? chart : undefined;
            const what = asked && {
                symbol: asked.symbol,
                exchange: asked.exchange,
                ...(recorded ? { source: asked.source } : { model: asked.model, ...blended(asked.source) }),
                ...everywhere,
            };
            const grid = recorded ? { model } : { explain: 1, ...openedOf(asked?.source) };
            ownGrid[side].to(what && path("api/liq-heatmap", { ...what, range, values: "u16", ...grid }));
            ownMap[side].to(what && path("api/liq-map", { ...what, range: mapRange.value }));
        }
        const headline = { symbol, model, ...everywhere };
        levels.to(path("api/liq-levels", { ...headline, exchange }), path("api/liq-levels", headline));
        pain.to(path("api/liq-maxpain", { ...headline, exchange }), path("api/liq-maxpain", headline));
        overview.to(path("api/liquidations/overview", totals), path("api/liquidations/overview", everywhere));
        for (const [loader, name, more] of [
            [coins, "api/liquidations/coins", { limit: 12 }],
            [exchanges, "api/liquidations/exchanges", {}],
            [undercount, "api/liquidations/undercount", {}],
            [coverage, "api/coverage", {}],
        ] as const) {
            loader.to(path(name, { ...more, ...window }), path(name, { ...more, ...oneDay }));
        }
        const [from, length] = [start.value, period.value];
        if (from !== undefined) {
            const slot = candleLength(columnLength.value);
            const candle = { symbol, start: from, interval: interval(slot), ...everywhere };
            bars.to(path("api/bars", { ...candle, running: 1 }), path("api/bars", candle));
            const whole = Math.floor(from / length) * length;
            const history = {
                symbol,
                by: "exchange",
                exchange,
                interval: interval(length),
                start: whole,
                ...everywhere,
            };
            periods.to(path("api/liquidations/history", history));
            const other = otherCoin.value;
            otherBars.to(other && path("api/bars", { ...candle, symbol: other }));
            otherPeriods.to(other && path("api/liquidations/history", { ...history, symbol: other }));
            cascades.to(path("api/liquidations/cascades", { symbol, start: from, ...everywhere }));
            gaps.to(path("api/gaps", { start: from, ...everywhere }));
            const served = { symbol, start: from, ...everywhere };
            servedGrid.to(shows("served") ? path("api/maps", { ...served, kind: "heatmap" }) : undefined);
            servedMap.to(shows("served") ? path("api/maps", { ...served, kind: "liqmap" }) : undefined);
        }
    });
}

/** The newest map that was served with these parameters, as it was then. */
export function lastServed<T>(
    region: Region<Data<Served[]>>,
    fits: (reply: T) => boolean,
    read: (reply: unknown) => T,
): { at: number; version: string | undefined; map: T } | undefined {
    const rows = region.body?.data ?? [];
    for (let i = rows.length - 1; i >= 0; i--) {
        const row = rows[i];
        if (!row) continue;
        const map = read(typeof row.reply === "string" ? JSON.parse(row.reply) : row.reply);
        if (fits(map)) return { at: row.computed_at ?? row.timestamp, version: row.version ?? undefined, map };
    }
    return undefined;
}

export const served = computed(() =>
    lastServed<Grid>(servedGrid.region.value, (grid) => grid.range === view.value.range, gridOfJson),
);
export const servedLiqmap = computed(() =>
    lastServed<LiqMap>(
        servedMap.region.value,
        (map) => map.range === mapRange.value,
        (reply) => reply as LiqMap,
    ),
);

/** The region that a source's heatmap comes from; measured positions have none. */
export function regionOf(side: Side): Region<unknown> | undefined {
    const source = sources.value[side];
    if (source === undefined || source === "positions") return undefined;
    if (source === "served") return servedGrid.region.value;
    return side === 1 || isRecorded(source) ? ownGrid[side].region.value : heatmap.region.value;
}

function gridOf(side: Side): Grid | undefined {
    return sources.value[side] === "served" ? served.value?.map : (regionOf(side)?.body as Grid | undefined);
}

/** The grid of each chart; measured positions have none. */
export const grid = computed(() => gridOf(0));
export const grids = [grid, computed(() => gridOf(1))] as const;

const isWhole = (bar: Bar) => bar.closes_at >= bar.timestamp + bar.interval;

const barsOf = (side: Side) => (side === 1 && otherCoin.value !== undefined ? otherBars : bars).region.value;

const wholeOf = (side: Side) => (barsOf(side).body?.data ?? []).filter(isWhole);

/** The candles that are finished, of the coin of each chart. */
export const whole = computed(() => wholeOf(0));
export const wholes = [whole, computed(() => wholeOf(1))] as const;

/** Colours before a map is known. */
const BEFORE: Peaks = { vmin: 1, vmid: 5, vmax: 10 };

/** The colours of each chart: fixed for one map until somebody fits them or types others. */
const fitted = pairOf(() => signal<({ of: string } & Peaks) | undefined>(undefined));

function gridName(of: Grid, side: Side): string {
    return [
        of.symbol,
        of.range,
        of.model,
        charts.value[side]?.exchange,
        sources.value[side],
        of.units,
        wholes[side].value.length > 0,
    ].join(" ");
}

for (const side of [0, 1] as const) {
    effect(() => {
        const shown = grids[side].value;
        // The candles say which prices are in view.
        void wholes[side].value.length;
        if (shown && fitted[side].peek()?.of !== gridName(shown, side)) fitSide(side);
    });
}

function fitSide(side: Side): void {
    const shown = grids[side].peek();
    if (!shown) return;
    const p = side === 1 && otherCoin.peek() !== undefined ? undefined : view.peek().p;
    const [low, high] = p ?? pricesInView(wholes[side].peek(), shown.currentPrice, shown.prices);
    fitted[side].value = { of: gridName(shown, side), ...peaksOf(shown, low, high) };
}

/** The colours of the second chart, which has no threshold. */
export const secondRange = computed(() => ({ ...(fitted[1].value ?? BEFORE), threshold: 0 }));

export function fitColours(): void {
    fitSide(0);
    fitSide(1);
    change({ vmin: undefined, vmid: undefined, vmax: undefined });
}

export const range = computed(() => {
    const { vmin, vmid, vmax, thr } = view.value;
    const found = fitted[0].value ?? BEFORE;
    const low = vmin ?? found.vmin;
    const high = Math.max(vmax ?? found.vmax, low * 1.01);
    return { vmin: low, vmid: vmid ?? found.vmid, vmax: high, threshold: thr ?? 0 };
});

/** How old what is known is, in milliseconds; undefined where the market's clock is not the world's. */
export const ageKnown = computed(() => {
    const known = newest.value;
    if (!known || simulated.value || view.value.as_of !== undefined) return undefined;
    return Math.max(0, tick.value - known.now);
});

type Priced = Pick<LiqMap, "symbol" | "currentPrice" | "updatedAt">;

function newestPrice(maps: readonly (Priced | undefined)[], symbol: string) {
    let best: { value: number; at: number } | undefined;
    for (const map of maps) {
        if (map?.symbol !== symbol || !(map.currentPrice > 0) || (best && map.updatedAt <= best.at)) continue;
        best = { value: map.currentPrice, at: map.updatedAt };
    }
    return best;
}

/** The current price, as the newest map says, and when it was so. */
export const price = computed(() => {
    const { source, symbol } = view.value;
    const all = [heatmap.region.value.body, liqmap.region.value.body, measured.region.value.body];
    return newestPrice(isRecorded(source) ? [grid.value] : all, symbol);
});

/** The current price of the coin of each chart. */
export const prices = [
    price,
    computed(() => {
        const other = otherCoin.value;
        if (other === undefined) return price.value;
        return newestPrice([ownGrid[1].region.value.body, ownMap[1].region.value.body], other);
    }),
] as const;

/** How old a price is, by the clock of what is shown. */
export function ageOf(found: { at: number } | undefined): number | undefined {
    const clock = simulated.value || view.value.as_of !== undefined ? now.value : tick.value;
    return found === undefined || clock === undefined ? undefined : Math.max(0, clock - found.at);
}

/** The candle that is not finished, up to the current price, of the coin of each chart. */
export const unfinished = computed(() => unfinishedOf(0));
export const unfinisheds = [unfinished, computed(() => unfinishedOf(1))] as const;

function unfinishedOf(side: Side): Bar | undefined {
    const whole = wholes[side].value;
    const last = whole[whole.length - 1];
    const now = prices[side].value;
    if (!last || !now || now.at <= last.closes_at) return undefined;
    const length = candleLength(columnLength.value);
    const timestamp = Math.floor((now.at - 1) / length) * length;
    const sent = barsOf(side).body?.data.find((bar) => !isWhole(bar) && bar.timestamp === timestamp);
    const { open, high, low } = sent ?? { open: last.close, high: last.close, low: last.close };
    return {
        ...last,
        timestamp,
        closes_at: now.at,
        interval: length,
        open,
        high: Math.max(high, now.value),
        low: Math.min(low, now.value),
        close: now.value,
    };
}

/** Length of the bars that the market has. */
export const barLength = computed(() => heatmap.region.value.body?.explain?.barIntervalMs ?? 300_000);

/** The window of the request that a panel shows, as its address says it. */
export function windowOf(region: Region<unknown>): { name: string; start: number | undefined } {
    const query = new URLSearchParams((region.question ?? "").split("?")[1] ?? "");
    const start = query.get("start");
    if (start === null) return { name: query.get("range") ?? "24h", start: undefined };
    return { name: `since ${day(Number(start), view.value.tz)}`, start: Number(start) };
}
