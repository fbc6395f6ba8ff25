// What the page reads. A decimal amount is text on the wire and stays exact.

import type { LiquidationMap } from "./replies";

export type {
    BarsRow as Bar,
    CascadesRow as Cascade,
    CoinsRow as CoinRow,
    CoverageRow as Coverage,
    GapsRow as Gap,
    HistoryRow as Period,
    MapCluster as Cluster,
    MapsRow as Served,
    MaxPain as Pain,
    OrdersRow as Order,
    SideUsd as Sides,
    TierLevels as Levels,
    UndercountRow as Undercount,
    WindowTotals as Totals,
} from "./replies";

export interface Parameter {
    name: string;
    default: string | null;
    allowed: string;
    values: string[];
    meaning: string;
    type: string;
    optional: boolean;
}

export interface Endpoint {
    name: string;
    path: string;
    meaning: string;
    parameters: Parameter[];
}

/** Maps of another service that the server can send. */
export interface Recorded {
    source: string;
    maps: { endpoint: string; symbol: string; range?: string; exchange?: string; model?: number; last: number }[];
}

export interface Index {
    version: string;
    source: string;
    simulated: boolean;
    now: number | null;
    coins: string[];
    endpoints: Endpoint[];
    extensions: Endpoint[];
    recorded?: Recorded[];
}

export interface Explain {
    modelVersion?: string;
    tiers?: number[];
    weights?: number[];
    /** Share of the positions, and how often a day they change hands. */
    clocks?: [number, number][];
    maintenanceMargins?: number[];
    locatedShare?: [number, number];
    /** Share that is expected to be reported, of longs and shorts. */
    kappa?: [number, number];
    fit?: {
        state: string;
        asOf?: number;
        from?: string;
        periods?: number;
        score?: number;
        interval?: { share: number };
    };
    modelNumber?: number | null;
    view?: string;
    openInterestScale?: string;
    openInterestAgeMs?: number | null;
    openedSince?: number;
    opened?: string;
    partial?: boolean;
    barIntervalMs?: number;
    seenShare?: number;
    sides?: { row: number[]; long: number[]; short: number[]; price?: number[] };
}

export interface Ready {
    now: number | null;
    age: number | null;
    damaged: unknown[];
}

/** A map with what its source says of it. */
export interface LiqMap extends LiquidationMap {
    explain?: Explain;
}
