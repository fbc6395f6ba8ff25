// Drawing on canvases: the plane, the strip, marks, realised bars and the words in the pixels. All sizes are CSS pixels.
import type { LiqMap, Order } from "../data/types";
import { FONT, type Look } from "./look";
import { ladder } from "./strip";

export type Context = CanvasRenderingContext2D;

export function hatch(context: Context, x: number, y: number, width: number, height: number, colour: string): void {
    if (width <= 0 || height <= 0) return;
    context.save();
    context.beginPath();
    context.rect(x, y, width, height);
    context.clip();
    context.strokeStyle = colour;
    context.lineWidth = 1;
    context.beginPath();
    const from = Math.floor((x - height) / 7) * 7;
    for (let at = from; at < x + width; at += 7) {
        context.moveTo(at, y + height);
        context.lineTo(at + height, y);
    }
    context.stroke();
    context.restore();
}

export function watermark(context: Context, text: string, x: number, y: number, width: number): void {
    context.save();
    context.globalAlpha = 0.5;
    context.font = `700 ${Math.round(Math.min(40, width / (text.length * 0.75)))}px ${FONT}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    // Both a dark and a light line, so that it can be read on every colour.
    context.lineWidth = 3;
    context.strokeStyle = "#000000";
    context.strokeText(text, x, y);
    context.lineWidth = 1;
    context.strokeStyle = "#ffffff";
    context.strokeText(text, x, y);
    context.restore();
}

export function radiusOf(usd: number): number {
    return Math.max(2, Math.min(14, Math.sqrt(usd / 1e6) * 3.2));
}

/** A realised order: a disc for a long, a diamond for a short; the area tells the USD. */
export function mark(context: Context, x: number, y: number, usd: number, side: Order["side"], look: Look): void {
    const radius = radiusOf(usd);
    context.beginPath();
    if (side === "LONG") context.arc(x, y, radius, 0, 2 * Math.PI);
    else {
        const reach = radius * 1.25;
        context.moveTo(x, y - reach);
        context.lineTo(x + reach, y);
        context.lineTo(x, y + reach);
        context.lineTo(x - reach, y);
        context.closePath();
    }
    context.fillStyle = side === "LONG" ? look.long : look.short;
    context.globalAlpha = 0.8;
    context.fill();
    context.globalAlpha = 1;
    context.lineWidth = 1;
    context.strokeStyle = look.paper ? "#ffffff" : "#000000";
    context.stroke();
}

export interface StripSource {
    map: LiqMap;
    /** What it is: ESTIMATE, MEASURED or AS SERVED. */
    word: string;
    lines: string[];
    relative: boolean;
}

export function strip(
    context: Context,
    source: StripSource,
    edges: Float64Array,
    box: { x: number; width: number; height: number },
    look: Look,
): { bars: number; sums: number } {
    const { x, width, height } = box;
    const { lines, most, sums, mostSum } = ladder(source.map, edges);
    const measured = source.word === "MEASURED";
    context.save();
    context.beginPath();
    context.rect(x, 0, width, height);
    context.clip();
    context.fillStyle = look.ground;
    context.fillRect(x, 0, width, height);
    if (measured) hatch(context, x, 0, width, height, look.paper ? "rgba(60,68,82,0.12)" : "rgba(190,198,212,0.12)");
    const room = width - 10;
    // Pixels of the ladder are those of `edges`, one CSS pixel each.
    for (const [y, line] of lines.entries()) {
        if (!line || most <= 0) continue;
        let at = x + 2;
        const colour = line.side === "long" ? look.long : look.short;
        if (measured) {
            context.fillStyle = colour;
            context.globalAlpha = 0.35;
            const reach = (line.total / most) * room;
            context.fillRect(at, y, reach, 1);
            context.globalAlpha = 1;
            context.fillRect(at + Math.max(0, reach - 1.5), y, 1.5, 1);
            continue;
        }
        // A service that sends no leverages has one bar for all.
        const parts = line.tiers.length ? line.tiers : [line.total];
        for (const [i, usd] of parts.entries()) {
            const reach = (usd / most) * room;
            context.globalAlpha = 0.95 - (0.65 * i) / Math.max(1, parts.length - 1);
            context.fillStyle = colour;
            context.fillRect(at, y, reach, 1);
            at += reach;
        }
        if (line.exact > 0) {
            // What is known has a second tone, from the foot of the bar.
            context.globalAlpha = 0.55;
            context.fillStyle = look.paper ? "#1c2430" : "#f5f7ff";
            context.fillRect(x + 2, y, line.exact * (line.total / most) * room, 1);
        }
        context.globalAlpha = 1;
    }
    if (mostSum > 0) {
        context.strokeStyle = look.text;
        context.lineWidth = 1.25;
        context.beginPath();
        let drawn = false;
        let side = Number.NaN;
        for (let y = 0; y < sums.length; y++) {
            const sum = sums[y] ?? Number.NaN;
            const above = (edges[y] ?? 0) > source.map.currentPrice ? 1 : 0;
            if (above !== side) drawn = false;
            side = above;
            if (Number.isNaN(sum)) continue;
            const at = x + 2 + (sum / mostSum) * room;
            if (drawn) context.lineTo(at, y + 0.5);
            else context.moveTo(at, y + 0.5);
            drawn = true;
        }
        context.stroke();
    }
    context.strokeStyle = look.line;
    context.beginPath();
    context.moveTo(x + 0.5, 0);
    context.lineTo(x + 0.5, height);
    context.stroke();
    context.restore();
    return { bars: most, sums: mostSum };
}
