// What docs/explanation/scorecard.md has measured; tests/python/docs/test_page_files.py holds this to that page.
export const SCORECARD = {
    date: "2026-11-30",
    /** The versions that were scored, as models 2 and 3. */
    versions: { "2": "315c9845bd8a", "3": "e6ca525e7d38" } as Record<string, string>,
    /** Overlap of model 2 with the true positions of simulated markets, and its USD within 5 % over the true ones. */
    overlap: 0.75,
    within: 1.23,
    /** Predicted over realised USD of the expected view. */
    predicted: 0.977,
};

/** What was measured of a model, 2 or 3. */
export function scoreOf(model: string): string {
    const { overlap, within, predicted } = SCORECARD;
    return model === "3"
        ? `predicted USD are ${predicted} of the realised ones`
        : `overlap of ${overlap} with the true positions of simulated markets, ${within} times their USD within 5 % of the price`;
}
