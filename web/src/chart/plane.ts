// The chart: the map under candles, the liquidation map at its right, realised amounts below, on one pair of axes.
import type { CanvasRenderingTarget2D } from "fancy-canvas";
import {
    CandlestickSeries,
    CrosshairMode,
    createChart,
    type IChartApi,
    type IPrimitivePaneView,
    type ISeriesApi,
    type ISeriesPrimitive,
    LineSeries,
    type Logical,
    type MouseEventParams,
    PriceScaleMode,
    type Time,
    type UTCTimestamp,
} from "lightweight-charts";
import { bandOf, type Grid, placeOf, spanOf } from "../data/grid";
import type { Bar, Cascade, Gap, Order } from "../data/types";
import type { View } from "../view/address";
import { clock, day, exact, plain, price, short, type Zone, zoneName } from "../view/numbers";
import { candleLength, candles, instant, logical, pricesInView, type Slots, slotsOf } from "./axis";
import {
    bands,
    type Coded,
    type Map as ColourMap,
    colours,
    encode,
    lookup,
    narrow,
    paint,
    type Range,
    squeeze,
} from "./bitmap";
import { type Context, hatch, mark, radiusOf, type StripSource, strip, watermark } from "./draw";
import { type Label, placed } from "./labels";
import { FONT, type Look } from "./look";
import { groupColour, type Stacks, sum } from "./realised";
import { roundTicks } from "./ticks";

type Target = CanvasRenderingTarget2D;

export interface Marks {
    orders: readonly Order[];
    cascades: readonly Cascade[];
    /** Horizontal marks: estimated headlines. */
    levels: readonly Label[];
    least: number;
}

export interface Cursor {
    instant: number;
    price: number;
    pane: number;
    /** Where in the chart, in CSS pixels. */
    x: number;
    y: number;
    /** The liquidation map at the right that is pointed at, counted from the left. */
    strip: number | undefined;
    order: Order | undefined;
    cascade: Cascade | undefined;
    /** Whether it was touched, and stays. */
    held: boolean;
}

export interface Place {
    instant: number;
    price: number;
}

/** Two places that a drag with Alt has measured, and where its end is in CSS pixels. */
export interface Measured {
    from: Place;
    to: Place;
    x: number;
    y: number;
}

/** What the bars and the line of a liquidation map at the right reach to. */
export interface StripScale {
    bars: number;
    sums: number;
}

/** The current price, which the box on the axis and the dotted line show. */
export interface PriceNow {
    value: number;
    /** How old it is, where that is worth saying. */
    age: string | undefined;
}

export interface Window {
    t: [number, number] | undefined;
    p: [number, number] | undefined;
}

interface Told {
    cursor(at: Cursor | undefined): void;
    moved(window: Window): void;
    scales?(scales: StripScale[]): void;
    measured?(found: Measured | undefined): void;
    /** A price that was asked for by the menu key of the pointer. */
    asked?(price: number): void;
}

interface Built {
    key: string;
    lines: Uint16Array;
    rows: Int32Array;
    image: OffscreenCanvas | undefined;
    table: Uint32Array | undefined;
}

/** Height in CSS pixels below which realised amounts have the number of the largest in words. */
const SMALL = 90;

export class Plane {
    readonly chart: IChartApi;
    private readonly box: HTMLElement;
    private readonly resized: ResizeObserver;
    private readonly bars: ISeriesApi<"Candlestick">;
    private readonly below: ISeriesApi<"Line">;
    /** Holds the price axis where no bar is known; it is not drawn. */
    private readonly anchor: ISeriesApi<"Line">;
    private hasBars = false;
    private slots: Slots | undefined;
    private grid: Grid | undefined;
    private coded: Coded | undefined;
    private table: Uint32Array | undefined;
    private colours: ({ cmap: ColourMap } & Range) | undefined;
    private built: Built | undefined;
    private span: [number, number] | undefined;
    /** Prices in view that somebody chose. The chart's own setter takes logarithms on a logarithmic axis, so it is not used. */
    private chosen: [number, number] | undefined;
    private strips: readonly StripSource[] = [];
    private stripShare = 0.16;
    private painted: { key: string; canvas: OffscreenCanvas } | undefined;
    private marks: Marks = { orders: [], cascades: [], levels: [], least: 0 };
    private gaps: readonly Gap[] = [];
    private stacks: Stacks | undefined;
    private simulated = false;
    private quiet = 0;
    private version = 0;
    private moved = false;
    private wish: Window | undefined;
    private cell: { row: number; column: number } | undefined;
    private staleFrom: number | undefined;
    private now: PriceNow | undefined;
    /** Whether the last pointer was a finger, and whether what it touched is held. */
    private touched = false;
    private held = false;
    private scales = "";
    private measure: Measured | undefined;

