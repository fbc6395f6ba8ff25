//! Places in a market's order of arrival, and what has arrived behind them.

use std::fmt;
use std::str::FromStr;

use crate::model::Order;

/// A place in a market's order of arrival: behind one order, or before the first.
///
/// Its text names the place for a client that comes back later.
///
/// # Examples
///
/// ```
/// use liqdata::market::ArrivalId;
///
/// let place = ArrivalId { series: 0xbeef, number: 7 };
/// assert_eq!(place.to_string(), "beef-7");
/// assert_eq!("beef-7".parse(), Ok(place));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ArrivalId {
    /// Tells one market's order of arrival from another's.
    pub series: u64,
    /// Grows from order to order; numbers may be left out.
    pub number: u64,
}

/// A text that names no place in an order of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the id of an order")]
pub struct InvalidArrivalId;

impl fmt::Display for ArrivalId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:x}-{}", self.series, self.number)
    }
}

impl FromStr for ArrivalId {
    type Err = InvalidArrivalId;

    fn from_str(text: &str) -> Result<Self, InvalidArrivalId> {
        let (series, number) = text.split_once('-').ok_or(InvalidArrivalId)?;
        let place = Self {
            series: u64::from_str_radix(series, 16).map_err(|_| InvalidArrivalId)?,
            number: number.parse().map_err(|_| InvalidArrivalId)?,
        };
        // One place has one name: no signs, leading zeros or capitals.
        (place.to_string() == text)
            .then_some(place)
            .ok_or(InvalidArrivalId)
    }
}

/// What has arrived behind a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// The orders, first come first, each with the place behind it; none where nothing has arrived since.
    Known(Vec<(ArrivalId, Order)>),
    /// The place is unknown, or what came behind it is no longer known in order of arrival.
    Gone,
}

impl Arrivals {
    /// Up to `limit` orders behind `after` in the order of arrival `series`, or else from the first that is known: the
    /// `known` last ones, told by `order`, behind the number `forgotten`.
    pub(crate) fn behind(
        after: Option<ArrivalId>,
        limit: usize,
        series: u64,
        (forgotten, known): (u64, usize),
        order: impl Fn(usize) -> Option<Order>,
    ) -> Self {
        let number = match after {
            Some(after) if after.series != series => return Self::Gone,
            after => after.map_or(forgotten, |after| after.number),
        };
        let skipped = number.checked_sub(forgotten);
        let skipped = skipped.and_then(|skipped| usize::try_from(skipped).ok());
        let Some(skipped) = skipped.filter(|skipped| *skipped <= known) else {
            return Self::Gone;
        };
        let orders = (skipped..known).take(limit).filter_map(order);
        let named = orders.zip(number + 1..);
        Self::Known(
            named
                .map(|(order, number)| (ArrivalId { series, number }, order))
                .collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_place_is_read_from_its_own_text_only(series: u64, number: u64, text: String) {
            let place = ArrivalId { series, number };
            prop_assert_eq!(place.to_string().parse(), Ok(place));
            if let Ok(place) = text.parse::<ArrivalId>() {
                prop_assert_eq!(place.to_string(), text);
            }
        }
    }
}
