// One event stream for all tabs of a browser: the tab that holds a lock reads it and hands every event on.
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { headers, path } from "./api";
import { position, streamBase } from "./published";

export interface StreamEvent {
    kind: "orders" | "cascades" | "changes" | "gap" | "position";
    data: string;
    id: string | undefined;
}

export type StreamState =
    | { is: "connecting" }
    | { is: "live"; since: number }
    | { is: "offline"; since: number; retryAt: number }
    | { is: "token" }
    | { is: "refused"; message: string };

type TabMessage = { kind: "events"; events: StreamEvent[] } | { kind: "state"; state: StreamState } | { kind: "hello" };

/** Silence after which a stream counts as broken, in milliseconds; the server says something every 1.5 s. */
const SILENCE = 15_000;
const LONGEST_PAUSE = 10_000;

const KINDS: Record<string, StreamEvent["kind"]> = {
    "": "orders",
    cascade: "cascades",
    changes: "changes",
    gap: "gap",
    position: "position",
};

export class Hub {
    private last: string | undefined;
    private state: StreamState = { is: "connecting" };
    private readonly channel: BroadcastChannel | undefined;
    private readonly ended = new AbortController();
    private reads = false;
    /** Whether this tab needs a token: it leaves reading to the others, which may have another token. */
    private idle = false;
    private readonly name = `liqdata ${new URL(".", location.href).pathname}`;
    private waiting: StreamEvent[] = [];
    private turn = 0;
    private wake: (() => void) | undefined;

    constructor(
        private readonly onEvents: (events: StreamEvent[]) => void,
        private readonly onState: (state: StreamState) => void,
        private readonly events: string,
    ) {
        if (streamBase === undefined) {
            this.onState({ is: "refused", message: "published files, no live rows" });
            return;
        }
        if ("locks" in navigator && "BroadcastChannel" in globalThis) {
            this.channel = new BroadcastChannel(this.name);
            this.channel.onmessage = ({ data }: MessageEvent<TabMessage>) => this.hear(data);
            this.channel.postMessage({ kind: "hello" } satisfies TabMessage);
        }
        this.queue();
    }

    /** Waits until no other tab reads, then reads. */
    private queue(): void {
        this.idle = false;
        const locks = this.channel ? navigator.locks : undefined;
        const { signal } = this.ended;
        if (locks) locks.request(this.name, { signal }, () => this.read()).catch(() => undefined);
        else this.read();
    }

    close(): void {
        this.ended.abort();
        this.wake?.();
        this.channel?.close();
    }

    /** Tries again now, such as after a token was typed. */
    retry(): void {
        if (this.idle) this.queue();
        else if (this.reads) this.wake?.();
        else this.channel?.postMessage({ kind: "hello" } satisfies TabMessage);
    }

    private hear(message: TabMessage): void {
        if (message.kind === "events") this.take(message.events);
        else if (message.kind === "state" && !this.reads) this.onState(message.state);
        else if (message.kind === "hello" && this.reads) {
            this.channel?.postMessage({ kind: "state", state: this.state } satisfies TabMessage);
        }
    }

    private take(events: StreamEvent[]): void {
        for (const { id } of events) if (id !== undefined) this.last = id;
        this.onEvents(events.filter(({ kind, data }) => kind !== "position" && data !== ""));
    }

    private say(state: StreamState): void {
        this.state = state;
        this.onState(state);
        this.channel?.postMessage({ kind: "state", state } satisfies TabMessage);
    }

    // Events of one turn of the browser are handed on together.
    private collect(event: StreamEvent): void {
        this.waiting.push(event);
        if (this.turn) return;
        this.turn = setTimeout(() => {
            this.turn = 0;
            const events = this.waiting;
            this.waiting = [];
            this.channel?.postMessage({ kind: "events", events } satisfies TabMessage);
            this.take(events);
        }, 30) as unknown as number;
    }

    private async read(): Promise<void> {
        this.reads = true;
        let pause = 500;
        while (!this.ended.signal.aborted) {
            const began = Date.now();
            if (await this.connection()) {
                this.reads = false;
                this.idle = true;
                this.onState({ is: "token" });
                return;
            }
            if (this.ended.signal.aborted) return;
            pause = Date.now() - began > 30_000 ? 500 : Math.min(LONGEST_PAUSE, pause * 2);
            const since = this.state.is === "offline" ? this.state.since : Date.now();
            this.say({ is: "offline", since, retryAt: Date.now() + pause });
            await this.pause(pause);
        }
    }

    private pause(length: number): Promise<void> {
        return new Promise((resolve) => {
            const timer = setTimeout(resolve, length);
            this.wake = () => {
                clearTimeout(timer);
                resolve();
            };
        });
    }

    /** Reads one connection to its end; true where a token is needed. */
    private async connection(): Promise<boolean> {
        const cut = new AbortController();
        const end = () => cut.abort();
        this.ended.signal.addEventListener("abort", end);
        let silence = setTimeout(end, SILENCE);
        try {
            this.last ??= await position();
            const resume: Record<string, string> = this.last === undefined ? {} : { "last-event-id": this.last };
            const response = await fetch(path(`${streamBase}api/liquidations/stream`, { events: this.events }), {
                headers: headers({ accept: "text/event-stream", ...resume }),
                signal: cut.signal,
                cache: "no-store",
                credentials: "omit",
            });
            if (response.status === 401) return true;
            if (response.status === 400 && this.last !== undefined) {
                // An id of another server: what it stood for is gone, and so may orders be.
                this.last = undefined;
                this.collect({ kind: "gap", data: "{}", id: undefined });
                return false;
            }
            if (!response.ok || !response.body) return false;
            this.say({ is: "live", since: Date.now() });
            const parser = createParser({
                onEvent: (event: EventSourceMessage) => this.collect(eventOf(event)),
            });
            const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
            for (;;) {
                const { done, value } = await reader.read();
                if (done) return false;
                clearTimeout(silence);
                silence = setTimeout(end, SILENCE);
                parser.feed(value);
            }
        } catch {
            return false;
        } finally {
            clearTimeout(silence);
            this.ended.signal.removeEventListener("abort", end);
        }
    }
}

function eventOf({ event, data, id }: EventSourceMessage): StreamEvent {
    // Of an event of another kind, only its position counts.
    return { kind: KINDS[event ?? ""] ?? "position", data, id };
}
