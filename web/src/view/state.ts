// What is shown, what is known and what stands in the way, as signals.
import { computed, effect, signal } from "@preact/signals";
import { candleLength, periodLength } from "../chart/axis";
import { path } from "../data/api";
import { colourEnds, GRID_TYPE, type Grid, gridOfBytes, gridOfJson, newer, spanOf } from "../data/grid";
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
import { isRecorded, parse, SOURCES, type View, write } from "./address";
import { duration, interval } from "./numbers";

interface Data<T> {
    data: T;
}

const first = parse(location.hash);
export const view = signal<View>(first.view);
export const notices = signal<string[]>(first.notices);
let unknown = first.unknown;

export const stream = signal<StreamState>({ is: "connecting" });
export const tokenNeeded = signal(false);
export const tick = signal(Date.now());
/** Newest instant that anything is known of, by the market's clock, and when this was heard. */
export const newest = signal<{ now: number; heard: number } | undefined>(undefined);
export const damaged = signal(0);
export const simulated = signal(false);
export const serverVersion = signal("");

/** What differs from the view before; with `step` the browser's back button leads back to it. */
export function change(patch: Partial<View>, step = false): void {
    const next = { ...view.value, ...patch };
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
        next.vmax = patch.vmax;
        next.thr = patch.thr;
        if (patch.symbol !== undefined) next.p = patch.p;
    }
    view.value = next;
    const address = write(next, unknown) || location.pathname + location.search;
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

/** The source of each chart; there is a second chart where another source is compared. */
export const sources = computed<[string, string | undefined]>(() => {
    const { source, compare } = view.value;
    return [source, compare === source ? undefined : compare];
});

async function readGrid(response: Response, before: Grid | undefined): Promise<Grid> {
    return gridOfBytes(await response.arrayBuffer(), before);
}

export const heatmap = new Loader<Grid>(trouble, GRID_TYPE, readGrid, newer);
export const liqmap = new Loader<LiqMap>(trouble);
export const measured = new Loader<LiqMap>(trouble);
export const servedGrid = new Loader<Data<Served[]>>(trouble);
export const servedMap = new Loader<Data<Served[]>>(trouble);
/** Recorded maps of other services, for the first and the second chart. */
export const recordedGrid = pairOf(() => new Loader<Grid>(trouble, GRID_TYPE, readGrid));
export const recordedMap = pairOf(() => new Loader<LiqMap>(trouble));
export const bars = new Loader<Data<Bar[]>>(trouble);
export const levels = new Loader<Data<Levels>>(trouble);
export const pain = new Loader<Data<Pain>>(trouble);
export const largestOrders = new Loader<Data<Order[]>>(trouble);
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
export const RECORDED = [...recordedGrid, ...recordedMap, index] as Reloads[];

/** Which answers a kind of change makes old. */
export const KINDS = {
    estimate: [heatmap, liqmap, levels, pain, bars] as Reloads[],
    realised: [overview, coins, exchanges, undercount, periods, largestOrders, cascades] as Reloads[],
    record: [coverage, gaps, measured, servedGrid, servedMap] as Reloads[],
};

