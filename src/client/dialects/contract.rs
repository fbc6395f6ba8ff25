//! The contract: every question at its own path, every reply as `wire` reads it.

use crate::api::{
    BadQuery, Chart, Coins, Endpoint, Exchanges, Heatmap, Largest, Levels, Liqmap, Maxpain, Orders,
    Overview, Stream,
};
use crate::client::dialect::{Dialect, Request, each_question};
use crate::model::{
    ChartRow, CoinTotals, ExchangeTotals, HeatmapGrid, LiquidationMap, MaxPain, Order,
    OrderColumns, TierLevels, TotalsByWindow,
};
use crate::wire::{self, Decode};

/// The contract that the ten endpoints are.
#[derive(Clone, Copy, Debug)]
pub struct Contract;

fn as_it_stands<E: Endpoint, R: Decode>(question: &E) -> Request<R> {
    Request::new(E::PATH, wire::intake(E::ENVELOPED)).with(question.to_query())
}

macro_rules! contract {
    ($($name:ident($question:ty) -> $read:ty;)+) => {
        impl Dialect for Contract {
            fn name(&self) -> &'static str {
                "contract"
            }

            fn reason(&self, body: &[u8]) -> Option<String> {
                wire::reason(body)
            }

            $(
                fn $name(&self, question: &$question) -> Result<Request<$read>, BadQuery> {
                    Ok(as_it_stands(question))
                }
            )+

            fn stream(&self, question: &Stream) -> Result<Request<Vec<Order>>, BadQuery> {
                Ok(Request::new(Stream::PATH, wire::intake(false)).with(question.to_query()))
            }
        }
    };
}

each_question!(contract);
