//! Exchanges as recording programs name them, and their markets.

use rust_decimal::Decimal;

use crate::feeds::decoding::event::{Completeness, PriceKind, product, quotient, stripped};
use crate::feeds::decoding::market_name::MarketName;
use crate::feeds::dumps::format::Format;
use crate::feeds::dumps::layout::{Layout, ListedExchange, PriceMeaning};
use crate::feeds::hyperliquid;
use crate::feeds::instruments::Instruments;
use crate::model::{ContractSize, published_size};
use crate::tables::UNKNOWN_SIZE;

const fn listed(theirs: &'static str, own: &'static str) -> ListedExchange {
    ListedExchange {
        theirs,
        own,
        is_side_of_position: false,
        unreadable: None,
    }
}

/// Exchanges of Tardis' files.
pub(super) const TARDIS: &[ListedExchange] = &[
    listed("binance-futures", "binance"),
    listed("binance-delivery", "binance"),
    listed("bybit", "bybit"),
    listed("okex-swap", "okx"),
    listed("okex-futures", "okx"),
    listed("gate-io-futures", "gate"),
    listed("bitget-futures", "bitget"),
    listed("huobi-dm-swap", "htx"),
    listed("huobi-dm", "htx"),
    listed("huobi-dm-linear-swap", "htx"),
    listed("deribit", "deribit"),
    listed("cryptofacilities", "kraken"),
    listed("bitmex", "bitmex"),
    ListedExchange {
        unreadable: Some(
            "Tardis gives the entry price of the position on Bitfinex, not the price of the liquidation",
        ),
        ..listed("bitfinex-derivatives", "bitfinex")
    },
    listed("dydx", "dydx"),
    listed("dydx-v4", "dydx"),
];

/// Exchanges of cryptofeed's files.
pub(super) const CRYPTOFEED: &[ListedExchange] = &[
    listed("BINANCE_FUTURES", "binance"),
    listed("BINANCE_DELIVERY", "binance"),
    ListedExchange {
        is_side_of_position: true,
        ..listed("BYBIT", "bybit")
    },
    listed("DERIBIT", "deribit"),
    listed("BITFINEX", "bitfinex"),
    listed("DYDX", "dydx"),
    listed("BITMEX", "bitmex"),
    listed("OKX", "okx"),
    listed("OKEX", "okx"),
    listed("GATEIO", "gate"),
    listed("HUOBI_SWAP", "htx"),
    listed("HUOBI_DM", "htx"),
    listed("KRAKEN_FUTURES", "kraken"),
];

/// What one unit of an amount is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnitSize {
    /// So many coins.
    Coins(Decimal),
    /// So many USD.
    Usd(Decimal),
    Unknown,
}

/// A market of a file.
#[derive(Clone, Debug)]
pub(crate) struct FileMarket {
    pub(crate) exchange: &'static str,
    pub(crate) symbol: String,
    pub(crate) coin: String,
    pub(crate) unit: UnitSize,
    pub(crate) price_kind: Option<PriceKind>,
    pub(crate) completeness: Completeness,
    pub(crate) is_side_of_position: bool,
}

