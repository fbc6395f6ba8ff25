//! Queries of stored rows: coverage, gaps, bars, open interest, recorded maps and account positions.

use crate::contract::{Bars, Coverage, Gaps, Maps, OpenInterest, Positions, Switch};
use crate::engine::{self, EngineError, View};
use crate::market::market::Market;
use crate::market::query::market_history::MarketHistory;
use crate::market::query::market_query::{ExplainedReply, MarketQuery, QueryInputs};
use crate::market::query::totals::OfRange;
use crate::market::refusal::Refusal;
use crate::model::{Bar, ClosedBar, Coin, EarlierBar, Millis, TimeRange, Window};

impl MarketQuery for Coverage {
    fn answer(&self, view: &View<'_>) -> Result<ExplainedReply<Self::Reply>, EngineError> {
        let window = self.asked().window().unwrap_or(Window::H24);
        Ok(ExplainedReply::realised(engine::coverage(view, window)))
    }

    fn of_market(
        &self,
        market: &dyn MarketHistory,
        as_of: Option<Millis>,
        _most: usize,
    ) -> Option<Result<Self::Reply, Refusal>> {
        let answer = || {
            if let Some(window) = self.asked().window() {
                return market.coverage(as_of, window);
            }
            let now = as_of.unwrap_or_else(|| market.newest());
            let range = self.asked().checked(now)?;
            let known = TimeRange::new(range.start, range.end.min(now.on(1)));
            market.coverage_between(as_of, known)
        };
        Some(answer())
    }

    fn material(&self) -> QueryInputs {
        let window = self.asked().window();
        window.map_or(QueryInputs::TimeRange, QueryInputs::Recorded)
    }

    fn begins(&self, now: Millis) -> Option<Millis> {
        Some(self.asked().at(now).start)
    }
}

impl MarketQuery for Gaps {
    /// Tables record no gaps.
    fn answer(&self, _: &View<'_>) -> Result<ExplainedReply<Self::Reply>, EngineError> {
        Ok(ExplainedReply::realised(Vec::new()))
    }

    fn of_market(
        &self,
        market: &dyn MarketHistory,
        as_of: Option<Millis>,
        _most: usize,
    ) -> Option<Result<Self::Reply, Refusal>> {
        let now = as_of.unwrap_or_else(|| market.newest());
        Some(market.gaps(as_of, TimeRange::bounded_at(self.start, self.end, now)))
    }

    fn material(&self) -> QueryInputs {
        QueryInputs::TimeRange
    }

    fn begins(&self, now: Millis) -> Option<Millis> {
        Some(TimeRange::bounded_at(self.start, self.end, now).start)
    }
}

impl MarketQuery for Bars {
    fn answer(&self, view: &View<'_>) -> Result<ExplainedReply<Self::Reply>, EngineError> {
        let range = TimeRange::bounded_at(self.start, self.end, view.now());
        let bars = engine::bars(view, self.symbol.as_str(), range, self.interval)?;
        Ok(ExplainedReply::realised(closed_bars(&self.symbol, &bars)))
    }

    fn of_market(
        &self,
        market: &dyn MarketHistory,
        as_of: Option<Millis>,
        _most: usize,
    ) -> Option<Result<Self::Reply, Refusal>> {
        let now = as_of.unwrap_or_else(|| market.newest());
        let range = TimeRange::bounded_at(self.start, self.end, now);
        let answer = || {
            let coin = self.symbol.as_str();
            let bars = market.bars(coin, as_of, range, self.interval)?;
            let mut rows = closed_bars(&self.symbol, &bars);
            rows.extend(running(self, market, as_of, range)?);
            Ok(rows)
        };
        Some(answer())
    }

    fn material(&self) -> QueryInputs {
        QueryInputs::TimeRange
    }

    fn begins(&self, now: Millis) -> Option<Millis> {
        Some(TimeRange::bounded_at(self.start, self.end, now).start)
    }

    /// Without a requested length, the reply has all bars.
    fn leaves_out(&self) -> bool {
        self.interval.is_some()
    }

