// What is shown is the fragment of the address: it is never sent, and can be copied, kept and gone back to.

export const RANGES = ["12h", "24h", "3d", "7d", "1M", "3M", "6M", "1y", "all"] as const;
export const SOURCES = ["estimate", "blended", "positions", "served"] as const;
/** The sources of which a map can be shown beside another; a blended map is requested in place of the estimate. */
export const BESIDE = ["estimate", "positions", "served"] as const;
export const SCALES = ["log", "linear", "percent"] as const;
export const CMAPS = ["peaks", "inferno", "viridis", "cividis", "grey"] as const;
export const PANELS = ["map", "levels", "realised", "tape", "coverage"] as const;
export const INTERVALS = ["auto", "5m", "15m", "30m", "1h", "2h", "4h", "8h", "12h", "1d"] as const;

/** What a name of a source is made of. */
const RECORDING = /^[a-z0-9][a-z0-9.-]{0,60}$/;
/** What a first chart is compared with: a source by its name, or another model, exchange or coin. */
const COMPARED = /^(model:[23]|exchange:[a-z0-9_.-]{1,40}|coin:[^\s&#]{1,40}|[a-z0-9][a-z0-9.-]{0,60})$/u;

/** Whether a source is another service, whose maps were recorded. */
export const isRecorded = (source: string) => !(SOURCES as readonly string[]).includes(source);

/** Whether a source is the model, alone or with known positions. */
export const isModelled = (source: string | undefined) => source === "estimate" || source === "blended";

export interface View {
    symbol: string;
    range: (typeof RANGES)[number];
    model: "2" | "3";
    exchange: string | undefined;
    /** One of SOURCES, or the name of a recorded source. */
    source: string;
    /** A second source, of which the liquidation map is shown beside the first. */
    beside: "none" | (typeof BESIDE)[number];
    /** What a second chart beside the first shows: a source, or `model:`, `exchange:` or `coin:` with another one. */
    compare: string | undefined;
    opened: "ever" | "range";
    as_of: string | undefined;
    t: [number, number] | undefined;
    p: [number, number] | undefined;
    scale: (typeof SCALES)[number];
    thr: number | undefined;
    cmap: (typeof CMAPS)[number];
    vmin: number | undefined;
    vmid: number | undefined;
    vmax: number | undefined;
    interval: (typeof INTERVALS)[number];
    min_usd: number;
    coin: "one" | "all";
    panel: (typeof PANELS)[number];
    tz: "utc" | "local";
    theme: "auto" | "dark" | "light";
}

interface Key<T> {
    name: keyof View & string;
    fallback: T;
    read(text: string): T | undefined;
    write(value: T): string;
}

function word<T extends string>(name: keyof View, fallback: T, allowed: readonly T[]): Key<T> {
    return { name, fallback, read: (text) => allowed.find((value) => value === text), write: (value) => value };
}

function number<T extends number | undefined>(name: keyof View, fallback: T): Key<T> {
    const read = (text: string) => {
        const value = Number(text);
        return text.trim() !== "" && Number.isFinite(value) && value >= 0 ? (value as T) : undefined;
    };
    return { name, fallback, read, write: (value) => String(value) };
}

function free<T extends string | undefined>(name: keyof View, fallback: T, pattern: RegExp): Key<T> {
    return { name, fallback, read: (text) => (pattern.test(text) ? (text as T) : undefined), write: String };
}

function pair(name: keyof View): Key<[number, number] | undefined> {
    const read = (text: string): [number, number] | undefined => {
        const parts = text.split(",").map(Number);
        const [low, high] = parts;
        const good = parts.length === 2 && low !== undefined && high !== undefined && low < high;
        return good && Number.isFinite(low) && Number.isFinite(high) ? [low, high] : undefined;
    };
    return { name, fallback: undefined, read, write: (value) => (value ? value.join(",") : "") };
}

// biome-ignore lint/suspicious/noExplicitAny: keys of many types in one list
const KEYS: Key<any>[] = [
    free("symbol", "BTC", /^[^\s&#]{1,40}$/u),
    word("range", "24h", RANGES),
    word("model", "2", ["2", "3"]),
    free("exchange", undefined, /^[a-z0-9_.-]{1,40}$/),
    free("source", "estimate", RECORDING),
    word("beside", "none", ["none", ...BESIDE]),
    free("compare", undefined, COMPARED),
    word("opened", "ever", ["ever", "range"]),
    free("as_of", undefined, /^\d{4}-\d\d-\d\d(T[\d:.]{5,12}Z?)?$|^\d{12,14}$/),
    pair("t"),
    pair("p"),
    word("scale", "log", SCALES),
    number("thr", undefined),
    word("cmap", "peaks", CMAPS),
    number("vmin", undefined),
    number("vmid", undefined),
    number("vmax", undefined),
    word("interval", "auto", INTERVALS),
    number("min_usd", 10_000),
    word("coin", "one", ["one", "all"]),
    word("panel", "map", PANELS),
    word("tz", "utc", ["utc", "local"]),
    word("theme", "auto", ["auto", "dark", "light"]),
];

/** What one chart is asked for. */
export type Asked = Pick<View, "symbol" | "model" | "exchange" | "source">;

/** What the second chart is asked for; nothing where that is what the first shows. */
export function comparedOf({ symbol, model, exchange, source, compare }: View): Asked | undefined {
    if (compare === undefined) return undefined;
    const [, kind = "source", value = compare] = /^(model|exchange|coin):(.*)$/u.exec(compare) ?? [];
    const estimate = { symbol, model, exchange, source: "estimate" };
    switch (kind) {
        case "model":
            return value === model ? undefined : { ...estimate, model: value as View["model"] };
        case "exchange":
            return value === exchange ? undefined : { ...estimate, exchange: value };
        case "coin":
            return value === symbol ? undefined : { ...estimate, symbol: value };
        default:
            return value === source ? undefined : { symbol, model, exchange, source: value };
    }
}

export interface Parsed {
    view: View;
    /** Keys that this version does not know; they are kept. */
    unknown: [string, string][];
    /** What could not be used, as sentences. */
    notices: string[];
}

export function standard(): View {
    return Object.fromEntries(KEYS.map(({ name, fallback }) => [name, fallback])) as unknown as View;
}

export function parse(fragment: string): Parsed {
    const view = standard();
    const unknown: [string, string][] = [];
    const notices: string[] = [];
    for (const [name, text] of new URLSearchParams(fragment.replace(/^#/, ""))) {
        if (name === "v") continue;
        const key = KEYS.find((one) => one.name === name);
        if (!key) {
            unknown.push([name, text]);
            continue;
        }
        const value = key.read(text);
        if (value === undefined)
            notices.push(`The address has ${name}=${text}, which cannot be used; ${name} is as usual.`);
        else (view as unknown as Record<string, unknown>)[name] = value;
    }
    return { view, unknown, notices };
}

/** The fragment of a view. What is as usual is left out. */
export function write(view: View, unknown: [string, string][] = []): string {
    const parts: string[] = [];
    for (const key of KEYS) {
        const value = view[key.name];
        if (value === key.fallback || value === undefined) continue;
        parts.push(`${key.name}=${encodeURIComponent(key.write(value)).replace(/%2C/g, ",").replace(/%3A/g, ":")}`);
    }
    for (const [name, text] of unknown) parts.push(`${encodeURIComponent(name)}=${encodeURIComponent(text)}`);
    return parts.length ? `#v=1&${parts.join("&")}` : "";
}
