//! `BitMEX`, which closed on 2026-09-23 at 04:00 UTC. Its past frames and files are decoded; nothing connects to it.
//!
//! - Channel: the table `liquidation`. A row is an order, not a fill, and only its insertion counts. Partials
//!   (snapshots of the table) are sent again after a reconnect; updates and deletions repeat the order.
//! - Side: the side of the closing order; `Sell` closed a long.
//! - Units: contracts. The contract size of XBTUSD (one USD) is built in; the instruments give the size of other
//!   contracts. The exchange sends no timestamp, so the time of receipt is used.
//! - Markets: bodies of `/api/v1/instrument/active` are still read, because archives have them.
//! - Source: <https://www.bitmex.com/app/wsAPI>, as it was before the end

use rust_decimal::Decimal;

use crate::feeds::decoding::event::{Completeness, Event, PriceKind};
use crate::feeds::decoding::frame::{Channels, Frame, RawLiquidation, Rules, Size};
use crate::feeds::decoding::json_path::{JsonPath, says, text_of};
use crate::feeds::decoding::market_name::MarketName;
use crate::feeds::decoding::raw_json::{JsonShape, members};
use crate::feeds::error::Error;
use crate::feeds::instruments::{Listing, SizeUnit};
use crate::feeds::messages::{Messages, Protocol};
use crate::feeds::rest::endpoints::RestEndpoints;
use crate::feeds::rest::request::{RateLimit, RestPage, RestRequest};
use crate::feeds::venue::Venue;
use crate::feeds::websocket::control::{FrameKind, SentSubscriptions};
use crate::feeds::websocket::socket_plan::SocketPlan;
use crate::model::{quote_of_pair, without_month};

/// The exchange allows 30 requests per minute without a login.
const REQUESTS: RateLimit = RateLimit::of("requests", 27, 60);

/// Prefix of the type codes of futures; spot markets and indices have other prefixes.
const FUTURES: &str = "FF";
/// Type codes of perpetual contracts, on a currency and on other underlyings.
const PERPETUAL: [&str; 2] = ["FFWCSX", "FFWCSF"];

pub(crate) static VENUE: Venue = Venue {
    rules: Rules {
        name: "bitmex",
        completeness: Completeness::Complete,
        market,
        native: |base, quote| {
            let base = if base == "BTC" { "XBT" } else { base };
            Some([base, quote].concat())
        },
        contract: |native_id| (native_id == "XBTUSD").then_some((SizeUnit::Inverse, Decimal::ONE)),
        channels: Channels {
            other: &[
                "affiliate",
                "announcement",
                "chat",
                "connected",
                "execution",
                "funding",
                "instrument",
                "insurance",
                "margin",
                "order",
                "position",
                "privateNotifications",
                "publicNotifications",
                "quote",
                "settlement",
                "trade",
                "transact",
                "wallet",
            ],
            unreadable: &[],
        },
    },
    price_kinds: &[PriceKind::Order],
    closed: Some("2026-09-23 04:00 UTC"),
    hosts: &[
        ("socket", "wss://ws.bitmex.com"),
        ("rest", "https://www.bitmex.com"),
    ],
    messages: Messages::of::<Bitmex>(),
    listen: SocketPlan::NONE,
    rest: RestEndpoints {
        listings: || vec![RestRequest::new("/api/v1/instrument/active", REQUESTS)],
        read_listings,
        ..RestEndpoints::NONE
    },
};

/// Splits names such as `XBTUSD`, `XBTUSDT`, and `XBTZ26`, which is in USD.
fn market(native_id: &str) -> MarketName<'_> {
    match without_month(native_id) {
        Some(name) if quote_of_pair(name).is_some() => MarketName::joined(name),
        Some(base) => MarketName::new(base, "USD"),
        None => MarketName::joined(native_id),
    }
}

members!(Liquidation<'a> {
    order_id = "orderID",
    symbol = "symbol",
    side = "side",
    price = "price",
    leaves = "leavesQty",
});

