//! The liquidation map of observed account positions. All other maps are estimates.

use crate::contract::{self, BadQuery};
use crate::engine;
use crate::market::query::market_history::MarketHistory;
use crate::market::refusal::Refusal;
use crate::model::{
    Bar, LiquidationMap, MapRange, MapSource, MapView, Millis, TimeRange, Vocabulary,
};

/// Whether `asked` requests the map of observed account positions.
pub(crate) fn is_measured(asked: &contract::Liqmap) -> bool {
    asked.source == Some(MapSource::Positions)
}

/// Computes the map of the last snapshot of account positions, relative to the last close.
///
/// If the coin has no bar, the mark price of the snapshot is used.
pub(crate) fn measured(
    market: &dyn MarketHistory,
    asked: &contract::Liqmap,
    as_of: Option<Millis>,
) -> Result<LiquidationMap, Refusal> {
    // A default range that was given cannot be distinguished from an omitted range, so it is accepted.
    if !matches!(asked.range, MapRange::D1 | MapRange::All) {
        let message = format!(
            "{:?} is not allowed for a map of observed positions, because their opening times are unknown",
            asked.range.name()
        );
        return Err(BadQuery::new("range", message, "all, which is also the default").into());
    }
    if asked.view == Some(MapView::Blended) {
        let message = r#""blended" is not allowed for a map of observed positions, which has no modelled part"#;
        return Err(BadQuery::new("view", message, "none, with source=positions").into());
    }
    if asked.model.is_some() {
        let message = "a map of observed positions does not use a model";
        return Err(BadQuery::new("model", message, "none, with source=positions").into());
    }
    let coin = asked.symbol.as_str();
    let positions = market.positions(coin, asked.exchange.as_deref(), as_of)?;
    let mut last = None;
    if let Some(from) = engine::priced_from(&positions) {
        let bars = market.bars(coin, as_of, TimeRange::new(from, TimeRange::ALL.end), None)?;
        last = bars.last().copied();
    }
    // Without any price there are no positions either, and the engine refuses the query.
    let price = last
        .map(|bar| bar.close)
        .or_else(|| engine::valued_at(&positions))
        .unwrap_or(1.0);
    let range = MapRange::All.name();
    let mut map = engine::measured(coin, range, &positions, price, (asked.bin, asked.shown()))?;
    if let Some(bar) = last {
        map.labels.price_at = Some(Bar::close_time(&bar));
    }
    Ok(map)
}
