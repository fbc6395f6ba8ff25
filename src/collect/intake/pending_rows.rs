//! Rows that wait until the multiplier of their market is known.
//!
//! A row is kept with the frame it was read from: once the markets have been read anew the frame
//! is decoded again, and what can be priced then is. What still cannot after its time is given up by name.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::feeds::Event;
use crate::model::Millis;

/// A row that waits.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    /// Its event, as far as it is known.
    pub(crate) event: Event,
    /// The frame it is in.
    pub(crate) frame: Arc<str>,
    /// The only market of a body that does not name it.
    pub(crate) market: Option<String>,
    /// When it was received.
    pub(crate) received_at: Millis,
}

impl Waiting {
    /// The row among the events of its frame.
    ///
    /// Where the unit of a size has to be found out, the key counts in another unit once it is known; side, price and
    /// time stay.
    pub(crate) fn find_in<'e>(&self, events: &'e [Event]) -> Option<&'e Event> {
        let known = &self.event;
        let by_key = |event: &&Event| event.dedupe_key == known.dedupe_key;
        events.iter().find(by_key).or_else(|| {
            events.iter().find(|event| {
                event.native_id == known.native_id
                    && event.side == known.side
                    && event.price == known.price
                    && event.timestamp == known.timestamp
            })
        })
    }
}

/// The rows of one venue that wait.
#[derive(Debug, Default)]
pub(crate) struct Hold {
    rows: VecDeque<Waiting>,
}

impl Hold {
    /// Lets a row wait; the oldest is handed back where more than `most` wait.
    pub(crate) fn wait(&mut self, row: Waiting, most: usize) -> Option<Waiting> {
        self.rows.push_back(row);
        if self.rows.len() > most {
            self.rows.pop_front()
        } else {
            None
        }
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// All rows that wait, to be tried again.
    pub(crate) fn take(&mut self) -> Vec<Waiting> {
        std::mem::take(&mut self.rows).into()
    }

    /// The rows that have waited since before `since`.
    pub(crate) fn expired(&mut self, since: Millis) -> Vec<Waiting> {
        let (expired, rest) = std::mem::take(&mut self.rows)
            .into_iter()
            .partition(|row| row.received_at < since);
        self.rows = rest;
        Vec::from_iter::<VecDeque<Waiting>>(expired)
    }
}

#[cfg(test)]
mod tests {
    use crate::collect::intake::pending_rows::*;
    use crate::feeds::PriceKind;
    use crate::model::Side;

    fn row(key: &str, received_at: i64) -> Waiting {
        Waiting {
            event: Event {
                exchange: "okx",
                native_id: "X".to_owned(),
                symbol: "X".to_owned(),
                coin: "X".to_owned(),
                side: Side::Long,
                price: 1.into(),
                price_kind: PriceKind::Bankruptcy,
                qty: None,
                value_usd: None,
                timestamp: None,
                received_at: None,
                sampled: true,
                dedupe_key: key.to_owned(),
                group_id: None,
            },
            frame: "{}".into(),
            market: None,
            received_at: Millis(received_at),
        }
    }

    #[test]
    fn the_oldest_gives_way_and_the_expired_are_handed_out_once() {
        let mut hold = Hold::default();
        assert!(hold.wait(row("a", 1), 2).is_none());
        assert!(hold.wait(row("b", 2), 2).is_none());
        let given_up = hold.wait(row("c", 3), 2);
        assert_eq!(
            given_up.map(|row| row.event.dedupe_key).as_deref(),
            Some("a")
        );
        let expired = hold.expired(Millis(3));
        assert_eq!(expired.len(), 1);
        assert_eq!(hold.len(), 1);
        assert!(hold.expired(Millis(3)).is_empty());
        assert_eq!(hold.take().len(), 1);
        assert_eq!(hold.len(), 0);
    }
}
