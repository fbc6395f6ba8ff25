//! `CoinEx`.
//!
//! - Channel: none; the REST path `/v2/futures/liquidation-history` is polled.
//! - Side: `side` is the side of the position.
//! - Units: the price is the liquidation price; the row also has the bankruptcy price, which is not used. Amounts are
//!   base units on linear markets. Inverse markets are quoted in USD; their instrument gives the unit.
//! - Backfill: by time, then by page number.
//! - Source: <https://docs.coinex.com/api/v2/futures/market/http/list-market-liquidation-history>

use crate::feeds::decoding::event::{Completeness, Event, PriceKind};
use crate::feeds::decoding::frame::{Channels, ExchangeEnvelope, Frame, RawLiquidation, Rules};
use crate::feeds::decoding::json_path::{JsonPath, text_of};
use crate::feeds::decoding::market_name;
use crate::feeds::decoding::market_name::MarketName;
use crate::feeds::decoding::raw_json::{JsonShape, members};
use crate::feeds::error::Error;
use crate::feeds::instruments::{Listing, traded};
use crate::feeds::messages::{Messages, Protocol};
use crate::feeds::rest::endpoints::RestEndpoints;
use crate::feeds::rest::paging;
use crate::feeds::rest::prices::{LastPrice, PriceEndpoints, quoted};
use crate::feeds::rest::request::{RateLimit, RestPage, RestRequest};
use crate::feeds::venue::Venue;
use crate::feeds::websocket::socket_plan::SocketPlan;
use crate::model::Millis;

/// Allowed requests per second: a quarter of the exchange's limit.
const REQUESTS: RateLimit = RateLimit::of("requests", 100, 1);
/// Maximum number of rows in a reply.
const ROWS: usize = 100;

const REPLY: ExchangeEnvelope = ExchangeEnvelope {
    code: "code",
    fine: "0",
    said: &["code", "message"],
};

pub(crate) static VENUE: Venue = Venue {
    rules: Rules {
        name: "coinex",
        completeness: Completeness::Unknown,
        // Names have the form `BTCUSDT`.
        market: |native_id| MarketName::joined(native_id),
        native: market_name::joined,
        contract: |_| None,
        channels: Channels {
            // Methods of version 2, then methods of version 1, which had no liquidations.
            other: &[
                "asset.",
                "balance.",
                "bbo.",
                "deals.",
                "depth.",
                "index.",
                "kline.",
                "order.",
                "position.",
                "price.",
                "server.",
                "state.",
                "stop.",
                "today.",
                "user_deals.",
            ],
            unreadable: &[],
        },
    },
    price_kinds: &[PriceKind::Liquidation],
    closed: None,
    hosts: &[("rest", "https://api.coinex.com")],
    messages: Messages::of::<Coinex>(),
    listen: SocketPlan::NONE,
    rest: RestEndpoints {
        listings: || vec![RestRequest::new("/v2/futures/market", REQUESTS)],
        read_listings,
        prices: Some(PriceEndpoints {
            asks: || vec![RestRequest::new("/v2/futures/ticker", REQUESTS)],
            read: read_prices,
        }),
        // The exchange does not document how far back rows are available. It returns fewer rows if it stores fewer.
        look_back: 30 * Millis::DAY,
        missed,
        go_on,
        ..RestEndpoints::NONE
    },
};

members!(Liquidation<'a> {
    market = "market",
    side = "side",
    price = "liq_price",
    amount = "liq_amount",
    created_at = "created_at",
});

members!(Body<'a> {
    code = "code",
    data: JsonShape<Liquidation<'a>> = "data",
    message = "message",
    method = "method",
    id = "id",
});

/// The message format of `CoinEx`.
struct Coinex;

impl Protocol for Coinex {
    type Message<'a> = Body<'a>;

