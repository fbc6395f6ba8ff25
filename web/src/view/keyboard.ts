// Everything by keyboard. Keys that are typed into fields stay there.
import type { Plane } from "../chart/plane";
import { spanOf } from "../data/grid";
import { askAlert, dialog } from "../panels/dialogs";
import { copyAddress } from "../panels/head";
import { RANGES, SCALES } from "./address";
import { pause, paused } from "./feed";
import { theme } from "./screen";
import { cell } from "./shown";
import {
    allSources,
    change,
    charts,
    coinNames,
    comparisons,
    exchanges,
    grid,
    price,
    range,
    tooLong,
    view,
} from "./state";

function after<T>(list: readonly T[], value: T): T | undefined {
    return list[(list.indexOf(value) + 1) % Math.max(1, list.length)];
}

export function bindKeys(plane: Plane): () => void {
    const walk = (rows: number, columns: number) => {
        const shown = grid.peek();
        if (!shown) return;
        const from = cell.peek() ?? {
            row: Math.max(
                0,
                shown.prices.findIndex((price) => price >= shown.currentPrice),
            ),
            column: shown.columns - 1,
        };
        const row = Math.max(0, Math.min(shown.rows - 1, from.row + rows));
        const column = Math.max(0, Math.min(shown.columns - 1, from.column + columns));
        plane.reveal(spanOf(shown, column)[0], shown.prices[row] ?? 0);
        cell.value = { row, column };
    };
    const threshold = (factor: number) => {
        const { vmin, vmax, threshold: now } = range.peek();
        const next = Math.min(vmax, Math.max(now, vmin) * factor);
        change({ thr: next <= vmin ? undefined : Number(next.toPrecision(3)) });
    };
    const plain: Record<string, () => void> = {
        ArrowLeft: () => plane.pan(-0.1),
        ArrowRight: () => plane.pan(0.1),
        ArrowUp: () => plane.zoomPrice(1, 0.1),
        ArrowDown: () => plane.zoomPrice(1, -0.1),
        "+": () => plane.zoom(0.8),
        "=": () => plane.zoom(0.8),
        "-": () => plane.zoom(1.25),
        Home: () => plane.home(),
        End: () => plane.end(),
        "0": () => plane.fit(),
        "[": () => threshold(0.8),
        "]": () => threshold(1.25),
        c: () => change({ symbol: after(coinNames.peek(), view.peek().symbol) ?? view.peek().symbol }, true),
        m: () => change({ model: view.peek().model === "2" ? "3" : "2" }, true),
        v: () => {
            const names = (exchanges.region.peek().body?.data ?? []).map((row) => row.exchange).sort();
            change({ exchange: after([undefined, ...names], view.peek().exchange) }, true);
        },
        s: () => change({ source: after(allSources.peek(), view.peek().source) ?? "estimate" }, true),
        x: () => {
            const shown = charts.peek()[1] && view.peek().compare;
            change({ compare: after([undefined, ...comparisons.peek()], shown) }, true);
        },
        " ": () => pause(paused.peek() === undefined),
        l: () => change({ scale: after(SCALES, view.peek().scale) ?? "log" }),
        u: () => change({ tz: view.peek().tz === "utc" ? "local" : "utc" }),
        d: () => change({ theme: theme.peek() === "dark" ? "light" : "dark" }),
        t: () => {
            dialog.value = "clusters";
        },
        y: () => void copyAddress(),
        "?": () => {
            dialog.value = "help";
        },
        "/": () => {
            dialog.value = "coin";
        },
        a: () => {
            const at = cell.peek();
            askAlert((at && grid.peek()?.prices[at.row]) ?? price.peek()?.value);
        },
        Escape: () => {
            cell.value = undefined;
            plane.endMeasure();
        },
    };
    const shifted: Record<string, () => void> = {
        ArrowLeft: () => walk(0, -1),
        ArrowRight: () => walk(0, 1),
        ArrowUp: () => walk(1, 0),
        ArrowDown: () => walk(-1, 0),
    };
    const press = (event: KeyboardEvent) => {
        const target = event.target as HTMLElement;
        if (event.ctrlKey || event.metaKey || event.altKey || dialog.peek() !== "") return;
        if (target.closest("input, select, textarea, dialog")) return;
        // A button that has the focus is pressed by the space bar, and a list scrolls by its arrows.
        if (event.key === " " && target.closest("button, a")) return;
        if (event.key.startsWith("Arrow") && target.closest(".rows")) return;
        const number = /^[1-9]$/.test(event.key) ? RANGES[Number(event.key) - 1] : undefined;
        if (number && tooLong.peek().has(number)) return;
        const action = number
            ? () => change({ range: number }, true)
            : ((event.shiftKey ? shifted[event.key] : undefined) ?? plain[event.key]);
        if (!action) return;
        event.preventDefault();
        action();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
}
