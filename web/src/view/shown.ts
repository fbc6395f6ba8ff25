// What is on the plane and beside it, in words: the same for the document, the pixels and exported pictures.
import { computed, signal } from "@preact/signals";
import type { StripSource } from "../chart/draw";
import type { Label } from "../chart/labels";
import type { Cursor, Measured, StripScale } from "../chart/plane";
import { stacks } from "../chart/realised";
import { bandOf, columnOf, rowOf, sideOf, spanOf, valueAt } from "../data/grid";
import type { LiqMap, Pain } from "../data/types";
import { isModelled, isRecorded } from "./address";
import { age, clock, interval, moment, percent, plain, price, short, span, zoneName } from "./numbers";
import { SCORECARD, scoreOf } from "./scorecard";
import { phone } from "./screen";
import { planeWords, troubleText, unitText, waitingText, wordOf } from "./sentences";
import {
    ageOf,
    barLength,
    charts,
    coverage,
    covers,
    damaged,
    gaps,
    grids,
    heatmap,
    levels,
    liqmap,
    measured as measuredMap,
    newest,
    otherCoin,
    otherPeriods,
    ownMap,
    pain,
    period,
    periods,
    prices,
    regionOf,
    type Side,
    served,
    servedLiqmap,
    simulated,
    sources,
    tick,
    view,
} from "./state";

const zone = computed(() => view.value.tz);

/** Whether amounts of a map are in a unit of its own; those of a vendor are until it is known better. */
function isRelative(side: Side): boolean {
    const units = grids[side].value?.units;
    return units === undefined ? isRecorded(sources.value[side] ?? "estimate") : units === "relative";
}

export const relative = computed(() => isRelative(0));
const unitOf = (side: Side) => (isRelative(side) ? "" : " USD");
export const unit = computed(() => unitOf(0));

function labelOf(side: Side): string[] {
    const source = sources.value[side] ?? "estimate";
    const shown = grids[side].value;
    const old = source === "served" ? served.value : undefined;
    const at = old?.at ?? shown?.recordedAt;
    return planeWords({
        source,
        model: String(shown?.model ?? (isRecorded(source) ? 0 : charts.value[side]?.model)),
        exchange: source === "positions" ? undefined : charts.value[side]?.exchange,
        explain: source === "served" ? { ...shown?.explain, modelVersion: old?.version } : shown?.explain,
        units: shown?.units,
        servedAt: at === undefined ? undefined : `${moment(at, zone.value)} ${zoneName(at, zone.value)}`,
        openInterestAge: isRecorded(source)
            ? undefined
            : (isModelled(source) ? regionOf(side) : heatmap.region.value)?.facts?.openInterestAge,
    });
}

export const label = computed(() => labelOf(0));
export const secondLabel = computed(() => labelOf(1));

/** The sentence that stands in place of a map. */
function insteadOf(side: Side): string | undefined {
    const source = sources.value[side];
    if (source === "positions") {
        const { trouble } = measuredMap.region.value;
        return trouble?.is === "refused" ? trouble.message : undefined;
    }
    const region = regionOf(side);
    if (!region) return undefined;
    const { trouble } = region;
    if (trouble?.is === "refused" && trouble.status === 404 && isModelled(source)) {
        return `No estimate of ${charts.value[side]?.symbol}: ${trouble.message}. What was liquidated is below.`;
    }
    if (trouble && (trouble.is === "refused" || !region.body)) return troubleText(trouble, tick.value, zone.value);
    if (source === "served" && region.body && !served.value) {
        return "No map with these parameters was served in this time.";
    }
    return waitingText(region, tick.value);
}

export const instead = computed(() => insteadOf(0));
export const secondInstead = computed(() => insteadOf(1));

function realisedOf({ body }: typeof periods.region.value) {
    return body ? stacks(body.data, period.value) : undefined;
}

export const realised = computed(() => realisedOf(periods.region.value));
export const secondRealised = computed(() =>
    otherCoin.value === undefined ? realised.value : realisedOf(otherPeriods.region.value),
);

export const realisedWords = computed(() => {
    const { trouble } = periods.region.value;
    const head = `REALISED · lower bound · USD per ${interval(period.value)} by exchange`;
    if (trouble) return [head, troubleText(trouble, tick.value, zone.value)];
    const heard = realised.value;
    const lines = [head, "shorts up, longs down · hatched: not all of it was listened to"];
    if (heard && heard.most === 0) lines.push(quiet.value);
    return lines;
});

