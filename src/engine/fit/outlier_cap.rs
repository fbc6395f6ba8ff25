//! A cap on amounts, so that a single period does not dominate a fit.

/// Minimum number of amounts for a cap. With fewer, one amount may rightly be the majority of the sum.
const FEW: usize = 20;

/// Maximum number of capped amounts.
const MOST: usize = 4;

/// Returns the cap: `share` of the sum of all amounts after capping.
pub fn cap(amounts: impl Iterator<Item = f64>, share: f64) -> f64 {
    let mut amounts: Vec<f64> = amounts.filter(|amount| *amount > 0.0).collect();
    if amounts.len() < FEW {
        return f64::INFINITY;
    }
    amounts.sort_by(|a, b| b.total_cmp(a));
    let mut rest: f64 = amounts.iter().sum();
    let mut capped = 0.0;
    let mut most = f64::INFINITY;
    for amount in amounts.iter().take(MOST + 1) {
        // Solves cap = share · (rest + capped · cap) for the cap.
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
        assert!(cap(usual(), 0.1) > 1.0);
        let one = cap(usual().chain([1e9]), 0.1);
        assert!((one / (100.0 + one) - 0.1).abs() < 1e-9, "{one}");
        let two = cap(usual().chain([1e9, 1e6]), 0.1);
        assert!((two / (100.0 + 2.0 * two) - 0.1).abs() < 1e-9, "{two}");
        assert!(cap((0..5).map(f64::from), 0.1).is_infinite());
    }
}
