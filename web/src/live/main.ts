// The chart in a notebook: the plane of the page, with the data that the kernel sends. It opens no connection.
import { pricesInView } from "../chart/axis";
import { DARK, LIGHT } from "../chart/look";
import { peaksOf } from "../chart/peaks";
import { Plane } from "../chart/plane";
import { type Grid, gridOfBytes, spanOf } from "../data/grid";
import type { Bar, Order } from "../data/types";
import { clock, short } from "../view/numbers";

/** The part of a widget's model that is used. */
export interface Model {
    get(name: string): unknown;
    on(event: string, callback: () => void): void;
    off(event: string, callback: () => void): void;
}

const SHOWN = 5;
/** The kernel is heard several times in this time, in milliseconds. */
const SILENCE = 30_000;

function bytesOf(view: unknown): ArrayBuffer | undefined {
    if (!(view instanceof DataView) || view.byteLength === 0) return undefined;
    // A copy, since numbers of 8 bytes have to begin at a multiple of 8.
    const part = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
    return part.slice().buffer;
}

function add(to: HTMLElement, name: string, style: string): HTMLElement {
    const made = document.createElement(name);
    made.style.cssText = style;
    to.append(made);
    return made;
}

function isLight(): boolean {
    const { jpThemeLight } = document.body.dataset;
    return jpThemeLight === undefined ? matchMedia("(prefers-color-scheme: light)").matches : jpThemeLight === "true";
}

export function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
    const look = isLight() ? LIGHT : DARK;
    const root = add(
        el,
        "div",
        `background:${look.ground};color:${look.text};font:12px system-ui,sans-serif;padding:6px`,
    );
    const label = add(root, "p", "margin:0 0 4px;font-weight:600");
    const box = add(root, "div", `height:${Number(model.get("height"))}px`);
    box.setAttribute("role", "img");
    const state = add(root, "p", `margin:4px 0;color:${look.faint}`);
    state.setAttribute("role", "status");
    const list = add(root, "ol", "margin:0;padding:0;list-style:none;font-variant-numeric:tabular-nums");
    const plane = new Plane(box, look, { cursor: () => {}, moved: () => {} }, true);
    plane.setZone("utc");
    plane.fill(0.97);
    let grid: Grid | undefined;
    let fitted = false;

    const showMap = () => {
        const bytes = bytesOf(model.get("grid"));
        if (!bytes) return;
        grid = gridOfBytes(bytes);
        const last = grid.times[grid.columns - 1] ?? 0;
        plane.setPrice({ value: grid.currentPrice, age: undefined });
        plane.setData(grid, model.get("bars") as Bar[], [spanOf(grid, 0)[0], last]);
        if (!fitted) {
            fitted = true;
            const scale = peaksOf(grid, ...pricesInView(model.get("bars") as Bar[], grid.currentPrice, grid.prices));
            plane.setColours({ cmap: "peaks", ...scale, threshold: 0 });
            root.dataset.colours = `${scale.vmin},${scale.vmid},${scale.vmax}`;
        }
        root.dataset.columns = String(grid.columns);
    };
    const showWords = () => {
        const lines = model.get("label") as string[];
        const simulated = Boolean(model.get("simulated"));
        label.textContent = [...(simulated ? ["SIMULATED MARKET"] : []), ...lines].join(" · ");
        box.setAttribute("aria-label", label.textContent);
        plane.setSimulated(simulated);
    };
    const showOrders = () => {
        const orders = model.get("orders") as Order[];
        plane.setMarks({ orders, cascades: [], levels: [], least: 0 });
        const rows = orders.slice(0, SHOWN).map((order) => {
            const row = document.createElement("li");
            const amount = `${short(Number(order.value_usd))} USD`;
            row.textContent = `REALISED ${clock(order.timestamp, "utc", true)} UTC ${order.exchange} ${order.symbol} ${order.side} ${amount}`;
            return row;
        });
        list.replaceChildren(...rows);
    };
    // A saved or exported page has no kernel: what it shows is live only once something was heard.
    let heard = false;
    let timer = 0;
    const showState = () => {
        const name = model.get("state") as string;
        const saved = name === "live" && !heard;
        root.dataset.liqdataState = saved ? "saved" : name;
        const words: Record<string, string> = {
            live: "live",
            ended: "ended: no new orders follow",
            closed: "closed",
        };
        state.textContent = saved ? "saved: this is the last state, and no kernel is heard" : (words[name] ?? name);
    };
    const silent = () => {
        heard = false;
        root.dataset.liqdataState = "disconnected";
        state.textContent = "disconnected: the kernel does not answer; this is what was shown last";
    };
    const hear = () => {
        heard = true;
        clearTimeout(timer);
        timer = setTimeout(silent, SILENCE) as unknown as number;
        showState();
    };
    const followed: [string, () => void][] = [
        ["change:grid", showMap],
        ["change:label", showWords],
        ["change:orders", showOrders],
        ["change:state", showState],
        ["change:beat", hear],
        ["comm_live_update", silent],
    ];
    for (const [, show] of followed.slice(0, 4)) show();
    for (const [event, show] of followed) model.on(event, show);
    return () => {
        clearTimeout(timer);
        for (const [event, show] of followed) model.off(event, show);
        plane.remove();
        root.remove();
    };
}

export default { render };
