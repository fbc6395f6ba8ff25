// Totals, ranking and coverage.

import type { Gap } from "../data/types";
import { isModelled } from "../view/address";
import { duration, percent, short } from "../view/numbers";
import { coinOrder } from "../view/rank";
import { coveredShare, gapsShown } from "../view/shown";
import {
    change,
    coins,
    coverage,
    covers,
    damaged,
    gaps,
    LENGTH,
    liqmap,
    overview,
    undercount,
    view,
    windowOf,
} from "../view/state";
import { dialog } from "./dialogs";
import { State } from "./parts";

export function Totals() {
    const asked = windowOf(overview.region.value);
    // The windows of the contract come all at once.
    const name = asked.start === undefined && view.value.range === "12h" ? "12h" : asked.name;
    const rows = undercount.region.value.body?.data;
    const total = (key: "low_usd" | "high_usd") =>
        rows?.reduce((sum, row) => sum + (row[key] ?? Number(row.observed_usd)), 0);
    const [low, high] = [total("low_usd"), total("high_usd")];
    return (
        <section class="totals" aria-label="totals of realised liquidations">
            <h2>
                Realised, all coins, {name} <small>lower bound</small>
            </h2>
            <State of={overview.region.value}>
                {({ data }) => {
                    const [day, hour] = [data[name] ?? Object.values(data).at(-1), data["1h"]];
                    if (!day || day.total_usd === null || coveredShare.value === 0) {
                        return <p class="big">Nobody listened: no totals.</p>;
                    }
                    return (
                        <>
                            <p class="big" title={`${day.total_usd} USD`}>
                                ≥ {short(day.total_usd)} USD
                            </p>
                            <p>
                                <span class="long">longs ≥ {short(day.long_usd ?? 0)}</span> ·{" "}
                                <span class="short">shorts ≥ {short(day.short_usd ?? 0)}</span> ·{" "}
                                {day.cnt?.toLocaleString("en")} orders
                                {hour?.total_usd != null && (
                                    <>
                                        {" · "}
                                        <span class="number">1h ≥ {short(hour.total_usd)}</span>
                                    </>
                                )}
                            </p>
                            {low !== undefined && high !== undefined && (
                                <p class="faint">
                                    {high > low * 1.001
                                        ? `est. ${short(low)}–${short(high)} USD with what samples leave out`
                                        : "no exchange of these is known to leave orders out"}
                                    {coveredShare.value !== undefined &&
                                        ` · ${percent(coveredShare.value)} of the time covered`}
                                </p>
                            )}
                        </>
                    );
                }}
            </State>
        </section>
    );
}

export function Ranking() {
    return (
        <section class="ranking" aria-label="coins by realised liquidations">
            <h2>
                Coins, {windowOf(coins.region.value).name} <small>realised, lower bound, USD</small>
            </h2>
            <State of={coins.region.value}>
                {({ data }) => {
                    const rows = coinOrder(data);
                    const most = Math.max(1, ...rows.map((row) => row.total_usd ?? 0));
                    if (!rows.length) return <p class="faint">No orders in this time.</p>;
                    return (
                        <table>
                            <thead class="hidden">
                                <tr>
                                    <th scope="col">coin</th>
                                    <th scope="col">share</th>
                                    <th scope="col">longs</th>
                                    <th scope="col">shorts</th>
                                    <th scope="col">total</th>
                                </tr>
                            </thead>
                            <tbody>
                                {rows.map((row) => (
                                    <tr key={row.coin} aria-current={row.coin === view.value.symbol}>
                                        <th scope="row">
                                            <button
                                                type="button"
                                                class="plain"
                                                onClick={() => change({ symbol: row.coin }, true)}
                                            >
                                                {row.coin}
                                            </button>
                                        </th>
                                        <td class="bars">
                                            <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
                                                <rect
                                                    class="long"
                                                    width={(100 * (row.long_usd ?? 0)) / most}
                                                    height="8"
                                                />
                                                <rect
                                                    class="short"
                                                    x={(100 * (row.long_usd ?? 0)) / most}
                                                    width={(100 * (row.short_usd ?? 0)) / most}
                                                    height="8"
                                                />
                                            </svg>
                                        </td>
                                        <td class="long">{short(row.long_usd ?? 0)}</td>
                                        <td class="short">{short(row.short_usd ?? 0)}</td>
                                        <td title={String(row.total_usd)}>{short(row.total_usd ?? 0)}</td>
                                    </tr>
                                ))}
                            </tbody>
                        </table>
                    );
                }}
            </State>
        </section>
    );
}

