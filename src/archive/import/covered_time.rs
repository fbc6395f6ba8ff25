//! The time for which a source contains orders, and when that was known.

use std::collections::BTreeMap;

use crate::archive::coverage_log::sessions::ImportedSession;
use crate::model::{Completeness, Millis, TimeRange, exchange_name};

/// Orders of one exchange in one UTC hour of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoveredHour {
    /// Time of the first order.
    pub first: Millis,
    /// Time of the last order.
    pub last: Millis,
    /// When the last order was received.
    pub last_known: Millis,
    /// When all orders were received.
    pub known_at: Millis,
}

impl CoveredHour {
    fn join(&mut self, other: Self) {
        if other.last > self.last {
            (self.last, self.last_known) = (other.last, other.last_known);
        } else if other.last == self.last {
            self.last_known = self.last_known.min(other.last_known);
        }
        self.first = self.first.min(other.first);
        self.known_at = self.known_at.max(other.known_at);
    }
}

/// Hours of the orders of one exchange and completeness.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CoveredExchange {
    exchange: String,
    completeness: Completeness,
    hours: BTreeMap<i64, CoveredHour>,
}

/// The time for which a source contains orders, hour by hour.
///
/// A source covers the time between its orders. Which part of that was known at an instant depends on which orders had
/// been received by then, so each hour becomes a session of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoveredTime(Vec<CoveredExchange>);

impl CoveredTime {
    /// Whether there is no order.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds an order.
    pub fn add(
        &mut self,
        exchange: &str,
        completeness: Completeness,
        at: Millis,
        received_at: Millis,
    ) {
        let known_at = received_at.max(at);
        let hour = CoveredHour {
            first: at,
            last: at,
            last_known: known_at,
            known_at,
        };
        self.add_hour(exchange, completeness, hour);
    }

    /// Adds orders of an hour.
    pub fn add_hour(&mut self, exchange: &str, completeness: Completeness, hour: CoveredHour) {
        let is = |one: &CoveredExchange, name: &str| {
            one.completeness == completeness && one.exchange == name
        };
        let known = self.0.iter().position(|one| is(one, exchange));
        let place = known.unwrap_or_else(|| {
            let exchange = exchange_name(exchange);
            let place = self.0.iter().position(|one| is(one, &exchange));
            place.unwrap_or_else(|| {
                self.0.push(CoveredExchange {
                    exchange,
                    completeness,
                    hours: BTreeMap::new(),
                });
                self.0.len() - 1
            })
        });
        if let Some(one) = self.0.get_mut(place) {
            let number = hour.last.0.div_euclid(Millis::HOUR);
            one.hours
                .entry(number)
                .and_modify(|known| known.join(hour))
                .or_insert(hour);
        }
    }

    /// Adds the orders of another part of the source.
    pub fn join(&mut self, other: &Self) {
        for (exchange, completeness, hour) in other.hours() {
            self.add_hour(exchange, completeness, *hour);
        }
    }

    /// The hours, each with its exchange and completeness.
    pub fn hours(&self) -> impl Iterator<Item = (&str, Completeness, &CoveredHour)> {
        self.0.iter().flat_map(|one| {
            let hours = one.hours.values();
            hours.map(|hour| (one.exchange.as_str(), one.completeness, hour))
        })
    }

    /// The covered time of a table, which is complete between its first and its last order for each exchange in it.
    ///
    /// Each exchange gets the hours of all, so it covers an hour once the orders that show it were received. Before the
    /// first order of an exchange was received, nothing of it was known.
    #[must_use]
    pub fn of_table(&self) -> Self {
        let mut all = BTreeMap::new();
        for (number, hour) in self.0.iter().flat_map(|one| &one.hours) {
            all.entry(*number)
                .and_modify(|known: &mut CoveredHour| known.join(*hour))
                .or_insert(*hour);
        }
        let exchanges = self.0.iter().filter_map(|one| {
            let (_, first) = one.hours.first_key_value()?;
            let mut hours = all.clone();
            for hour in hours.values_mut() {
                hour.last_known = hour.last_known.max(first.known_at);
                hour.known_at = hour.known_at.max(first.known_at);
            }
            Some(CoveredExchange {
                hours,
                ..one.clone()
            })
        });
        Self(exchanges.collect())
    }

    /// Drops all hours but the first and the last of each exchange, which later parts of the source continue.
    pub fn keep_ends(&mut self) {
        for one in &mut self.0 {
            let ends = [one.hours.first_key_value(), one.hours.last_key_value()];
            let ends = ends
                .into_iter()
                .flatten()
                .map(|(number, hour)| (*number, *hour));
            one.hours = ends.collect();
        }
    }

