//! Orderly.
//!
//! - Channel: none. The REST path `/v1/public/liquidated_positions`, which returns all markets, is polled. The socket's
//!   topic `liquidation` announces positions without a price, so its frames are errors.
//! - Side: a position above zero was a long.
//! - Units: base units. The price is the price that the liquidator pays: the mark price at the transfer of the
//!   position. One liquidation may transfer positions of several markets. A row of type `claim` passes on a position
//!   from the insurance fund and does not count.
//! - Backfill: by page number.
//! - Source: <https://orderly.network/docs>

use crate::feeds::decoding::event::{Completeness, Event, PriceKind};
use crate::feeds::decoding::frame::{
    Channels, ExchangeEnvelope, Frame, RawLiquidation, Rules, Size,
};
use crate::feeds::decoding::json_path::{JsonPath, says, shown, text_of};
use crate::feeds::decoding::market_name::MarketName;
use crate::feeds::decoding::raw_json::{JsonShape, members};
use crate::feeds::error::Error;
use crate::feeds::instruments::Listing;
use crate::feeds::messages::{Messages, Protocol};
use crate::feeds::rest::endpoints::RestEndpoints;
use crate::feeds::rest::prices::{LastPrice, PriceEndpoints, quoted};
use crate::feeds::rest::request::{RateLimit, RestRequest};
use crate::feeds::venue::Venue;
use crate::feeds::websocket::socket_plan::SocketPlan;
use crate::model::{Millis, Side};

/// Half of the 10 requests that the exchange allows per second.
const REQUESTS: RateLimit = RateLimit::of("requests", 5, 1);
/// Number of rows per page.
const ROWS: usize = 100;

const REPLY: ExchangeEnvelope = ExchangeEnvelope {
    code: "success",
    fine: "true",
    said: &["code", "message"],
};

pub(crate) static VENUE: Venue = Venue {
    rules: Rules {
        name: "orderly",
        completeness: Completeness::Unknown,
        market,
        native: |_, _| None,
        contract: |_| None,
        channels: Channels {
            // Names of topics that are not decoded, without the part that names the market.
            other: &[
                "account",
                "announcement",
                "balance",
                "bbo",
                "estfundingrate",
                "executionreport",
                "indexprice",
                "kline",
                "markprice",
                "notifications",
                "openinterest",
                "orderbook",
                "position",
                "statistics",
                "ticker",
                "trade",
                "wallet",
            ],
            unreadable: &[(
                "liquidat",
                "it has positions without a price; the REST body of /v1/public/liquidated_positions has the price",
            )],
        },
    },
    price_kinds: &[PriceKind::Fill],
    closed: None,
    hosts: &[("rest", "https://api.orderly.org")],
    messages: Messages::of::<Orderly>(),
    listen: SocketPlan::NONE,
    rest: RestEndpoints {
        prices: Some(PriceEndpoints {
            asks: || vec![RestRequest::new("/v1/public/futures", REQUESTS)],
            read: read_prices,
        }),
        // The exchange does not document how far back rows are available. It returns fewer rows if it stores fewer.
        look_back: 30 * Millis::DAY,
        missed,
        go_on,
        ..RestEndpoints::NONE
    },
};

/// Splits names such as `PERP_BTC_USDC`.
fn market(native_id: &str) -> MarketName<'_> {
    let pair = native_id.strip_prefix("PERP_").unwrap_or(native_id);
    match pair.rsplit_once('_') {
        Some((base, quote)) => MarketName::new(base, quote),
        None => MarketName::unnamed(native_id),
    }
}

members!(Leg<'a> {
    symbol = "symbol",
    qty = "position_qty",
    price = "transfer_price",
});

members!(Row<'a> {
    timestamp = "timestamp",
    id = "liquidation_id",
    legs: JsonShape<Leg<'a>> = "positions_by_perp",
    kind = "type",
});

members!(Rows<'a> {
    rows: JsonShape<Row<'a>> = "rows",
});

members!(Body<'a> {
    success = "success",
    data: JsonShape<Rows<'a>> = "data",
    code = "code",
    message = "message",
    topic = "topic",
    event = "event",
});

/// The message format of Orderly.
struct Orderly;

impl Protocol for Orderly {
    type Message<'a> = Body<'a>;

    fn parse<'a>(frame: &Frame<'a>) -> Result<Body<'a>, Error> {
        frame.object()
    }

    /// Decodes the events of a REST body; socket frames of other topics have none.
    fn events(frame: &Frame<'_>, body: &Body<'_>) -> Result<Vec<Event>, Error> {
        let root = JsonPath::ROOT;
        if body.event.is_some() {
            return Ok(Vec::new());
        }
        if let Some(topic) = text_of(body.topic) {
            let kind = topic.rsplit_once('@').map_or(&*topic, |(_, kind)| kind);
            return frame.other_channel(&root.member("topic"), kind);
        }
        REPLY.judge(frame, body.success, &[body.code, body.message])?;
        let place = root.member("data");
        let page = place.object(&body.data)?;
        let place = place.member("rows");
        let rows = frame.rows(&place, &page.rows, |frame, place, row| {
            row.events(frame, place).map(Some)
        })?;
        Ok(rows.into_iter().flatten().collect())
    }
}