/** What the estimate has near the price, of everything and not only of the rows that are shown. */
export function Near() {
    const body = liqmap.region.value.body;
    if (!body?.within || !isModelled(view.value.source)) return null;
    const unlike = body.units === "relative";
    const { outside } = body;
    return (
        <section class="near" aria-label="estimate near the price">
            <h2>
                Estimate near the price{" "}
                <small>
                    {unlike ? "relative amounts" : "USD"}, whole map {body.range}
                </small>
            </h2>
            <table>
                <thead>
                    <tr>
                        <th scope="col">within</th>
                        {Object.keys(body.within).map((name) => (
                            <th scope="col" key={name}>
                                {name} %
                            </th>
                        ))}
                        <th scope="col">not shown</th>
                    </tr>
                </thead>
                <tbody>
                    {(["long_usd", "short_usd"] as const).map((side) => (
                        <tr key={side}>
                            <th scope="row">est. {side === "long_usd" ? "longs" : "shorts"}</th>
                            {Object.entries(body.within ?? {}).map(([name, sides]) => (
                                <td key={name}>{short(sides[side])}</td>
                            ))}
                            <td>{outside ? short(outside[side]) : ""}</td>
                        </tr>
                    ))}
                    {body.exact && (
                        <tr>
                            <th scope="row">known positions</th>
                            {Object.keys(body.within).map((name) => (
                                <td key={name}>{percent(body.exact?.within[name] ?? 0)}</td>
                            ))}
                            <td />
                        </tr>
                    )}
                </tbody>
            </table>
        </section>
    );
}

function gapsText(count: number | undefined): string {
    if (count === undefined) return "gaps are not known";
    return count === 0 ? "no gaps" : `${count} ${count === 1 ? "gap" : "gaps"}`;
}

const WORDS: Record<string, string> = { complete: "all orders", sampled: "a sample", unknown: "unknown share" };

export function CoverageStrip() {
    const asked = windowOf(coverage.region.value);
    const end = covers.value?.[1];
    const length = duration(LENGTH[asked.name] ?? "");
    const begin = asked.start ?? (end !== undefined && length !== undefined ? end - length : undefined);
    const covered = begin !== undefined && end !== undefined ? [begin, end] : undefined;
    const inWindow = (gap: Gap) => !covered || (gap.end > (covered[0] ?? 0) && gap.start < (covered[1] ?? 0));
    const shown = gapsShown.value.filter(inWindow);
    return (
        <section class="coverage" aria-label="coverage">
            <h2>
                Coverage <small>who was listened to, {asked.name}</small>
                {damaged.value > 0 && (
                    <button type="button" class="damage" onClick={() => (dialog.value = "gaps")}>
                        {damaged.value} files damaged: rows are missing
                    </button>
                )}
                <button type="button" class="plain" onClick={() => (dialog.value = "gaps")}>
                    {gapsText(gaps.region.value.body && shown.length)}
                </button>
            </h2>
            <State of={coverage.region.value}>
                {({ data }) => (
                    <ul>
                        {data.map((row) => (
                            <li key={row.exchange}>
                                <span class="who">{row.exchange}</span>
                                <svg class="strip" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">
                                    <defs>
                                        <pattern
                                            id="hatch"
                                            width="8"
                                            height="10"
                                            patternUnits="userSpaceOnUse"
                                            patternTransform="skewX(-35)"
                                        >
                                            <rect width="3" height="10" />
                                        </pattern>
                                    </defs>
                                    <rect class={row.connected_share ? "heard" : "unheard"} width="1000" height="10" />
                                    {covered &&
                                        shown
                                            .filter((gap) => gap.exchange === row.exchange)
                                            .map((gap) => {
                                                const [from = 0, to = 1] = covered;
                                                const at = (x: number) =>
                                                    Math.max(0, Math.min(1000, (1000 * (x - from)) / (to - from)));
                                                const width = Math.max(3, at(gap.end) - at(gap.start));
                                                return (
                                                    <g key={gap.start}>
                                                        <rect
                                                            class="unheard"
                                                            x={at(gap.start)}
                                                            width={width}
                                                            height="10"
                                                        />
                                                        <rect
                                                            class="hatched"
                                                            x={at(gap.start)}
                                                            width={width}
                                                            height="10"
                                                        />
                                                        <title>{gap.reason}</title>
                                                    </g>
                                                );
                                            })}
                                </svg>
                                <span class="share">
                                    {row.connected_share == null ? "unknown" : percent(row.connected_share)} ·{" "}
                                    {WORDS[row.completeness] ?? row.completeness}
                                </span>
                            </li>
                        ))}
                        {!data.length && (
                            <li class="faint">
                                Nobody is known to have listened: what is missing from the totals is not known.
                            </li>
                        )}
                    </ul>
                )}
            </State>
        </section>
    );
}
