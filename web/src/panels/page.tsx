import { Component, type ComponentChildren } from "preact";
import { isPublished } from "../data/published";
import { PANELS } from "../view/address";
import { phone, theme } from "../view/screen";
import { change, index, KINDS, ready, simulated, stream, tokenNeeded, view } from "../view/state";
import { Chart } from "./chart";
import { Dialogs, Headlines, Notices } from "./dialogs";
import { Head, SimulatedBar } from "./head";
import { CoverageStrip, Near, Ranking, Totals } from "./side";
import { Tape } from "./tape";
import { TokenForm } from "./token";

/** A region that cannot be drawn says so; the others live on. */
class Boundary extends Component<{ name: string; children: ComponentChildren }, { failure: string }> {
    override state = { failure: "" };

    override componentDidCatch(error: unknown): void {
        console.error(error);
        this.setState({ failure: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }

    override render() {
        if (!this.state.failure) return this.props.children;
        return (
            <section class="broken">
                <p>The {this.props.name} could not be drawn.</p>
                <button type="button" onClick={() => navigator.clipboard?.writeText(this.state.failure)}>
                    copy details
                </button>
                <button type="button" onClick={() => this.setState({ failure: "" })}>
                    try again
                </button>
            </section>
        );
    }
}

const NAMES = { map: "Map", levels: "Levels", realised: "Realised", tape: "Tape", coverage: "Coverage" };

/** Asks everything again, with the token that was typed. */
function begin(): void {
    tokenNeeded.value = false;
    index.load();
    ready.load();
    for (const loaders of Object.values(KINDS)) for (const loader of loaders) loader.load();
}

export function Page() {
    document.documentElement.dataset.theme = theme.value;
    if (tokenNeeded.value) return <TokenForm button="show the data" onToken={begin} />;
    const { panel } = view.value;
    const about = index.region.value.body;
    const shows = (...panels: string[]) => !phone.value || panels.includes(panel);
    return (
        <div
            class={`page ${stream.value.is === "offline" ? "offline" : ""} ${simulated.value ? "sim" : ""}`}
            data-liqdata-state={stream.value.is}
        >
            <Boundary name="head">
                <Head />
                <SimulatedBar />
                <Notices />
            </Boundary>
            <main>
                <div class="left">
                    <Boundary name="map">
                        <Chart />
                    </Boundary>
                    {shows("coverage") && (
                        <Boundary name="coverage">
                            <CoverageStrip />
                        </Boundary>
                    )}
                </div>
                <div class="right">
                    <Boundary name="totals">
                        {shows("map", "realised") && <Totals />}
                        {shows("map", "levels") && <Near />}
                        {shows("map") && <Ranking />}
                    </Boundary>
                    {phone.value && panel === "levels" && (
                        <section aria-label="estimated levels">
                            <Headlines />
                        </section>
                    )}
                    {shows("tape") && (
                        <Boundary name="tape">
                            <Tape />
                        </Boundary>
                    )}
                </div>
            </main>
            <nav class="tabs" aria-label="panels">
                {PANELS.map((name) => (
                    <button
                        key={name}
                        type="button"
                        aria-pressed={panel === name}
                        onClick={() => change({ panel: name })}
                    >
                        {NAMES[name]}
                    </button>
                ))}
            </nav>
            <footer>
                source: {about?.source ?? "…"} · liqdata {about?.version ?? ""} ·{" "}
                {isPublished ? (
                    "published with each closed bar · "
                ) : (
                    <>
                        <a href="docs">interface</a> · <a href="api">API</a> ·{" "}
                    </>
                )}
                <a href="THIRD-PARTY.txt">licences</a> · charting by{" "}
                <a href="https://www.tradingview.com/" rel="noreferrer">
                    TradingView Lightweight Charts™
                </a>
            </footer>
            <Dialogs />
        </div>
    );
}
