// Numbers and times as text. English shapes, UTC unless local time is asked for.

/** Narrow, and no place to break a line. */
const THIN = "\u202f";

const UNITS: [number, string][] = [
    [1e12, "T"],
    [1e9, "B"],
    [1e6, "M"],
    [1e3, "k"],
];

/** Three significant digits with k, M, B or T. */
export function short(value: number): string {
    if (!Number.isFinite(value)) return "unknown";
    const size = Math.abs(value);
    for (const [unit, name] of UNITS) {
        // What rounds up to a thousand of a unit is one of the next.
        if (Number(size.toPrecision(3)) >= unit) return `${digits(value / unit)}${THIN}${name}`;
    }
    return digits(value);
}

function digits(value: number): string {
    const size = Math.abs(value);
    if (size === 0) return "0";
    if (size >= 100) return value.toFixed(0);
    if (size >= 10) return value.toFixed(1);
    if (size >= 0.01) return value.toFixed(2);
    return value.toPrecision(2);
}

/** Text with ordinary spaces, for a canvas. */
export const plain = (text: string) => text.replace(/\u202f/g, " ");

/** A price with groups of thousands, as many decimals as six digits leave. */
export function price(value: number): string {
    if (!Number.isFinite(value)) return "unknown";
    const size = Math.abs(value);
    const decimals = size > 0 ? Math.max(0, Math.min(10, 5 - Math.floor(Math.log10(size)))) : 0;
    return exact(value.toFixed(Math.min(decimals, size >= 1000 ? 1 : decimals)));
}

/** A decimal as it came, in groups of thousands. */
export function exact(text: string): string {
    const [whole = "", part] = text.split(".");
    const grouped = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
    return part === undefined ? grouped : `${grouped}.${part}`;
}

export function percent(share: number): string {
    const value = 100 * share;
    // What is not whole never reads as whole.
    if (value < 100 && value > 99.9) return "99.9\u00a0%";
    return `${value >= 10 || value === 0 ? value.toFixed(value === 100 ? 0 : 1) : value.toPrecision(2)}\u00a0%`;
}

export type Zone = "utc" | "local";

const two = (value: number) => String(value).padStart(2, "0");

function shifted(instant: number, zone: Zone): Date {
    return zone === "utc" ? new Date(instant) : new Date(instant - new Date(instant).getTimezoneOffset() * 60_000);
}

/** "UTC", or the offset of local time such as "UTC+02:00". */
export function zoneName(instant: number, zone: Zone): string {
    if (zone === "utc") return "UTC";
    const minutes = -new Date(instant).getTimezoneOffset();
    const size = Math.abs(minutes);
    return `UTC${minutes < 0 ? "−" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}

export function clock(instant: number, zone: Zone, seconds = false): string {
    const date = shifted(instant, zone);
    const text = `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}`;
    return seconds ? `${text}:${two(date.getUTCSeconds())}` : text;
}

export function day(instant: number, zone: Zone): string {
    const date = shifted(instant, zone);
    return `${date.getUTCFullYear()}-${two(date.getUTCMonth() + 1)}-${two(date.getUTCDate())}`;
}

export function moment(instant: number, zone: Zone): string {
    return `${day(instant, zone)} ${clock(instant, zone)}`;
}

export function span(start: number, end: number, zone: Zone): string {
    const far = day(start, zone) !== day(end, zone);
    const until = far ? moment(end, zone) : clock(end, zone);
    return `${moment(start, zone)}–${until} ${zoneName(end, zone)}`;
}

export function age(milliseconds: number): string {
    const seconds = Math.max(0, Math.round(milliseconds / 1000));
    if (seconds < 90) return `${seconds} s`;
    const minutes = Math.round(seconds / 60);
    if (minutes < 90) return `${minutes} min`;
    const hours = Math.round(minutes / 60);
    return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} d`;
}

const LENGTHS: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** Milliseconds of an interval such as 5m, 4h or 1d; undefined for anything else. */
export function duration(text: string): number | undefined {
    const parts = /^(\d+)([mhdw])$/.exec(text);
    const unit = LENGTHS[parts?.[2] ?? ""];
    return parts && unit ? Number(parts[1]) * unit : undefined;
}

export function interval(milliseconds: number): string {
    for (const name of ["d", "h", "m"] as const) {
        const unit = LENGTHS[name] ?? 1;
        if (milliseconds % unit === 0) return `${milliseconds / unit}${name}`;
    }
    return String(milliseconds);
}
