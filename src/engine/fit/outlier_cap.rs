//! How much one period may count for: an absurd one, whether a feed's mistake or a day of its own, must not carry a fit.

/// Fewer amounts than this are taken as they are: of so few, one may well be most.
const FEW: usize = 20;

/// Amounts that are capped at most.
const MOST: usize = 4;

/// The most that one of `amounts` may count for: so large a `share` of what all count for, capped alike.
pub(crate) fn most(amounts: impl Iterator<Item = f64>, share: f64) -> f64 {
    let mut amounts: Vec<f64> = amounts.filter(|amount| *amount > 0.0).collect();
    if amounts.len() < FEW {
        return f64::INFINITY;
    }
    amounts.sort_by(|a, b| b.total_cmp(a));
    let mut rest: f64 = amounts.iter().sum();
    let mut capped = 0.0;
    let mut most = f64::INFINITY;
    for amount in amounts.iter().take(MOST + 1) {
        // The largest count for the cap each, and the cap is that share of it all.
        most = share * rest / (1.0 - share * capped);
        if *amount <= most {
            break;
        }
        rest -= amount;
        capped += 1.0;
    }
    most
}

#[cfg(test)]
mod tests {
    use crate::engine::fit::outlier_cap::*;

    #[test]
    fn one_counts_for_its_share_of_all_at_most() {
        let usual = || (0..100).map(|_| 1.0);
        assert!(most(usual(), 0.1) > 1.0);
        let cap = most(usual().chain([1e9]), 0.1);
        assert!((cap / (100.0 + cap) - 0.1).abs() < 1e-9, "{cap}");
        let cap = most(usual().chain([1e9, 1e6]), 0.1);
        assert!((cap / (100.0 + 2.0 * cap) - 0.1).abs() < 1e-9, "{cap}");
        assert!(most((0..5).map(f64::from), 0.1).is_infinite());
    }
}