impl Row<'_> {
    fn events(&self, frame: &Frame<'_>, place: &JsonPath<'_>) -> Result<Vec<Event>, Error> {
        if says(self.kind, "claim") {
            return Ok(Vec::new());
        }
        if !says(self.kind, "liquidated") {
            let kind = place.text("type", self.kind)?;
            let message = format!(
                "{} is not a kind of liquidation; \"liquidated\" or \"claim\" is allowed",
                shown(&kind)
            );
            return Err(place.member("type").fault(message));
        }
        let id = place.name("liquidation_id", self.id)?;
        let timestamp = place.instant("timestamp", self.timestamp)?;
        let legs = place.member("positions_by_perp");
        frame.rows(&legs, &self.legs, |frame, place, leg| {
            leg.event(frame, place, &id, timestamp)
        })
    }
}

impl Leg<'_> {
    fn event(
        &self,
        frame: &Frame<'_>,
        place: &JsonPath<'_>,
        id: &str,
        timestamp: Millis,
    ) -> Result<Option<Event>, Error> {
        let native_id = place.name("symbol", self.symbol)?;
        let qty = place.number("position_qty", self.qty)?;
        // The reply also lists positions of which nothing was transferred.
        if qty.value.is_zero() {
            return Ok(None);
        }
        let side = if qty.value.is_sign_negative() {
            Side::Short
        } else {
            Side::Long
        };
        let price = place.positive("transfer_price", self.price)?;
        let seen = RawLiquidation {
            native_id: &native_id,
            market: frame.market(&native_id),
            side,
            price: price.value,
            price_kind: PriceKind::Fill,
            size: Size::Base(qty.value.abs()),
            timestamp: Some(timestamp),
            dedupe_key: format!(
                "orderly|{id}|{native_id}|{}|{}|{}",
                timestamp.0,
                qty.plain(),
                price.plain()
            ),
        };
        frame.event(place, seen).map(Some)
    }
}

members!(Marked<'a> {
    symbol = "symbol",
    mark = "mark_price",
});

members!(Marks<'a> {
    rows: JsonShape<Marked<'a>> = "rows",
});

fn read_prices(frame: &Frame<'_>) -> Result<Vec<LastPrice>, Error> {
    let data: JsonShape<Marks<'_>> = REPLY.open(frame)?.read("data")?;
    let place = JsonPath::ROOT.member("data");
    let marks = place.object(&data)?;
    quoted(&place.member("rows"), &marks.rows, |row| {
        LastPrice::read(row.symbol, row.mark)
    })
}

/// Returns one backfill request for all markets.
fn missed(_listings: &[Listing], from: Millis, until: Millis) -> Vec<RestRequest> {
    vec![
        RestRequest::new("/v1/public/liquidated_positions", REQUESTS)
            .with("start_t", from.0)
            .with("end_t", until.0 - 1)
            .with("page", 1)
            .with("size", ROWS)
            .between(from, until),
    ]
}

/// Requests the next page after a full page.
///
/// The exchange's total row count cannot be used, because it never exceeds 500.
fn go_on(ask: &RestRequest, frame: &Frame<'_>) -> Result<Vec<RestRequest>, Error> {
    let data: JsonShape<Rows<'_>> = REPLY.open(frame)?.read("data")?;
    let root = JsonPath::ROOT;
    let place = root.member("data");
    let rows = place.object(&data)?;
    if place.member("rows").list(&rows.rows)?.len() < ROWS {
        return Ok(Vec::new());
    }
    let page: u64 = ask
        .value("page")
        .and_then(|page| page.parse().ok())
        .unwrap_or(1);
    Ok(vec![ask.again_with("page", page.saturating_add(1))])
}

#[cfg(test)]
mod tests {
    use crate::feeds::exchanges::decentralized::orderly::*;
    use crate::feeds::testing::{come_down, next};

    #[test]
    fn names_come_down_to_symbol_and_coin() {
        come_down(
            &VENUE,
            &[
                ["PERP_BTC_USDC", "BTCUSDC", "BTC"],
                ["PERP_1000PEPE_USDC", "1000PEPEUSDC", "PEPE"],
            ],
        );
    }

    #[test]
    fn a_full_page_is_followed_by_the_next() {
        let asks = missed(&[], Millis(0), Millis(10));
        let body = |rows: usize| {
            let row =
                r#"{"timestamp":5,"liquidation_id":1,"type":"liquidated","positions_by_perp":[]}"#;
            let rows = vec![row; rows].join(",");
            format!(r#"{{"success":true,"data":{{"rows":[{rows}]}}}}"#)
        };
        let [ask] = asks.as_slice() else {
            unreachable!("{asks:?}");
        };
        assert_eq!(next(&VENUE, ask, &body(ROWS - 1)), Ok(Vec::new()));
        let more = next(&VENUE, ask, &body(ROWS)).unwrap_or_default();
        assert_eq!(more.first().and_then(|ask| ask.value("page")), Some("2"));
        let refused = r#"{"success":false,"code":-1003,"message":"rate limit exceed"}"#;
        assert!(next(&VENUE, ask, refused).is_err());
    }
}
