// The order tape: newest on top, drawn only where it is in view, still while somebody reads it.
import { useEffect, useRef, useState } from "preact/hooks";
import { known, pause, paused, shown, type TapeRow, waiting } from "../view/feed";
import { clock, exact, short } from "../view/numbers";
import { quiet } from "../view/shown";
import { change, stream, view } from "../view/state";

const HEIGHT = 22;

function Row({ row, top }: { row: TapeRow; top: number }) {
    const zone = view.value.tz;
    const style = { transform: `translateY(${top}px)` };
    if (row.kind === "line") {
        return (
            <div class="row line" style={style}>
                {row.text}
            </div>
        );
    }
    if (row.kind === "cascade") {
        const { coin, side, usd, cnt, exchanges } = row.cascade;
        return (
            <div class={`row cascade ${side.toLowerCase()}`} style={style}>
                <span>{clock(row.at, zone, true)}</span>
                <strong>CASCADE</strong> {coin} {side} ≥ {short(Number(usd))} · {cnt} orders · {exchanges} exchanges
            </div>
        );
    }
    const { exchange, symbol, side, price, value_usd } = row.order;
    return (
        <div class={`row ${side.toLowerCase()} ${row.usd >= 1e6 ? "large" : ""}`} style={style}>
            <span>{clock(row.at, zone, true)}</span>
            <span>{exchange}</span>
            <span class="symbol">{symbol}</span>
            <span class="side">{side}</span>
            <span class="number">{exact(price)}</span>
            <span class="number" title={`${exact(value_usd)} USD`}>
                {short(row.usd)}
            </span>
        </div>
    );
}

function emptyTape(least: number): string {
    if (!known.value) return "The orders are not known yet.";
    return least > 0 ? `No order of at least ${short(least)} USD is known here.` : quiet.value;
}

export function Tape() {
    const box = useRef<HTMLDivElement>(null);
    const [view0, setView] = useState({ top: 0, height: 400 });
    const [held, hold] = useState(false);
    const rows = shown.value;
    useEffect(() => {
        const element = box.current;
        if (!element) return;
        const measure = () => setView({ top: element.scrollTop, height: element.clientHeight });
        const watch = new ResizeObserver(measure);
        watch.observe(element);
        element.addEventListener("scroll", measure, { passive: true });
        return () => {
            watch.disconnect();
            element.removeEventListener("scroll", measure);
        };
    }, []);
    const from = Math.max(0, Math.floor(view0.top / HEIGHT) - 4);
    const to = Math.min(rows.length, Math.min(from + 60, Math.ceil((view0.top + view0.height) / HEIGHT) + 4));
    const { min_usd, coin, symbol, tz } = view.value;
    const stays = (on: boolean) => !held && pause(on);
    return (
        <section class="tape" aria-label="realised orders as they arrive">
            <h2>
                Orders <small>realised, USD, {tz === "utc" ? "UTC" : "local time"}</small>
            </h2>
            <form class="filters" onSubmit={(event) => event.preventDefault()}>
                <label>
                    ≥{" "}
                    <input
                        type="number"
                        min="0"
                        step="1000"
                        value={min_usd}
                        aria-label="least USD of an order"
                        onChange={(event) => change({ min_usd: Math.max(0, Number(event.currentTarget.value) || 0) })}
                    />{" "}
                    USD
                </label>
                <button
                    type="button"
                    aria-pressed={coin === "all"}
                    onClick={() => change({ coin: coin === "all" ? "one" : "all" })}
                >
                    {coin === "all" ? "all coins" : symbol}
                </button>
                <button
                    type="button"
                    aria-pressed={held}
                    onClick={() => {
                        hold(!held);
                        pause(!held);
                    }}
                >
                    {paused.value ? `paused${waiting.value ? `, ${waiting.value} new` : ""}` : "pause"}
                </button>
            </form>
            <div
                ref={box}
                class="rows"
                role="log"
                aria-live="off"
                aria-label="orders"
                tabIndex={0}
                onPointerEnter={() => stays(true)}
                onPointerLeave={() => stays(false)}
                onFocus={() => stays(true)}
                onBlur={() => stays(false)}
            >
                <div class="all" style={{ height: `${rows.length * HEIGHT}px` }}>
                    {rows.slice(from, to).map((row, i) => (
                        <Row key={row.id} row={row} top={(from + i) * HEIGHT} />
                    ))}
                </div>
                {!rows.length && <p class="faint">{emptyTape(min_usd)}</p>}
            </div>
            {stream.value.is === "offline" && (
                <p class="trouble">The tape stands still while there is no connection.</p>
            )}
        </section>
    );
}
