//! The `History` query: liquidations by period.

use std::sync::Arc;

use crate::contract::{BadQuery, GroupColumn, History, Switch};
use crate::engine::{self, EngineError, Grouping, TimelineQuestion, TooManyRows, View};
use crate::market::query::market_history::MarketHistory;
use crate::market::query::market_query::{ExplainedReply, MarketQuery, QueryInputs, QueryNames};
use crate::market::query::time_range::checked;
use crate::market::refusal::Refusal;
use crate::model::{Millis, PeriodRow, Symbol, TimeRange, Window};

/// Maximum number of rows in a reply.
const MOST: usize = 2_000_000;

/// Converts `question` to the query type of the engine; times that are not given are relative to `now`.
fn about(question: &History, now: Millis) -> TimelineQuestion {
    let is = |group| question.by.contains(&group);
    let end = question.end.map_or(now.on(1), |end| end.at(now));
    let start = question.start.map(|start| start.at(now));
    TimelineQuestion {
        start: start.unwrap_or(end.back(Millis::DAY)),
        end,
        interval: question.interval,
        by: Grouping {
            coin: is(GroupColumn::Coin),
            symbol: is(GroupColumn::Symbol),
            exchange: is(GroupColumn::Exchange),
            side: is(GroupColumn::Side),
        },
        symbols: question.symbol.clone().unwrap_or_default(),
        exchange: question.exchange.clone(),
        least: question.min_usd,
        sparse: question.sparse == Some(Switch::On),
        most: MOST,
    }
}

/// Refuses more rows than the bound.
pub(crate) fn too_many(refused: TooManyRows) -> BadQuery {
    let TooManyRows { rows, most } = refused;
    let message = match rows {
        Some(rows) => format!("there would be {rows} rows, and {most} are the most"),
        None => format!("there are more than {most} rows"),
    };
    let allowed = "a longer interval, a shorter range, fewer columns in by, or sparse to leave empty periods out";
    BadQuery::new("interval", message, allowed)
}

/// Refuses contradicting parameters.
fn check(question: &History, asked: &TimelineQuestion, now: Millis) -> Result<(), BadQuery> {
    let symbols = question.symbol.iter().flatten().count();
    if symbols > 1 && !asked.by.coin && !asked.by.symbol {
        return Err(BadQuery::new(
            "by",
            format!("the rows would not show which of the {symbols} symbols they belong to"),
            "columns with coin or symbol among them",
        ));
    }
    let given = (question.start.is_some(), question.end.is_some());
    checked(TimeRange::new(asked.start, asked.end), given, now)?;
    let rows = asked.rows_of_group();
    if !asked.sparse && rows > MOST as u64 {
        return Err(too_many(TooManyRows {
            rows: Some(rows),
            most: MOST as u64,
        }));
    }
    Ok(())
}

impl MarketQuery for History {
    fn answer(&self, view: &View<'_>) -> Result<ExplainedReply<Self::Reply>, EngineError> {
        let asked = Arc::new(about(self, view.now()));
        let recorded = engine::recorded(view, TimeRange::new(asked.start, asked.end));
        let rows = engine::timeline(view, &asked).rows(&recorded);
        Ok(ExplainedReply::realised(rows.unwrap_or_default()))
    }

    fn of_market(
        &self,
        market: &dyn MarketHistory,
        as_of: Option<Millis>,
        _most: usize,
    ) -> Option<Result<Self::Reply, Refusal>> {
        let now = as_of.unwrap_or_else(|| market.newest());
        let asked = about(self, now);
        let answer = || {
            check(self, &asked, now)?;
            market.timeline(&Arc::new(asked), as_of)
        };
        Some(answer())
    }

    fn doubtful(&self, reply: &Self::Reply) -> Option<QueryNames<'_>> {
        // Rows without orders may be about a name that does not exist.
        let has_orders = |row: &&PeriodRow| {
            let is_known = row.total_usd.is_some_and(|usd| !usd.is_zero());
            is_known || row.cnt.is_some_and(|count| count > 0)
        };
        let answer = |symbol: &Symbol| {
            let mut rows = reply.iter().filter(has_orders);
            rows.any(|row| match (&row.symbol, &row.coin) {
                (Some(listed), coin) => {
                    let coin = coin.as_deref().unwrap_or_else(|| symbol.coin());
                    symbol.means(listed, coin)
                }
                (None, Some(coin)) => coin == symbol.coin(),
                // The rows have neither a coin nor a symbol. Then the query names only one symbol, and every row is
                // about it.
                (None, None) => true,
            })
        };
        let is_without = !reply.iter().any(|row| has_orders(&row));
        let symbols = self.symbol.iter().flatten();
        Some(QueryNames {
            symbols: symbols.filter(|symbol| !answer(symbol)).collect(),
            exchange: self.exchange.as_deref().filter(|_| is_without),
        })
    }

    fn material(&self) -> QueryInputs {
        QueryInputs::TimeRange
    }

    fn begins(&self, now: Millis) -> Option<Millis> {
        Some(about(self, now).start)
    }

    fn period(&self, now: Millis) -> Option<TimeRange> {
        let asked = about(self, now);
        Some(TimeRange::new(asked.start, asked.end))
    }

    fn exchange(&self) -> Option<&str> {
        self.exchange.as_deref()
    }

    fn asks_totals(&self, now: Millis) -> Option<TimelineQuestion> {
        Some(about(self, now))
    }

    fn covered(&self) -> Option<Window> {
        (self.start.is_none() && self.end.is_none()).then_some(Window::H24)
    }
}