members!(Message<'a> {
    table = "table",
    action = "action",
    data: JsonShape<Liquidation<'a>> = "data",
    info = "info",
    op = "op",
    subscribe = "subscribe",
    success = "success",
    error = "error",
});

/// The message format of `BitMEX`.
struct Bitmex;

impl Protocol for Bitmex {
    type Message<'a> = Message<'a>;

    fn parse<'a>(frame: &Frame<'a>) -> Result<Message<'a>, Error> {
        frame.object()
    }

    /// Decodes the events of a frame.
    fn events(frame: &Frame<'_>, message: &Message<'_>) -> Result<Vec<Event>, Error> {
        let spoken = [
            message.info,
            message.op,
            message.subscribe,
            message.success,
            message.error,
        ];
        let root = JsonPath::ROOT;
        let Some(table) = text_of(message.table) else {
            return if spoken.iter().any(Option::is_some) {
                Ok(Vec::new())
            } else {
                Err(frame.unknown())
            };
        };
        if table != "liquidation" {
            return frame.other_channel(&root.member("table"), &table);
        }
        if !says(message.action, "insert") {
            return Ok(Vec::new());
        }
        frame.rows(&root.member("data"), &message.data, liquidation)
    }

    fn kind(
        _frame: &Frame<'_>,
        _message: &Message<'_>,
        _sent: &SentSubscriptions,
    ) -> Result<FrameKind, Error> {
        Ok(FrameKind::Other)
    }
}

fn liquidation(
    frame: &Frame<'_>,
    place: &JsonPath<'_>,
    row: &Liquidation<'_>,
) -> Result<Option<Event>, Error> {
    let native_id = place.name("symbol", row.symbol)?;
    let order_id = place.name("orderID", row.order_id)?;
    let (_, side) = place.side("side", row.side, "Sell", "Buy")?;
    let seen = RawLiquidation {
        native_id: &native_id,
        market: frame.market(&native_id),
        side,
        price: place.positive("price", row.price)?.value,
        price_kind: PriceKind::Order,
        size: Size::Contracts(place.positive("leavesQty", row.leaves)?.value),
        timestamp: None,
        dedupe_key: format!("bitmex|{order_id}"),
    };
    let event = frame.event(place, seen)?;
    Ok(Some(event.of_order(&order_id)))
}

members!(Listed<'a> {
    symbol = "symbol",
    class = "typ",
    state = "state",
    underlying = "underlying",
    quote = "quoteCurrency",
    is_inverse = "isInverse",
    is_quanto = "isQuanto",
    multiplier = "multiplier",
    to_settle = "underlyingToSettleMultiplier",
    to_position = "underlyingToPositionMultiplier",
});

fn read_listings(_ask: &RestRequest, frame: &Frame<'_>) -> Result<RestPage<Listing>, Error> {
    let markets: JsonShape<Listed<'_>> = frame.read_plainly()?;
    let rows = frame.rows(&JsonPath::ROOT, &markets, |_, place, market| {
        let class = place.text("typ", market.class)?;
        if !class.starts_with(FUTURES) {
            return Ok(None);
        }
        let (kind, size) = contract(place, market)?;
        let base = place.text("underlying", market.underlying)?;
        let quote = place.text("quoteCurrency", market.quote)?;
        Ok(Some(Listing {
            native_id: place.name("symbol", market.symbol)?.into_owned(),
            instrument: place.instrument(&base, &quote, kind, &size.to_string())?,
            perpetual: PERPETUAL.contains(&&*class),
            trading: says(market.state, "Open"),
        }))
    })?;
    Ok(RestPage::last(rows))
}

