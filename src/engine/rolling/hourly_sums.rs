//! What each pair had in each UTC hour of the last 24, kept up as orders come and go.

use crate::model::{ExactSum, Millis, Side};

/// Exact totals of a pair in an hour.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct Hour {
    /// The hour's first instant.
    pub(in crate::engine) start: Millis,
    sides: [(ExactSum, u64); 2],
}

impl Hour {
    fn side(&mut self, side: Side) -> &mut (ExactSum, u64) {
        let [long, short] = &mut self.sides;
        match side {
            Side::Long => long,
            Side::Short => short,
        }
    }

    /// The sums of the sides that had orders.
    pub(in crate::engine) fn sums(&self) -> impl Iterator<Item = (Side, ExactSum)> {
        [Side::Long, Side::Short]
            .into_iter()
            .zip(self.sides)
            .filter(|(_, (_, cnt))| *cnt > 0)
            .map(|(side, (sum, _))| (side, sum))
    }
}

/// The hours of every pair, by its number: at most 25 of each, in order of time; one without orders is left out.
#[derive(Debug, Default)]
pub(crate) struct Hours(Vec<Vec<Hour>>);

impl Hours {
    pub(crate) fn add(&mut self, pair: u32, side: Side, timestamp: Millis, usd: ExactSum) {
        if let Some(hour) = self.hour(pair, timestamp.hour()) {
            let sum = hour.side(side);
            sum.0 += usd;
            sum.1 += 1;
        }
    }

    pub(crate) fn take(&mut self, pair: u32, side: Side, timestamp: Millis, usd: ExactSum) {
        let start = timestamp.hour();
        let Some(hours) = self.0.get_mut(pair as usize) else {
            return;
        };
        // What leaves is the oldest.
        let Some(place) = hours.iter().position(|hour| hour.start == start) else {
            return;
        };
        if let Some(hour) = hours.get_mut(place) {
            let sum = hour.side(side);
            sum.0 -= usd;
            sum.1 -= 1;
            if hour.sides.iter().all(|(_, cnt)| *cnt == 0) {
                hours.remove(place);
            }
        }
    }

    /// Adds what a pair had elsewhere.
    pub(crate) fn merge(&mut self, pair: u32, others: &[Hour]) {
        for other in others {
            if let Some(hour) = self.hour(pair, other.start) {
                for (sum, more) in hour.sides.iter_mut().zip(other.sides) {
                    sum.0 += more.0;
                    sum.1 += more.1;
                }
            }
        }
    }

    /// The hours of a pair.
    pub(crate) fn of(&self, pair: u32) -> &[Hour] {
        self.0
            .get(pair as usize)
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    /// The pair's hour that begins at `start`; always there.
    fn hour(&mut self, pair: u32, start: Millis) -> Option<&mut Hour> {
        let pair = pair as usize;
        if self.0.len() <= pair {
            self.0.resize_with(pair + 1, Vec::new);
        }
        let hours = self.0.get_mut(pair)?;
        // What comes is nearly always of the newest.
        let before = hours.iter().rposition(|hour| hour.start <= start);
        let place = match before {
            Some(place) if hours.get(place)?.start == start => place,
            before => {
                let place = before.map_or(0, |before| before + 1);
                let sides = <[(ExactSum, u64); 2]>::default();
                hours.insert(place, Hour { start, sides });
                place
            }
        };
        hours.get_mut(place)
    }
}
