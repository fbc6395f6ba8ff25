//! Sums per pair and UTC hour of the last 24 hours.

use crate::model::{ExactSum, Millis, Side};

/// Exact totals of a pair in one hour.
#[derive(Clone, Copy, Debug)]
pub struct HourSums {
    /// Start of the hour.
    pub start: Millis,
    sides: [(ExactSum, u64); 2],
}

impl HourSums {
    fn side(&mut self, side: Side) -> &mut (ExactSum, u64) {
        let [long, short] = &mut self.sides;
        match side {
            Side::Long => long,
            Side::Short => short,
        }
    }

    /// Sums of the sides with orders.
    pub fn sums(&self) -> impl Iterator<Item = (Side, ExactSum)> {
        [Side::Long, Side::Short]
            .into_iter()
            .zip(self.sides)
            .filter(|(_, (_, cnt))| *cnt > 0)
            .map(|(side, (sum, _))| (side, sum))
    }
}

/// Hourly sums by pair number.
///
/// A pair has at most 25 hours, in order of time, without empty hours.
#[derive(Debug, Default)]
pub struct HourlySums(Vec<Vec<HourSums>>);

impl HourlySums {
    pub fn add(&mut self, pair: u32, side: Side, timestamp: Millis, usd: ExactSum) {
        if let Some(hour) = self.hour(pair, timestamp.hour()) {
            let sum = hour.side(side);
            sum.0 += usd;
            sum.1 += 1;
        }
    }

    pub fn take(&mut self, pair: u32, side: Side, timestamp: Millis, usd: ExactSum) {
        let start = timestamp.hour();
        let Some(hours) = self.0.get_mut(pair as usize) else {
            return;
        };
        // Orders leave in order of time, so the hour is nearly always the first one.
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

    /// Adds the hours of the same pair from another part of a ring.
    pub fn merge(&mut self, pair: u32, others: &[HourSums]) {
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
    pub fn of(&self, pair: u32) -> &[HourSums] {
        self.0
            .get(pair as usize)
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    /// The hour of a pair that starts at `start`, added if missing.
    fn hour(&mut self, pair: u32, start: Millis) -> Option<&mut HourSums> {
        let pair = pair as usize;
        if self.0.len() <= pair {
            self.0.resize_with(pair + 1, Vec::new);
        }
        let hours = self.0.get_mut(pair)?;
        // New orders are nearly always in the newest hour.
        let before = hours.iter().rposition(|hour| hour.start <= start);
        let place = match before {
            Some(place) if hours.get(place)?.start == start => place,
            before => {
                let place = before.map_or(0, |before| before + 1);
                let sides = <[(ExactSum, u64); 2]>::default();
                hours.insert(place, HourSums { start, sides });
                place
            }
        };
        hours.get_mut(place)
    }
}
