//! Which files there are.

use crate::model::Vocabulary;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Binance's `liquidationSnapshot`.
    BinanceLiquidations,
    /// Binance's `metrics`.
    BinanceMetrics,
    /// Binance's `klines`, and those of exchanges that write the same.
    BinanceKlines,
    /// Tardis' `liquidations`.
    TardisLiquidations,
    /// Tardis' `derivative_ticker`.
    TardisDerivativeTicker,
    /// Fills that a node of Hyperliquid's writes.
    HyperliquidFills,
    /// Arrays of bars in JSON.
    CcxtOhlcv,
    /// Orders with the side of the position.
    Orders,
    /// Orders with the side of the order that closed the position.
    ForceOrders,
    /// Bars.
    Bars,
    /// Readings of open interest.
    OpenInterest,
    /// Readings of open interest in USD.
    OpenInterestUsd,
    /// `CoinGlass`' history of prices, whose volume is in USD.
    CoinGlassPrices,
    /// `CoinGlass`' history of open interest in coins.
    CoinGlassOpenInterestCoins,
    /// `CoinGlass`' history of open interest in USD.
    CoinGlassOpenInterestUsd,
}

impl Format {
    /// Whether its numbers are brought to coins by prices from elsewhere.
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

/// Why it is not clear what a file is, or how to read it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {message}")]
pub struct Unclear {
    /// The file.
    pub file: String,
    /// What is not clear, and what would make it so.
    pub message: String,
}
