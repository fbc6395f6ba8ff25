// Round prices of the axis, one step apart whatever the axis is.

/** Least distance of two ticks in pixels, and their usual one. */
const LEAST = 22;
const USUAL = 46;

export interface Ticks {
    prices: number[];
    /** As many decimals as the step has. */
    decimals: number;
}

/** Prices from `low` to `high` on an axis of that height; `place` is where a price is on it. */
export function roundTicks(low: number, high: number, height: number, place: (price: number) => number): Ticks {
    if (!(high > low) || !(low >= 0) || height <= 0) return { prices: [], decimals: 0 };
    const rough = (high - low) / Math.max(2, height / USUAL);
    const power = Math.floor(Math.log10(rough));
    const steps = [0, 1, 2].flatMap((more) => [1, 2, 2.5, 5].map((digit) => digit * 10 ** (power + more)));
    // On a logarithmic axis the highest ticks are nearest to each other.
    const apart = (step: number) => {
        const top = Math.floor(high / step) * step;
        return top - step <= low || Math.abs(place(top) - place(top - step)) >= LEAST;
    };
    const step = steps.find((one) => one >= rough * 0.999 && apart(one)) ?? 10 ** (power + 3);
    const [first, last] = [Math.ceil(low / step - 1e-9), Math.floor(high / step + 1e-9)];
    const prices = Array.from({ length: Math.max(0, last - first + 1) }, (_, i) =>
        Number(((first + i) * step).toPrecision(12)),
    );
    const decimals = Math.max(0, Math.min(12, (String(Number(step.toPrecision(3))).split(".")[1] ?? "").length));
    return { prices, decimals: step < 1e-6 ? Math.ceil(-Math.log10(step)) + 1 : decimals };
}