    constructor(
        box: HTMLElement,
        private look: Look,
        private readonly out: Told,
        still: boolean,
    ) {
        this.box = box;
        this.chart = createChart(box, {
            autoSize: true,
            layout: {
                attributionLogo: false,
                fontFamily: FONT,
                fontSize: 11,
                panes: { enableResize: false },
            },
            crosshair: { mode: CrosshairMode.Normal },
            kineticScroll: { mouse: false, touch: !still },
            // A vertical swipe scrolls the page.
            handleScroll: { vertTouchDrag: false },
            rightPriceScale: {
                mode: PriceScaleMode.Logarithmic,
                scaleMargins: { top: 0, bottom: 0 },
                minimumWidth: 62,
            },
            timeScale: {
                timeVisible: true,
                secondsVisible: false,
                minBarSpacing: 0.05,
                lockVisibleTimeRangeOnResize: true,
            },
            trackingMode: { exitMode: 0 },
        });
        const inView = () => {
            const [minValue, maxValue] = this.chosen ?? this.span ?? [1, 2];
            return { priceRange: { minValue, maxValue } };
        };
        this.bars = this.chart.addSeries(CandlestickSeries, {
            lastValueVisible: false,
            priceLineVisible: false,
            autoscaleInfoProvider: inView,
        });
        this.anchor = this.chart.addSeries(LineSeries, {
            lineVisible: false,
            lastValueVisible: false,
            priceLineVisible: false,
            crosshairMarkerVisible: false,
            autoscaleInfoProvider: inView,
        });
        this.below = this.chart.addSeries(
            LineSeries,
            {
                lineVisible: false,
                lastValueVisible: false,
                priceLineVisible: false,
                crosshairMarkerVisible: false,
                priceFormat: {
                    type: "custom",
                    minMove: 1,
                    formatter: (usd: number) => short(Math.abs(usd)),
                    // A number at the edge would be cut.
                    tickmarksFormatter: (ticks: readonly number[]) =>
                        ticks.map((usd) => (Math.abs(usd) > this.reach() * 0.86 ? "" : short(Math.abs(usd)))),
                },
                autoscaleInfoProvider: () => {
                    const most = this.reach();
                    return { priceRange: { minValue: -most, maxValue: most } };
                },
            },
            1,
        );
        this.below.priceScale().applyOptions({ mode: PriceScaleMode.Normal, scaleMargins: { top: 0, bottom: 0 } });
        this.fill(0.8);
        this.bars.attachPrimitive(
            primitive(
                [
                    ["bottom", (target) => this.drawPlane(target)],
                    ["normal", (target) => this.drawOver(target)],
                ],
                (target) => this.drawAxis(target),
            ),
        );
        this.below.attachPrimitive(primitive([["bottom", (target) => this.drawRealised(target)]]));
        this.chart.subscribeCrosshairMove((event) => this.hover(event));
        // A tap reads, and holds what it read until the next.
        this.chart.subscribeClick((event) => {
            if (this.touched) this.hover(event, true);
        });
        box.addEventListener(
            "pointerdown",
            (event) => {
                this.touched = event.pointerType === "touch";
            },
            { capture: true },
        );
        this.chart.timeScale().subscribeVisibleLogicalRangeChange(() => this.changed());
        for (const kind of ["wheel", "pointerup", "touchend"]) {
            box.addEventListener(kind, () => this.changed(), { passive: true });
        }
        box.addEventListener("wheel", (event) => this.wheel(event), { passive: false, capture: true });
        // What was in view stays in view, and everything where nobody moved.
        this.resized = new ResizeObserver(() => {
            if (!this.moved) this.silently(() => this.fitTime());
        });
        this.resized.observe(box);
        box.addEventListener("dblclick", () => this.fit());
        box.addEventListener("mousedown", (event) => this.startMeasure(event), { capture: true });
        box.addEventListener("contextmenu", (event) => {
            const at = this.out.asked && this.placeAt(event);
            if (!at) return;
            event.preventDefault();
            this.out.asked?.(at.price);
        });
        this.setLook(look);
    }

    remove(): void {
        this.resized.disconnect();
        this.chart.remove();
    }

    /** The USD at the upper and the lower edge of the realised amounts. */
    private reach(): number {
        return (this.stacks?.most ?? 0) * 1.1 || 1;
    }

    /** The series that converts a price to a height. */
    private get axis(): ISeriesApi<"Candlestick"> | ISeriesApi<"Line"> {
        return this.hasBars ? this.bars : this.anchor;
    }

    // ---- what is shown

    setLook(look: Look): void {
        this.look = look;
        this.chart.applyOptions({
            layout: {
                background: { color: look.ground },
                textColor: look.faint,
                panes: { separatorColor: look.line, separatorHoverColor: look.line },
            },
            grid: { vertLines: { visible: false }, horzLines: { visible: false } },
            rightPriceScale: { borderColor: look.line },
            timeScale: { borderColor: look.line },
        });
        this.bars.applyOptions({
            upColor: look.up,
            downColor: look.down,
            borderUpColor: look.edge,
            borderDownColor: look.edge,
            wickUpColor: look.edge,
            wickDownColor: look.edge,
        });
        this.recolour();
    }

    setZone(zone: Zone): void {
        const at = (time: Time) => (time as number) * 1000;
        this.chart.applyOptions({
            localization: {
                timeFormatter: (time: Time) =>
                    `${day(at(time), zone)} ${clock(at(time), zone)} ${zoneName(at(time), zone)}`,
            },
            timeScale: {
                tickMarkFormatter: (time: Time, kind: number) =>
                    kind < 3 ? day(at(time), zone).slice(5) : clock(at(time), zone),
            },
        });
    }

