//! Maps that another service served, as they were recorded.

use crate::contract::decode::{self, Decode, Reading};
use crate::contract::{self, BadQuery, Endpoint};
use crate::engine;
use crate::market::query::market_history::MarketHistory;
use crate::market::refusal::Refusal;
use crate::market::source::recordings::RecordedQuestion;
use crate::model::{
    EstimateLabels, HeatmapGrid, LiquidationMap, MapSource, MaxPain, Millis, ServedBy, Vocabulary,
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
            ("view", self.view.is_some()),
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
            ("view", self.view.is_some()),
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
