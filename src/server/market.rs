//! What questions are asked of: one face for every place that observations can lie in.
//!
//! A caller never sees where the observations are: it asks, and is told beside each answer what the answer depends on.

use std::fmt;
use std::future::pending;
use std::str::FromStr;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use super::{Answer, Answered, Rejection};
use crate::api::Orders;
use crate::engine::{self, Observations, Rows, VenueCoverage, View};
use crate::model::{Bar, Millis, Order, Pair, Window};

/// What a server, or a caller in this process, asks its questions of.
///
/// # Examples
///
/// ```
/// use liqdata::api::OverviewQuery;
/// use liqdata::engine::Observations;
/// use liqdata::server::Market;
///
/// let observations = Observations::new(Vec::new(), Vec::new(), Vec::new(), None)?;
/// let market = Market::fixed(observations, "empty tables");
/// let answered = market.answer(&OverviewQuery, None)?;
/// assert!(answered.reply.present().all(|(_, totals)| totals.cnt == 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Market {
    kind: Kind,
    simulated: bool,
    source: String,
    /// Tells the places in this market's order of arrival from those in any other's.
    series: u64,
    made_at: Millis,
}

/// Where the observations lie.
#[derive(Debug)]
enum Kind {
    /// Tables that never change.
    Fixed(Fixed),
}

#[derive(Debug)]
struct Fixed {
    observations: Observations,
    /// Places of the orders, in order of arrival; found when first asked for.
    arrived: OnceLock<Vec<usize>>,
}

/// What answers depend on: while the number is the same, equal questions have equal answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revision {
    /// Another one after every change.
    pub number: u64,
    /// When the last change could first be seen in an answer, by this machine's clock.
    pub changed_at: Millis,
}

/// A place in a market's order of arrival: behind one order, or before the first.
///
/// Its text names the place for a client that comes back later.
///
/// # Examples
///
/// ```
/// use liqdata::server::ArrivalId;
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
pub struct NoArrivalId;

impl fmt::Display for ArrivalId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:x}-{}", self.series, self.number)
    }
}

impl FromStr for ArrivalId {
    type Err = NoArrivalId;

