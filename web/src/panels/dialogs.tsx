// Dialogs: help, what an estimate assumes, and tables of what charts show.
import { signal } from "@preact/signals";
import { isRecorded } from "../view/address";
import { moment, percent, price, short, zoneName } from "../view/numbers";
import { clusters, label, realised, secondStrips, sides, strips, unit } from "../view/shown";
import { gaps, grid, levels, notices, pain, ready, view } from "../view/state";
import { Dialog } from "./parts";

export const dialog = signal<"" | "help" | "about" | "clusters" | "map" | "realised" | "gaps">("");
const close = () => {
    dialog.value = "";
};

const KEYS: [string, string][] = [
    ["← →", "earlier, later"],
    ["↑ ↓", "higher, lower prices"],
    ["+ −", "zoom time"],
    ["Shift + ← → ↑ ↓", "go from cell to cell"],
    ["Home, End, 0", "first, newest, all"],
    ["[ ]", "lower, raise the threshold"],
    ["c, v", "coin, exchange"],
    ["1 … 9", "range"],
    ["m, s, x", "model, source, what it is compared with"],
    ["Space", "pause the tape"],
    ["l, u, d", "price axis, UTC or local, dark or light"],
    ["t", "the map as a table"],
    ["y", "copy the address"],
    ["?, Esc", "this help, close"],
];

function Help() {
    return (
        <Dialog name="Help" onClose={close}>
            <p>
                <strong>ESTIMATE</strong> is computed from prices and open interest. <strong>MEASURED</strong> are
                positions of accounts that were seen. <strong>REALISED</strong> are orders that exchanges published: a
                lower bound. <strong>AS SERVED</strong> is a map as it was answered at that time, by this server or by
                the service that is named.
            </p>
            <p>
                A pixel shows the strongest cell in it. Cells below the threshold are not drawn. Hatching means: not
                known. The map's amounts are compared inside one map only; its colours stay until you fit them.
            </p>
            <p>Drag moves, the wheel zooms time, Shift and wheel zoom prices, a double click shows all.</p>
            <table>
                <tbody>
                    {KEYS.map(([keys, meaning]) => (
                        <tr key={keys}>
                            <th scope="row">{keys}</th>
                            <td>{meaning}</td>
                        </tr>
                    ))}
                </tbody>
            </table>
        </Dialog>
    );
}

function About() {
    const lines = label.value;
    return (
        <Dialog name="What this map assumes" onClose={close}>
            {lines.map((line) => (
                <p key={line}>{line}</p>
            ))}
            {isRecorded(view.value.source) ? (
                <p>
                    It is shown as {view.value.source} served it. How it was computed is not known here. It does not say
                    where the price goes.
                </p>
            ) : (
                <>
                    <p>
                        Nobody's positions are read for an estimate. It spreads open interest over assumed leverages,
                        maintenance margins and lifetimes of positions, along the prices that were traded. A level may
                        hold much more or much less. It does not say where the price goes.
                    </p>
                    <p>A column is what the map was at that instant; later bars do not change it.</p>
                    <Assumed />
                </>
            )}
        </Dialog>
    );
}