    fn earlier(
        &self,
        market: &Market,
        as_of: Option<Millis>,
        reply: &Self::Reply,
    ) -> Result<Option<EarlierBar>, Refusal> {
        let asked = TimeRange::bounded_at(self.start, self.end, market.now_at(as_of));
        let before = reply.first().map_or(asked.end, |bar| bar.timestamp);
        let range = TimeRange::new(asked.start, before);
        if !self.leaves_out() || range.is_empty() {
            return Ok(None);
        }
        let first = market.first_bar(self.symbol.as_str(), as_of, range)?;
        Ok(first.map(|(timestamp, interval)| EarlierBar {
            timestamp,
            interval,
        }))
    }
}

/// The bar of the period that has not ended, if it is asked for and in `range`.
fn running(
    asked: &Bars,
    market: &dyn MarketHistory,
    as_of: Option<Millis>,
    range: TimeRange,
) -> Result<Option<ClosedBar>, Refusal> {
    let Some(size) = asked.interval.filter(|_| asked.running == Some(Switch::On)) else {
        return Ok(None);
    };
    let now = as_of.unwrap_or_else(|| market.newest());
    if range.end <= now {
        return Ok(None);
    }
    // The last bars may be known only up to the period before the present one.
    let from = size.open(size.open(now).back(1)).max(range.start);
    let coin = asked.symbol.as_str();
    let recent = market.bars(coin, as_of, TimeRange::new(from, range.end), None)?;
    let running = engine::running(&recent, size);
    let running = running.filter(|running| running.bar.open_time >= range.start);
    Ok(running.map(|running| ClosedBar::running(coin, &running)))
}

/// Converts the bars of a coin to rows of the reply.
fn closed_bars(coin: &Coin, bars: &[Bar]) -> Vec<ClosedBar> {
    bars.iter()
        .map(|bar| ClosedBar::of(coin.as_str(), bar))
        .collect()
}

impl MarketQuery for OpenInterest {
    fn answer(&self, view: &View<'_>) -> Result<ExplainedReply<Self::Reply>, EngineError> {
        let range = TimeRange::bounded_at(self.start, self.end, view.now());
        let readings = engine::open_interest(view, self.symbol.as_str(), range);
        Ok(ExplainedReply::realised(readings))
    }

    fn of_market(
        &self,
        market: &dyn MarketHistory,
        as_of: Option<Millis>,
        _most: usize,
    ) -> Option<Result<Self::Reply, Refusal>> {
        let now = as_of.unwrap_or_else(|| market.newest());
        let range = TimeRange::bounded_at(self.start, self.end, now);
        Some(market.open_interest(self.symbol.as_str(), as_of, range))
    }

    fn material(&self) -> QueryInputs {
        QueryInputs::TimeRange
    }
}

impl MarketQuery for Maps {
    /// Tables record no maps.
    fn answer(&self, _: &View<'_>) -> Result<ExplainedReply<Self::Reply>, EngineError> {
        Ok(ExplainedReply::realised(Vec::new()))
    }

    fn of_market(
        &self,
        market: &dyn MarketHistory,
        as_of: Option<Millis>,
        most: usize,
    ) -> Option<Result<Self::Reply, Refusal>> {
        Some(market.maps(self, as_of, most))
    }

    fn material(&self) -> QueryInputs {
        QueryInputs::TimeRange
    }
}

impl MarketQuery for Positions {
    /// Tables have no account positions.
    fn answer(&self, _: &View<'_>) -> Result<ExplainedReply<Self::Reply>, EngineError> {
        Ok(ExplainedReply::realised(Vec::new()))
    }

    fn of_market(
        &self,
        market: &dyn MarketHistory,
        as_of: Option<Millis>,
        _most: usize,
    ) -> Option<Result<Self::Reply, Refusal>> {
        Some(market.positions(self.symbol.as_str(), None, as_of))
    }

    fn material(&self) -> QueryInputs {
        QueryInputs::TimeRange
    }
}
