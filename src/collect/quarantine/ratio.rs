//! Comparison of two amounts by their ratio.

use rust_decimal::Decimal;

/// Whether the larger of two amounts is more than `factor` times the smaller.
pub(crate) fn are_apart(a: Decimal, b: Decimal, factor: Decimal) -> bool {
    let bound = a.min(b).checked_mul(factor);
    bound.is_some_and(|bound| bound < a.max(b))
}