    /// A session for each hour, from the last order of the hour before to its own last order.
    ///
    /// The first and the last hour are extended to `span`, the time that the source states to contain.
    #[must_use]
    pub fn sessions(&self, span: Option<TimeRange>) -> Vec<ImportedSession> {
        let mut sessions = Vec::new();
        for one in &self.0 {
            let mut add = |start: Millis, end: Millis, known_at: Millis| {
                sessions.push(ImportedSession {
                    exchange: one.exchange.clone(),
                    completeness: one.completeness,
                    start,
                    end,
                    known_at: known_at.max(end),
                });
            };
            let mut before: Option<&CoveredHour> = None;
            for hour in one.hours.values() {
                match (before, span) {
                    (Some(before), _) => {
                        add(before.last, hour.last, hour.known_at.max(before.last_known));
                    }
                    (None, Some(span)) if span.start < hour.first => {
                        add(span.start, hour.last, hour.known_at);
                    }
                    (None, _) => add(hour.first, hour.last, hour.known_at),
                }
                before = Some(hour);
            }
            if let (Some(last), Some(span)) = (before, span)
                && span.end > last.last
            {
                add(last.last, span.end, last.last_known);
            }
        }
        sessions
    }
}

#[cfg(test)]
mod tests {
    use crate::archive::import::covered_time::*;

    fn sessions(orders: &[(i64, i64)], span: Option<TimeRange>) -> Vec<(i64, i64, i64)> {
        let mut covered = CoveredTime::default();
        for (at, received_at) in orders {
            let (at, received_at) = (Millis(*at), Millis(*received_at));
            covered.add("OKX", Completeness::Sampled, at, received_at);
        }
        let sessions = covered.sessions(span).into_iter();
        sessions
            .map(|one| (one.start.0, one.end.0, one.known_at.0))
            .collect()
    }

    #[test]
    fn an_hour_is_known_once_its_orders_and_the_one_before_it_were_received() {
        let hour = Millis::HOUR;
        // Of the second hour one order came late, but not its last one.
        let orders = [
            (5, 6),
            (hour, 9 * hour),
            (hour + 7, hour + 8),
            (3 * hour, 0),
        ];
        assert_eq!(
            sessions(&orders, None),
            [
                (5, 5, 6),
                (5, hour + 7, 9 * hour),
                (hour + 7, 3 * hour, 3 * hour)
            ]
        );
        let span = TimeRange::new(Millis(0), Millis(4 * hour));
        assert_eq!(
            sessions(&[(5, 6)], Some(span)),
            [(0, 5, 6), (5, 4 * hour, 4 * hour)]
        );
    }

    #[test]
    fn an_exchange_of_a_table_covers_the_time_of_another_once_its_orders_were_received() {
        let hour = Millis::HOUR;
        let mut covered = CoveredTime::default();
        // The last order of Binance came an hour late, and OKX was silent after its first one.
        let orders = [
            ("binance", 5, 6),
            ("okx", hour, hour + 3),
            ("binance", 2 * hour, 2 * hour + 1),
            ("binance", 3 * hour, 4 * hour),
        ];
        for (exchange, at, received_at) in orders {
            let (at, received_at) = (Millis(at), Millis(received_at));
            covered.add(exchange, Completeness::Complete, at, received_at);
        }
        let sessions = covered.of_table().sessions(None);
        let of = |exchange: &str| -> Vec<(i64, i64, i64)> {
            let of_one = sessions.iter().filter(|one| one.exchange == exchange);
            of_one
                .map(|one| (one.start.0, one.end.0, one.known_at.0))
                .collect()
        };
        let later = [
            (5, hour, hour + 3),
            (hour, 2 * hour, 2 * hour + 1),
            (2 * hour, 3 * hour, 4 * hour),
        ];
        let first = |known_at: i64| [[(5, 5, known_at)].as_slice(), &later].concat();
        assert_eq!(of("binance"), first(6));
        assert_eq!(of("okx"), first(hour + 3));
    }

    #[test]
    fn later_parts_continue_a_source_from_its_ends() {
        let mut covered = CoveredTime::default();
        let add = |covered: &mut CoveredTime, hours: i64| {
            let at = Millis(hours * Millis::HOUR);
            covered.add("okx", Completeness::Unknown, at, at);
        };
        for hours in [3, 4, 5] {
            add(&mut covered, hours);
        }
        covered.keep_ends();
        let mut later = CoveredTime::default();
        for hours in [1, 8] {
            add(&mut later, hours);
        }
        later.join(&covered);
        let ends: Vec<(i64, i64)> = (later.sessions(None).iter())
            .map(|one| (one.start.0 / Millis::HOUR, one.end.0 / Millis::HOUR))
            .collect();
        assert_eq!(ends, [(1, 1), (1, 3), (3, 5), (5, 8)]);
    }
}
