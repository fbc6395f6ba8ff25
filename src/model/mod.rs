//! Market data types: values, units, row types, symbols and time.
//!
//! Nothing in this module does I/O or reads a clock. Each reply type of the API serializes itself exactly as the API
//! contract specifies. The module [`decode`](crate::contract::decode) parses replies.

mod coverage;
mod estimate;
mod margin;
mod orders;
mod rows;
mod run_map;
mod side;
mod sorting;
mod symbols;
mod text;
mod time;
mod values;

pub use coverage::damage::Damage;
pub use coverage::period_coverage::PeriodCoverage;
pub use coverage::sampling::{Sampling, UndercountRow};
pub use coverage::simulated_feeds::SimulatedFeeds;
pub use coverage::unconverted::NotInCoins;
pub use coverage::venue_coverage::{Completeness, CoverageGap, Evidence, GapState, VenueCoverage};
pub use estimate::blended::{ExactPart, MapView, MeasuredExchange};
pub use estimate::fine_cells::{FineCells, Sides};
pub use estimate::grid::{FineGrid, map_step};
pub use estimate::heatmap::{HeatmapGrid, Model};
pub use estimate::labels::{EstimateLabels, EstimateView, Headline, ServedBy, Units};
pub use estimate::levels::{LevelTier, TierLevels};
pub use estimate::liquidation_map::{
    BinBounds, BinWidth, LiquidationMap, MapBin, MapSource, Measured,
};
pub use estimate::map_cluster::MapCluster;
pub use estimate::max_pain::{Cluster, MaxPain, Pain};
pub use estimate::opened::Opened;
pub use estimate::shares::{
    ExchangeShare, LiquidatableShare, MEASURED_SHARES, MeasuredShare, coins_with_shares, shares_of,
};
pub use estimate::span::{
    ColumnUsd, DISTANCES, PriceBound, RangesWithin, ShownPrices, SideUsd, Span, Within,
};
pub use estimate::specification::{BadSpecification, Chosen, LEVERAGES, Margins, Specification};
pub use margin::brackets::{BracketRow, Brackets};
pub use margin::liquidation_price::{
    Contract, MarginOf, Terms, liquidation_price, maintenance_margin,
};
pub use orders::grouped_order::{GroupedOrder, Groups};
pub use orders::order::Order;
pub use orders::order_batch::{FiledColumns, FiledOrders, Numbered};
pub use orders::order_brief::OrderBrief;
pub use orders::order_columns::OrderColumns;
pub use rows::bar::{Bar, ClosedBar, EarlierBar, OpenInterest, RunningBar};
pub use rows::cascade::CascadeRow;
pub use rows::chart::ChartRow;
pub use rows::observation::{
    ObservedBar, ObservedLiquidations, ObservedOpenInterest, ObservedOpenInterestUsd,
    ObservedOrder, Position,
};
pub use rows::period::PeriodRow;
pub use rows::period_total::TotalRow;
pub use rows::position::{ObservedPosition, PositionRow};
pub use rows::record::{Cell, Column, Kind, Record, Source, Value, Visitor};
pub use rows::record::{record, value};
pub use rows::served_map::{MapKind, MapRow};
pub use rows::totals::*;
pub use run_map::RunMap;
pub use side::Side;
pub use sorting::sort_small;
pub use symbols::coin::Coin;
pub use symbols::contract_kind::{ContractKind, NotOfCoin, Settlement};
pub use symbols::names::{
    ALL_EXCHANGES, EXCHANGES, did_you_mean, exchange_name, is_coin, known_exchange, named_exchange,
    own_name, well_known,
};
pub use symbols::quotes::{bitfinex_currency, is_quote};
pub use symbols::quotes::{is_dollar, quote_of_pair};
pub use symbols::scales::coin_of_base;
pub use symbols::spelling::{listed_contract, without_month};
pub use symbols::suggestion::{ALIKE, exchange_meant, nearest};
pub use symbols::symbol::{Symbol, coin_of_pair};
pub use text::hashing::seeded;
pub use text::interner::{Interner, Listings, count};
pub use text::label_column::Labels;
pub use text::truncation::shortened;
pub use time::iso8601::read_span;
pub use time::millis::{HeatmapRange, MapRange, Millis, TotalsRange, Vocabulary, Window};
pub use time::period_length::PeriodLength;
pub use time::time_range::{TimeBound, TimeRange};
pub use time::time_unit::TimeUnit;
pub use values::contract_size::{
    ContractSize, may_be_inverse, may_count_contracts, published_size,
};
pub use values::decimal_column::DecimalColumn;
pub use values::exact_sum::ExactSum;
pub use values::fixed_point::FixedPoint;
pub use values::notional::{contradicts_product, is_worth_its_product};
pub use values::powers_of_ten::{POWERS_OF_TEN, POWERS_OF_TEN_F64, power_of_ten};
pub use values::products::{product, quotient, stripped};
pub use values::short_decimal::SHORT_TEXT;
pub use values::short_decimal::push_decimal;
pub use values::short_decimal::{ShortDecimal, nearest_f64};
