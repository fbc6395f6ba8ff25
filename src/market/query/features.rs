//! Features: what was known of one coin at each of many instants.

use std::borrow::Cow;

use crate::contract::FeatureColumns;
use crate::engine::{self, ArrivedOrder, EngineError, MapFeatures, MapQuestion, VOLATILITY};
use crate::market::market::Market;
use crate::market::query::market_query::QueryNames;
use crate::market::refusal::{Refusal, RefusalCode};
use crate::market::source::view_source::{RequiredHistory, RequiredLedger, view_of};
use crate::model::{Chosen, ExactSum, MapRange, Millis, Model, Side, Symbol, TimeRange};

/// Which features are wanted, and how late one's own data are.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureQuestion {
    /// Lengths of the windows of realised orders, in milliseconds.
    pub windows: Vec<i64>,
    /// The features of the map; `None` if none is wanted.
    pub map: Option<MapQuestion>,
    /// The model of the map; the default one of the coin if absent.
    pub model: Option<Chosen>,
    /// The only exchange that counts; all if absent.
    pub exchange: Option<String>,
    /// Milliseconds before each instant by which rows must have been received.
    pub latency: i64,
}

impl FeatureQuestion {
    /// The features that the columns need; realised orders or the map are left out if no column needs them.
    #[must_use]
    pub fn of(
        columns: &FeatureColumns,
        range: MapRange,
        model: Option<Chosen>,
        exchange: Option<String>,
        latency: i64,
    ) -> Self {
        let lengths = columns.windows.iter().map(|(_, length)| *length);
        Self {
            windows: lengths.filter(|_| columns.has_windows()).collect(),
            map: columns.has_map().then(|| MapQuestion {
                range,
                moves: columns.moves.clone(),
            }),
            model,
            exchange,
            latency,
        }
    }
}

/// Realised orders of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowFeatures {
    /// Covered share of the window.
    pub covered: f64,
    /// USD of longs and of shorts; `None` if nothing of the window is covered.
    pub usd: Option<[f64; 2]>,
    /// Number of orders; `None` if nothing of the window is covered.
    pub cnt: Option<i64>,
}

/// The features of a coin at one instant.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureRow {
    /// The instant of the decision.
    pub at: Millis,
    /// The newest instant of a row that was used.
    pub known_at: Option<Millis>,
    /// One entry per window.
    pub windows: Vec<WindowFeatures>,
    /// Features of the map; `None` before the first bar.
    pub map: Option<MapFeatures>,
}

impl Market {
    /// The features of a coin at each of `instants`, in their order.
    ///
    /// Each row equals that of a market with only the rows that were received `latency` before its instant.
    ///
    /// # Errors
    ///
    /// As [`Market::answer`].
    pub fn features(
        &self,
        symbol: &Symbol,
        asked: &FeatureQuestion,
        instants: &[Millis],
    ) -> Result<Vec<FeatureRow>, Refusal> {
        self.check_features(&[symbol], asked, instants)?;
        let known: Vec<Millis> = instants.iter().map(|at| at.back(asked.latency)).collect();
        let coin = symbol.coin();
        let mut rows = self.window_features(coin, asked, instants)?;
        if let Some(of_map) = &asked.map {
            let maps = self.map_features(coin, asked, of_map, &known)?;
            for (row, map) in rows.iter_mut().zip(maps) {
                let newest = map.as_ref().map(|map| map.closed);
                let reading = map.as_ref().and_then(|map| map.open_interest_at);
                row.known_at = row.known_at.max(newest).max(reading);
                row.map = map;
            }
        }
        Ok(rows)
    }

