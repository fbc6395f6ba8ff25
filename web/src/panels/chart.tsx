// The chart with its words, colour bar and readout.
import { effect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { colours } from "../chart/bitmap";
import { Plane } from "../chart/plane";
import { passes } from "../data/orders";
import { tape } from "../view/feed";
import { bindKeys } from "../view/keyboard";
import { moment, price, short, zoneName } from "../view/numbers";
import { reading } from "../view/reading";
import { look, phone, still } from "../view/screen";
import { wordOf } from "../view/sentences";
import {
    caption,
    cell,
    cursor,
    gapsShown,
    instead,
    label,
    marked,
    measured,
    priceNow,
    readout,
    realised,
    relative,
    secondLabel,
    staleFor,
    stripScales,
    strips,
    title,
    unit,
} from "../view/shown";
import {
    cascades,
    change,
    covers,
    fitColours,
    grid,
    index,
    newest,
    now as nowShown,
    ordersInView,
    range,
    regionOf,
    simulated,
    sources,
    unfinished,
    view,
    whole,
} from "../view/state";
import { askAlert, dialog } from "./dialogs";
import { ReadoutLine, reset, Tip } from "./parts";
import { Second, secondChart } from "./second";

let plane: Plane | undefined;
export const chart = () => plane;

function mount(box: HTMLElement): () => void {
    const made = new Plane(
        box,
        look.peek(),
        {
            cursor: (at) => {
                cursor.value = at;
                if (at) cell.value = undefined;
            },
            measured: (found) => {
                measured.value = found;
            },
            asked: askAlert,
            scales: (scales) => {
                stripScales.value = scales;
            },
            moved: ({ t, p }) => {
                const before = view.peek();
                if (String(before.t) !== String(t) || String(before.p) !== String(p)) change({ t, p });
            },
        },
        still.peek(),
    );
    plane = made;
    let shownFirst = true;
    const ends = [
        effect(() => made.setLook(look.value)),
        effect(() => made.setZone(view.value.tz)),
        effect(() => made.setPrice(priceNow.value)),
        effect(() => made.setScale(view.value.scale)),
        effect(() => {
            const known = whole.value;
            const covered = covers.value;
            if (!covered) return;
            const shown = grid.value;
            made.setData(shown, known, covered, unfinished.value);
            if (shownFirst && (shown || known.length)) {
                shownFirst = false;
                const { t, p } = view.peek();
                if (t || p) made.show({ t, p });
            }
        }),
        effect(() => {
            const { vmin, vmid, vmax, threshold } = range.value;
            document.body.dataset.colours = [vmin, vmid, vmax, threshold].join(",");
        }),
        effect(() => made.setColours({ cmap: view.value.cmap, ...range.value })),
        effect(() => made.setStrips(strips.value, phone.value ? 0.6 : 0.16)),
        effect(() => {
            const live = tape.value;
            const listed = ordersInView.value;
            const { symbol, exchange, min_usd } = view.value;
            const names = new Set(listed.map((order) => `${order.exchange}${order.timestamp}${order.value_usd}`));
            const fresh = live.flatMap((row) =>
                row.kind === "order" &&
                passes(row.order, { min_usd, coin: symbol, exchange }) &&
                !names.has(`${row.order.exchange}${row.at}${row.order.value_usd}`)
                    ? [row.order]
                    : [],
            );
            made.setMarks({
                orders: [...listed, ...fresh.slice(0, 500)],
                cascades: cascades.region.value.body?.data ?? [],
                levels: marked.value,
                least: Math.max(min_usd, 50_000),
            });
        }),
        effect(() => made.setRealised(realised.value, gapsShown.value)),
        effect(() => made.setSimulated(simulated.value)),
        effect(() => made.setCell(cell.value)),
        effect(() => made.setStale(staleFor.value === undefined ? undefined : newest.peek()?.now)),
        effect(() => made.fill(phone.value ? (view.value.panel === "realised" ? 0.5 : 0.82) : 0.8)),
        bindKeys(made),
    ];
    return () => {
        for (const end of ends) end();
        made.remove();
        plane = undefined;
    };
}

/** The scale of the colours, with its ends, unit and threshold. */
function drawScale(context: CanvasRenderingContext2D, y: number, ratio: number): void {
    const { vmin, vmid, vmax, threshold } = range.value;
    const bar = new OffscreenCanvas(256, 1);
    const image = new ImageData(256, 1);
    const { paper, text, line } = look.value;
    new Uint32Array(image.data.buffer).set(colours(view.value.cmap, paper, { vmin, vmid, vmax }));
    bar.getContext("2d")?.putImageData(image, 0, 0);
    context.font = `${12 * ratio}px system-ui, sans-serif`;
    context.fillStyle = text;
    let x = 8 * ratio;
    const write = (words: string) => {
        context.fillText(words, x, y + 19 * ratio);
        x += context.measureText(words).width + 8 * ratio;
    };
    write(`${amount(vmin)}${unit.value} and less`);
    context.drawImage(bar, x, y + 8 * ratio, 256 * ratio, 13 * ratio);
    context.strokeStyle = line;
    context.strokeRect(x, y + 8 * ratio, 256 * ratio, 13 * ratio);
    x += 264 * ratio;
    write(`${amount(vmax)}${unit.value} and more per cell, log`);
    write(threshold > 0 ? `· threshold ${amount(threshold)}${unit.value}` : "· no threshold");
    write("· colours compare inside this map only");
    write(`· ${wordOf(view.value.source).toLowerCase()}${simulated.value ? " · SIMULATED" : ""}`);
}

/** An amount of the scale, in its unit or in percent of its end. */
const amount = (usd: number) =>
    relative.value ? `${Number(((100 * usd) / range.value.vmax).toPrecision(2))} %` : short(usd);

/** What is on the screen as a picture, with the words that belong to it. */
export async function savePicture(): Promise<void> {
    if (!plane) return;
    const drawn = [plane, secondChart()].flatMap((one) => (one ? [one.picture()] : []));
    const ratio = window.devicePixelRatio || 1;
    const band = Math.round(44 * ratio);
    const canvas = document.createElement("canvas");
    canvas.width = drawn.reduce((sum, one) => sum + one.width, 0);
    const tall = Math.max(...drawn.map((one) => one.height));
    const notes = [...(instead.value ? [instead.value] : []), ...caption.value];
    const foot = Math.round((30 + 15 * notes.length) * ratio);
    canvas.height = band + tall + foot;
    const context = canvas.getContext("2d");
    if (!context) return;
    const { ground, text, warn } = look.value;
    context.fillStyle = ground;
    context.fillRect(0, 0, canvas.width, canvas.height);
    let left = 0;
    for (const one of drawn) {
        context.drawImage(one, left, band);
        left += one.width;
    }
    context.fillStyle = simulated.value ? warn : text;
    context.font = `600 ${13 * ratio}px system-ui, sans-serif`;
    const { symbol, range: shown, tz } = view.value;
    const at = nowShown.value;
    const now = priceNow.value;
    const from = index.region.value.body?.source ?? "unknown";
    const when = at === undefined ? "" : ` · ${moment(at, tz)} ${zoneName(at, tz)}`;
    context.fillText(
        `${simulated.value ? "SIMULATED MARKET · " : ""}liqdata · ${symbol} ${shown}${now ? ` · price ${price(now.value)}${now.age === undefined ? "" : `, ${now.age}`}` : ""}${when} · source ${from}`,
        8 * ratio,
        18 * ratio,
    );
    context.font = `${11 * ratio}px system-ui, sans-serif`;
    for (const [i, words] of [label.value, secondLabel.value].slice(0, drawn.length).entries()) {
        const width = canvas.width / drawn.length;
        context.fillText(words.join(" · "), i * width + 8 * ratio, 36 * ratio, width - 16 * ratio);
    }
    drawScale(context, band + tall, ratio);
    context.font = `${11 * ratio}px system-ui, sans-serif`;
    context.fillStyle = text;
    for (const [i, note] of notes.entries()) {
        context.fillText(note, 8 * ratio, band + tall + (40 + 15 * i) * ratio, canvas.width - 16 * ratio);
    }
    const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/png"));
    if (!blob) return;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `liqdata-${symbol}-${shown}${simulated.value ? "-simulated" : ""}.png`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function ColourBar() {
    const bar = useRef<HTMLCanvasElement>(null);
    const { vmin, vmid, vmax, threshold } = range.value;
    const { cmap } = view.value;
    const { paper } = look.value;
    useEffect(() => {
        const context = bar.current?.getContext("2d");
        if (!context) return;
        const image = new ImageData(256, 1);
        new Uint32Array(image.data.buffer).set(colours(cmap, paper, { vmin, vmid, vmax }));
        context.putImageData(image, 0, 0);
    }, [cmap, paper, vmin, vmid, vmax]);
    const place = (usd: number) => Math.log(usd / vmin) / Math.log(vmax / vmin);
    const set = (text: string) => {
        const value = Number(text);
        if (Number.isFinite(value) && value >= 0) change({ thr: value });
    };
    const name = amount;
    return (
        <div class="colourbar">
            <span>{name(vmin)}</span>
            <span class="bar">
                <canvas ref={bar} width="256" height="1" />
                <input
                    type="range"
                    min="0"
                    max="1"
                    step="0.005"
                    value={Math.max(0, Math.min(1, place(Math.max(threshold, vmin))))}
                    aria-label="threshold"
                    aria-valuetext={`${name(threshold)}${unit.value}`}
                    onInput={(event) => {
                        const share = Number(event.currentTarget.value);
                        change({
                            thr: share <= 0 ? undefined : Number((vmin * (vmax / vmin) ** share).toPrecision(3)),
                        });
                    }}
                />
            </span>
            <span>
                {name(vmax)}
                {unit.value}, log
            </span>
            <label>
                threshold{" "}
                <input
                    type="number"
                    min="0"
                    value={Number(threshold.toPrecision(3))}
                    aria-label={`threshold as a number${unit.value}`}
                    onChange={(event) => set(event.currentTarget.value)}
                />
            </label>
            <button type="button" onClick={fitColours}>
                fit colours
            </button>
            <span class="faint">compares inside this map only</span>
        </div>
    );
}

/** The price of the box on the axis, as text. */
function PriceText() {
    const now = priceNow.value;
    if (!now) return null;
    return (
        <strong class="number" data-price={now.value}>
            {price(now.value)}
            {now.age === undefined ? "" : `, ${now.age}`}
        </strong>
    );
}

function FirstReadout() {
    const hint = phone.value
        ? "Touch the map to read a cell."
        : "Point at the map, or go over it with Shift and the arrows, to read a cell.";
    return <ReadoutLine of={readout.value} hint={hint} polite={cell.value !== undefined} />;
}

function Reset() {
    const trouble = regionOf(0)?.trouble;
    const name = trouble?.is === "refused" ? trouble.parameter : undefined;
    if (name === undefined || !(name in view.value)) return null;
    return (
        <button type="button" onClick={() => reset(name)}>
            reset {name}
        </button>
    );
}

export function Chart() {
    const box = useRef<HTMLDivElement>(null);
    useEffect(() => (box.current ? mount(box.current) : undefined), []);
    useEffect(
        () =>
            effect(() => {
                document.title = title.value;
            }),
        [],
    );
    const { t, p, as_of, panel } = view.value;
    const compared = sources.value[1];
    const shown = grid.value;
    const words = (
        <>
            <strong>{view.value.symbol}</strong> {label.value.join(" · ")}
        </>
    );
    return (
        <section
            class="map"
            aria-label="map"
            data-map={shown ? `${shown.symbol} ${shown.range} ${shown.model}` : undefined}
        >
            <div class="label">
                <PriceText />
                {compared === undefined && <p>{words}</p>}
                <button type="button" onClick={() => (dialog.value = "about")}>
                    what is assumed
                </button>
                <button type="button" onClick={() => (dialog.value = "clusters")}>
                    as table
                </button>
                <button type="button" class={panel === "levels" ? "" : "wide"} onClick={() => (dialog.value = "map")}>
                    map as table
                </button>
                <button
                    type="button"
                    class={panel === "realised" ? "" : "wide"}
                    onClick={() => (dialog.value = "realised")}
                >
                    realised as table
                </button>
                <button type="button" onClick={savePicture}>
                    picture
                </button>
            </div>
            {instead.value && (
                <p class="trouble label">
                    {instead.value}
                    <Reset />
                </p>
            )}
            <div class={`sides ${compared === undefined ? "" : "two"}`}>
                {compared !== undefined && (
                    <div class="label first">
                        <p>{words}</p>
                    </div>
                )}
                <div key="first" class="frame">
                    <div
                        ref={box}
                        class="canvas"
                        tabIndex={0}
                        role="group"
                        aria-label={`${view.value.symbol}: ${label.value.join(", ")}. Candles, with realised orders, above realised amounts by exchange. Tables have the same numbers.`}
                    />
                    {(t || p) && !as_of && (
                        <button type="button" class="now" onClick={() => plane?.fit()}>
                            show all, up to now
                        </button>
                    )}
                    <Tip of={reading.value} />
                </div>
                <FirstReadout />
                {compared !== undefined && <Second first={chart} />}
            </div>
            <ColourBar />
            <ul class="hidden" aria-label="levels on the map">
                {marked.value.map(({ text, side }) => (
                    <li key={text + side}>{text}</li>
                ))}
            </ul>
            <p class="caption faint">{caption.value.join(" · ")}</p>
        </section>
    );
}
