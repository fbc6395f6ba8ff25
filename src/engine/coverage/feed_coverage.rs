//! How much of what is liquidated somebody listened to: of a period in which an exchange was not heard, less can have
//! been told.

use std::collections::BTreeMap;

use crate::model::{Millis, TimeRange};

/// When each exchange was listened to, and how much of all that is liquidated it tells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exposure {
    /// Share of what is liquidated, and the stretches, in order and apart from each other.
    venues: Vec<(f64, Vec<TimeRange>)>,
}

impl Exposure {
    /// Of exchanges that were listened to in stretches of time, and what each of them told meanwhile, in USD: what an
    /// exchange tells in an hour in which it is heard is its share. One that told nothing has none.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "milliseconds of a few thousand years are exact in a double"
    )]
    pub fn new(heard: BTreeMap<String, Vec<TimeRange>>, usd: &BTreeMap<String, f64>) -> Self {
        let venues = heard.into_iter().filter_map(|(venue, spans)| {
            let long: i64 = spans.iter().map(|range| range.length()).sum();
            let usd = *usd.get(&venue)?;
            (usd > 0.0 && long > 0).then(|| (usd / long as f64, spans))
        });
        let mut venues: Vec<(f64, Vec<TimeRange>)> = venues.collect();
        let all: f64 = venues.iter().map(|(rate, _)| rate).sum();
        for (rate, _) in &mut venues {
            *rate /= all;
        }
        Self { venues }
    }

    /// The share of what is liquidated in a stretch that was listened to; all of it where nobody kept a record.
    pub(crate) fn of(&self, from: Millis, to: Millis) -> f64 {
        if self.venues.is_empty() {
            return 1.0;
        }
        let venues = self.venues.iter();
        let heard: f64 = venues
            .map(|(of, spans)| of * share(spans, TimeRange::new(from, to)))
            .sum();
        heard.min(1.0)
    }
}

/// The share of a stretch that lies in `spans`, which are in order and apart from each other.
#[expect(
    clippy::cast_precision_loss,
    reason = "milliseconds of a few thousand years are exact in a double"
)]
pub(crate) fn share(spans: &[TimeRange], whole: TimeRange) -> f64 {
    let first = spans.partition_point(|range| range.end <= whole.start);
    let within = spans.iter().skip(first);
    let covered: i64 = within
        .take_while(|range| range.start < whole.end)
        .map(|range| range.intersection(whole).length())
        .sum();
    covered as f64 / whole.length().max(1) as f64
}

#[cfg(test)]
mod tests {
    use crate::engine::coverage::feed_coverage::*;

    #[test]
    fn the_share_of_a_stretch_is_that_of_what_lies_in_it() {
        let range = |from, to| TimeRange::new(Millis(from), Millis(to));
        let spans = [range(0, 10), range(20, 30)];
        for (from, to, wanted) in [(0, 10, 1.0), (5, 25, 0.5), (10, 20, 0.0), (-10, 40, 0.4)] {
            let found = share(&spans, range(from, to));
            assert!((found - wanted).abs() < 1e-12, "{from} {to} {found}");
        }
    }

    #[test]
    fn an_exchange_counts_for_what_it_tells_while_it_is_heard() {
        let spans = |spans: &[(i64, i64)]| {
            spans
                .iter()
                .map(|(from, to)| TimeRange::new(Millis(*from), Millis(*to)))
                .collect()
        };
        let heard = BTreeMap::from([
            ("binance".to_owned(), spans(&[(0, 100)])),
            // A quarter of the time, in which it told as much as the other in all of it: it is four fifths.
            ("okx".to_owned(), spans(&[(0, 25)])),
            ("quiet".to_owned(), spans(&[(0, 10)])),
        ]);
        let usd = BTreeMap::from([("binance".to_owned(), 7.0), ("okx".to_owned(), 7.0)]);
        let exposure = Exposure::new(heard, &usd);
        for (from, to, wanted) in [(0, 25, 1.0), (25, 100, 0.2), (0, 50, 0.6), (100, 200, 0.0)] {
            let found = exposure.of(Millis(from), Millis(to));
            assert!((found - wanted).abs() < 1e-12, "{from} {to} {found}");
        }
        let nobody = Exposure::default().of(Millis(0), Millis(1));
        assert!((nobody - 1.0).abs() < 1e-12);
    }
}
