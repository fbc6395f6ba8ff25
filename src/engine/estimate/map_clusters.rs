//! Clusters of a liquidation map: runs of neighbouring bins that exceed the mean of their side.

use crate::model::{LiquidationMap, MapBin, MapCluster, Side};

/// Bins are neighbours if their centres are at most this many widths apart.
const NEIGHBOURS: f64 = 1.5;

/// Returns the clusters of a map, largest first.
///
/// A cluster is a run of neighbouring bins of one side, each with at least the mean amount of the bins of its side. Bins
/// without an amount do not count. Only shown bins count.
#[must_use]
pub fn map_clusters(map: &LiquidationMap) -> Vec<MapCluster> {
    let mut found = Vec::new();
    for side in [Side::Long, Side::Short] {
        let bins = map.bins.iter().enumerate();
        let mut bins: Vec<(usize, &MapBin)> = bins
            .filter(|(_, bin)| bin.side == side && bin.total > 0.0)
            .collect();
        bins.sort_by(|(_, one), (_, other)| one.price.total_cmp(&other.price));
        let whole: f64 = bins.iter().map(|(_, bin)| bin.total).sum();
        #[expect(clippy::cast_precision_loss, reason = "bins are counted in thousands")]
        let mean = whole / bins.len() as f64;
        bins.retain(|(_, bin)| bin.total >= mean);
        let runs = bins
            .chunk_by(|(_, one), (_, next)| next.price - one.price <= NEIGHBOURS * map.bin_width);
        found.extend(runs.filter_map(|run| cluster(map, side, run, whole)));
    }
    found.sort_by(|one: &MapCluster, other| other.amount.total_cmp(&one.amount));
    found
}

/// The cluster of a run of bins in ascending order; `whole` is the amount of their side.
fn cluster(
    map: &LiquidationMap,
    side: Side,
    run: &[(usize, &MapBin)],
    whole: f64,
) -> Option<MapCluster> {
    let ((_, first), (_, last)) = (run.first()?, run.last()?);
    let half = map.bin_width / 2.0;
    let (low_price, high_price) = (first.price - half, last.price + half);
    let near = match side {
        Side::Long => high_price,
        Side::Short => low_price,
    };
    let mut peak: &MapBin = first;
    for (_, bin) in run {
        if bin.total > peak.total {
            peak = bin;
        }
    }
    let amount = run.iter().map(|(_, bin)| bin.total).sum();
    let sum = |ends: &[f64]| -> Option<f64> { run.iter().map(|(index, _)| ends.get(*index)).sum() };
    let bounds = map.bounds.as_ref();
    let ends = bounds.and_then(|bounds| sum(&bounds.low).zip(sum(&bounds.high)));
    // A bin without a validated interval reaches from 0 to infinity.
    let ends = ends.filter(|(_, high)| high.is_finite());
    Some(MapCluster {
        side,
        low_price,
        high_price,
        peak_price: peak.price,
        distance_pct: 100.0 * (near / map.current_price - 1.0),
        amount,
        side_share: amount / whole,
        low_amount: ends.map(|(low, _)| low),
        high_amount: ends.map(|(_, high)| high),
    })
}

#[cfg(test)]
#[expect(
    clippy::float_cmp,
    clippy::indexing_slicing,
    reason = "tests of small whole numbers"
)]
mod tests {
    use super::*;
    use crate::model::{BinBounds, EstimateLabels, Millis};

    fn map(bins: &[(f64, Side, f64)]) -> LiquidationMap {
        let bin = |&(price, side, total): &(f64, Side, f64)| MapBin { price, side, total };
        LiquidationMap {
            symbol: "BTC".to_owned(),
            range: "7d".to_owned(),
            updated_at: Millis(0),
            current_price: 100.0,
            bin_width: 1.0,
            leverages: vec![10],
            bins: bins.iter().map(bin).collect(),
            tiers: bins.iter().map(|bin| bin.2).collect(),
            measured: None,
            labels: EstimateLabels::default(),
            outside: None,
            within: None,
            fine: None,
            bounds: None,
            clusters: None,
            exact_share: None,
            exact: None,
        }
    }

    #[test]
    fn neighbouring_bins_above_the_mean_are_one_cluster() {
        use Side::{Long, Short};
        let mut given = map(&[
            (95.5, Long, 4.0),
            (96.5, Long, 6.0),
            (97.5, Long, 1.0),
            (98.5, Long, 5.0),
            (99.5, Long, 0.0),
            (100.5, Short, 2.0),
        ]);
        let found = map_clusters(&given);
        let brief: Vec<_> = found
            .iter()
            .map(|one| {
                (
                    one.side,
                    one.low_price,
                    one.high_price,
                    one.peak_price,
                    one.amount,
                )
            })
            .collect();
        assert_eq!(
            brief,
            [
                (Long, 95.0, 97.0, 96.5, 10.0),
                (Long, 98.0, 99.0, 98.5, 5.0),
                (Short, 100.0, 101.0, 100.5, 2.0),
            ]
        );
        assert_eq!(found[0].side_share, 10.0 / 16.0);
        assert_eq!(found[0].distance_pct, 100.0 * (0.97 - 1.0));
        assert_eq!(found[2].distance_pct, 0.0);
        assert_eq!(found[0].low_amount, None);
        given.bounds = Some(BinBounds {
            low: vec![1.0, 2.0, 0.0, 0.0, 0.0, 1.0],
            high: vec![8.0, 9.0, f64::INFINITY, f64::INFINITY, 0.0, 3.0],
        });
        let ends: Vec<_> = map_clusters(&given)
            .iter()
            .map(|one| (one.low_amount, one.high_amount))
            .collect();
        assert_eq!(
            ends,
            [
                (Some(3.0), Some(17.0)),
                (None, None),
                (Some(1.0), Some(3.0))
            ]
        );
    }

    #[test]
    fn a_map_without_amounts_has_no_clusters() {
        assert_eq!(map_clusters(&map(&[])), []);
        assert_eq!(map_clusters(&map(&[(99.5, Side::Long, 0.0)])), []);
    }
}
