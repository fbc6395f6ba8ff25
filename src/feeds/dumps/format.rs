//! The supported file formats.

use crate::model::Vocabulary;
use crate::tables::TableKind;

/// The format of a historical file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Binance's `liquidationSnapshot` files.
    BinanceLiquidations,
    /// Binance's `metrics` files.
    BinanceMetrics,
    /// Binance's `klines` files, and files of other exchanges in the same format.
    BinanceKlines,
    /// Tardis' `liquidations` files.
    TardisLiquidations,
    /// Tardis' `derivative_ticker` files.
    TardisDerivativeTicker,
    /// Fills written by a Hyperliquid node.
    HyperliquidFills,
    /// JSON lists of bars, as ccxt's `fetch_ohlcv` returns them.
    CcxtOhlcv,
    /// A table of orders; the side is that of the liquidated position.
    Orders,
    /// A table of orders; the side is that of the closing order.
    ForceOrders,
    /// A table of price bars with volume in coins.
    Bars,
    /// A table of open-interest readings in coins.
    OpenInterest,
    /// A table of open-interest readings in USD.
    OpenInterestUsd,
    /// `CoinGlass`' price history, with volume in USD.
    CoinGlassPrices,
    /// `CoinGlass`' history of open interest in coins.
    CoinGlassOpenInterestCoins,
    /// `CoinGlass`' history of open interest in USD.
    CoinGlassOpenInterestUsd,
    /// A table of positions of single accounts.
    Positions,
    /// A table of liquidated USD by period and exchange.
    Totals,
    /// Coinalyze's history of liquidations, asked for in USD.
    CoinalyzeLiquidations,
}

impl Format {
    /// Whether its values are in USD.
    ///
    /// Prices from other data are needed to convert them to coins.
    #[must_use]
    pub fn is_in_usd(self) -> bool {
        matches!(self, Self::OpenInterestUsd | Self::CoinGlassOpenInterestUsd)
    }

    /// The kind of table that its rows become.
    pub(crate) fn kind(self) -> TableKind {
        match self {
            Self::BinanceLiquidations
            | Self::TardisLiquidations
            | Self::HyperliquidFills
            | Self::Orders
            | Self::ForceOrders => TableKind::Orders,
            Self::BinanceKlines | Self::CcxtOhlcv | Self::Bars | Self::CoinGlassPrices => {
                TableKind::Bars
            }
            Self::BinanceMetrics
            | Self::TardisDerivativeTicker
            | Self::OpenInterest
            | Self::OpenInterestUsd
            | Self::CoinGlassOpenInterestCoins
            | Self::CoinGlassOpenInterestUsd => TableKind::OpenInterest,
            Self::Positions => TableKind::Positions,
            Self::Totals | Self::CoinalyzeLiquidations => TableKind::Totals,
        }
    }
}

impl Vocabulary for Format {
    const ALL: &'static [Self] = &[
        Self::BinanceLiquidations,
        Self::BinanceMetrics,
        Self::BinanceKlines,
        Self::TardisLiquidations,
        Self::TardisDerivativeTicker,
        Self::HyperliquidFills,
        Self::CcxtOhlcv,
        Self::Orders,
        Self::ForceOrders,
        Self::Bars,
        Self::OpenInterest,
        Self::OpenInterestUsd,
        Self::CoinGlassPrices,
        Self::CoinGlassOpenInterestCoins,
        Self::CoinGlassOpenInterestUsd,
        Self::Positions,
        Self::Totals,
        Self::CoinalyzeLiquidations,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::BinanceLiquidations => "binance_liquidations",
            Self::BinanceMetrics => "binance_metrics",
            Self::BinanceKlines => "binance_klines",
            Self::TardisLiquidations => "tardis_liquidations",
            Self::TardisDerivativeTicker => "tardis_derivative_ticker",
            Self::HyperliquidFills => "hyperliquid_fills",
            Self::CcxtOhlcv => "ccxt_ohlcv",
            Self::Orders => "orders",
            Self::ForceOrders => "force_orders",
            Self::Bars => "bars",
            Self::OpenInterest => "open_interest",
            Self::OpenInterestUsd => "open_interest_usd",
            Self::CoinGlassPrices => "coinglass_prices",
            Self::CoinGlassOpenInterestCoins => "coinglass_open_interest_coins",
            Self::CoinGlassOpenInterestUsd => "coinglass_open_interest_usd",
            Self::Positions => "positions",
            Self::Totals => "totals",
            Self::CoinalyzeLiquidations => "coinalyze_liquidations",
        }
    }
}

/// The error for a file that is ambiguous or lacks information.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {message}")]
pub struct UnclearFile {
    /// Name of the file.
    pub file: String,
    /// What is unclear, and how to resolve it.
    pub message: String,
}