    setScale(scale: View["scale"]): void {
        const modes = {
            log: PriceScaleMode.Logarithmic,
            linear: PriceScaleMode.Normal,
            percent: PriceScaleMode.Percentage,
        };
        this.bars.priceScale().applyOptions({ mode: modes[scale] });
    }

    /** The time and price that are in view unless somebody moves. */
    setData(grid: Grid | undefined, bars: readonly Bar[], window: [number, number], unfinished?: Bar): void {
        // What was asked to be shown is in view only after the next frame.
        const held = this.moved ? (this.wish ?? this.visible()) : undefined;
        if (grid !== this.grid) {
            this.grid = grid;
            this.coded = grid ? encode(grid) : undefined;
            this.version++;
            this.recolour();
        }
        const every = grid?.stepMs ?? (window[1] - window[0]) / 144;
        const start = grid ? spanOf(grid, 0)[0] : window[0];
        this.slots = slotsOf(start, window[1], candleLength(Math.max(60_000, Math.round(every / 60_000) * 60_000)));
        const rows = candles(this.slots, unfinished ? [...bars, unfinished] : bars);
        const open = unfinished && Math.floor((unfinished.timestamp - this.slots.start) / this.slots.length);
        this.span = pricesInView(rows, grid?.currentPrice, grid?.prices);
        this.silently(() => {
            const last = bars[bars.length - 1]?.close ?? grid?.currentPrice ?? 1;
            const minMove = 10 ** -Math.max(0, Math.min(10, 5 - Math.floor(Math.log10(last))));
            // The axis draws its own ticks, at round prices one step apart.
            const none = (prices: readonly number[]) => prices.map(() => "");
            const priceFormat = { type: "custom", formatter: price, tickmarksFormatter: none, minMove } as const;
            this.bars.applyOptions({ priceFormat });
            this.bars.setData(
                rows.map((row, i) => ({
                    ...row,
                    time: row.time as UTCTimestamp,
                    // A candle that is not finished is hollow.
                    ...(i === open
                        ? { color: "transparent", borderColor: this.look.faint, wickColor: this.look.faint }
                        : {}),
                })) as never,
            );
            this.hasBars = rows.some((row) => row.close !== undefined);
            const still = this.hasBars ? [] : rows.map((row) => ({ time: row.time as UTCTimestamp, value: last }));
            this.anchor.setData(still);
            this.anchor.applyOptions({ priceFormat });
            this.below.setData(rows.map((row) => ({ time: row.time as UTCTimestamp, value: 0 })));
            if (held) this.show(held);
            else this.fitTime();
        });
    }

    setColours(colours: { cmap: ColourMap } & Range): void {
        this.colours = colours;
        this.recolour();
    }

    private recolour(): void {
        const { coded, colours: wanted } = this;
        this.table =
            coded && wanted
                ? lookup(coded, wanted, colours(wanted.cmap, this.look.paper, wanted), this.look.unknown)
                : undefined;
        this.version++;
        this.redraw();
    }

    setStrips(strips: readonly StripSource[], share: number): void {
        const before = this.stripWidth();
        this.strips = strips;
        this.stripShare = share;
        this.version++;
        if (before !== this.stripWidth() && !this.moved) this.silently(() => this.fitTime());
        this.redraw();
    }

    setMarks(marks: Marks): void {
        this.marks = marks;
        this.redraw();
    }

    setRealised(stacks: Stacks | undefined, gaps: readonly Gap[]): void {
        this.stacks = stacks;
        this.gaps = gaps;
        this.redraw();
    }

    setSimulated(simulated: boolean): void {
        this.simulated = simulated;
        this.redraw();
    }

    setCell(cell: { row: number; column: number } | undefined): void {
        this.cell = cell;
        this.redraw();
    }

    setPrice(now: PriceNow | undefined): void {
        this.now = now;
        this.redraw();
    }

    /** From when on nothing is known, where that is long ago. */
    setStale(from: number | undefined): void {
        this.staleFrom = from;
        this.redraw();
    }

    /** How much of the height the map takes; the rest is for realised amounts. */
    fill(share: number): void {
        const [above, below] = this.chart.panes();
        above?.setStretchFactor(share * 1000);
        below?.setStretchFactor((1 - share) * 1000);
    }

    private redraw(): void {
        // An option that changes nothing makes a chart paint again.
        this.bars.applyOptions({});
    }

    // ---- what is in view

    private silently(work: () => void): void {
        this.quiet++;
        work();
        requestAnimationFrame(() => requestAnimationFrame(() => this.quiet--));
    }

    private stripWidth(): number {
        if (!this.strips.length) return 0;
        const width = this.chart.timeScale().width();
        return Math.round(Math.min(width * 0.9, Math.max(110, width * this.stripShare) * this.strips.length));
    }

    private fitTime(): void {
        const { slots } = this;
        if (!slots) return;
        const width = this.chart.timeScale().width();
        const side = this.stripWidth();
        const room = Math.max(40, width - side);
        this.chart
            .timeScale()
            .setVisibleLogicalRange({ from: -0.5, to: slots.count - 0.5 + (side * slots.count) / room });
    }