    fn from_str(text: &str) -> Result<Self, NoArrivalId> {
        let (series, number) = text.split_once('-').ok_or(NoArrivalId)?;
        let place = Self {
            series: u64::from_str_radix(series, 16).map_err(|_| NoArrivalId)?,
            number: number.parse().map_err(|_| NoArrivalId)?,
        };
        // One place has one name: no signs, leading zeros or capitals.
        (place.to_string() == text)
            .then_some(place)
            .ok_or(NoArrivalId)
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

impl Market {
    /// A market of tables that never change.
    #[must_use]
    pub fn fixed(observations: Observations, source: impl Into<String>) -> Self {
        Self {
            kind: Kind::Fixed(Fixed {
                observations,
                arrived: OnceLock::new(),
            }),
            simulated: false,
            source: source.into(),
            series: fastrand::u64(..),
            made_at: wall_clock(),
        }
    }

    /// A market of tables that a simulation made.
    #[must_use]
    pub fn simulated(observations: Observations, source: impl Into<String>) -> Self {
        Self {
            simulated: true,
            ..Self::fixed(observations, source)
        }
    }

    /// Whether the observations come from a simulation.
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        self.simulated
    }

    /// Where the observations come from, in a few words.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The instant questions are about where they name none.
    #[must_use]
    pub fn now(&self) -> Millis {
        match &self.kind {
            Kind::Fixed(fixed) => fixed.observations.now(),
        }
    }

    /// The coins that an estimate can be given for, by name.
    #[must_use]
    pub fn coins(&self) -> Vec<String> {
        match &self.kind {
            Kind::Fixed(fixed) => fixed.observations.coins(),
        }
    }

    /// What every answer depends on.
    #[must_use]
    pub fn revision(&self) -> Revision {
        match &self.kind {
            Kind::Fixed(_) => self.unchanged(),
        }
    }

    /// What the estimates of `coin` depend on: another number once a bar of it has closed, or its past has changed.
    #[must_use]
    pub fn estimate_revision(&self, _coin: &str) -> Revision {
        match &self.kind {
            Kind::Fixed(_) => self.unchanged(),
        }
    }

    /// The revision of what never changes.
    fn unchanged(&self) -> Revision {
        Revision {
            number: 0,
            changed_at: self.made_at,
        }
    }

    /// Waits until the revision is another than `seen`.
    pub async fn changed(&self, _seen: Revision) {
        match &self.kind {
            Kind::Fixed(_) => pending().await,
        }
    }

    /// The answer to `question`, as of `as_of` or else of now.
    ///
    /// # Errors
    ///
    /// A [`Rejection`] with the status and body that the server would send.
    pub fn answer<E: Answer>(
        &self,
        question: &E,
        as_of: Option<Millis>,
    ) -> Result<Answered<E::Reply>, Rejection> {
        self.view(as_of, |view| {
            question.answer(view).map_err(Rejection::engine::<E>)
        })?
    }

    /// A page of the order feed, of any length: `orders` names the pair and the exchange.
    ///
    /// # Errors
    ///
    /// A [`Rejection`] as of [`Market::answer`].
    pub fn page(
        &self,
        orders: &Orders,
        limit: usize,
        offset: u64,
        as_of: Option<Millis>,
    ) -> Result<Vec<Order>, Rejection> {
        let symbol = orders.symbol.as_ref().map(Pair::as_str);
        self.view(as_of, |view| {
            engine::orders(view, symbol, orders.exchange.as_deref(), limit, offset)
        })
    }

    /// What each venue's totals in a window cover: a simulation shows all that happens in it, tables do not tell.
    ///
    /// # Errors
    ///
    /// A [`Rejection`] as of [`Market::answer`].
    pub fn coverage(
        &self,
        as_of: Option<Millis>,
        window: Window,
    ) -> Result<Vec<VenueCoverage>, Rejection> {
        let mut venues = self.view(as_of, |view| engine::coverage(view, window))?;
        if self.simulated {
            for venue in &mut venues {
                venue.connected_share = Some(1.0);
                venue.completeness = "complete";
            }
        }
        Ok(venues)
    }

    /// The bars of `coin` that had closed by `as_of` or else by now, in order of time.
    ///
    /// # Errors
    ///
    /// A [`Rejection`] as of [`Market::answer`].
    pub fn bars(&self, coin: &str, as_of: Option<Millis>) -> Result<Vec<Bar>, Rejection> {
        self.view(as_of, |view| {
            let bars = view.observations().bars(coin).iter().copied();
            bars.filter(|bar| bar.close_time() <= view.now()).collect()
        })
    }

    /// Rows that make the same observations again.
    ///
    /// # Errors
    ///
    /// A [`Rejection`] as of [`Market::answer`].
    pub fn rows(&self) -> Result<Rows, Rejection> {
        self.view(None, |view| view.observations().rows())
    }

    /// Up to `limit` orders that arrived behind `after`, or else from the first that is known.
    ///
    /// # Errors
    ///
    /// A [`Rejection`] as of [`Market::answer`].
    pub fn arrivals(&self, after: Option<ArrivalId>, limit: usize) -> Result<Arrivals, Rejection> {
        match &self.kind {
            Kind::Fixed(fixed) => Ok(fixed.arrivals(self.series, after, limit)),
        }
    }

    /// The place behind the last order that has arrived.
    ///
    /// # Errors
    ///
    /// A [`Rejection`] as of [`Market::answer`].
    pub fn newest(&self) -> Result<ArrivalId, Rejection> {
        match &self.kind {
            Kind::Fixed(fixed) => Ok(ArrivalId {
                series: self.series,
                number: fixed.arrived().len() as u64,
            }),
        }
    }

    /// Shows `work` what was known at `as_of`, or what is known.
    #[expect(
        clippy::unnecessary_wraps,
        reason = "observations that lie elsewhere than in memory may fail to be read"
    )]
    fn view<T>(
        &self,
        as_of: Option<Millis>,
        work: impl FnOnce(&View<'_>) -> T,
    ) -> Result<T, Rejection> {
        match &self.kind {
            Kind::Fixed(fixed) => Ok(work(&fixed.observations.at(as_of))),
        }
    }
}

