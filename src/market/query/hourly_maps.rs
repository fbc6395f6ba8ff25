//! The one recording of a simulated market: its maps at each full hour, as a recorder would have kept them.

use crate::contract::{self, Arguments, Endpoint, ReplyEnvelope};
use crate::market::market::Market;
use crate::market::query::market_query::MarketQuery;
use crate::market::refusal::Refusal;
use crate::market::source::recordings::{RecordedQuestion, RecordedSeries, RecordedSource};
use crate::model::{MapRow, Millis};

/// Its name.
const HOURLY: &str = "hourly";
/// The model of its maps, which is not the one that a market answers by.
const MODEL: &str = "3";
/// Its length, up to now.
const HOURLY_LENGTH: i64 = 7 * Millis::DAY;
/// Its questions: endpoint and range.
const QUESTIONS: [(&str, Option<&str>); 5] = [
    (contract::Heatmap::NAME, Some("24h")),
    (contract::Heatmap::NAME, Some("7d")),
    (contract::Liqmap::NAME, Some("1d")),
    (contract::Liqmap::NAME, Some("7d")),
    (contract::Maxpain::NAME, None),
];

impl Market {
    /// The recording of a simulated market; `None` for other markets.
    pub(crate) fn hourly_maps(&self) -> Option<RecordedSource> {
        if !self.is_simulated() {
            return None;
        }
        let last = self.now().hour();
        let since = last.back(HOURLY_LENGTH);
        let series = |symbol: String| {
            QUESTIONS.map(|(endpoint, range)| RecordedSeries {
                endpoint: endpoint.to_owned(),
                symbol: symbol.clone(),
                range: range.map(str::to_owned),
                exchange: None,
                model: (endpoint == contract::Heatmap::NAME).then_some(3),
                params: String::new(),
                version: None,
                since,
                last,
            })
        };
        Some(RecordedSource {
            source: HOURLY.to_owned(),
            maps: self.coins().into_iter().flat_map(series).collect(),
        })
    }

    /// The newest map of `hourly` at or before `as_of` that fits `asked`.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] that says which maps there are.
    pub(crate) fn hourly_map(
        &self,
        hourly: &RecordedSource,
        asked: RecordedQuestion<'_>,
        as_of: Option<Millis>,
        most: usize,
    ) -> Result<MapRow, Refusal> {
        hourly.check_name(asked.source)?;
        let series = asked.series(&hourly.maps)?;
        let at = as_of
            .map_or(series.last, |as_of| as_of.min(series.last))
            .hour();
        if at < series.since {
            return Err(series.begins_later(asked.source, at));
        }
        let reply = match asked.endpoint {
            contract::Heatmap::NAME => self.reply_at::<contract::Heatmap>(asked, at, most),
            contract::Liqmap::NAME => self.reply_at::<contract::Liqmap>(asked, at, most),
            _ => self.reply_at::<contract::Maxpain>(asked, at, most),
        }?;
        Ok(MapRow {
            kind: asked.endpoint.to_owned(),
            symbol: asked.symbol.to_owned(),
            params: series.params.clone(),
            timestamp: at,
            computed_at: at,
            reply,
            explain: None,
            version: None,
        })
    }

    /// The reply to a recorded question as of `at`, as a server sends it.
    fn reply_at<E: MarketQuery>(
        &self,
        asked: RecordedQuestion<'_>,
        at: Millis,
        most: usize,
    ) -> Result<String, Refusal> {
        let mut query = vec![("symbol", asked.symbol), ("model", MODEL)];
        query.extend(asked.range.map(|range| ("range", range)));
        let query = query
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let question = E::from_arguments(&Arguments::from_query(query.collect(), E::PARAMETERS)?)?;
        let reply = self.answer_within(&question, Some(at), most)?.reply;
        let text = if E::ENVELOPED {
            serde_json::to_string(&ReplyEnvelope::around(reply))
        } else {
            serde_json::to_string(&reply)
        };
        text.map_err(|fault| Refusal::defect(fault.to_string()))
    }
}