    fit(): void {
        this.moved = false;
        this.chosen = undefined;
        this.silently(() => {
            this.bars.priceScale().setAutoScale(true);
            this.fitTime();
        });
        this.out.moved({ t: undefined, p: undefined });
    }

    /** Time in view, left of the strip. */
    private visible(): Window {
        const { slots } = this;
        const seen = this.chart.timeScale().getVisibleLogicalRange();
        if (!slots || !seen) return { t: undefined, p: undefined };
        const width = this.chart.timeScale().width();
        const to = seen.from + (seen.to - seen.from) * (1 - this.stripWidth() / Math.max(1, width));
        const free = !this.bars.priceScale().options().autoScale;
        const range = free ? this.bars.priceScale().getVisibleRange() : null;
        return {
            t: [Math.round(instant(slots, seen.from)), Math.round(instant(slots, to))],
            p: range ? [Number(range.from.toPrecision(7)), Number(range.to.toPrecision(7))] : this.chosen,
        };
    }

    /** Time and prices in view, whether somebody chose them or not. */
    window(): Window {
        const { t, p } = this.visible();
        const seen = this.bars.priceScale().getVisibleRange();
        return { t, p: p ?? (seen ? [seen.from, seen.to] : undefined) };
    }

    show({ t, p }: Window): void {
        const { slots } = this;
        if (!slots) return;
        const wish = { t, p };
        this.wish = wish;
        requestAnimationFrame(() =>
            requestAnimationFrame(() => {
                if (this.wish === wish) this.wish = undefined;
            }),
        );
        this.silently(() => {
            if (t) {
                const [from, to] = [logical(slots, t[0]), logical(slots, t[1])];
                const width = this.chart.timeScale().width();
                const share = this.stripWidth() / Math.max(1, width);
                this.chart.timeScale().setVisibleLogicalRange({ from, to: from + (to - from) / (1 - share) });
                this.moved = true;
            }
            if (p) {
                this.choose(p);
                this.moved = true;
            }
        });
    }

    private changed(): void {
        if (this.quiet > 0 || !this.slots) return;
        requestAnimationFrame(() => {
            if (this.quiet > 0) return;
            const window = this.visible();
            const rest = this.rest();
            const [a, b] = [this.chart.timeScale().getVisibleLogicalRange(), rest];
            const stays = a && b && Math.abs(a.from - b.from) < 0.6 && Math.abs(a.to - b.to) < 0.6 && !window.p;
            this.moved = !stays;
            this.out.moved(stays ? { t: undefined, p: undefined } : window);
        });
    }

    private rest(): { from: number; to: number } | undefined {
        const { slots } = this;
        if (!slots) return undefined;
        const width = this.chart.timeScale().width();
        const side = this.stripWidth();
        return { from: -0.5, to: slots.count - 0.5 + (side * slots.count) / Math.max(40, width - side) };
    }

    pan(share: number): void {
        const seen = this.chart.timeScale().getVisibleLogicalRange();
        if (!seen) return;
        const by = (seen.to - seen.from) * share;
        this.chart.timeScale().setVisibleLogicalRange({ from: seen.from + by, to: seen.to + by });
    }

    zoom(factor: number): void {
        const seen = this.chart.timeScale().getVisibleLogicalRange();
        if (!seen) return;
        const length = (seen.to - seen.from) * factor;
        this.chart.timeScale().setVisibleLogicalRange({ from: seen.to - length, to: seen.to });
    }

    /** Moves and stretches the prices in view, in their logarithm. */
    zoomPrice(factor: number, shift = 0): void {
        const scale = this.bars.priceScale();
        const seen = scale.getVisibleRange();
        if (!seen || !(seen.from > 0)) return;
        const [low, high] = [Math.log(seen.from), Math.log(seen.to)];
        const middle = (low + high) / 2 + (high - low) * shift;
        const half = ((high - low) / 2) * factor;
        const [from, to] = [Math.exp(middle - half), Math.exp(middle + half)];
        this.choose([Number(from.toPrecision(7)), Number(to.toPrecision(7))]);
        this.changed();
    }

    private choose(prices: [number, number]): void {
        this.chosen = prices;
        this.bars.priceScale().setAutoScale(true);
        this.redraw();
    }

    /** Shows the prices of what is drawn again. */
    fitPrices(): void {
        this.chosen = undefined;
        this.redraw();
    }

    home(): void {
        const seen = this.chart.timeScale().getVisibleLogicalRange();
        if (seen) this.chart.timeScale().setVisibleLogicalRange({ from: -0.5, to: seen.to - seen.from - 0.5 });
    }

    end(): void {
        const seen = this.chart.timeScale().getVisibleLogicalRange();
        const rest = this.rest();
        if (seen && rest)
            this.chart.timeScale().setVisibleLogicalRange({ from: rest.to - (seen.to - seen.from), to: rest.to });
    }

    private wheel(event: WheelEvent): void {
        if (!event.shiftKey) return;
        event.preventDefault();
        event.stopPropagation();
        this.zoomPrice(Math.exp((event.deltaY || event.deltaX) / 600));
    }