/// Returns unit and size of a contract.
fn contract(place: &JsonPath<'_>, market: &Listed<'_>) -> Result<(&'static str, Decimal), Error> {
    if place.truth("isQuanto", market.is_quanto)? {
        let message = "is true: the contract size is neither fixed in the base nor in USD";
        return Err(place.member("isQuanto").fault(message));
    }
    if place.truth("isInverse", market.is_inverse)? {
        // `multiplier` and `underlyingToSettleMultiplier` both count the smallest unit of the settlement coin. Both are
        // negative here. Their quotient is the contract size in USD.
        let multiplier = place.number("multiplier", market.multiplier)?.value;
        let unit = place
            .number("underlyingToSettleMultiplier", market.to_settle)?
            .value;
        let size = divided(multiplier, unit)
            .ok_or_else(|| place.member("multiplier").fault("is not a number of USD"))?;
        return Ok(("inverse", size));
    }
    let name = "underlyingToPositionMultiplier";
    let contracts = place.positive(name, market.to_position)?.value;
    let size = divided(Decimal::ONE, contracts)
        .ok_or_else(|| place.member(name).fault("does not divide exactly"))?;
    Ok(("linear", size))
}

/// Returns the quotient if it is exact.
fn divided(value: Decimal, by: Decimal) -> Option<Decimal> {
    let quotient = value.checked_div(by)?.normalize();
    (quotient.checked_mul(by)? == value).then_some(quotient)
}

#[cfg(test)]
mod tests {
    use crate::feeds::exchanges::centralized::bitmex::*;
    use crate::feeds::testing::{come_down, listed};

    #[test]
    fn names_come_down_to_symbol_and_coin() {
        come_down(
            &VENUE,
            &[
                ["XBTUSD", "BTCUSD", "BTC"],
                ["XBTZ26", "BTCUSD", "BTC"],
                ["XBTUSDT", "BTCUSDT", "BTC"],
                ["ETHUSDTH27", "ETHUSDT", "ETH"],
            ],
        );
    }

    #[test]
    fn contracts_hold_what_their_multipliers_say() {
        let row = |symbol: &str, class: &str, rest: &str| {
            format!(
                r#"{{"symbol":"{symbol}","typ":"{class}","state":"Open","underlying":"XBT","quoteCurrency":"USD",{rest}}}"#
            )
        };
        let inverse = r#""isQuanto":false,"isInverse":true,"multiplier":-100000000,"underlyingToSettleMultiplier":-100000000"#;
        let linear = r#""isQuanto":false,"isInverse":false,"multiplier":1,"underlyingToPositionMultiplier":1000000"#;
        let uneven = r#""isQuanto":false,"isInverse":false,"underlyingToPositionMultiplier":3"#;
        let rows = [
            row("XBTUSD", "FFWCSX", inverse),
            row("XBTZ26", "FFCCSX", inverse),
            row("XBTUSDT", "FFWCSX", linear),
            row("ETHUSD", "FFWCSX", r#""isQuanto":true,"isInverse":false"#),
            row("XBT_USDT", "IFXXXP", linear),
            row("ODDUSDT", "FFWCSX", uneven),
        ];
        let (listed, faults) = listed(&VENUE, &format!("[{}]", rows.join(",")));
        assert_eq!(
            listed,
            [
                "XBTUSD XBT/USD Inverse 1",
                "XBTZ26 XBT/USD Inverse 1 dated",
                "XBTUSDT XBT/USD Linear 0.000001",
            ]
        );
        assert_eq!(faults.len(), 2, "{faults:?}");
        assert!(
            faults.iter().any(|fault| fault.contains("[3].isQuanto")),
            "{faults:?}"
        );
        assert!(
            faults
                .iter()
                .any(|fault| fault.contains("does not divide exactly")),
            "{faults:?}"
        );
    }

    #[test]
    fn only_exact_quotients_are_taken() {
        let of = |value, by| divided(Decimal::from(value), Decimal::from(by));
        assert_eq!(of(1, 1_000_000), Some(Decimal::new(1, 6)));
        assert_eq!(of(-100_000_000, -100_000_000), Some(Decimal::ONE));
        assert_eq!(of(1, 3), None);
        assert_eq!(of(1, 0), None);
    }
}
