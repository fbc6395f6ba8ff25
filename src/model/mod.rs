//! What the market data is: values, units and closed vocabularies.
//!
//! Nothing here does I/O or reads a clock. Every reply type of the contract lives here and knows how to
//! encode itself exactly as the contract spells it; how a tolerant reader takes one apart is the
//! [`wire`](crate::wire) room's business.

mod apart;
mod bar;
mod brackets;
mod brief;
mod cascade;
mod chart;
mod coin;
mod coverage;
mod damage;
mod decimals;
mod filed;
mod fixed;
mod grid;
mod grouped;
mod heatmap;
mod in_coins;
mod interner;
mod iso;
mod labels;
mod levels;
mod liqmap;
mod map;
mod margin;
mod maxpain;
mod money;
mod nearest;
mod observed;
mod order;
mod orders;
mod period;
mod position;
mod record;
mod sampling;
mod seeded;
mod short;
mod shortened;
mod shortest;
mod side;
mod sorting;
mod specification;
mod spelled;
mod symbol;
mod time;
mod totals;
mod worth;

pub use apart::{FineCells, Sides};
pub use bar::{Bar, ClosedBar, EarlierBar, OpenInterest};
pub use brackets::{BracketRow, Brackets};
pub use brief::OrderBrief;
pub use cascade::CascadeRow;
pub use chart::ChartRow;
pub use coin::Coin;
pub use coverage::{Completeness, Evidence, GapState, MissedStretch, VenueCoverage};
pub use damage::Damage;
pub use decimals::Decimals;
pub use filed::{FiledColumns, FiledOrders, Numbered, decimal_of_attos};
pub use fixed::nearest_f64;
pub(crate) use fixed::{Fixed, TENS, TENS_F64, power_of_ten};
pub use grid::{FineGrid, map_step};
pub use grouped::{GroupedOrder, Groups};
pub use heatmap::{HeatmapGrid, Model};
pub use in_coins::NotInCoins;
pub(crate) use interner::{Interner, Listings, count};
pub use iso::read_span;
pub use labels::Labels;
pub use levels::{LevelTier, TierLevels};
pub use liqmap::{BinWidth, LiquidationMap, MapBin, MapSource, Measured};
pub use map::{MapKind, MapRow};
pub use margin::{Contract, MarginOf, Terms, first_margin, liquidation_price, maintenance_margin};
pub use maxpain::{Cluster, MaxPain, Pain};
pub use money::ExactSum;
pub use nearest::{ALIKE, exchange_meant, nearest};
pub use observed::{
    ObservedBar, ObservedLiquidations, ObservedOpenInterest, ObservedOpenInterestUsd,
    ObservedOrder, Position,
};
pub use order::Order;
pub use orders::OrderColumns;
pub use period::PeriodRow;
pub use position::{ObservedPosition, PositionRow};
pub use record::{Cell, Column, Kind, Record, Source, Value, Visitor};
pub(crate) use record::{record, value};
pub use sampling::{Sampling, UndercountRow};
pub(crate) use seeded::seeded;
pub use shortened::shortened;
pub(crate) use shortest::push_short;
pub use shortest::{push_decimal, short_decimal};
pub use side::Side;
pub use sorting::sort_small;
pub use specification::{BadSpecification, Chosen, Margins, Prior, Specification};
pub use spelled::{ContractKind, Symbol, coin_of_pair, without_month};
pub use symbol::{
    EXCHANGES, coin_of_base, did_you_mean, exchange_name, is_coin, known_exchange, may_be_scaled,
    own_name, quote_of_pair, well_known,
};
pub use time::{HeatmapRange, MapRange, Millis, Vocabulary, Window};
pub use totals::*;
pub use worth::{is_dollar, is_far_from_product, is_worth_its_product};
