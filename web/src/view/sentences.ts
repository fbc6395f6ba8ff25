// The words of every state. Each says what is so, since when, and what happens next.
import type { Region, Trouble } from "../data/loader";
import type { StreamState } from "../data/stream";
import type { Explain } from "../data/types";
import { isRecorded } from "./address";
import { age, clock, percent, type Zone, zoneName } from "./numbers";

export function troubleText(trouble: Trouble, now: number, zone: Zone): string {
    switch (trouble.is) {
        case "refused":
            return trouble.message;
        case "busy":
            return `The server is busy; next try in ${age(Math.max(0, trouble.retryAt - now))}.`;
        case "token":
            return "A token is needed.";
        case "offline":
            return `No connection since ${clock(trouble.since, zone)} ${zoneName(trouble.since, zone)}; trying again.`;
    }
}

export function waitingText(region: Region<unknown>, now: number): string | undefined {
    if (!region.loading) return undefined;
    const waited = now - region.since;
    return waited > 2000 ? "Computing the estimate…" : waited > 300 ? "Loading…" : "";
}

export function streamText(state: StreamState, now: number, zone: Zone): string {
    switch (state.is) {
        case "connecting":
            return "connecting";
        case "live":
            return "live";
        case "offline": {
            const wait = Math.max(0, state.retryAt - now);
            return `offline since ${clock(state.since, zone, true)} ${zoneName(state.since, zone)}, retrying in ${age(wait)}`;
        }
        case "token":
            return "token needed";
        case "refused":
            return state.message;
    }
}

export function unitText(units: string | undefined, view: string | undefined, source?: string): string {
    if (source !== undefined && isRecorded(source)) return units === "usd" ? "USD" : `relative amounts of ${source}`;
    if (units === "relative") return "relative amounts, no open interest is known";
    return view?.startsWith("expected") ? "USD expected to be reported" : "USD of open interest exposed";
}

export interface Shown {
    /** "estimate", "blended", "positions", "served", or the name of a recorded source. */
    source: string;
    model: string;
    exchange: string | undefined;
    explain: Explain | undefined;
    units: string | undefined;
    /** When it was served, for one that is shown as it was. */
    servedAt: string | undefined;
    openInterestAge: number | undefined;
}

/** What a source is, in the word that stands before everything of it. */
export function wordOf(source: string): string {
    const words: Record<string, string> = {
        estimate: "ESTIMATE",
        blended: "KNOWN + ESTIMATE",
        positions: "MEASURED",
        served: "AS SERVED",
    };
    return words[source] ?? `AS SERVED BY ${source}`;
}

/** The lines that stand on the plane, in its pixels and as text. */
export function planeWords(shown: Shown): string[] {
    const { source, model, explain, units } = shown;
    if (source === "positions") return ["MEASURED positions · no map of the past", "what is open now is at the right"];
    // The number 0 stands for a service without numbered models.
    const numbered = model === "0" ? "" : ` · model ${model}`;
    const place = shown.exchange === undefined ? "" : ` · ${shown.exchange} alone`;
    const head = `${wordOf(source)}${numbered}${place} · ${unitText(units, explain?.view, source)}`;
    const lines = [head];
    const facts: string[] = [];
    if (shown.servedAt) facts.push(`as served at ${shown.servedAt}`);
    const old = shown.openInterestAge ?? explain?.openInterestAgeMs ?? undefined;
    if (old !== undefined && units !== "relative") facts.push(`open interest ${age(old)} old`);
    if (explain?.opened === "range") facts.push("only positions opened inside this range");
    if (facts.length) lines.push(facts.join(" · "));
    return lines;
}

/** What was listened to, for totals: nothing is said to be zero that nobody heard. */
export function coveredText(share: number | undefined): string {
    if (share === undefined) return "It is not known who listened.";
    if (share <= 0) return "Nobody listened: no totals.";
    return `Coverage: ${percent(share)} of the time.`;
}

export function emptyText(symbol: string, range: string, share: number | undefined): string {
    if (share !== undefined && share <= 0)
        return `Nobody listened in these ${range}: no orders of ${symbol} are known.`;
    const covered = share === undefined ? "" : ` Coverage of them: ${percent(share)}.`;
    return `No orders of ${symbol} in these ${range}.${covered}`;
}