    /// Refuses names that are unknown, and instants of which nothing is known.
    pub(super) fn check_features(
        &self,
        symbols: &[&Symbol],
        asked: &FeatureQuestion,
        instants: &[Millis],
    ) -> Result<(), Refusal> {
        let named = |name: &'static str| {
            move |refusal: Refusal| Refusal {
                parameter: refusal.parameter.map(|given| match &*given {
                    "as_of" | "symbol" => Cow::Borrowed(name),
                    _ => given,
                }),
                ..refusal
            }
        };
        for at in [instants.iter().min(), instants.iter().max()] {
            let known_by = at.map(|at| at.back(asked.latency));
            self.check_instant(known_by).map_err(named("at"))?;
            // What was liquidated after the newest observation is not known, and not zero.
            if let Some(late) = known_by.filter(|at| *at > self.now() && !self.is_growing()) {
                return Err(named("at")(Refusal::unknown_yet(late, self.now())));
            }
        }
        self.check_names(&QueryNames {
            symbols: symbols.to_vec(),
            exchange: asked.exchange.as_deref(),
        })
        .map_err(named("symbols"))
    }

    /// The features of realised orders.
    fn window_features(
        &self,
        coin: &str,
        asked: &FeatureQuestion,
        instants: &[Millis],
    ) -> Result<Vec<FeatureRow>, Refusal> {
        let longest = asked.windows.iter().copied().max().unwrap_or_default();
        let withdrawn = self.source.withdrawals()?;
        // Rows that were withdrawn stay visible as of earlier instants, so each part between is read for itself.
        let part_of =
            |at: Millis| withdrawn.partition_point(|gone| *gone <= at.back(asked.latency));
        let mut order: Vec<(usize, Millis)> = instants.iter().copied().enumerate().collect();
        order.sort_by_key(|(_, at)| *at);
        let mut found: Vec<(usize, FeatureRow)> = Vec::with_capacity(order.len());
        for part in order.chunk_by(|(_, one), (_, next)| part_of(*one) == part_of(*next)) {
            let (Some((_, first)), Some((_, last))) = (part.first(), part.last()) else {
                continue;
            };
            let orders = if longest > 0 {
                let range = TimeRange::new(first.back(longest).on(1), last.on(1));
                let known_by = Some(last.back(asked.latency));
                let exchange = asked.exchange.as_deref();
                self.source
                    .arrived_orders(coin, exchange, range, known_by)?
            } else {
                Vec::new()
            };
            for (place, at) in part {
                let known_by = at.back(asked.latency);
                let covered = if longest > 0 {
                    let range = TimeRange::new(at.back(longest).on(1), at.on(1));
                    self.source.recorded(Some(known_by), range)?
                } else {
                    engine::RecordedRanges::new()
                };
                let mut row = FeatureRow {
                    at: *at,
                    known_at: None,
                    windows: Vec::with_capacity(asked.windows.len()),
                    map: None,
                };
                for window in &asked.windows {
                    let range = TimeRange::new(at.back(*window).on(1), at.on(1));
                    let share = engine::covered_share(&covered, range, asked.exchange.as_deref());
                    let (usd, cnt, newest) = sums(&orders, range, known_by);
                    let is_known = share > 0.0;
                    row.known_at = row.known_at.max(newest);
                    row.windows.push(WindowFeatures {
                        covered: share,
                        usd: is_known.then_some(usd),
                        cnt: is_known.then_some(cnt),
                    });
                }
                found.push((*place, row));
            }
        }
        found.sort_by_key(|(place, _)| *place);
        Ok(found.into_iter().map(|(_, row)| row).collect())
    }

    /// The features of the map as of each of `known`; `None` where the coin has no map.
    fn map_features(
        &self,
        coin: &str,
        asked: &FeatureQuestion,
        of_map: &MapQuestion,
        known: &[Millis],
    ) -> Result<Vec<Option<MapFeatures>>, Refusal> {
        let needed = RequiredHistory {
            coin: coin.to_owned(),
            range: Millis::ALL,
            range_name: "all",
            orders: asked
                .model
                .as_ref()
                .is_none_or(|model| model.view() == Model::Expected),
            exchange: asked.exchange.clone(),
            lasts: Millis::ALL,
            ledger: None,
            positions: false,
        };
        let read = |as_of, needed: &RequiredHistory, instants: &[Millis]| {
            view_of(&*self.source, as_of, Some(needed), |view| {
                let view = view.of_venue(asked.exchange.as_deref());
                engine::map_features(&view, coin, asked.model.as_ref(), of_map, instants)
            })
        };
        if self.source.shows_the_past() {
            let maps = read(None, &needed, known)?;
            return maps.into_iter().map(known_map).collect();
        }
        let needed = RequiredHistory {
            ledger: Some(RequiredLedger {
                model: asked.model.clone(),
                back: of_map.range.millis().max(VOLATILITY),
            }),
            ..needed
        };
        let each = known.iter().map(|at| {
            let maps = match read(Some(*at), &needed, &[*at]) {
                Err(refusal) if is_without_bars(refusal.code) => return Ok(None),
                maps => maps?,
            };
            maps.into_iter().next().map_or(Ok(None), known_map)
        });
        each.collect()
    }
}

/// Whether the reason of a refusal is that no bar is known yet.
fn is_without_bars(code: RefusalCode) -> bool {
    matches!(code, RefusalCode::UnknownCoin | RefusalCode::NoBars)
}

/// The features of a map; `None` if no bar, or no open interest of the exchange, is known yet.
fn known_map(map: Result<MapFeatures, EngineError>) -> Result<Option<MapFeatures>, Refusal> {
    match map {
        Ok(map) => Ok(Some(map)),
        Err(
            EngineError::UnknownCoin { .. }
            | EngineError::NoBars { .. }
            | EngineError::UnknownVenue { .. },
        ) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// USD per side and number of the orders in `range` that were received by `known_by`, and when the newest was known.
fn sums(
    orders: &[ArrivedOrder],
    range: TimeRange,
    known_by: Millis,
) -> ([f64; 2], i64, Option<Millis>) {
    let first = orders.partition_point(|order| order.timestamp < range.start);
    let orders = orders.get(first..).unwrap_or_default().iter();
    let within = orders
        .take_while(|order| order.timestamp < range.end)
        .filter(|order| order.received_at.max(order.timestamp) <= known_by);
    let (mut long, mut short) = (ExactSum::default(), ExactSum::default());
    let (mut cnt, mut newest) = (0, None);
    for order in within {
        match order.side {
            Side::Long => long += order.usd,
            Side::Short => short += order.usd,
        }
        cnt += 1;
        newest = newest.max(Some(order.received_at.max(order.timestamp)));
    }
    ([long.f64(), short.f64()], cnt, newest)
}
