// Replies of the API, as far as the page reads them. A decimal amount is text on the wire and stays exact.

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

export interface Order {
    exchange: string;
    symbol: string;
    side: "LONG" | "SHORT";
    price: string;
    qty: string;
    value_usd: string;
    timestamp: number;
}

export interface Cascade {
    start: number;
    end: number;
    coin: string;
    side: "LONG" | "SHORT";
    usd: string;
    cnt: number;
    exchanges: number;
}

export interface Totals {
    long_usd: number | null;
    short_usd: number | null;
    total_usd: number | null;
    cnt: number | null;
}

export interface CoinRow extends Totals {
    coin: string;
}

export interface Period {
    timestamp: number;
    exchange: string;
    long_usd: string | null;
    short_usd: string | null;
    cnt: number | null;
    covered: number | null;
}

export interface Coverage {
    exchange: string;
    connected_share: number | null;
    completeness: string;
    gaps: number;
    cnt: number;
}

export interface Gap {
    exchange: string;
    start: number;
    end: number;
    reason: string;
}

export interface Bar {
    timestamp: number;
    closes_at: number;
    open: number;
    high: number;
    low: number;
    close: number;
    interval: number;
}

export interface Undercount {
    exchange: string;
    sampling: string;
    observed_usd: string;
    estimated_usd: number | null;
    low_usd: number | null;
    high_usd: number | null;
}

export interface Level {
    longPrice: number;
    longIntensity: number;
    shortPrice: number;
    shortIntensity: number;
}

export interface Levels {
    price: number;
    tiers: Record<string, Level>;
}

export interface PainSide {
    price: number;
    usd: number;
    distPct: number;
}

export interface Pain {
    d1: { long: PainSide; short: PainSide };
    d7: { long: PainSide; short: PainSide };
}

export interface Explain {
    modelVersion?: string;
    modelNumber?: number | null;
    view?: string;
    openInterestScale?: string;
    openInterestAgeMs?: number | null;
    openedSince?: number;
    opened?: string;
    partial?: boolean;
    seenShare?: number;
    sides?: { row: number[]; long: number[]; short: number[] };
}

export interface LiqBin {
    price: number;
    side: "long" | "short";
    tiers: Record<string, number>;
    total: number;
}

export interface LiqMap {
    symbol: string;
    range: string;
    updatedAt: number;
    currentPrice: number;
    binWidth: number;
    leverages: number[];
    bins: LiqBin[];
    units?: string;
    view?: string;
    simulated?: boolean;
    recordedAt?: number;
    outside?: Sides;
    within?: Record<string, Sides>;
    explain?: Explain;
}

export interface Sides {
    long_usd: number;
    short_usd: number;
}

export interface Served {
    timestamp: number;
    computed_at: number;
    params: string;
    reply: string;
    version: string;
}

export interface Ready {
    now: number | null;
    age: number | null;
    damaged: unknown[];
}
