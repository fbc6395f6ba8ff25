// What one region shows: one question, its last answer, and what stands in its way.
import { type Signal, signal } from "@preact/signals";
import { ask, type Facts, type Read, Refusal } from "./api";

export type Trouble =
    | { is: "refused"; message: string; parameter: string | undefined; status: number }
    | { is: "busy"; retryAt: number }
    | { is: "token" }
    | { is: "offline"; since: number };

export interface Region<T> {
    question: string | undefined;
    body: T | undefined;
    facts: Facts | undefined;
    /** When the answer came, by the browser's clock. */
    at: number | undefined;
    loading: boolean;
    /** When the question was first asked, by the browser's clock. */
    since: number;
    trouble: Trouble | undefined;
}

const EMPTY = { body: undefined, facts: undefined, at: undefined, trouble: undefined };

export class Loader<T> {
    readonly region: Signal<Region<T>> = signal({ question: undefined, loading: false, since: 0, ...EMPTY });
    private current: AbortController | undefined;
    private timer = 0;
    private again = false;
    private asked: string | undefined;
    private other: string | undefined;

    constructor(
        private readonly onTrouble: (trouble: Trouble) => void,
        private readonly accept?: string,
        private readonly read?: Read<T>,
        private readonly newer?: (before: T) => Record<string, number> | undefined,
    ) {}

    /**
     * Asks another question. What was answered to the one before is not shown for this one. `other` is asked where a
     * server does not know the parameters of the first.
     */
    to(question: string | undefined, other?: string): void {
        if (question === this.asked) return;
        this.asked = question;
        this.other = other === question ? undefined : other;
        this.begin(question);
    }

    private begin(question: string | undefined): void {
        this.current?.abort();
        this.current = undefined;
        clearTimeout(this.timer);
        this.region.value = { question, loading: false, since: Date.now(), ...EMPTY };
        if (question !== undefined) this.load();
    }

    /** Asks the same question again; only one is under way, and one more waits. */
    async load(): Promise<void> {
        const { question } = this.region.peek();
        if (question === undefined) return;
        if (this.current) {
            this.again = true;
            return;
        }
        clearTimeout(this.timer);
        const control = new AbortController();
        this.current = control;
        const asked = this.region.peek();
        if (asked.body === undefined) this.region.value = { ...asked, loading: true };
        try {
            const answer = await ask<T>(question, control.signal, this.accept, this.read, this.newer);
            if (control.signal.aborted) return;
            const before = this.region.peek();
            const same = !answer.fresh && before.body === answer.body;
            if (!same || before.trouble || before.loading) {
                const { body, facts } = answer;
                this.region.value = { ...before, body, facts, at: Date.now(), loading: false, trouble: undefined };
            }
        } catch (error) {
            if (control.signal.aborted) return;
            const trouble = troubleOf(error);
            const { other } = this;
            if (other !== undefined && trouble.is === "refused" && trouble.status === 400) {
                this.other = undefined;
                this.begin(other);
                return;
            }
            const keeps = trouble.is !== "refused" && trouble.is !== "token";
            const before = this.region.peek();
            this.region.value = { ...before, body: keeps ? before.body : undefined, loading: false, trouble };
            this.onTrouble(trouble);
            const pause =
                trouble.is === "busy" ? trouble.retryAt - Date.now() : trouble.is === "offline" ? 4000 : undefined;
            if (pause !== undefined) this.timer = setTimeout(() => this.load(), pause) as unknown as number;
        } finally {
            if (this.current === control) this.current = undefined;
            if (this.again && !control.signal.aborted) {
                this.again = false;
                this.load();
            }
        }
    }
}

function troubleOf(error: unknown): Trouble {
    if (!(error instanceof Refusal)) return { is: "offline", since: Date.now() };
    if (error.status === 401) return { is: "token" };
    if (error.status === 429 || error.status >= 500) {
        return { is: "busy", retryAt: Date.now() + 1000 * Math.max(1, error.retryAfter) };
    }
    return { is: "refused", message: error.message, parameter: error.parameter, status: error.status };
}
