// Asks the server. One question has one place in memory, and is asked again on condition that it changed.
import { find, forget, isPublished, streamBase } from "./published";

export interface Facts {
    now: number | undefined;
    simulated: boolean;
    damaged: number;
    relative: boolean;
    openInterestAge: number | undefined;
}

export class Refusal extends Error {
    constructor(
        readonly status: number,
        message: string,
        readonly parameter: string | undefined,
        readonly retryAfter: number,
    ) {
        super(message);
    }
}

export interface Answer<T> {
    body: T;
    facts: Facts;
    /** False where the server said that nothing has changed. */
    fresh: boolean;
}

const TOKEN = "liqdata.token";

/** Told what the headers of every answer say. */
export const listeners = new Set<(facts: Facts) => void>();

// Private windows may refuse storage; the token then lives as long as the page.
let held: string | undefined;

export function token(): string | undefined {
    try {
        return sessionStorage.getItem(TOKEN) ?? held;
    } catch {
        return held;
    }
}

function keepToken(value: string): void {
    held = value;
    try {
        sessionStorage.setItem(TOKEN, value);
    } catch {
        // It is held in memory.
    }
}

/** Forgets the token of this tab; false where it has none. */
export function forgetToken(): boolean {
    const had = token() !== undefined;
    held = undefined;
    try {
        sessionStorage.removeItem(TOKEN);
    } catch {
        // It was held in memory.
    }
    return had;
}

/** Asks the server whether it takes a token, and keeps it if so. Returns what is wrong, or nothing. */
export async function offerToken(value: string): Promise<string> {
    const wrong = "The server does not accept this token.";
    // No token has other characters, and no header may.
    if (!/^[\x21-\x7e]+$/.test(value)) return wrong;
    try {
        const response = await fetch(`${streamBase ?? ""}api`, {
            headers: bearer(value, { accept: "application/json" }),
            cache: "no-store",
            credentials: "omit",
            redirect: "error",
        });
        if (response.status === 401) return wrong;
        if (!response.ok) return `The server answered with status ${response.status}. Try again.`;
    } catch {
        return "The server does not answer. Try again.";
    }
    keepToken(value);
    return "";
}

function bearer(value: string, more: Record<string, string>): Record<string, string> {
    return { ...more, authorization: `Bearer ${value}` };
}

export function headers(more: Record<string, string> = {}): Record<string, string> {
    const value = token();
    return value ? bearer(value, more) : more;
}

function factsOf({ headers }: { headers: Headers }): Facts {
    const number = (name: string) => {
        const text = headers.get(name);
        return text === null ? undefined : Number(text);
    };
    return {
        now: number("x-liqdata-now"),
        simulated: headers.get("x-liqdata-simulated") === "true",
        damaged: number("x-liqdata-damaged") ?? 0,
        relative: headers.get("x-liqdata-open-interest") === "relative",
        openInterestAge: number("x-liqdata-open-interest-age"),
    };
}

async function refusal(response: Response): Promise<Refusal> {
    const retry = Number(response.headers.get("retry-after") ?? 3);
    let message = `the server answered with status ${response.status}`;
    let parameter: string | undefined;
    try {
        const { error } = await response.json();
        if (typeof error?.message === "string") message = error.message;
        if (typeof error?.parameter === "string") parameter = error.parameter;
    } catch {
        // Something between here and the server answered with a body of its own.
    }
    return new Refusal(response.status, message, parameter, Number.isFinite(retry) ? retry : 3);
}

interface Kept {
    tag: string;
    answer: Answer<unknown>;
}

// As many as a page shows at once; what was not asked for again goes first.
const MOST = 24;
const kept = new Map<string, Kept>();

/** Reads an answer; `before` is the answer to the same question before it. */
export type Read<T> = (response: Response, before: T | undefined) => Promise<T>;

const readJson: Read<unknown> = (response) => response.json();

/** Asks, and answers from memory where the server says that nothing has changed. Throws a Refusal. */
export async function ask<T>(
    path: string,
    signal?: AbortSignal,
    accept = "application/json",
    read: Read<T> = readJson as Read<T>,
    newer?: (before: T) => Record<string, number> | undefined,
): Promise<Answer<T>> {
    if (isPublished) return askFiles(path, signal, read);
    const key = `${accept} ${path}`;
    const known = kept.get(key);
    const conditional: Record<string, string> = known ? { "if-none-match": known.tag } : {};
    const before = known?.answer.body as T | undefined;
    const more = before && newer?.(before);
    const added = Object.entries(more ?? {}).map(([name, value]) => `&${name}=${value}`);
    const response = await fetch(path + added.join(""), {
        headers: headers({ accept, ...conditional }),
        signal: signal ?? null,
        cache: "no-store",
        credentials: "omit",
        redirect: "error",
    });
    const facts = factsOf(response);
    for (const listener of listeners) listener(facts);
    if (response.status === 304 && known) {
        kept.delete(key);
        kept.set(key, known);
        return {
            body: known.answer.body as T,
            facts: { ...(known.answer.facts as Facts), now: facts.now },
            fresh: false,
        };
    }
    if (!response.ok) throw await refusal(response);
    const answer = { body: await read(response, before), facts, fresh: true };
    const tag = response.headers.get("etag");
    if (tag) keep(key, { tag, answer });
    return answer;
}

function keep(key: string, answer: Kept): void {
    kept.delete(key);
    kept.set(key, answer);
    for (const oldest of kept.keys()) {
        if (kept.size <= MOST) break;
        kept.delete(oldest);
    }
}

/** Parameters that a published page does not choose by, the least usual first. */
const CHOICES = ["as_of", "source", "opened", "exchange", "interval", "range", "symbol"];

/** Answers from the published files. */
async function askFiles<T>(question: string, signal: AbortSignal | undefined, read: Read<T>): Promise<Answer<T>> {
    const found = await find(question);
    if (!found) {
        const parameters = new URLSearchParams(question.split("?")[1]);
        // The page chooses the view by its source.
        const name = parameters.has("view") ? "source" : CHOICES.find((one) => parameters.has(one));
        const value = parameters.get("view") ?? parameters.get(name ?? "");
        const what = name === undefined ? question : `${name}=${value}`;
        throw new Refusal(400, `Not published: these files have no answer for ${what}.`, name, 0);
    }
    const facts = factsOf(found);
    for (const listener of listeners) listener(facts);
    const known = kept.get(question);
    if (known?.tag === found.file) {
        keep(question, known);
        return { body: known.answer.body as T, facts, fresh: false };
    }
    const response = await fetch(found.file, { signal: signal ?? null, credentials: "omit", redirect: "error" });
    if (!response.ok) {
        // A page that slept for long knows an index of files that are gone. What is no refusal is asked again.
        forget();
        throw new Error(`${found.file}: status ${response.status}`);
    }
    const answer = { body: await read(response, undefined), facts, fresh: true };
    keep(question, { tag: found.file, answer });
    return answer;
}

/** A path with its parameters; those without a value are left out. */
export function path(name: string, parameters: Record<string, string | number | undefined>): string {
    const query = new URLSearchParams();
    for (const [key, value] of Object.entries(parameters)) if (value !== undefined) query.set(key, String(value));
    const text = query.toString();
    return text ? `${name}?${text}` : name;
}