    /** The instant and the price under the pointer; nothing below the map. */
    private placeAt(event: MouseEvent): (Place & { x: number; y: number }) | undefined {
        const { left, top } = this.box.getBoundingClientRect();
        const [x, y] = [event.clientX - left, event.clientY - top];
        const at = this.slotAt(x);
        const level = this.axis.coordinateToPrice(y) as number | null;
        const inside = y >= 0 && y < (this.chart.panes()[0]?.getHeight() ?? 0);
        if (!this.slots || !inside || at === undefined || level === null) return undefined;
        return { instant: instant(this.slots, at), price: level, x, y };
    }

    /** A drag with Alt measures; another press ends it. */
    private startMeasure(event: MouseEvent): void {
        if (event.button !== 0) return;
        this.endMeasure();
        const from = event.altKey && this.out.measured ? this.placeAt(event) : undefined;
        if (!from) return;
        event.preventDefault();
        event.stopPropagation();
        const move = (next: MouseEvent) => {
            const to = this.placeAt(next);
            if (!to) return;
            this.measure = { from, to, x: to.x, y: to.y };
            this.out.measured?.(this.measure);
            this.redraw();
        };
        const end = () => {
            removeEventListener("mousemove", move);
            removeEventListener("mouseup", end);
        };
        addEventListener("mousemove", move);
        addEventListener("mouseup", end);
    }

    endMeasure(): void {
        if (!this.measure) return;
        this.measure = undefined;
        this.out.measured?.(undefined);
        this.redraw();
    }

    private drawMeasure(context: Context): void {
        if (!this.measure) return;
        const { from, to } = this.measure;
        const [x, right] = [this.x(from.instant), this.x(to.instant)];
        const [y, bottom] = [from, to].map(({ price }) => this.axis.priceToCoordinate(price) ?? 0) as [number, number];
        context.globalAlpha = 0.25;
        context.fillStyle = this.look.now;
        context.fillRect(x, y, right - x, bottom - y);
        context.globalAlpha = 1;
        context.strokeStyle = this.look.now;
        context.strokeRect(x, y, right - x, bottom - y);
    }

    private hover(event: MouseEventParams, held = false): void {
        // A crosshair that is set from outside has no source event, and is no pointer.
        if (event.point && !event.sourceEvent) return;
        if (!held && this.held && !event.point) return;
        const { slots } = this;
        const pane = event.paneIndex ?? 0;
        const { point } = event;
        const value = point && (pane === 0 ? this.axis : this.below).coordinateToPrice(point.y);
        const at = point && this.slotAt(point.x);
        const known = slots && point && typeof value === "number" && at !== undefined;
        this.held = (held || this.touched) && Boolean(known);
        if (!known) {
            this.out.cursor(undefined);
            return;
        }
        const room = this.chart.timeScale().width() - this.stripWidth();
        const inside = point.x < room;
        const strip = inside ? undefined : Math.floor(((point.x - room) * this.strips.length) / this.stripWidth());
        const above = this.chart.panes()[0]?.getHeight() ?? 0;
        this.out.cursor({
            instant: instant(slots, at),
            price: value,
            pane,
            x: point.x,
            y: point.y + (pane === 0 ? 0 : above + 1),
            strip,
            order: pane === 0 && inside ? this.orderAt(point.x, point.y) : undefined,
            cascade: pane === 0 && inside && point.y > above - 18 ? this.cascadeAt(point.x) : undefined,
            held: this.held,
        });
    }

    /** The smallest order whose mark is at this place. */
    private orderAt(x: number, y: number): Order | undefined {
        let best: { order: Order; usd: number } | undefined;
        for (const order of this.marks.orders) {
            const usd = Number(order.value_usd);
            if (usd < this.marks.least || (best && best.usd <= usd)) continue;
            const up = this.axis.priceToCoordinate(Number(order.price));
            if (up !== null && Math.hypot(this.x(order.timestamp) - x, up - y) <= radiusOf(usd) + 2)
                best = { order, usd };
        }
        return best?.order;
    }

    private cascadeAt(x: number): Cascade | undefined {
        return this.marks.cascades.find(({ start, end }) => x >= this.x(start) - 2 && x <= this.x(end) + 3);
    }

    private slotAt(x: number): number | undefined {
        const scale = this.chart.timeScale();
        const [zero, one] = [scale.logicalToCoordinate(0 as Logical), scale.logicalToCoordinate(1 as Logical)];
        return zero === null || one === null ? undefined : (x - zero) / (one - zero);
    }

    private x(at: number): number {
        const { slots } = this;
        const scale = this.chart.timeScale();
        const [zero, one] = [scale.logicalToCoordinate(0 as Logical), scale.logicalToCoordinate(1 as Logical)];
        if (!slots || zero === null || one === null) return Number.NaN;
        return zero + logical(slots, at) * (one - zero);
    }

    picture(): HTMLCanvasElement {
        return this.chart.takeScreenshot(true, false);
    }

    // ---- painting

