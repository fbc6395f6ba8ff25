// Answers from files that `liqdata publish` wrote, in place of a server.

interface Entry {
    file: string;
    headers?: Record<string, string>;
}

interface Index {
    publishedAt: number;
    position: string | null;
    headers: Record<string, string>;
    answers: Record<string, Entry>;
}

const meta = (name: string) =>
    globalThis.document?.querySelector<HTMLMetaElement>(`meta[name="liqdata-${name}"]`)?.content;

const ranges = meta("published")?.split(" ");

/** Whether this page is made of published files. */
export const isPublished = ranges !== undefined;

/** What stands before the address of the stream; undefined where a published page has no live rows. */
export const streamBase = isPublished ? meta("stream") : "";

/** Called after each new publication. */
export const publications = new Set<() => void>();

/** Time between two looks for a publication, in milliseconds. */
const EVERY = 20_000;
const RECENT = 900_000;

/** An answer by its question without `start`; of some questions there is one for each of several starts. */
type Answers = Map<string, { start: number; entry: Entry }[]>;

interface Publication {
    index: Index;
    answers: Answers;
}

let current: Promise<Publication> | undefined;

/** A question with its parameters in the order of their names, and its start. */
function keyOf(question: string): { key: string; start: number | undefined } {
    const [path = "", query] = question.split("?");
    const parameters = new URLSearchParams(query);
    const start = parameters.get("start");
    parameters.delete("start");
    parameters.sort();
    return { key: `${path}?${parameters}`, start: start === null ? undefined : Number(start) };
}

async function read(): Promise<Publication> {
    const response = await fetch("published.json", { cache: "no-cache", credentials: "omit", redirect: "error" });
    if (!response.ok) throw new Error(`published.json: status ${response.status}`);
    const index: Index = await response.json();
    const answers: Answers = new Map();
    for (const [question, entry] of Object.entries(index.answers)) {
        const { key, start } = keyOf(question);
        answers.set(key, [...(answers.get(key) ?? []), { start: start ?? 0, entry }]);
    }
    return { index, answers };
}

/** The newest publication that is known; reads the index the first time. */
function publication(): Promise<Publication> {
    if (!current) {
        current = read();
        current.catch(forget);
    }
    return current;
}

/** Reads the index again at the next question. */
export function forget(): void {
    current = undefined;
}

if (isPublished) {
    setInterval(async () => {
        try {
            const [before, now] = [await current, await read()];
            if (before && before.index.publishedAt === now.index.publishedAt) return;
            current = Promise.resolve(now);
            for (const listener of publications) listener();
        } catch {
            // What was read before is shown, with its age.
        }
    }, EVERY);
}

/** The position of the stream at the publication, unless too much has happened since. */
export async function position(): Promise<string | undefined> {
    if (!isPublished) return undefined;
    const { publishedAt, position } = (await publication()).index;
    return Date.now() - publishedAt < RECENT ? (position ?? undefined) : undefined;
}

/** The file that answers a question, with the headers of the answer; undefined where none is published. */
export async function find(question: string): Promise<{ file: string; headers: Headers } | undefined> {
    const { index, answers } = await publication();
    const { key, start } = keyOf(question);
    let found = answers.get(key)?.[0];
    if (start !== undefined) {
        // A start moves with the clock, so the nearest of them counts; those of other ranges are further away.
        const distance = (one: { start: number }) => Math.abs(one.start - start);
        found = answers.get(key)?.reduce((best, one) => (distance(one) < distance(best) ? one : best));
        const length = Number(index.headers["x-liqdata-now"]) - start;
        if (!found || distance(found) > length / 4) return undefined;
    }
    return found && { file: found.entry.file, headers: new Headers({ ...index.headers, ...found.entry.headers }) };
}

/** Why some values cannot be chosen: others cannot, and nothing of these is published. */
export function unpublished(
    values: readonly string[],
    others: ReadonlyMap<string, string> = new Map(),
): ReadonlyMap<string, string> {
    return isPublished ? new Map([...others, ...values.map((value) => [value, "not published"] as const)]) : others;
}

/** Those of some ranges that are not published. */
export const otherRanges = (all: readonly string[]) => all.filter((name) => !ranges?.includes(name));