impl Fixed {
    fn arrived(&self) -> &[usize] {
        self.arrived
            .get_or_init(|| self.observations.in_order_of_arrival())
    }

    fn arrivals(&self, series: u64, after: Option<ArrivalId>, limit: usize) -> Arrivals {
        let after = after.unwrap_or(ArrivalId { series, number: 0 });
        let behind = usize::try_from(after.number)
            .ok()
            .filter(|_| after.series == series)
            .and_then(|number| self.arrived().get(number..));
        let Some(behind) = behind else {
            return Arrivals::Gone;
        };
        let orders = behind
            .iter()
            .filter_map(|place| self.observations.order(*place))
            .zip(after.number + 1..)
            .map(|(order, number)| (ArrivalId { series, number }, order.clone()));
        Arrivals::Known(orders.take(limit).collect())
    }
}

/// The instant it is, by this machine's clock.
fn wall_clock() -> Millis {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
mod tests {
    use proptest::prelude::*;
    use rust_decimal::Decimal;

    use super::*;
    use crate::model::{ObservedOrder, Side};

    fn market(received: &[i64]) -> Market {
        let orders = received
            .iter()
            .enumerate()
            .map(|(place, &received)| ObservedOrder {
                order: Order {
                    exchange: "okx".to_owned(),
                    symbol: "BTCUSDT".to_owned(),
                    side: Side::Long,
                    price: Decimal::ONE,
                    qty: Decimal::ONE,
                    value_usd: Decimal::from(received),
                    timestamp: Millis(i64::try_from(place).unwrap()),
                },
                coin: None,
                received_at: Some(Millis(received)),
            });
        let observations =
            Observations::new(orders.collect(), Vec::new(), Vec::new(), None).unwrap();
        Market::fixed(observations, "tables")
    }

    fn known(market: &Market, after: Option<ArrivalId>, limit: usize) -> Vec<(ArrivalId, Order)> {
        match market.arrivals(after, limit).unwrap() {
            Arrivals::Known(orders) => orders,
            Arrivals::Gone => panic!("{after:?} is gone"),
        }
    }

    proptest! {
        #[test]
        fn steps_of_any_length_show_every_order_once_as_it_was_received(
            received in proptest::collection::vec(0_i64..50, 0..40),
            step in 1_usize..7,
        ) {
            let market = market(&received);
            let mut place = None;
            let mut seen = Vec::new();
            loop {
                let orders = known(&market, place, step);
                let Some((last, _)) = orders.last() else { break };
                place = Some(*last);
                seen.extend(orders.into_iter().map(|(_, order)| order.value_usd));
            }
            let mut wanted: Vec<Decimal> = received.iter().copied().map(Decimal::from).collect();
            wanted.sort();
            prop_assert_eq!(seen, wanted);
            if let Some(place) = place {
                prop_assert_eq!(place, market.newest().unwrap());
            }
        }

        #[test]
        fn a_place_is_read_from_its_own_text_only(series: u64, number: u64, text: String) {
            let place = ArrivalId { series, number };
            prop_assert_eq!(place.to_string().parse(), Ok(place));
            if let Ok(place) = text.parse::<ArrivalId>() {
                prop_assert_eq!(place.to_string(), text);
            }
        }
    }

    #[test]
    fn a_place_that_the_market_never_gave_is_gone() {
        let market = market(&[1, 2, 3]);
        let newest = market.newest().unwrap();
        assert_eq!(known(&market, Some(newest), 9), []);
        for stranger in [
            ArrivalId {
                number: newest.number + 1,
                ..newest
            },
            ArrivalId {
                number: u64::MAX,
                ..newest
            },
            ArrivalId {
                series: newest.series.wrapping_add(1),
                number: 0,
            },
        ] {
            assert_eq!(market.arrivals(Some(stranger), 9).unwrap(), Arrivals::Gone);
        }
    }
}