    private drawPlane(target: Target): void {
        target.useBitmapCoordinateSpace((scope) => {
            const { context, bitmapSize, horizontalPixelRatio: kx, verticalPixelRatio: ky } = scope;
            const { grid, coded, table } = this;
            context.fillStyle = this.look.plane;
            context.fillRect(0, 0, bitmapSize.width, bitmapSize.height);
            if (!grid || !coded || !table) return;
            const height = bitmapSize.height;
            const place = (y: number) =>
                placeOf(grid, (this.axis.coordinateToPrice((y / ky) as never) as number | null) ?? 0);
            const key = `${height} ${place(0)} ${place(height)} ${place(height / 2)}`;
            if (this.built?.key !== key || this.built.lines.length !== height * grid.columns || !this.built.table) {
                const rows = bands(height, place);
                this.built = { key, rows, lines: squeeze(coded, rows), image: undefined, table: undefined };
            }
            const edges = Array.from({ length: grid.columns }, (_, c) => this.x(spanOf(grid, c)[0]) * kx);
            edges.push(this.x(grid.times[grid.columns - 1] ?? 0) * kx);
            context.imageSmoothingEnabled = false;
            const [from = 0, next = 0] = edges;
            if (next - from >= 1) this.blit(context, edges, height, table);
            else this.condense(context, edges, height, table, bitmapSize.width);
            this.hatchUnknown(context, edges, height);
            if (this.staleFrom === undefined) return;
            // What is old is dim.
            context.globalAlpha = 0.5;
            context.fillStyle = this.look.ground;
            context.fillRect(0, 0, bitmapSize.width, bitmapSize.height);
            context.globalAlpha = 1;
        });
    }

    /** One column of the bitmap for each column of the map; the last may be shorter. */
    private blit(context: Context, edges: number[], height: number, table: Uint32Array): void {
        const built = this.built;
        if (!built) return;
        const columns = edges.length - 1;
        if (!built.image || built.table !== table) {
            built.image = canvasOf(built.lines, columns, height, table);
            built.table = table;
        }
        const [from = 0] = edges;
        const whole = edges[columns - 1] ?? from;
        const end = edges[columns] ?? whole;
        if (columns > 1) context.drawImage(built.image, 0, 0, columns - 1, height, from, 0, whole - from, height);
        context.drawImage(built.image, columns - 1, 0, 1, height, whole, 0, end - whole, height);
    }

    /** Columns thinner than a pixel: the strongest of each pixel. */
    private condense(context: Context, edges: number[], height: number, table: Uint32Array, width: number): void {
        const built = this.built;
        if (!built) return;
        const columns = edges.length - 1;
        const left = Math.max(0, Math.floor(edges[0] ?? 0));
        const right = Math.min(width, Math.ceil(edges[columns] ?? 0));
        if (right <= left) return;
        const starts = new Int32Array(right - left + 1);
        for (let x = left, c = 0; x <= right; x++) {
            while (c < columns && (edges[c + 1] ?? 0) <= x) c++;
            starts[x - left] = c;
        }
        const codes = narrow(built.lines, columns, starts);
        context.drawImage(canvasOf(codes, right - left, height, table), left, 0);
        built.table = table;
    }

    /** Whole columns of which nothing is known are hatched. */
    private hatchUnknown(context: Context, edges: number[], height: number): void {
        const { grid } = this;
        if (!grid) return;
        let begin = -1;
        for (let c = 0; c <= grid.columns; c++) {
            const unknown = c < grid.columns && Number.isNaN(grid.values[c * grid.rows] ?? 0);
            if (unknown && begin < 0) begin = c;
            if (unknown || begin < 0) continue;
            const [from = 0, to = 0] = [edges[begin], edges[c]];
            hatch(context, from, 0, to - from, height, this.look.hatch);
            begin = -1;
        }
    }

    private drawOver(target: Target): void {
        target.useMediaCoordinateSpace(({ context, mediaSize }) => {
            const { width, height } = mediaSize;
            const side = this.stripWidth();
            const room = width - side;
            this.drawGaps(context, height);
            this.drawStale(context, room, height);
            this.drawMarks(context, room);
            this.drawCell(context);
            this.drawPriceLine(context, room);
            // Below the labels, which have to be read.
            if (this.simulated) watermark(context, "SIMULATED", room / 2, height * 0.82, room);
            this.drawLevels(context, room, height);
            if (side) this.drawStrips(context, room, side, height);
            this.drawMeasure(context);
        });
    }

    private drawGaps(context: Context, height: number): void {
        for (const gap of this.gaps) {
            const [from, to] = [this.x(gap.start), this.x(gap.end)];
            hatch(context, from, height - 7, Math.max(2, to - from), 7, this.look.hatch);
        }
    }

    private drawStale(context: Context, room: number, height: number): void {
        if (this.staleFrom === undefined) return;
        const from = this.x(this.staleFrom);
        hatch(context, from, 0, Math.max(0, room - from), height, this.look.hatch);
    }

    private drawMarks(context: Context, room: number): void {
        const { orders, cascades, least } = this.marks;
        for (const order of orders) {
            const usd = Number(order.value_usd);
            if (usd < least) continue;
            const x = this.x(order.timestamp);
            const y = this.axis.priceToCoordinate(Number(order.price));
            if (y === null || !(x > -20 && x < room + 20)) continue;
            mark(context, x, y, usd, order.side, this.look);
        }
        for (const cascade of cascades) {
            const [from, to] = [this.x(cascade.start), this.x(cascade.end)];
            if (!(to > -20 && from < room + 20)) continue;
            const height = this.chart.panes()[0]?.getHeight() ?? 0;
            context.fillStyle = cascade.side === "LONG" ? this.look.long : this.look.short;
            context.fillRect(from - 1, height - 14, Math.max(3, to - from + 2), 5);
        }
    }