/// A fault of a row: column, reason and value.
pub(crate) type MarketFault = (&'static str, String, String);

/// Returns the value of one Binance contract in USD; `None` if the contract is not coin-margined.
pub(crate) fn coin_margined(native_id: &str) -> Option<Decimal> {
    let (pair, _) = native_id.split_once('_')?;
    let (base, quote) = pair.split_at_checked(pair.len().checked_sub(3)?)?;
    if !quote.eq_ignore_ascii_case("USD") {
        return None;
    }
    Some(if base.eq_ignore_ascii_case("BTC") {
        Decimal::ONE_HUNDRED
    } else {
        Decimal::TEN
    })
}

impl FileMarket {
    /// The market of a file of a recording program or an exchange; `exchange` and `contract` are as in the file.
    pub(crate) fn of(layout: &Layout, exchange: &str, contract: &str) -> Result<Self, MarketFault> {
        if layout.format == Format::HyperliquidFills {
            let (symbol, coin) = hyperliquid::pair_and_coin(contract);
            return Ok(Self {
                exchange: hyperliquid::EXCHANGE,
                symbol,
                coin,
                unit: UnitSize::Coins(Decimal::ONE),
                price_kind: Some(PriceKind::Fill),
                // A node writes every fill; whether a file contains all of them is unknown.
                completeness: Completeness::Unknown,
                is_side_of_position: false,
            });
        }
        if let Some(own) = layout.exchange {
            let listed = listed(own, own);
            return Self::listed(layout, listed, contract);
        }
        let known = layout.exchanges.iter();
        let found = known
            .clone()
            .find(|one| one.theirs.eq_ignore_ascii_case(exchange));
        let Some(found) = found else {
            let known: Vec<&str> = known.map(|one| one.theirs).collect();
            let reason = format!("not one of {}", known.join(", "));
            return Err(("exchange", reason, exchange.to_owned()));
        };
        Self::listed(layout, *found, contract)
    }

    fn listed(
        layout: &Layout,
        listed: ListedExchange,
        contract: &str,
    ) -> Result<Self, MarketFault> {
        let wrong = |reason: &str| ("symbol", reason.to_owned(), contract.to_owned());
        let venue = crate::feeds::venue(listed.own)
            .map_err(|fault| ("exchange", fault.to_string(), listed.own.to_owned()))?;
        let none = Instruments::default();
        let frame = venue.frame("", None, &none);
        let market = if layout.is_normalised {
            split(contract).ok_or_else(|| wrong("not in the form BTC-USDT-PERP"))?
        } else {
            frame.market(contract)
        };
        // Recorders name BitMEX' contract of bitcoin in USD, of one USD each, otherwise than the exchange.
        let is_bitcoin = layout.is_normalised && market.base == "BTC" && market.quote == "USD";
        let size = match listed.own {
            "bitmex" if is_bitcoin => Some(ContractSize::usd(Decimal::ONE)),
            // The exchange's own names of coin-margined contracts have an underscore.
            "binance" if layout.is_normalised && market.quote == "USD" => {
                published_size("binance", &[&market.symbol(), "_PERP"].concat())
            }
            own => published_size(own, contract),
        };
        let unit = size.map_or(UnitSize::Unknown, |contract| {
            if contract.is_usd {
                UnitSize::Usd(contract.size)
            } else {
                UnitSize::Coins(contract.size)
            }
        });
        let (symbol, coin) = (market.symbol(), market.coin());
        let is_named = |name: &str| name.contains(char::is_alphanumeric);
        if !is_named(&symbol) || !is_named(&coin) {
            return Err(wrong("not a contract: it names no coin"));
        }
        // A recorder may miss messages, so its file is never complete.
        let is_sampled = venue.completeness() != Completeness::Complete;
        Ok(Self {
            exchange: venue.name(),
            symbol,
            coin,
            unit,
            price_kind: match layout.price {
                PriceMeaning::Unknown => None,
                PriceMeaning::Average => Some(PriceKind::AverageFill),
                PriceMeaning::Listed => {
                    let kind = venue.price_kinds().first().copied();
                    Some(kind.unwrap_or(PriceKind::Fill))
                }
            },
            completeness: if is_sampled {
                Completeness::Sampled
            } else {
                Completeness::Unknown
            },
            is_side_of_position: listed.is_side_of_position,
        })
    }

    /// Why liquidations of the exchange cannot be read from files of this format.
    pub(crate) fn unreadable(layout: &Layout, exchange: &str) -> Option<&'static str> {
        let mut known = layout.exchanges.iter();
        known
            .find(|one| one.theirs.eq_ignore_ascii_case(exchange))?
            .unreadable
    }
}

impl UnitSize {
    /// Quantity in coins, and the value in USD if it does not follow from the price.
    pub(crate) fn amounts(
        self,
        amount: Decimal,
        price: Decimal,
    ) -> Result<(Decimal, Option<Decimal>), &'static str> {
        let unfit = "does not fit a decimal exactly";
        match self {
            Self::Coins(size) => {
                let coins = product(amount, size).ok_or(unfit)?;
                Ok((stripped(coins), None))
            }
            Self::Usd(worth) => {
                let usd = product(amount, worth).ok_or(unfit)?;
                let coins = quotient(usd, price).ok_or(unfit)?;
                Ok((coins, Some(stripped(usd))))
            }
            Self::Unknown => Err(UNKNOWN_SIZE),
        }
    }
}

/// Splits a symbol such as `BTC-USDT-PERP` into base and quote.
fn split(symbol: &str) -> Option<MarketName<'_>> {
    let mut parts = symbol.split('-');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(base), Some(quote), _, None) if !base.is_empty() && !quote.is_empty() => {
            Some(MarketName::new(base, quote))
        }
        _ => None,
    }
}