/** Share of the time that all exchanges together were listened to. */
export const coveredShare = computed(() => {
    const rows = coverage.region.value.body?.data;
    if (!rows?.length) return undefined;
    const shares = rows.map((row) => row.connected_share ?? 0);
    return shares.reduce((sum, share) => sum + share, 0) / shares.length;
});

export const quiet = computed(() => {
    const share = coveredShare.value;
    const { symbol, range } = view.value;
    if (share === undefined || share <= 0)
        return `Nobody listened in these ${range}: no orders of ${symbol} are known.`;
    return `No orders of ${symbol} in these ${range}. Coverage of them: ${percent(share)}.`;
});

/** What the chart shows beside the map, in words that stand under it. */
export const caption = computed(() => {
    const { source, model } = view.value;
    const sure = `how sure: ${scoreOf(model)}, measured ${SCORECARD.date}`;
    const parts = [
        ...(source === "estimate" ? [sure] : []),
        "REALISED orders over the map: discs longs, diamonds shorts, area by USD; marks at its foot: cascades",
    ];
    for (const [i, source] of strips.value.entries()) {
        const scale = stripScales.value[i];
        const words = [`at the right ${source.word}, map ${source.map.range}`, ...source.lines];
        if (scale && !source.relative)
            words.push(`bars to ${short(scale.bars)} USD`, `line, the sum from the price, to ${short(scale.sums)} USD`);
        parts.push(words.join(", "));
    }
    parts.push(`below ${realisedWords.value.join(", ")}`);
    if (damaged.value) parts.push(`${damaged.value} files damaged: rows are missing`);
    return parts;
});

export const stripScales = signal<readonly StripScale[]>([]);

export const strips = computed<StripSource[]>(() => {
    const { source, beside, panel } = view.value;
    if (phone.value && panel !== "levels") return [];
    // What another range has is never left beside a map that is refused.
    if (isModelled(source) && heatmap.region.value.trouble?.is === "refused") return [];
    const alone = beside === "none" || beside === source || (beside === "estimate" && source === "blended");
    return stripsOf(alone ? [source] : [source, beside], 0);
});

export const secondStrips = computed(() => {
    const source = sources.value[1];
    return source === undefined ? [] : stripsOf([source], 1);
});

/** What of a blended map is known, in words. */
function exactWords({ exact }: LiqMap): string[] {
    if (!exact?.exchanges.length) return ["no positions are known"];
    const places = exact.exchanges.map(({ exchange }) => exchange).join(", ");
    return [`second tone: known positions of ${places}, ${percent(exact.share ?? 0)}`];
}

function stripsOf(names: string[], side: Side): StripSource[] {
    const found: StripSource[] = [];
    for (const name of names) {
        if (isRecorded(name)) {
            const map = ownMap[side].region.value.body;
            if (!map) continue;
            const at = map.recordedAt ?? map.updatedAt;
            const lines = [
                unitText(map.units, map.view, name),
                `${moment(at, zone.value)} ${zoneName(at, zone.value)}`,
            ];
            found.push({ map, word: wordOf(name), lines, relative: map.units !== "usd" });
        } else if (name === "positions") {
            const map = measuredMap.region.value.body;
            const seen = map?.explain?.seenShare;
            const line =
                seen === undefined ? "share of open interest seen: unknown" : `${percent(seen)} of open interest seen`;
            if (map) found.push({ map, word: wordOf(name), lines: [line], relative: false });
        } else {
            const old = name === "served" ? servedLiqmap.value : undefined;
            const map = name === "served" ? old?.map : estimateOf(side).body;
            if (!map) continue;
            const unlike = map.units === "relative";
            const lines = [unitText(map.units, map.view)];
            if (name === "blended") lines.push(...exactWords(map));
            if (old) lines.push(`served ${clock(old.at, zone.value)} ${zoneName(old.at, zone.value)}`);
            found.push({ map, word: wordOf(name), lines, relative: unlike });
        }
    }
    return found;
}

/** The liquidation map of a chart, as estimated. */
export const estimateOf = (side: Side) => (side === 1 ? ownMap[1] : liqmap).region.value;

