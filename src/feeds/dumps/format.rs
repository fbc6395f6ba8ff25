//! The supported file formats.

use crate::model::Vocabulary;

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Binance's `liquidationSnapshot`.
    BinanceLiquidations,
    /// Binance's `metrics`.
    BinanceMetrics,
    /// Binance's `klines`, and those of exchanges with the same format.
    BinanceKlines,
    /// Tardis' `liquidations`.
    TardisLiquidations,
    /// Tardis' `derivative_ticker`.
    TardisDerivativeTicker,
    /// Fills written by a Hyperliquid node.
    HyperliquidFills,
    /// Arrays of bars in JSON.
    CcxtOhlcv,
    /// Orders with the side of the position.
    Orders,
    /// Orders with the side of the closing order.
    ForceOrders,
    /// Bars.
    Bars,
    /// Readings of open interest.
    OpenInterest,
    /// Readings of open interest in USD.
    OpenInterestUsd,
    /// `CoinGlass`' price history, with volume in USD.
    CoinGlassPrices,
    /// `CoinGlass`' history of open interest in coins.
    CoinGlassOpenInterestCoins,
    /// `CoinGlass`' history of open interest in USD.
    CoinGlassOpenInterestUsd,
}

impl Format {
    /// Whether its values in USD need prices from elsewhere to become coins.
    #[must_use]
    pub fn is_in_usd(self) -> bool {
        matches!(self, Self::OpenInterestUsd | Self::CoinGlassOpenInterestUsd)
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
        }
    }
}

/// Why a file's format is ambiguous, or which information is missing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {message}")]
pub struct UnclearFile {
    /// The file.
    pub file: String,
    /// What is unclear, and how to resolve it.
    pub message: String,
}