    private drawLevels(context: Context, room: number, height: number): void {
        context.save();
        context.font = `11px ${FONT}`;
        context.textBaseline = "middle";
        context.textAlign = "right";
        const place = (level: number) => this.axis.priceToCoordinate(level) as number | null;
        for (const { price: at, side } of this.marks.levels) {
            const y = place(at);
            if (y === null) continue;
            context.strokeStyle = side === "long" ? this.look.long : this.look.short;
            context.setLineDash([3, 3]);
            context.beginPath();
            context.moveTo(room - 24, Math.round(y) + 0.5);
            context.lineTo(room, Math.round(y) + 0.5);
            context.stroke();
        }
        context.setLineDash([]);
        for (const { label, at, y } of placed(this.marks.levels, place, 0, height - 16, room < 500 ? 4 : 12)) {
            const colour = label.side === "long" ? this.look.long : this.look.short;
            const length = context.measureText(label.text).width;
            context.strokeStyle = colour;
            context.beginPath();
            context.moveTo(room - 24, at);
            context.lineTo(room - 30, y);
            context.stroke();
            context.fillStyle = this.look.plate;
            context.fillRect(room - 38 - length, y - 7, length + 8, 14);
            context.fillStyle = colour;
            context.fillRect(room - 32, y - 7, 2, 14);
            context.fillStyle = this.look.text;
            context.fillText(label.text, room - 35, y);
        }
        context.restore();
    }

    private drawPriceLine(context: Context, room: number): void {
        const y = this.now && this.axis.priceToCoordinate(this.now.value);
        if (typeof y !== "number") return;
        context.save();
        context.beginPath();
        context.moveTo(0, Math.round(y) + 0.5);
        context.lineTo(room, Math.round(y) + 0.5);
        // Dark between the dots, so that it can be read on every colour.
        for (const [colour, dash] of [
            [this.look.plate, []],
            [this.look.now, [2, 3]],
        ] as const) {
            context.strokeStyle = colour;
            context.setLineDash([...dash]);
            context.stroke();
        }
        context.restore();
    }

    /** Ticks of the price axis, and the box with the current price. */
    private drawAxis(target: Target): void {
        target.useMediaCoordinateSpace(({ context, mediaSize: { width, height } }) => {
            context.save();
            context.font = `11px ${FONT}`;
            context.textBaseline = "middle";
            context.textAlign = "left";
            const { now } = this;
            const at = now ? (this.axis.priceToCoordinate(now.value) as number | null) : null;
            const tall = now?.age === undefined ? 18 : 32;
            const middle = at === null ? Number.NaN : Math.max(tall / 2, Math.min(height - tall / 2, at));
            const scale = this.bars.priceScale();
            const seen = scale.getVisibleRange();
            if (seen && scale.options().mode !== PriceScaleMode.Percentage) {
                const place = (level: number) => (this.axis.priceToCoordinate(level) as number | null) ?? Number.NaN;
                context.fillStyle = this.look.faint;
                const { prices, decimals } = roundTicks(seen.from, seen.to, height, place);
                for (const level of prices) {
                    const y = place(level);
                    if (y < 7 || y > height - 7 || Math.abs(y - middle) < tall / 2 + 8) continue;
                    context.fillText(exact(level.toFixed(decimals)), 6, y);
                    context.fillRect(0, Math.round(y), 3, 1);
                }
            }
            if (now && !Number.isNaN(middle)) {
                context.fillStyle = this.look.now;
                context.fillRect(0, middle - tall / 2, width, tall);
                context.fillStyle = this.look.onNow;
                context.font = `600 11px ${FONT}`;
                // An arrow where the price is outside the prices in view.
                const arrow = at !== null && at < 0 ? "↑ " : at !== null && at > height ? "↓ " : "";
                context.fillText(`${arrow}${price(now.value)}`, 5, now.age === undefined ? middle : middle - 7);
                if (now.age !== undefined) {
                    context.font = `10px ${FONT}`;
                    context.fillText(now.age, 5, middle + 8, width - 6);
                }
            }
            context.restore();
        });
    }

    private drawCell(context: Context): void {
        const { grid, cell } = this;
        if (!grid || !cell) return;
        const [from, to] = spanOf(grid, cell.column).map((at) => this.x(at)) as [number, number];
        const [low, high] = bandOf(grid, cell.row);
        const top = this.axis.priceToCoordinate(high);
        const bottom = this.axis.priceToCoordinate(low);
        if (top === null || bottom === null) return;
        context.strokeStyle = this.look.text;
        context.lineWidth = 1.5;
        context.strokeRect(from - 1, top - 1, to - from + 2, bottom - top + 2);
    }