/** The long and short side of a max pain, where it has one. */
export function sides(pain: Pain["d1"]) {
    return pain
        ? ([
              ["long", pain.long],
              ["short", pain.short],
          ] as const)
        : [];
}

/** A distance from the current price in percent, with its sign. */
export function distance(level: number, side: Side = 0): string | undefined {
    const now = prices[side].value?.value;
    if (now === undefined) return undefined;
    const share = (100 * (level - now)) / now;
    return `${share < 0 ? "−" : "+"}${Math.abs(share).toFixed(Math.abs(share) < 10 ? 1 : 0)} %`;
}

/** Whether an answer is of all exchanges though one was chosen. */
const everywhere = (region: { question: string | undefined }) =>
    view.value.exchange !== undefined && !region.question?.includes("exchange=");

/** What the liquidation map has of one leverage at a price, in USD. */
function usdAt(level: number, side: "long" | "short", tier: string): number {
    const map = liqmap.region.value.body;
    const bin = map?.bins.find((one) => one.side === side && Math.abs(one.price - level) <= map.binWidth / 2);
    return bin ? bin.tiers[tier] || bin.total : 0;
}

export const marked = computed(() => {
    const lines: Label[] = [];
    if (view.value.source !== "estimate") return lines;
    const unlike = relative.value;
    const add = (name: string, side: "long" | "short", level: number, usd: number, all: boolean) => {
        const amount = unlike || !(usd > 0) ? "" : ` ${plain(short(usd))}`;
        const text = `${name} ${plain(price(level))} ${distance(level) ?? ""}${amount}${all ? " all exchanges" : ""}`;
        lines.push({ price: level, side, size: usd, text });
    };
    const found = pain.region.value.body?.data;
    if (found) {
        for (const [name, days] of [
            ["1d", found.d1],
            ["7d", found.d7],
        ] as const) {
            for (const [side, { price: at, usd }] of sides(days))
                if (usd > 0) add(`max pain ${name} ${side}`, side, at, usd, everywhere(pain.region.value));
        }
    }
    const all = everywhere(levels.region.value);
    for (const [tier, level] of Object.entries(levels.region.value.body?.data.tiers ?? {}).reverse()) {
        for (const side of ["long", "short"] as const) {
            const at = side === "long" ? level.longPrice : level.shortPrice;
            if (at > 0) add(`${tier}× ${side}`, side, at, all ? 0 : usdAt(at, side, tier), all);
        }
    }
    return lines;
});

export const cursor = signal<Cursor | undefined>(undefined);
/** What was measured by a drag with Alt. */
export const measured = signal<Measured | undefined>(undefined);
/** Where the pointer is in the second chart. */
export const secondCursor = signal<Cursor | undefined>(undefined);
/** The cell of the keyboard's crosshair. */
export const cell = signal<{ row: number; column: number } | undefined>(undefined);

export interface Readout {
    place: string;
    amount: string;
    exact: string;
    notes: string[];
    row?: number;
    column?: number;
}

export const readout = computed<Readout | undefined>(() => {
    const at = cursor.value;
    if (at && at.pane === 1 && !cell.value) return realisedReadout(at.instant, 0);
    return cellReadout(0, at, cell.value);
});

export const secondReadout = computed(() => {
    const at = secondCursor.value;
    return at?.pane === 1 ? realisedReadout(at.instant, 1) : cellReadout(1, at);
});