const LENGTH: Record<string, string> = {
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

/** Begins to ask for what the view shows. */
export function follow(): () => void {
    index.to("api");
    return effect(() => {
        const { symbol, model, exchange, as_of, beside, opened } = view.value;
        const range = view.value.range;
        const shows = (name: string) => sources.value.includes(name) || beside === name;
        const everywhere = { as_of };
        const window = ["12h", "24h"].includes(range) ? range : "24h";
        const wanted = opened === "range" ? { opened } : {};
        heatmap.to(
            path("api/liq-heatmap", {
                symbol,
                range,
                model,
                exchange,
                explain: 1,
                values: "u16",
                ...wanted,
                ...everywhere,
            }),
        );
        liqmap.to(
            shows("estimate")
                ? path("api/liq-map", { symbol, range: mapRange.value, model, exchange, ...everywhere })
                : undefined,
        );
        measured.to(
            shows("positions")
                ? path("api/liq-map", { symbol, range: mapRange.value, source: "positions", explain: 1, ...everywhere })
                : undefined,
        );
        for (const side of [0, 1] as const) {
            const source = sources.value[side];
            const asked = source !== undefined && isRecorded(source) ? { symbol, exchange, source } : undefined;
            recordedGrid[side].to(
                asked && path("api/liq-heatmap", { ...asked, range, model, values: "u16", ...everywhere }),
            );
            recordedMap[side].to(asked && path("api/liq-map", { ...asked, range: mapRange.value, ...everywhere }));
        }
        levels.to(path("api/liq-levels", { symbol, model, ...everywhere }));
        pain.to(path("api/liq-maxpain", { symbol, model, ...everywhere }));
        largestOrders.to(
            path("api/liquidations/largest", { symbol, exchange, range: window, limit: 300, ...everywhere }),
        );
        overview.to(path("api/liquidations/overview", everywhere));
        coins.to(path("api/liquidations/coins", { range: window, limit: 12, ...everywhere }));
        exchanges.to(path("api/liquidations/exchanges", { range: window, ...everywhere }));
        undercount.to(path("api/liquidations/undercount", { range: window, ...everywhere }));
        coverage.to(path("api/coverage", { range: window, ...everywhere }));
        const [from, length] = [start.value, period.value];
        if (from !== undefined) {
            const slot = candleLength(columnLength.value);
            bars.to(path("api/bars", { symbol, start: from, interval: interval(slot), ...everywhere }));
            const whole = Math.floor(from / length) * length;
            periods.to(
                path("api/liquidations/history", {
                    symbol,
                    by: "exchange",
                    exchange,
                    interval: interval(length),
                    start: whole,
                    ...everywhere,
                }),
            );
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
    return isRecorded(source) ? recordedGrid[side].region.value : heatmap.region.value;
}

function gridOf(side: Side): Grid | undefined {
    return sources.value[side] === "served" ? served.value?.map : (regionOf(side)?.body as Grid | undefined);
}

/** The grid of each chart; measured positions have none. */
export const grid = computed(() => gridOf(0));
export const grids = [grid, computed(() => gridOf(1))] as const;

/** The ends of the colours of each chart: fixed for one map until somebody fits them or types others. */
const fitted = pairOf(() => signal<{ of: string; vmin: number; vmax: number } | undefined>(undefined));

function gridName(of: Grid, side: Side): string {
    return [of.symbol, of.range, of.model, view.value.exchange, sources.value[side], of.units].join(" ");
}

for (const side of [0, 1] as const) {
    effect(() => {
        const shown = grids[side].value;
        if (shown && fitted[side].peek()?.of !== gridName(shown, side)) fitSide(side);
    });
}

function fitSide(side: Side): void {
    const shown = grids[side].peek();
    if (!shown) return;
    // The rows that are in view at first: what lies far from the price is often much more, and never near it.
    const [low, high] = view.peek().p ?? [shown.currentPrice * 0.92, shown.currentPrice * 1.08];
    fitted[side].value = { of: gridName(shown, side), ...colourEnds(shown, low, high) };
}

/** The ends of the colours of the second chart, which has no threshold. */
export const secondRange = computed(() => {
    const { vmin, vmax } = fitted[1].value ?? { vmin: 1, vmax: 10 };
    return { vmin, vmax: Math.max(vmax, vmin * 1.01), threshold: vmin };
});

export function fitColours(): void {
    fitSide(0);
    fitSide(1);
    const { vmin, vmax } = view.peek();
    if (vmin !== undefined || vmax !== undefined) change({ vmin: undefined, vmax: undefined });
}

export const range = computed(() => {
    const { vmin, vmax, thr } = view.value;
    const low = vmin ?? fitted[0].value?.vmin ?? 1;
    const high = Math.max(vmax ?? fitted[0].value?.vmax ?? 10, low * 1.01);
    return { vmin: low, vmax: high, threshold: thr ?? low };
});

/** How old what is known is, in milliseconds; undefined where the market's clock is not the world's. */
export const ageKnown = computed(() => {
    const known = newest.value;
    if (!known || simulated.value || view.value.as_of !== undefined) return undefined;
    return Math.max(0, tick.value - known.now);
});

export const STALE = 10 * 60_000;