    private drawStrips(context: Context, x: number, width: number, height: number): void {
        const edges = new Float64Array(height + 1);
        for (let y = 0; y <= height; y++) edges[y] = (this.axis.coordinateToPrice(y as never) as number | null) ?? 0;
        const ratio = window.devicePixelRatio || 1;
        const key = `${this.version} ${width} ${height} ${ratio} ${edges[0]} ${edges[height]} ${edges[height >> 1]}`;
        if (this.painted?.key !== key) {
            const canvas = new OffscreenCanvas(Math.ceil(width * ratio), Math.ceil(height * ratio));
            const own = canvas.getContext("2d") as unknown as Context;
            own.scale(ratio, ratio);
            const each = width / this.strips.length;
            const scales: StripScale[] = [];
            for (const [i, source] of this.strips.entries()) {
                scales.push(strip(own, source, edges, { x: i * each, width: each, height }, this.look));
            }
            this.painted = { key, canvas };
            const said = JSON.stringify(scales);
            if (said !== this.scales) {
                this.scales = said;
                requestAnimationFrame(() => this.out.scales?.(scales));
            }
        }
        context.drawImage(this.painted.canvas, x, 0, width, height);
    }

    private drawRealised(target: Target): void {
        target.useMediaCoordinateSpace(({ context, mediaSize }) => {
            const { width, height } = mediaSize;
            const room = width - this.stripWidth();
            const { stacks: shown } = this;
            const y = (usd: number) => this.below.priceToCoordinate(usd) ?? height / 2;
            if (shown) {
                for (const stack of shown.stacks) {
                    const [from, to] = [this.x(stack.start), this.x(stack.start + shown.length)];
                    if (!(to > 0 && from < room)) continue;
                    if (stack.covered < 1) hatch(context, from, 0, to - from, height, this.look.hatch);
                    this.stack(context, stack.shorts, from, to, y, 1);
                    this.stack(context, stack.longs, from, to, y, -1);
                }
            }
            context.strokeStyle = this.look.faint;
            context.lineWidth = 1;
            context.beginPath();
            context.moveTo(0, Math.round(y(0)) + 0.5);
            context.lineTo(room, Math.round(y(0)) + 0.5);
            context.stroke();
            context.fillStyle = this.look.ground;
            context.fillRect(room, 0, width - room, height);
            if (shown && height < SMALL) {
                // So low an axis has no numbers but 0.
                context.font = `11px ${FONT}`;
                context.fillStyle = this.look.faint;
                context.fillText(`to ${plain(short(shown.most))} USD`, 4, 12);
            }
            if (shown && width - room > 80) this.names(context, shown, room + 8, height);
        });
    }

    private stack(
        context: Context,
        values: readonly number[],
        from: number,
        to: number,
        y: (usd: number) => number,
        sign: number,
    ): void {
        let reached = 0;
        const width = Math.max(1, to - from - (to - from > 4 ? 1 : 0));
        for (const [i, usd] of values.entries()) {
            const [a, b] = [y(sign * reached), y(sign * (reached + usd))];
            context.fillStyle = groupColour(i);
            context.fillRect(from, Math.min(a, b), width, Math.abs(a - b));
            reached += usd;
        }
        if (sum(values) <= 0) return;
        // The side is lines by an edge in its colour as well as by its direction.
        context.fillStyle = sign > 0 ? this.look.short : this.look.long;
        const top = y(sign * reached);
        context.fillRect(from, sign > 0 ? top - 1 : top, width, 2);
    }

    private names(context: Context, shown: Stacks, x: number, height: number): void {
        context.save();
        context.font = `11px ${FONT}`;
        context.textBaseline = "middle";
        const fits = Math.floor((height - 8) / 15);
        for (const [i, name] of shown.names.slice(0, fits).entries()) {
            context.fillStyle = groupColour(i);
            context.fillRect(x, 8 + i * 15, 10, 10);
            context.fillStyle = this.look.text;
            context.fillText(name, x + 15, 13.5 + i * 15);
        }
        context.restore();
    }

    /** Where the middle of a cell is on the page, for tests and for the keyboard's crosshair. */
    point(row: number, column: number): { x: number; y: number } | undefined {
        const { grid } = this;
        if (!grid) return undefined;
        const [from, to] = spanOf(grid, column);
        const y = this.axis.priceToCoordinate(grid.prices[row] ?? 0);
        return y === null ? undefined : { x: (this.x(from) + this.x(to)) / 2, y };
    }

    reveal(at: number, level: number): void {
        const { slots } = this;
        if (!slots) return;
        const slot = Math.floor((at - slots.start) / slots.length);
        const time = (slots.start + Math.max(0, Math.min(slots.count - 1, slot)) * slots.length) / 1000;
        this.chart.setCrosshairPosition(level, time as UTCTimestamp, this.axis);
    }
}

function canvasOf(codes: Uint16Array, width: number, height: number, table: Uint32Array): OffscreenCanvas {
    const canvas = new OffscreenCanvas(width, height);
    const image = new ImageData(width, height);
    paint(codes, table, new Uint32Array(image.data.buffer));
    canvas.getContext("2d")?.putImageData(image, 0, 0);
    return canvas;
}

function primitive(
    layers: ["bottom" | "normal", (target: Target) => void][],
    axis?: (target: Target) => void,
): ISeriesPrimitive<Time> {
    const views: IPrimitivePaneView[] = layers.map(([order, draw]) => ({
        zOrder: () => order,
        renderer: () => ({ draw }),
    }));
    const beside: IPrimitivePaneView[] = axis ? [{ renderer: () => ({ draw: axis }) }] : [];
    return { paneViews: () => views, priceAxisPaneViews: () => beside };
}
