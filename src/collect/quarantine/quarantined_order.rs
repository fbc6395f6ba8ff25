//! An order in quarantine: its dedupe key, the reason, and its price, quantity and value.

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use crate::archive::OrderRow;
use crate::collect::quarantine::ratio::are_apart;
use crate::feeds::Event;

/// The values in two messages about one order differ by less than this factor, unless their units differ. A wrong unit
/// makes a factor of ten or more.
const SAME_UNIT: Decimal = Decimal::TWO;

/// Why an order is in quarantine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum QuarantineReason {
    /// The price is far off the reference price.
    Price,
    /// The value is more than the open interest.
    OpenInterest,
    /// The order exceeds the amount that was announced for its trading position.
    Excess,
}

/// Price, quantity and value of an order; `None` for an unknown value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Figures {
    price: Decimal,
    qty: Option<Decimal>,
    value_usd: Option<Decimal>,
}

/// An order in quarantine: the field `quarantined` of its dead letter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct QuarantinedOrder {
    pub(crate) key: String,
    pub(crate) reason: QuarantineReason,
    #[serde(flatten)]
    pub(crate) figures: Figures,
}

impl From<&Event> for Figures {
    fn from(event: &Event) -> Self {
        Self::new(event.price, event.qty, event.value_usd)
    }
}

impl From<&OrderRow> for Figures {
    fn from(row: &OrderRow) -> Self {
        let order = &row.order;
        Self::new(order.price, Some(order.qty), Some(order.value_usd))
    }
}

impl Figures {
    pub(crate) fn new(price: Decimal, qty: Option<Decimal>, value_usd: Option<Decimal>) -> Self {
        Self {
            price: price.normalize(),
            qty: qty.map(|qty| qty.normalize()),
            value_usd: value_usd.map(|value| value.normalize()),
        }
    }
}

/// Whether an order in quarantine is checked again, because it arrived again in another unit.
///
/// An order that arrives again in the same unit stays in quarantine, and is neither checked nor counted again.
pub(crate) fn readmit(quarantined: &Figures, arrived: &Figures) -> bool {
    let same_unit = |one: Option<Decimal>, other: Option<Decimal>| match (one, other) {
        (Some(one), Some(other)) => !are_apart(one, other, SAME_UNIT),
        (one, other) => one == other,
    };
    !(same_unit(Some(quarantined.price), Some(arrived.price))
        && same_unit(quarantined.qty, arrived.qty)
        && same_unit(quarantined.value_usd, arrived.value_usd))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(price: i64, qty: Option<i64>) -> Figures {
        Figures::new(price.into(), qty.map(Decimal::from), None)
    }

    #[test]
    fn an_order_is_readmitted_in_another_unit_only() {
        let quarantined = figures(100, Some(7));
        for (price, qty, is_readmitted) in [
            (100, Some(7), false),
            (101, Some(7), false),
            (10, Some(7), true),
            (100, Some(70), true),
            (100, None, true),
        ] {
            assert_eq!(
                readmit(&quarantined, &figures(price, qty)),
                is_readmitted,
                "{price} {qty:?}"
            );
        }
    }
}
