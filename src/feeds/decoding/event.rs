//! The normalized liquidation event that every decoder returns.

use rust_decimal::{Decimal, RoundingStrategy};

pub use crate::model::Completeness;
use crate::model::record;
use crate::model::{Millis, Side, Vocabulary, value};

/// Number of decimals to which a quotient is rounded.
const QUOTIENT_DIGITS: u32 = 8;

/// What an exchange publishes as the price of a liquidation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PriceKind {
    /// Average price of the order's fills.
    AverageFill,
    /// Price of one fill.
    Fill,
    /// Price at which the position's margin is used up.
    Bankruptcy,
    /// Price at which the exchange took over the position.
    Takeover,
    /// Limit price of the liquidation order.
    Order,
    /// The liquidation price as the exchange defines it.
    Liquidation,
}

impl Vocabulary for PriceKind {
    const ALL: &'static [Self] = &[
        Self::AverageFill,
        Self::Fill,
        Self::Bankruptcy,
        Self::Takeover,
        Self::Order,
        Self::Liquidation,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::AverageFill => "avg_fill",
            Self::Fill => "fill",
            Self::Bankruptcy => "bankruptcy",
            Self::Takeover => "takeover",
            Self::Order => "order",
            Self::Liquidation => "liquidation",
        }
    }
}

record! {
    /// One normalized liquidation.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Event {
        /// Name of the exchange, in lower case.
        pub exchange: &'static str,
        /// Base and quote, upper case; dated and perpetual contracts of a pair share one symbol.
        ///
        /// If base and quote are unknown, this is the native id.
        pub symbol: String,
        /// The coin: the base without its scale, such as `PEPE` for `1000PEPEUSDT`.
        pub coin: String,
        /// Side of the liquidated position.
        pub side: Side,
        /// Price in the quote currency.
        #[unit("quote currency")]
        pub price: Decimal,
        /// What the price means.
        pub price_kind: PriceKind,
        /// Quantity in base units; absent while the contract size is unknown.
        #[unit("base units")]
        pub qty: Option<Decimal>,
        /// Notional value in USD.
        ///
        /// Absent while the contract size is unknown, or if the quote currency does not count as USD.
        #[unit("USD")]
        pub value_usd: Option<Decimal>,
        /// Time of the liquidation; if the exchange sends none, the time of receipt, if known.
        pub timestamp: Option<Millis>,
        /// Time at which the frame was received, if known.
        pub received_at: Option<Millis>,
        /// The exchange's name of the contract.
        pub native_id: String,
        /// Whether the exchange may omit liquidations, so that totals are a lower bound.
        pub sampled: bool,
        /// Key for recognizing duplicates.
        ///
        /// Copies of an event with the same content have the same key, and different events have different keys.
        pub dedupe_key: String,
        /// Id that the fills of one liquidation share.
        ///
        /// It names the closing order (`order:…`) or the position (`position:…`) and is unique on the exchange. It is
        /// absent if the exchange publishes neither order nor position.
        pub group_id: Option<String>,
    }
}

value!(PriceKind as words);

impl Event {
    /// Sets the group to the closing order `id`.
    #[must_use]
    pub(crate) fn of_order(self, id: &str) -> Self {
        Self {
            group_id: Some(format!("order:{id}")),
            ..self
        }
    }

    /// Sets the group to the position `id`.
    #[must_use]
    pub(crate) fn of_position(self, id: &str) -> Self {
        Self {
            group_id: Some(format!("position:{id}")),
            ..self
        }
    }

    /// Whether quantity or value are absent because the contract size is unknown.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.qty.is_none()
    }
}

/// Whether a decimal is above zero.
#[inline]
pub(crate) fn is_above_zero(value: Decimal) -> bool {
    !value.is_sign_negative() && !value.is_zero()
}

/// Returns the same number without trailing zeros after the point.
#[inline]
pub(crate) fn stripped(value: Decimal) -> Decimal {
    match i64::try_from(value.mantissa()) {
        Ok(mantissa) => {
            let (mantissa, scale) = strip(mantissa, value.scale());
            Decimal::new(mantissa, scale)
        }
        Err(_) => value.normalize(),
    }
}

