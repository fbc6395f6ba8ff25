//! Exact numbers.
//!
//! [`Decimal`](rust_decimal::Decimal) is an exact decimal of at most 28 digits.
//! [`ShortDecimal`](short_decimal::ShortDecimal) is its 64-bit form, and
//! [`DecimalColumn`](decimal_column::DecimalColumn) stores many decimals. [`FixedPoint`](fixed_point::FixedPoint) is
//! an integer in units of 10⁻¹⁸, the form in which files store amounts. [`ExactSum`](exact_sum::ExactSum) adds numbers
//! of all these types without rounding.

pub(super) mod contract_size;
pub(super) mod decimal_column;
pub(super) mod exact_sum;
pub(super) mod fixed_point;
pub(super) mod notional;
pub(super) mod powers_of_ten;
pub(super) mod products;
pub(super) mod short_decimal;
