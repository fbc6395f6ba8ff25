// The order tape, and what the stream says has changed.
import { computed, effect, signal } from "@preact/signals";
import { ask, listeners, path } from "../data/api";
import type { Loader } from "../data/loader";
import { passes } from "../data/orders";
import { isPublished, publications } from "../data/published";
import { Hub, type StreamEvent } from "../data/stream";
import type { Cascade, Order } from "../data/types";
import {
    askNewestOrders,
    damaged,
    index,
    KINDS,
    newest,
    otherCoin,
    RECORDED,
    ready,
    simulated,
    stream,
    tick,
    tokenNeeded,
    view,
} from "./state";

export type TapeRow =
    | { kind: "order"; id: number; at: number; order: Order; usd: number }
    | { kind: "cascade"; id: number; at: number; cascade: Cascade }
    | { kind: "line"; id: number; at: number; text: string };

/** As many rows as are kept; older ones are in the archive. */
const MOST = 5000;
const FIRST = 300;

/** Whether the orders before the page was opened are known. */
export const known = signal(false);
export const tape = signal<readonly TapeRow[]>([]);
/** Rows as they were when the tape was paused. */
export const paused = signal<readonly TapeRow[] | undefined>(undefined);
let next = 0;

function orderRow(order: Order): TapeRow {
    return { kind: "order", id: next++, at: order.timestamp, order, usd: Number(order.value_usd) };
}

const nameOf = (order: Order) =>
    [order.exchange, order.symbol, order.side, order.price, order.qty, order.timestamp].join("|");

// Rows of the list that the stream may tell again, since both were asked at about the same time.
let listed = new Map<string, number>();

function put(rows: TapeRow[]): void {
    if (rows.length) tape.value = [...rows.reverse(), ...tape.value].slice(0, MOST);
}

export const shown = computed(() => {
    const { min_usd, coin, symbol, exchange } = view.value;
    return (paused.value ?? tape.value).filter((row) => {
        if (row.kind === "line") return true;
        if (row.kind === "cascade") return coin === "all" || row.cascade.coin === symbol;
        return passes(row.order, { min_usd, coin: coin === "all" ? undefined : symbol, exchange });
    });
});

export const waiting = computed(() =>
    paused.value ? Math.max(0, (tape.value[0]?.id ?? 0) - (paused.value[0]?.id ?? 0)) : 0,
);

export function pause(on: boolean): void {
    if (on !== (paused.peek() !== undefined)) paused.value = on ? tape.peek() : undefined;
}

async function list(text?: string): Promise<void> {
    const rows: Order[] = [];
    const { coin, symbol, as_of } = view.peek();
    try {
        const asked = { limit: FIRST, symbol: coin === "all" ? undefined : symbol, as_of };
        rows.push(...(await ask<{ data: Order[] }>(path("api/liquidations", asked))).body.data);
    } catch {
        // The stream and the other regions say what stands in the way.
        return;
    }
    known.value = true;
    const names = new Map<string, number>();
    for (const order of rows) names.set(nameOf(order), (names.get(nameOf(order)) ?? 0) + 1);
    listed = new Map(names);
    // What the stream sent while the list was under way is in both.
    const held: TapeRow[] = [];
    for (const row of [...tape.peek()].reverse()) {
        if (row.kind !== "order") held.push(row);
        else {
            const left = names.get(nameOf(row.order)) ?? 0;
            if (left > 0) names.set(nameOf(row.order), left - 1);
            else held.push(row);
        }
    }
    const fresh: TapeRow[] = rows.map(orderRow);
    if (text) held.push({ kind: "line", id: next++, at: Date.now(), text });
    tape.value = [...fresh, ...held].sort((a, b) => b.at - a.at || b.id - a.id).slice(0, MOST);
}

/** Notes the market's now; when it was heard counts only where it is another. */
function hear(now: number | undefined): void {
    const before = newest.peek();
    if (!now || now <= (before?.now ?? 0)) return;
    newest.value = { now, heard: Date.now(), moved: before !== undefined };
}

let tags: { estimate?: Record<string, string>; realised?: string; record?: string } = {};

function changes(data: string): void {
    const change = JSON.parse(data);
    if (typeof change.now === "number") hear(change.now);
    const changed = (symbol: string | undefined) =>
        symbol !== undefined &&
        change.estimate?.[symbol] !== undefined &&
        change.estimate[symbol] !== tags.estimate?.[symbol];
    if (changed(view.peek().symbol) || changed(otherCoin.peek())) again("estimate");
    if (change.realised !== undefined && change.realised !== tags.realised) again("realised");
    if (change.record !== undefined && change.record !== tags.record) again("record");
    tags = { ...tags, ...change, estimate: { ...tags.estimate, ...change.estimate } };
}

const due = new Map<keyof typeof KINDS, number>();
const PAUSE = { estimate: 500, realised: 2000, record: 5000 };

/** Asks again, soon and once, for what a change made old. */
export function again(kind: keyof typeof KINDS): void {
    if (due.has(kind) || view.peek().as_of !== undefined) return;
    const timer = setTimeout(() => {
        due.delete(kind);
        for (const loader of KINDS[kind]) loader.load();
        if (kind === "realised") askNewestOrders();
    }, PAUSE[kind]);
    due.set(kind, timer as unknown as number);
}

function everything(): void {
    for (const kind of Object.keys(KINDS) as (keyof typeof KINDS)[])
        for (const loader of KINDS[kind] as Loader<never>[]) loader.load();
    askNewestOrders();
    ready.load();
}

function take(events: StreamEvent[]): void {
    const rows: TapeRow[] = [];
    for (const { kind, data } of events) {
        if (kind === "orders") {
            const order: Order = JSON.parse(data);
            const left = listed.get(nameOf(order)) ?? 0;
            if (left > 0) listed.set(nameOf(order), left - 1);
            else rows.push(orderRow(order));
        } else if (kind === "cascades") {
            const cascade: Cascade = JSON.parse(data);
            rows.push({ kind: "cascade", id: next++, at: cascade.end, cascade });
        } else if (kind === "changes") changes(data);
        else list("Orders are missing here; what is known of them was read again.");
    }
    if (rows.length) put(rows);
}

/** Begins to follow the stream, and to ask again for what has changed. */
export function start(): void {
    listeners.add((facts) => {
        damaged.value = facts.damaged;
        simulated.value = facts.simulated;
        // A market without observations of its own has no now.
        hear(facts.now);
    });
    ready.to("ready");
    setInterval(() => {
        tick.value = Date.now();
    }, 1000);
    setInterval(() => {
        for (const loader of RECORDED) loader.load();
    }, 60_000);
    const hub = new Hub(
        take,
        (state) => {
            const before = stream.peek();
            stream.value = state;
            // A published page shows its files without the stream.
            if (state.is === "token" && !isPublished) tokenNeeded.value = true;
            // What changed while nothing was heard is asked for once.
            if (state.is === "live" && before.is === "offline") {
                everything();
                if (!known.peek()) list();
            }
        },
        "orders,cascades,changes",
    );
    effect(() => {
        if (!tokenNeeded.value) hub.retry();
    });
    effect(() => {
        void view.value.symbol;
        void view.value.coin;
        void view.value.as_of;
        known.value = false;
        listed = new Map();
        // The list of a published page ends with the publication: what the stream sent since is not in it.
        if (!isPublished) tape.value = [];
        paused.value = undefined;
        list();
    });
    publications.add(() => {
        everything();
        index.load();
        if (stream.peek().is === "refused") list();
    });
}
