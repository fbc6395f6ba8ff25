// The head: what is asked for, whether it is live, and how old what is known is.
import { signal } from "@preact/signals";
import { isPublished, otherRanges, unpublished } from "../data/published";
import { BESIDE, CMAPS, RANGES, SCALES } from "../view/address";
import { age, clock, moment, zoneName } from "../view/numbers";
import { theme } from "../view/screen";
import { streamText } from "../view/sentences";
import { staleFor } from "../view/shown";
import {
    addressOf,
    allSources,
    change,
    charts,
    coinNames,
    comparisons,
    exchanges,
    newest,
    now,
    range,
    simulated,
    stream,
    tick,
    tooLong,
    view,
} from "../view/state";
import { dialog } from "./dialogs";
import { Choice } from "./parts";

const open = signal(false);
export const copied = signal("");

const SOURCE_NAMES: Record<string, string> = {
    estimate: "estimate",
    blended: "known + estimate",
    positions: "measured positions",
    served: "as served",
};

const named = (source: string) => [source, SOURCE_NAMES[source] ?? `as served by ${source}`] as const;

const comparison = (what: string) => (what.includes(":") ? ([what, what.replace(":", " ")] as const) : named(what));

/** Copies the address with all that decides what is seen; `moment` adds the instant. */
export async function copyAddress(moment = false): Promise<void> {
    const { vmin, vmid, vmax } = range.peek();
    const seen = { ...view.peek(), vmin, vmid, vmax, theme: theme.peek() };
    if (moment) seen.as_of ??= now.peek() === undefined ? undefined : String(now.peek());
    try {
        await navigator.clipboard.writeText(new URL(addressOf(seen), location.href).href);
        copied.value = moment ? "The address of this moment was copied." : "The address was copied.";
    } catch {
        copied.value = "The browser did not allow copying; the address bar has the view.";
    }
    setTimeout(() => {
        copied.value = "";
    }, 4000);
}

function Clock() {
    const zone = view.value.tz;
    const { as_of } = view.value;
    const known = newest.value;
    if (as_of !== undefined) {
        return (
            <span class="clock">
                as of{" "}
                <strong>
                    {now.value === undefined ? as_of : `${moment(now.value, zone)} ${zoneName(now.value, zone)}`}
                </strong>{" "}
                <button type="button" onClick={() => change({ as_of: undefined }, true)}>
                    now
                </button>
            </span>
        );
    }
    const state = stream.value;
    const late = staleFor.value !== undefined;
    // A market that stands still is not live, however well the connection is.
    const still = state.is === "live" && simulated.value && known?.moved === false;
    const said = still ? "at rest" : streamText(state, tick.value, zone);
    return (
        <span
            class={`clock ${late ? "late" : still ? "still" : state.is}`}
            role="status"
            data-state={late ? "stale" : still ? "still" : state.is}
        >
            <span class="dot" aria-hidden="true" />
            {late && known
                ? `STALE · newest known ${moment(known.now, zone)} ${zoneName(known.now, zone)}, ${age(staleFor.value ?? 0)} ago${state.is === "live" ? "" : ` · ${said}`}`
                : said}{" "}
            {known && !late && (
                <span class="time">
                    {clock(known.now, zone, true)} {zoneName(known.now, zone)}
                </span>
            )}
        </span>
    );
}

