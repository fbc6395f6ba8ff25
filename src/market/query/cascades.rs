//! The `Cascades` query: groups of orders that follow each other closely.

use std::sync::Arc;

use crate::contract::Cascades;
use crate::engine::{self, CascadeQuestion, EngineError, View, priced, reach};
use crate::market::query::market_history::MarketHistory;
use crate::market::query::market_query::{ExplainedReply, MarketQuery, QueryInputs, QueryNames};
use crate::market::query::time_range::checked;
use crate::market::refusal::Refusal;
use crate::model::{Bar, CascadeRow, Millis, TimeRange, Window, sort_small};

/// Maximum number of cascades in a reply.
pub(crate) const MOST: usize = 1_000_000;

/// Cascades with bars of the same period of this length, in milliseconds, share one read of bars.
const READ: i64 = Millis::DAY;

/// Converts `question` to the query type of the engine; times that are not given are relative to `now`.
fn about(question: &Cascades, now: Millis) -> CascadeQuestion {
    let end = question.end.map_or(now.on(1), |end| end.at(now));
    let start = question.start.map(|start| start.at(now));
    CascadeQuestion {
        start: start.unwrap_or(end.back(Millis::DAY)),
        end,
        gap: question.gap,
        least: question.min_usd,
        symbols: question.symbol.clone().unwrap_or_default(),
        most: MOST,
    }
}

/// The first of `rows` that overlaps `event` in time and has its coin and side.
pub(crate) fn row_of<'a>(event: &CascadeRow, rows: &'a [CascadeRow]) -> Option<&'a CascadeRow> {
    rows.iter().find(|row| {
        let same = row.coin == event.coin && row.side == event.side;
        same && row.start <= event.end && event.start <= row.end
    })
}

/// Adds the prices before and after each cascade. The rows must be sorted by start.
///
/// `read` returns the bars of a coin between two instants.
pub(crate) fn price(
    rows: &mut [CascadeRow],
    read: impl Fn(&str, Millis, Millis) -> Result<Vec<Bar>, Refusal>,
) -> Result<(), Refusal> {
    let mut coins: Vec<&mut CascadeRow> = rows.iter_mut().collect();
    // A stable sort keeps the rows of one coin in order.
    sort_small(&mut coins, |a, b| a.coin.cmp(&b.coin));
    for of_coin in coins.chunk_by_mut(|a, b| a.coin == b.coin) {
        let near = |first: &&mut CascadeRow, next: &&mut CascadeRow| {
            let read_with = |row: &CascadeRow| reach(row).0.0.div_euclid(READ);
            read_with(first) == read_with(next)
        };
        for some in of_coin.chunk_by_mut(near) {
            let Some(first) = some.first() else { continue };
            let (from, _) = reach(first);
            let to = some.iter().map(|row| reach(row).1).max();
            let bars = read(&first.coin, from, to.unwrap_or(from))?;
            for row in some {
                priced(row, &bars);
            }
        }
    }
    Ok(())
}

impl MarketQuery for Cascades {
    fn answer(&self, view: &View<'_>) -> Result<ExplainedReply<Self::Reply>, EngineError> {
        let asked = Arc::new(about(self, view.now()));
        let rows = engine::cascades(view, &asked).rows(&asked);
        Ok(ExplainedReply::realised(rows.unwrap_or_default()))
    }

    fn of_market(
        &self,
        market: &dyn MarketHistory,
        as_of: Option<Millis>,
        _most: usize,
    ) -> Option<Result<Self::Reply, Refusal>> {
        let asked = about(self, as_of.unwrap_or_else(|| market.newest()));
        let answer = || {
            let given = (self.start.is_some(), self.end.is_some());
            // Cascades after now are none, and no error.
            checked(TimeRange::new(asked.start, asked.end), given, asked.start)?;
            market.cascades(&Arc::new(asked), as_of)
        };
        Some(answer())
    }

    fn doubtful(&self, reply: &Self::Reply) -> Option<QueryNames<'_>> {
        let symbols = self.symbol.iter().flatten();
        Some(QueryNames {
            symbols: symbols
                .filter(|symbol| reply.iter().all(|row| row.coin != symbol.coin()))
                .collect(),
            exchange: None,
        })
    }

    fn material(&self) -> QueryInputs {
        QueryInputs::TimeRange
    }

    fn period(&self, now: Millis) -> Option<TimeRange> {
        let asked = about(self, now);
        Some(TimeRange::new(asked.start, asked.end))
    }

    fn covered(&self) -> Option<Window> {
        (self.start.is_none() && self.end.is_none()).then_some(Window::H24)
    }
}
