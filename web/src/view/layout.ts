// What was chosen for each coin, kept in this browser: no token, and nothing of what was answered.
import { parse, standard, type View, write } from "./address";

const KEPT = [
    "range",
    "model",
    "exchange",
    "source",
    "beside",
    "compare",
    "opened",
    "scale",
    "cmap",
    "interval",
    "min_usd",
    "panel",
] as const satisfies (keyof View)[];

const place = (symbol: string) => `liqdata.layout.${symbol}`;

const kept = (view: View): Partial<View> => Object.fromEntries(KEPT.map((name) => [name, view[name]]));

/** What was chosen for a coin before; nothing where nobody chose. */
export function layoutOf(symbol: string): Partial<View> {
    try {
        const text = localStorage.getItem(place(symbol));
        return text === null ? {} : kept(parse(text).view);
    } catch {
        // The browser keeps nothing.
        return {};
    }
}

/** Keeps what a choice changed for the coin that is shown. */
export function saveLayout(view: View, patch: Partial<View>): void {
    if (!KEPT.some((name) => name in patch)) return;
    try {
        localStorage.setItem(place(view.symbol), write({ ...standard(), ...kept(view) }) || "#");
    } catch {
        // The browser keeps nothing.
    }
}