export function Head() {
    const {
        symbol,
        range: length,
        model,
        exchange,
        source,
        beside,
        compare,
        opened,
        scale,
        cmap,
        tz,
        as_of,
    } = view.value;
    const known = coinNames.value;
    const names = known.includes(symbol) ? known : [symbol, ...known];
    const places = (exchanges.region.value.body?.data ?? []).map((row) => row.exchange).sort();
    if (exchange !== undefined && !places.includes(exchange)) places.push(exchange);
    const single = (values: readonly string[]) => values.map((value) => [value, value] as const);
    return (
        <header class={`head ${open.value ? "open" : ""}`}>
            <h1>liqdata</h1>
            <Choice
                name="coin"
                id="coin"
                value={symbol}
                options={single(names)}
                onChange={(value) => change({ symbol: value }, true)}
            />
            <Choice
                name="range"
                value={length}
                options={RANGES.map((value) => [value, value] as const)}
                refused={unpublished(otherRanges(RANGES), tooLong.value)}
                onChange={(value) => change({ range: value }, true)}
            />
            <div class="mid">
                <Choice
                    name="model"
                    value={model}
                    options={[
                        ["2", "2 · exposed"],
                        ["3", "3 · expected"],
                    ]}
                    onChange={(value) => change({ model: value }, true)}
                />
                <Choice
                    name="exchange"
                    value={exchange ?? ""}
                    options={[["", "all"] as const, ...single(places)]}
                    refused={unpublished(places)}
                    onChange={(value) => change({ exchange: value || undefined }, true)}
                />
                <Choice
                    name="source"
                    value={source}
                    options={allSources.value.map(named)}
                    refused={unpublished(allSources.value.filter((name) => name !== "estimate"))}
                    onChange={(value) => change({ source: value }, true)}
                />
                <Choice
                    name="compared with"
                    value={charts.value[1] ? (compare ?? "") : ""}
                    options={[["", "nothing"] as const, ...comparisons.value.map(comparison)]}
                    refused={unpublished(comparisons.value.filter((what) => !/^(model|coin):/.test(what)))}
                    onChange={(value) => change({ compare: value || undefined }, true)}
                />
            </div>
            <Clock />
            <button type="button" class="more" aria-expanded={open.value} onClick={() => (open.value = !open.value)}>
                <span aria-hidden="true">⋯</span>
                <span class="hidden">more choices</span>
            </button>
            <div class="rest">
                <Choice
                    name="beside it"
                    value={beside}
                    options={[
                        ["none", "nothing"] as const,
                        ...BESIDE.map((value) => [value, SOURCE_NAMES[value] ?? value] as const),
                    ]}
                    refused={unpublished(BESIDE.filter((name) => name !== "estimate"))}
                    onChange={(value) => change({ beside: value }, true)}
                />
                <Choice
                    name="opened"
                    value={opened}
                    options={[
                        ["ever", "ever"],
                        ["range", "in this range"],
                    ]}
                    refused={unpublished(["range"])}
                    onChange={(value) => change({ opened: value }, true)}
                />
                <label class="choice">
                    <span class="name">as of (UTC)</span>
                    <input
                        type="datetime-local"
                        disabled={isPublished}
                        value={as_of !== undefined && now.value ? new Date(now.value).toISOString().slice(0, 16) : ""}
                        onChange={(event) => {
                            const text = event.currentTarget.value;
                            change({ as_of: text ? `${text}Z` : undefined }, true);
                        }}
                    />
                </label>
                <Choice
                    name="price axis"
                    value={scale}
                    options={SCALES.map((value) => [value, value] as const)}
                    onChange={(value) => change({ scale: value })}
                />
                <Choice
                    name="colours"
                    value={cmap}
                    options={CMAPS.map((value) => [value, value] as const)}
                    onChange={(value) => change({ cmap: value })}
                />
                <button type="button" onClick={() => change({ tz: tz === "utc" ? "local" : "utc" })}>
                    {tz === "utc" ? "UTC" : zoneName(tick.value, "local")}
                </button>
                <button type="button" onClick={() => change({ theme: theme.value === "dark" ? "light" : "dark" })}>
                    {theme.value === "dark" ? "light" : "dark"}
                </button>
                <button type="button" onClick={() => copyAddress()}>
                    copy address
                </button>
                {!isPublished && (
                    <button type="button" onClick={() => copyAddress(true)}>
                        copy link to this moment
                    </button>
                )}
                <button type="button" onClick={() => (dialog.value = "help")}>
                    help
                </button>
            </div>
            {copied.value && (
                <span class="said" role="status">
                    {copied.value}
                </span>
            )}
        </header>
    );
}

export function SimulatedBar() {
    if (!simulated.value) return null;
    return (
        <p class="simulated" role="note">
            SIMULATED MARKET · it says nothing of a real one
        </p>
    );
}