    fn parse<'a>(frame: &Frame<'a>) -> Result<Body<'a>, Error> {
        frame.object()
    }

    /// Decodes the events of a frame or a REST body.
    fn events(frame: &Frame<'_>, message: &Body<'_>) -> Result<Vec<Event>, Error> {
        let root = JsonPath::ROOT;
        if let Some(method) = text_of(message.method) {
            return frame.other_channel(&root.member("method"), &method);
        }
        if message.id.is_some() {
            return Ok(Vec::new());
        }
        REPLY.judge(frame, message.code, &[message.code, message.message])?;
        frame.rows(&root.member("data"), &message.data, liquidation)
    }
}

fn liquidation(
    frame: &Frame<'_>,
    place: &JsonPath<'_>,
    row: &Liquidation<'_>,
) -> Result<Option<Event>, Error> {
    let native_id = place.name("market", row.market)?;
    let (word, side) = place.side("side", row.side, "long", "short")?;
    let amount = place.positive("liq_amount", row.amount)?;
    let price = place.positive("liq_price", row.price)?;
    let timestamp = place.instant("created_at", row.created_at)?;
    let dedupe_key = format!(
        "coinex|{native_id}|{word}|{}|{}|{}",
        timestamp.0,
        amount.plain(),
        price.plain()
    );
    let market = frame.market(&native_id);
    let base = frame.base_unless_inverse(&native_id, &market, amount.value);
    let seen = RawLiquidation {
        native_id: &native_id,
        market,
        side,
        price: price.value,
        price_kind: PriceKind::Liquidation,
        size: base,
        timestamp: Some(timestamp),
        dedupe_key,
    };
    frame.event(place, seen).map(Some)
}

members!(Listed<'a> {
    native_id = "market",
    kind = "contract_type",
    base = "base_ccy",
    quote = "quote_ccy",
    available = "is_market_available",
});

fn read_listings(_ask: &RestRequest, frame: &Frame<'_>) -> Result<RestPage<Listing>, Error> {
    let markets: JsonShape<Listed<'_>> = REPLY.open(frame)?.read("data")?;
    let rows = frame.rows(
        &JsonPath::ROOT.member("data"),
        &markets,
        |_, place, market| {
            let base = place.text("base_ccy", market.base)?;
            let quote = place.text("quote_ccy", market.quote)?;
            let kind = place.text("contract_type", market.kind)?;
            Ok(Some(Listing {
                native_id: place.name("market", market.native_id)?.into_owned(),
                // The size of a linear contract is one base unit, that of an inverse contract is one USD.
                instrument: place.instrument(&base, &quote, &kind, "1")?,
                perpetual: true,
                trading: market.available.is_none_or(|raw| raw.text() == "true"),
            }))
        },
    )?;
    Ok(RestPage::last(rows))
}

members!(Ticker<'a> {
    market = "market",
    mark = "mark_price",
});

fn read_prices(frame: &Frame<'_>) -> Result<Vec<LastPrice>, Error> {
    let tickers: JsonShape<Ticker<'_>> = REPLY.open(frame)?.read("data")?;
    quoted(&JsonPath::ROOT.member("data"), &tickers, |ticker| {
        LastPrice::read(ticker.market, ticker.mark)
    })
}

/// Returns one backfill request per market.
fn missed(listings: &[Listing], from: Millis, until: Millis) -> Vec<RestRequest> {
    traded(listings)
        .map(|listing| {
            RestRequest::new("/v2/futures/liquidation-history", REQUESTS)
                .with("market", &listing.native_id)
                .with("start_time", from.0)
                .with("end_time", until.0 - 1)
                .with("page", 1)
                .with("limit", ROWS)
                .between(from, until)
        })
        .collect()
}

members!(Pagination<'a> {
    has_next = "has_next",
});