/** The numbers of the model that is shown. */
function Assumed() {
    const known = grid.value?.explain;
    if (!known?.tiers) return null;
    const zone = view.value.tz;
    const { tiers, weights = [], clocks = [], maintenanceMargins = [], locatedShare, kappa, fit } = known;
    const margins = [...new Set(maintenanceMargins)].map(percent).join(", ");
    const both = (shares: [number, number]) => `${percent(shares[0])} of longs, ${percent(shares[1])} of shorts`;
    const facts: [string, string][] = [
        ["amounts", kappa ? "USD expected to be reported by exchanges" : "USD of open interest exposed"],
        ["maintenance margin", margins],
        ["holding", clocks.map(([share, rate]) => `${percent(share)} change hands ${rate} times a day`).join(", ")],
    ];
    if (locatedShare) facts.push(["open interest on the map", both(locatedShare)]);
    if (kappa) facts.push(["share that is reported", both(kappa)]);
    if (fit) {
        const as = fit.asOf === undefined ? "" : `, as of ${moment(fit.asOf, zone)} ${zoneName(fit.asOf, zone)}`;
        facts.push(["fit", `${fit.state} to ${fit.periods ?? "unknown"} periods of ${fit.from ?? "orders"}${as}`]);
        if (fit.score !== undefined)
            facts.push(["score", `${fit.score.toFixed(2)} nats for each realised USD above the path alone`]);
        if (fit.interval)
            facts.push([
                "interval",
                `the middle ${percent(fit.interval.share)} of what was realised for each USD of estimate`,
            ]);
    }
    facts.push(["model", known.modelVersion ?? "unknown"]);
    return (
        <>
            <table>
                <caption>What model {known.modelNumber ?? view.value.model} assumes</caption>
                <tbody>
                    {facts.map(([name, value]) => (
                        <tr key={name}>
                            <th scope="row">{name}</th>
                            <td>{value}</td>
                        </tr>
                    ))}
                </tbody>
            </table>
            <table>
                <caption>Share of new positions by leverage</caption>
                <tbody>
                    {tiers.map((tier, i) => (
                        <tr key={tier}>
                            <th scope="row">{tier}×</th>
                            <td>{percent(weights[i] ?? Number.NaN)}</td>
                        </tr>
                    ))}
                </tbody>
            </table>
        </>
    );
}

function Clusters() {
    return (
        <Dialog name={`Largest clusters of the map, ${view.value.symbol}`} onClose={close}>
            {clusters.value.map(({ words, amount, rows }) => (
                <table key={words[0]}>
                    <caption>{words.join(" · ")}</caption>
                    <thead>
                        <tr>
                            <th scope="col">price from</th>
                            <th scope="col">to</th>
                            <th scope="col">side</th>
                            <th scope="col">{amount}</th>
                        </tr>
                    </thead>
                    <tbody>
                        {rows.map(({ side, low_price, high_price, amount }) => (
                            <tr key={`${side}${low_price}`}>
                                <td>{price(low_price)}</td>
                                <td>{price(high_price)}</td>
                                <td>{side.toLowerCase()}</td>
                                <td title={String(amount)}>{short(amount)}</td>
                            </tr>
                        ))}
                    </tbody>
                </table>
            ))}
            {!isRecorded(view.value.source) && <Headlines />}
        </Dialog>
    );
}

export function Headlines() {
    const found = pain.region.value.body?.data;
    const tiers = levels.region.value.body?.data.tiers;
    return (
        <>
            {found && (
                <table>
                    <caption>Estimated max pain</caption>
                    <tbody>
                        {(["d1", "d7"] as const).flatMap((days) =>
                            sides(found[days]).map(([side, { price: at, distPct, usd }]) => (
                                <tr key={days + side}>
                                    <th scope="row">
                                        {days === "d1" ? "1 day" : "7 days"}, {side}
                                    </th>
                                    <td>{price(at)}</td>
                                    <td>{distPct.toFixed(1)} %</td>
                                    <td>
                                        est. {short(usd)}
                                        {unit.value}
                                    </td>
                                </tr>
                            )),
                        )}
                    </tbody>
                </table>
            )}
            {tiers && (
                <table>
                    <caption>Estimated levels by leverage</caption>
                    <tbody>
                        {Object.entries(tiers).map(([tier, level]) => (
                            <tr key={tier}>
                                <th scope="row">{tier}×</th>
                                <td>long {price(level.longPrice)}</td>
                                <td>short {price(level.shortPrice)}</td>
                            </tr>
                        ))}
                    </tbody>
                </table>
            )}
        </>
    );
}