function cellReadout(
    side: Side,
    at: Cursor | undefined,
    chosen?: { row: number; column: number },
): Readout | undefined {
    const shown = grids[side].value;
    if (!shown) return undefined;
    const row = chosen?.row ?? (at ? rowOf(shown, at.price) : -1);
    const column = chosen?.column ?? (at ? columnOf(shown, at.instant) : -1);
    if (at?.strip !== undefined && !chosen) return undefined;
    if (row < 0 || column < 0) {
        if (!at) return undefined;
        return {
            place: `${price(at.price)} · ${moment(at.instant, zone.value)} ${zoneName(at.instant, zone.value)}`,
            amount: "outside the map",
            exact: "",
            notes: [],
        };
    }
    const value = valueAt(shown, row, column);
    const [low, high] = bandOf(shown, row);
    const [from, to] = spanOf(shown, column);
    const of = sideOf(shown, row, column);
    const source = sources.value[side] ?? "";
    const recorded = isRecorded(source) ? `as served by ${source}` : undefined;
    const word = recorded ?? (source === "served" ? "est., as served," : "est.");
    const names = { long: "of longs", short: "of shorts", both: "of both sides" };
    const notes: string[] = [];
    if (column === shown.columns - 1 && shown.explain?.partial) notes.push("column not full yet");
    if (side === 0 && value > 0 && value < (view.value.thr ?? 0)) notes.push("below the threshold, not drawn");
    return {
        place: `${price(low)}–${price(high)} · ${span(from, to, zone.value)}`,
        amount: Number.isNaN(value)
            ? "unknown: no open interest was known then"
            : `${word} ${short(value)}${unitOf(side)}${of ? ` ${names[of]}` : ""}`,
        exact: Number.isNaN(value) ? "" : String(value),
        notes,
        row,
        column,
    };
}

export function realisedReadout(instant: number, side: Side): Readout | undefined {
    const shown = (side === 0 ? realised : secondRealised).value;
    const stack = shown?.stacks.find(({ start }) => start <= instant && instant < start + shown.length);
    if (!shown || !stack) return undefined;
    const total = (values: number[]) => values.reduce((sum, value) => sum + value, 0);
    const parts = shown.names
        .map((name, i) => ({ name, usd: (stack.longs[i] ?? 0) + (stack.shorts[i] ?? 0) }))
        .filter(({ usd }) => usd > 0)
        .map(({ name, usd }) => `${name} ${short(usd)}`);
    return {
        place: span(stack.start, stack.start + shown.length, zone.value),
        amount:
            stack.covered <= 0
                ? "nobody listened: not known"
                : `realised ≥ ${short(total(stack.longs))} USD of longs, ≥ ${short(total(stack.shorts))} USD of shorts`,
        exact: "",
        notes: [
            ...parts,
            stack.covered < 1 ? `${percent(stack.covered)} of the time covered` : "all of the time covered",
        ],
    };
}

/** In what the second chart differs, where it is not the source. */
export const differs = computed(() => {
    const [first, second] = charts.value;
    if (!second) return [];
    const words: string[] = [];
    if (second.symbol !== first.symbol) words.push(second.symbol);
    if (second.model !== first.model) words.push(`model ${second.model}`);
    if (second.exchange !== first.exchange) words.push(second.exchange ?? "all exchanges");
    return words;
});

/** The largest clusters of the map of each chart, as the server sends them. */
export const clusters = computed(() =>
    sources.value.flatMap((name, side) =>
        name === undefined
            ? []
            : stripsOf([name], side as Side).map(({ map, word, lines, relative }) => ({
                  words: [`${word} · map ${map.range}`, ...(side === 1 ? differs.value : []), ...lines],
                  amount: `${isModelled(name) ? "est." : word.toLowerCase()}${relative ? "" : " USD"}`,
                  rows: (map.clusters ?? []).slice(0, 20),
              })),
    ),
);

export const gapsShown = computed(() => gaps.region.value.body?.data ?? []);

function priceOf(side: Side) {
    const known = prices[side].value;
    const old = ageOf(known) ?? 0;
    return known && { value: known.value, age: old > 60_000 ? `${age(old)} old` : undefined };
}

/** The current price for the box on the axis; its age once it is older than a minute. */
export const priceNow = computed(() => priceOf(0));
export const secondPrice = computed(() => priceOf(1));

export const title = computed(() => {
    const { symbol, range, source } = view.value;
    const marks: string[] = [];
    if (simulated.value) marks.push("SIM");
    if (staleFor.value !== undefined) marks.push("STALE");
    return [...marks, `${symbol} ${range}`, wordOf(source).toLowerCase(), "liqdata"].join(" · ");
});

export const staleFor = computed(() => {
    const last = newest.value;
    if (!last || view.value.as_of !== undefined) return undefined;
    // A simulated market has a clock of its own: it is late where it no longer goes on.
    const old = simulated.value ? tick.value - last.heard : tick.value - last.now;
    return old > 3 * Math.max(60_000, barLength.value) ? old : undefined;
});

export const coversText = computed(() => {
    const covered = covers.value;
    return covered ? span(covered[0], covered[1], zone.value) : "";
});