/// Removes trailing zeros of the fraction; returns the new mantissa and scale.
#[inline]
fn strip(mut mantissa: i64, mut scale: u32) -> (i64, u32) {
    if mantissa == 0 {
        return (0, 0);
    }
    while scale > 0 && mantissa % 10 == 0 {
        mantissa /= 10;
        scale -= 1;
    }
    (mantissa, scale)
}

/// Returns the exact product `a · b`; `None` if no decimal can represent it.
pub(crate) fn product(a: Decimal, b: Decimal) -> Option<Decimal> {
    let (a, b) = (stripped(a), stripped(b));
    let mantissa = a.mantissa().checked_mul(b.mantissa())?;
    Decimal::try_from_i128_with_scale(mantissa, a.scale() + b.scale())
        .ok()
        .map(stripped)
}

/// Returns `a / b`, rounded half to even at eight decimals.
///
/// `None` if `b` is zero or no decimal can represent the result.
pub(crate) fn quotient(a: Decimal, b: Decimal) -> Option<Decimal> {
    let rounded = match whole_quotient(a, b) {
        Some(eighths) => Decimal::try_from_i128_with_scale(eighths, QUOTIENT_DIGITS).ok()?,
        // The scaled numbers exceed 128 bits, so the quotient is first rounded to 28 digits.
        None => a
            .checked_div(b)?
            .round_dp_with_strategy(QUOTIENT_DIGITS, RoundingStrategy::MidpointNearestEven),
    };
    Some(stripped(rounded))
}

/// Returns `a / b` in units of the eighth decimal, rounded once; `a` and `b` are positive.
fn whole_quotient(a: Decimal, b: Decimal) -> Option<i128> {
    let (mut above, mut below) = (a.mantissa(), b.mantissa());
    let lift = QUOTIENT_DIGITS + b.scale();
    if lift >= a.scale() {
        above = above.checked_mul(10_i128.checked_pow(lift - a.scale())?)?;
    } else {
        below = below.checked_mul(10_i128.checked_pow(a.scale() - lift)?)?;
    }
    let (whole, rest) = (above.checked_div(below)?, above.checked_rem(below)?);
    let up = match rest.checked_mul(2)?.cmp(&below) {
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Equal => whole % 2 == 1,
        std::cmp::Ordering::Greater => true,
    };
    Some(whole + i128::from(up))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::feeds::decoding::event::*;

    fn decimal(text: &str) -> Decimal {
        text.parse().unwrap()
    }

    #[test]
    fn a_quotient_is_rounded_once_half_to_even() {
        for (a, b, rounded) in [
            ("300", "9352.7", "0.0320763"),
            ("390", "0.55205", "706.45774839"),
            ("143.330431857868", "0.500280739469", "286.5"),
            ("0.00000001", "2", "0"),
            ("0.00000003", "2", "0.00000002"),
            ("0.0000000300000000000000000001", "2", "0.00000002"),
            ("0.0000000100000000000000000001", "2", "0.00000001"),
            ("1", "3", "0.33333333"),
            ("9999999999999999999999999999", "0.0000000001", ""),
        ] {
            let expected = (!rounded.is_empty()).then(|| decimal(rounded));
            assert_eq!(quotient(decimal(a), decimal(b)), expected, "{a} / {b}");
        }
        assert_eq!(quotient(Decimal::ONE, Decimal::ZERO), None);
    }

    #[test]
    fn a_number_loses_its_zeros_and_nothing_else() {
        for (written, plain) in [
            ("0.190", "0.19"),
            ("-12.500", "-12.5"),
            ("1000", "1000"),
            ("100.00", "100"),
            ("-0.0", "0"),
            ("0.000", "0"),
            ("9223372036854775807.0", "9223372036854775807"),
            ("92233720368547758.080", "92233720368547758.08"),
            (
                "-9999999999999999999999999.990",
                "-9999999999999999999999999.99",
            ),
        ] {
            let value = decimal(written);
            assert_eq!(stripped(value).to_string(), plain);
            assert_eq!(stripped(value).serialize(), value.normalize().serialize());
        }
    }

    #[test]
    fn a_product_is_exact_or_none() {
        assert_eq!(
            product(decimal("0.190"), decimal("82651.90")).map(|exact| exact.to_string()),
            Some("15703.861".to_owned())
        );
        assert_eq!(
            product(
                decimal("12345678901234567890"),
                decimal("0.12345678901234567890")
            ),
            None
        );
    }
}