function MapTable() {
    return (
        <Dialog name="Liquidation map" onClose={close}>
            {[...strips.value, ...secondStrips.value].map(({ map, word, lines, relative }) => (
                <table key={word}>
                    <caption>
                        {word} · {lines.join(" · ")} · the 20 strongest bins
                    </caption>
                    <thead>
                        <tr>
                            <th scope="col">price</th>
                            <th scope="col">side</th>
                            {map.leverages.map((tier) => (
                                <th scope="col" key={tier}>
                                    {tier}×
                                </th>
                            ))}
                            <th scope="col">total{relative ? "" : " USD"}</th>
                        </tr>
                    </thead>
                    <tbody>
                        {[...map.bins]
                            .sort((a, b) => b.total - a.total)
                            .slice(0, 20)
                            .map((bin) => (
                                <tr key={bin.side + bin.price}>
                                    <td>{price(bin.price)}</td>
                                    <td>{bin.side}</td>
                                    {map.leverages.map((tier) => (
                                        <td key={tier}>{short(bin.tiers[tier] ?? 0)}</td>
                                    ))}
                                    <td>{short(bin.total)}</td>
                                </tr>
                            ))}
                    </tbody>
                </table>
            ))}
        </Dialog>
    );
}

function RealisedTable() {
    const shown = realised.value;
    const zone = view.value.tz;
    const total = (values: number[]) => values.reduce((sum, value) => sum + value, 0);
    return (
        <Dialog name={`Realised, ${view.value.symbol}: a lower bound`} onClose={close}>
            <table>
                <thead>
                    <tr>
                        <th scope="col">from</th>
                        <th scope="col">longs, USD</th>
                        <th scope="col">shorts, USD</th>
                        <th scope="col">time covered</th>
                    </tr>
                </thead>
                <tbody>
                    {[...(shown?.stacks ?? [])].reverse().map((stack) => (
                        <tr key={stack.start}>
                            <td>
                                {moment(stack.start, zone)} {zoneName(stack.start, zone)}
                            </td>
                            <td>{stack.covered > 0 ? `≥ ${short(total(stack.longs))}` : "not known"}</td>
                            <td>{stack.covered > 0 ? `≥ ${short(total(stack.shorts))}` : "not known"}</td>
                            <td>{percent(stack.covered)}</td>
                        </tr>
                    ))}
                </tbody>
            </table>
        </Dialog>
    );
}

function Gaps() {
    const zone = view.value.tz;
    const rows = gaps.region.value.body?.data ?? [];
    const files = (ready.region.value.body?.damaged ?? []) as Record<string, unknown>[];
    return (
        <Dialog name="What was not heard" onClose={close}>
            <table>
                <thead>
                    <tr>
                        <th scope="col">exchange</th>
                        <th scope="col">from</th>
                        <th scope="col">to</th>
                        <th scope="col">why</th>
                    </tr>
                </thead>
                <tbody>
                    {rows.map((gap) => (
                        <tr key={`${gap.exchange}${gap.start}`}>
                            <td>{gap.exchange}</td>
                            <td>{moment(gap.start, zone)}</td>
                            <td>
                                {moment(gap.end, zone)} {zoneName(gap.end, zone)}
                            </td>
                            <td>{gap.reason}</td>
                        </tr>
                    ))}
                </tbody>
            </table>
            {!rows.length && <p>No gap in this time is known.</p>}
            {files.map((file) => (
                <p class="damage" key={JSON.stringify(file)}>
                    damaged: {String(file.holds ?? "file")}, {String(file.reason ?? "")}
                </p>
            ))}
        </Dialog>
    );
}

export function Dialogs() {
    switch (dialog.value) {
        case "help":
            return <Help />;
        case "about":
            return <About />;
        case "clusters":
            return <Clusters />;
        case "map":
            return <MapTable />;
        case "realised":
            return <RealisedTable />;
        case "gaps":
            return <Gaps />;
        default:
            return null;
    }
}

export function Notices() {
    if (!notices.value.length) return null;
    return (
        <div class="notices" role="status">
            {notices.value.map((text) => (
                <p key={text}>{text}</p>
            ))}
            <button type="button" onClick={() => (notices.value = [])}>
                understood
            </button>
        </div>
    );
}
