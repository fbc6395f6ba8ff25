// Dialogs: help, what an estimate assumes, and tables of what charts show.
import { signal, useSignal } from "@preact/signals";
import { streamBase } from "../data/published";
import { isRecorded } from "../view/address";
import { moment, percent, price, short, zoneName } from "../view/numbers";
import { SCORECARD, scoreOf } from "../view/scorecard";
import { clusters, distance, label, realised, secondStrips, sides, strips, unit } from "../view/shown";
import { change, coinNames, gaps, grid, levels, liqmap, notices, pain, ready, view } from "../view/state";
import { Dialog } from "./parts";

export const dialog = signal<"" | "help" | "about" | "clusters" | "map" | "realised" | "gaps" | "coin" | "alert">("");
const close = () => {
    dialog.value = "";
};
const alertAt = signal(0);

/** Shows the command that watches the cluster at a price. */
export function askAlert(at: number | undefined): void {
    if (at === undefined) return;
    alertAt.value = at;
    dialog.value = "alert";
}

const KEYS: [string, string][] = [
    ["← →", "earlier, later"],
    ["↑ ↓", "higher, lower prices"],
    ["+ −", "zoom time"],
    ["Shift + ← → ↑ ↓", "go from cell to cell"],
    ["Home, End, 0", "first, newest, all"],
    ["[ ]", "lower, raise the threshold"],
    ["/, c, v", "find a coin, next coin, next exchange"],
    ["1 … 9", "range"],
    ["m, s, x", "model, source, what it is compared with"],
    ["Space", "pause the tape"],
    ["l, u, d", "price axis, UTC or local, dark or light"],
    ["t", "the map as a table"],
    ["a", "the command that watches a price; also a right click"],
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
            <p>
                Drag moves, the wheel zooms time, Shift and wheel zoom prices, a double click shows all. A drag with Alt
                measures between two prices.
            </p>
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

/** What the scorecard says of a model, with its date. */
function scored(model: string, version: string | undefined): string {
    const { date, versions } = SCORECARD;
    const same = version === versions[model];
    return `${scoreOf(model)}, measured ${date}${same ? "" : ` for version ${versions[model]}, not for this one`}`;
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
    const model = String(known.modelNumber ?? view.value.model);
    if (model in SCORECARD.versions) facts.push(["scorecard", scored(model, known.modelVersion)]);
    facts.push(["version", known.modelVersion ?? "unknown"]);
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

/** Coins whose names have the letters that are typed. */
function FindCoin() {
    const typed = useSignal("");
    const wanted = typed.value.trim().toUpperCase();
    const found = coinNames.value
        .filter((name) => name.includes(wanted))
        .sort((a, b) => Number(b.startsWith(wanted)) - Number(a.startsWith(wanted)))
        .slice(0, 30);
    const take = (name: string | undefined) => {
        if (name === undefined) return;
        change({ symbol: name }, true);
        close();
    };
    return (
        <Dialog name="Find a coin" onClose={close}>
            <form
                onSubmit={(event) => {
                    event.preventDefault();
                    take(found[0]);
                }}
            >
                <label class="choice">
                    <span class="name">coin</span>
                    <input
                        type="search"
                        autofocus
                        autocomplete="off"
                        value={typed.value}
                        onInput={(event) => (typed.value = event.currentTarget.value)}
                    />
                </label>
            </form>
            {!found.length && <p class="faint">No coin has these letters.</p>}
            <ul class="found">
                {found.map((name) => (
                    <li key={name}>
                        <button type="button" onClick={() => take(name)}>
                            {name}
                        </button>
                    </li>
                ))}
            </ul>
        </Dialog>
    );
}

/** The command that watches the cluster at a price, or the one next to it. */
function Alert() {
    const at = alertAt.value;
    const copied = useSignal("");
    const { symbol } = view.value;
    const known = liqmap.region.value.body?.clusters ?? [];
    const off = (cluster: (typeof known)[number]) => Math.max(0, cluster.low_price - at, at - cluster.high_price);
    const cluster = known.reduce(
        (best: (typeof known)[number] | undefined, one) => (best && off(best) <= off(one) ? best : one),
        undefined,
    );
    if (!cluster) {
        return (
            <Dialog name={`Watch ${symbol}`} onClose={close}>
                <p>No estimate of {symbol} has a cluster that could be watched.</p>
            </Dialog>
        );
    }
    // Two digits, rounded down, so that the cluster itself is one of those that are watched.
    const unit = 10 ** Math.max(0, Math.floor(Math.log10(cluster.amount)) - 1);
    const least = Math.max(1, Math.floor(cluster.amount / unit) * unit);
    const line = `liqdata watch ${symbol} --url ${new URL(streamBase || ".", location.href).href.replace(/\/$/, "")} --alert-cluster-usd ${least}`;
    const copy = async () => {
        try {
            await navigator.clipboard.writeText(line);
            copied.value = "The command was copied.";
        } catch {
            copied.value = "The browser did not allow copying; select the text.";
        }
    };
    return (
        <Dialog name={`Watch ${symbol} at ${price(at)}`} onClose={close}>
            <p>
                {off(cluster) > 0 ? "The nearest cluster is" : "Here is a cluster of"} {cluster.side.toLowerCase()}s
                from {price(cluster.low_price)} to {price(cluster.high_price)}, est. {short(cluster.amount)}
                {unitOfMap()}, {distance(cluster.peak_price)} from the price.
            </p>
            <p>
                This command writes a line when the price comes within 1 % of a cluster of {symbol} of at least this
                size, or goes through it. <code>--alert-distance</code> changes the distance, <code>--webhook</code>{" "}
                sends it to a phone or a service.
            </p>
            <pre class="command" tabIndex={0}>
                {line}
            </pre>
            <p>
                <button type="button" onClick={copy}>
                    copy the command
                </button>{" "}
                <span role="status">{copied.value}</span>
            </p>
        </Dialog>
    );
}

const unitOfMap = () => (liqmap.region.value.body?.units === "relative" ? "" : " USD");

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
        case "coin":
            return <FindCoin />;
        case "alert":
            return <Alert />;
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
