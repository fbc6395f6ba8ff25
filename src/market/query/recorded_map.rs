//! Maps that another service served, as they were recorded, and those that a simulated market has recorded of itself.

use crate::contract::decode::{self, Decode, Reading};
use crate::contract::{self, Arguments, BadQuery, Endpoint, ReplyEnvelope};
use crate::engine;
use crate::market::market::Market;
use crate::market::query::market_history::MarketHistory;
use crate::market::query::market_query::MarketQuery;
use crate::market::refusal::Refusal;
use crate::market::source::recordings::{RecordedQuestion, RecordedSeries, RecordedSource};
use crate::model::{
    EstimateLabels, HeatmapGrid, LiquidationMap, MapRow, MapSource, MaxPain, Millis, ServedBy,
    Vocabulary,
};

/// A query for a map that may have been recorded.
pub(crate) trait RecordedMap: Endpoint<Reply: Decode> {
    /// The requested source.
    fn source(&self) -> Option<&MapSource>;

    /// What is asked of the recorded source `source`.
    fn asked<'a>(&'a self, source: &'a str) -> RecordedQuestion<'a>;

    /// The parameters that have no effect on a recorded map, and whether each is given.
    fn unused(&self) -> Vec<(&'static str, bool)>;

    /// The labels of the reply.
    fn labels(reply: &mut Self::Reply) -> &mut EstimateLabels;

    /// Adds the members that the recorded service does not send, and that follow from those that it sends.
    fn complete(_reply: &mut Self::Reply) {}
}

/// The recorded map that `query` asks for; `None` if it does not ask for a recording.
pub(crate) fn recorded<Q: RecordedMap>(
    query: &Q,
    market: &dyn MarketHistory,
    as_of: Option<Millis>,
    most: usize,
) -> Option<Result<Q::Reply, Refusal>> {
    let source = query.source()?.recording()?;
    Some(read(query, source, market, as_of, most))
}

fn read<Q: RecordedMap>(
    query: &Q,
    source: &str,
    market: &dyn MarketHistory,
    as_of: Option<Millis>,
    most: usize,
) -> Result<Q::Reply, Refusal> {
    if let Some((name, _)) = query.unused().into_iter().find(|(_, is_given)| *is_given) {
        let message = format!("a map that {source} served does not depend on it");
        return Err(BadQuery::new(name, message, format!("none, with source={source}")).into());
    }
    let asked = query.asked(source);
    let row = market.recorded_map(asked, as_of, most)?;
    let damaged = |fault: &dyn std::fmt::Display| {
        let (endpoint, at) = (asked.endpoint, row.timestamp);
        Refusal::defect(format!(
            "the {endpoint} that {source} served at {at} cannot be read: {fault}"
        ))
    };
    let mut reply = match decode::read::<Q::Reply>(row.reply.as_bytes(), Q::ENVELOPED) {
        Ok(Reading::Reply(reply) | Reading::Converted { reply, .. }) => reply,
        Ok(Reading::Refused { message }) => return Err(damaged(&message)),
        Err(fault) => return Err(damaged(&fault)),
    };
    let labels = Q::labels(&mut reply);
    labels.served_by = Some(ServedBy {
        source: source.to_owned(),
        recorded_at: row.timestamp,
    });
    Q::complete(&mut reply);
    Ok(reply)
}

/// Refuses the observed positions of an endpoint that has no map of them.
pub(crate) fn no_positions(source: Option<&MapSource>) -> Option<Refusal> {
    (source == Some(&MapSource::Positions)).then(|| {
        let message =
            r#""positions" is not allowed: only the liquidation map has observed positions"#;
        BadQuery::new(
            "source",
            message,
            "estimate, or the name of a recorded source",
        )
        .into()
    })
}

impl RecordedMap for contract::Heatmap {
    fn source(&self) -> Option<&MapSource> {
        self.source.as_ref()
    }

    fn asked<'a>(&'a self, source: &'a str) -> RecordedQuestion<'a> {
        RecordedQuestion {
            source,
            endpoint: Self::NAME,
            symbol: self.symbol.as_str(),
            range: Some(self.range.name()),
            exchange: self.exchange.as_deref(),
            model: Some(self.model.view().number()),
        }
    }

    fn unused(&self) -> Vec<(&'static str, bool)> {
        vec![
            ("model", self.model.own().is_some()),
            ("span", self.span.is_some()),
            ("low", self.low.is_some()),
            ("high", self.high.is_some()),
            ("opened", self.opened.is_some()),
        ]
    }

    fn labels(reply: &mut HeatmapGrid) -> &mut EstimateLabels {
        &mut reply.labels
    }

    fn complete(reply: &mut HeatmapGrid) {
        reply.complete();
    }
}

impl RecordedMap for contract::Liqmap {
    fn source(&self) -> Option<&MapSource> {
        self.source.as_ref()
    }

    fn asked<'a>(&'a self, source: &'a str) -> RecordedQuestion<'a> {
        RecordedQuestion {
            source,
            endpoint: Self::NAME,
            symbol: self.symbol.as_str(),
            range: Some(self.range.name()),
            exchange: self.exchange.as_deref(),
            model: None,
        }
    }

    fn unused(&self) -> Vec<(&'static str, bool)> {
        vec![
            ("model", self.model.is_some()),
            ("bin", self.bin.is_some()),
            ("span", self.span.is_some()),
            ("low", self.low.is_some()),
            ("high", self.high.is_some()),
            ("opened", self.opened.is_some()),
        ]
    }

    fn labels(reply: &mut LiquidationMap) -> &mut EstimateLabels {
        &mut reply.labels
    }

    fn complete(reply: &mut LiquidationMap) {
        if reply.clusters.is_none() {
            reply.clusters = Some(engine::map_clusters(reply));
        }
    }
}

impl RecordedMap for contract::Maxpain {
    fn source(&self) -> Option<&MapSource> {
        self.source.as_ref()
    }

    fn asked<'a>(&'a self, source: &'a str) -> RecordedQuestion<'a> {
        RecordedQuestion {
            source,
            endpoint: Self::NAME,
            symbol: self.symbol.as_str(),
            range: None,
            exchange: self.exchange.as_deref(),
            model: None,
        }
    }

    fn unused(&self) -> Vec<(&'static str, bool)> {
        vec![
            ("model", self.model.is_some()),
            ("headline", self.headline.is_some()),
        ]
    }

    fn labels(reply: &mut MaxPain) -> &mut EstimateLabels {
        &mut reply.labels
    }
}

/// Name of the one recording of a simulated market: its maps at each full hour, as a recorder would have kept them.
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