/// Requests the next page if the exchange says that more rows follow.
///
/// Rows of the last instant may be split between two pages. Rows that appear late move other rows to the next page. The
/// next request therefore includes that instant again. If all rows of a page have the same instant, paging continues by
/// page number.
fn go_on(ask: &RestRequest, frame: &Frame<'_>) -> Result<Vec<RestRequest>, Error> {
    let pagination: JsonShape<Pagination<'_>> = REPLY.open(frame)?.read("pagination")?;
    let root = JsonPath::ROOT;
    let place = root.member("pagination");
    let pagination = place.object(&pagination)?;
    if !place.truth("has_next", pagination.has_next)? {
        return Ok(Vec::new());
    }
    let message: Body<'_> = frame.object()?;
    let place = root.member("data");
    let times = frame.rows(&place, &message.data, |_, place, row| {
        place.instant("created_at", row.created_at).map(Some)
    })?;
    if times.is_empty() {
        return Err(place.fault("has no row with a readable time, although more rows follow"));
    }
    if times.first() > times.last() {
        return paging::earlier(ask, frame, &place, &times, 0, page);
    }
    if times.first() < times.last() {
        return paging::later(ask, frame, &place, &times, page);
    }
    let number: u64 = ask
        .value("page")
        .and_then(|page| page.parse().ok())
        .unwrap_or(1);
    Ok(vec![ask.again_with("page", number.saturating_add(1))])
}

/// Builds the request for the first page of a time range.
fn page(ask: &RestRequest, from: Millis, until: Millis) -> RestRequest {
    ask.again_with("start_time", from.0)
        .again_with("end_time", until.0 - 1)
        .again_with("page", 1)
        .between(from, until)
}

#[cfg(test)]
mod tests {
    use crate::feeds::exchanges::centralized::coinex::*;
    use crate::feeds::testing::next;

    #[test]
    #[expect(clippy::unwrap_used, reason = "tests")]
    fn pages_follow_by_time_and_within_an_instant_by_page() {
        let (from, late) = (1_790_000_000_000_i64, 1_790_000_000_900_i64);
        let ask = RestRequest::new("/v2/futures/liquidation-history", REQUESTS);
        let ask = page(&ask, Millis(from), Millis(from + 1000));
        let body = |times: &[i64], has_next: bool| {
            let rows: Vec<String> = times
                .iter()
                .map(|at| format!(r#"{{"created_at":{at}}}"#))
                .collect();
            let rows = rows.join(",");
            format!(
                r#"{{"code":0,"data":[{rows}],"pagination":{{"has_next":{has_next}}},"message":"OK"}}"#
            )
        };
        let behind = |ask: &RestRequest, times: &[i64]| {
            let next = next(&VENUE, ask, &body(times, true)).unwrap().pop();
            let next = next.unwrap();
            let value = |name| next.value(name).unwrap().to_owned();
            let parsed = [value("start_time"), value("end_time"), value("page")];
            (next, parsed)
        };
        let text =
            |from: i64, until: i64, page: i64| [from, until, page].map(|one| one.to_string());
        // The next request includes the last instant of the page again, in either order of rows.
        let (second, parsed) = behind(&ask, &[late, late - 400]);
        assert_eq!(parsed, text(from, late - 400, 1));
        assert_eq!(
            behind(&ask, &[from, from + 5]).1,
            text(from + 5, from + 999, 1)
        );
        // If all rows of a page have one instant, the next page is requested by number. After it, paging continues by
        // time.
        let (third, parsed) = behind(&second, &[late - 400, late - 400]);
        assert_eq!(parsed, text(from, late - 400, 2));
        assert_eq!(
            behind(&third, &[late - 400, late - 401]).1,
            text(from, late - 401, 1)
        );
        // The exchange reports that no rows follow.
        assert_eq!(
            next(&VENUE, &ask, &body(&[late], false)).unwrap(),
            Vec::new()
        );
        // A page without readable rows is an error, so that it is not requested forever.
        assert!(next(&VENUE, &ask, &body(&[], true)).is_err());
    }
}
