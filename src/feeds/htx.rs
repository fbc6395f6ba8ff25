//! HTX: `public.*.liquidation_orders`, and the REST body of `/linear-swap-api/v3/swap_liquidation_orders` and its twins.
//!
//! `direction` is the closing order: `sell` closed a long. The price is the bankruptcy price. Linear rows carry `amount` in
//! the base and `trade_turnover` in the quote; coin-margined ones count contracts, and the instrument says how many USD one
//! holds. Frames are gzip, which every venue's may be. A ping is to be answered with the very token it carries.

mod listen;

use serde_json::value::RawValue;

use super::frame::{Cell, Part, Place, Sighting, Size, cells, says, text_of};
use super::{
    Ask, Asked, Completeness, Error, Event, Frame, Heard, Heartbeat, Line, Listing, Page,
    PriceKind, Venue, naming,
};
use crate::model::Millis;

/// The venue `htx`.
#[derive(Debug)]
pub(super) struct Htx;

cells!(Row {
    contract = "contract_code",
    pair = "pair",
    direction = "direction",
    volume = "volume",
    price = "price",
    created_at = "created_at",
    amount = "amount",
    turnover = "trade_turnover",
});

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, rename_all = "kebab-case")]
struct Message<'a> {
    #[serde(borrow)]
    op: Cell<'a>,
    #[serde(borrow)]
    topic: Cell<'a>,
    #[serde(borrow)]
    ping: Cell<'a>,
    #[serde(borrow)]
    pong: Cell<'a>,
    #[serde(borrow)]
    ch: Cell<'a>,
    #[serde(borrow)]
    subbed: Cell<'a>,
    #[serde(borrow)]
    err_code: Cell<'a>,
    #[serde(borrow)]
    ts: Cell<'a>,
    #[serde(borrow)]
    code: Cell<'a>,
    #[serde(borrow)]
    msg: Cell<'a>,
    #[serde(borrow)]
    data: Part<Row<'a>>,
}

impl Venue for Htx {
    fn name(&self) -> &'static str {
        "htx"
    }

    fn completeness(&self) -> Completeness {
        Completeness::Unknown
    }

    fn price_kinds(&self) -> &'static [PriceKind] {
        &[PriceKind::Bankruptcy]
    }

    fn decode(&self, frame: &Frame<'_>) -> Result<Vec<Event>, Error> {
        let Part::Object(message) = frame.read::<Part<Message<'_>>>()? else {
            return Err(frame.unknown());
        };
        let root = Place::ROOT;
        let place = root.member("data");
        if let Some(op) = text_of(message.op) {
            let topic = text_of(message.topic).unwrap_or_default();
            if op != "notify" || !topic.ends_with(".liquidation_orders") {
                return Ok(Vec::new());
            }
            return frame.rows(&place, &message.data, row);
        }
        let spoken = [
            message.ping,
            message.pong,
            message.ch,
            message.subbed,
            message.err_code,
        ];
        if spoken.iter().any(Option::is_some) {
            return Ok(Vec::new());
        }
        match text_of(message.code).as_deref() {
            Some("200") => frame.rows(&place, &message.data, row),
            Some(code) => {
                let said = text_of(message.msg).unwrap_or_default();
                Err(frame.refused(root.member("code"), &format!("{code} {said}")))
            }
            None => Err(frame.unknown()),
        }
    }

    fn answer(&self, frame: &Frame<'_>) -> Result<Option<String>, Error> {
        let Part::Object(message) = frame.read::<Part<Message<'_>>>()? else {
            return Err(frame.unknown());
        };
        if let Some(token) = message.ping {
            return Ok(Some(format!("{{\"pong\":{token}}}")));
        }
        if !says(message.op, "ping") {
            return Ok(None);
        }
        let token = message.ts.map_or("null", RawValue::get);
        Ok(Some(format!("{{\"op\":\"pong\",\"ts\":{token}}}")))
    }

    fn hosts(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("socket", "wss://api.hbdm.com"),
            ("rest", "https://api.hbdm.com"),
        ]
    }

    fn lines(&self, _listings: &[Listing]) -> Vec<Line> {
        listen::lines()
    }

    fn subscription(&self, number: usize, topics: &[String], _now: Millis) -> String {
        listen::subscription(number, topics)
    }

    fn control(&self, frame: &Frame<'_>, asked: &Asked) -> Result<Heard, Error> {
        listen::control(frame, asked)
    }

    fn heartbeat(&self) -> Heartbeat {
        listen::HEARTBEAT
    }

    fn listing_requests(&self) -> Vec<Ask> {
        listen::listing_requests()
    }

    fn read_listings(&self, ask: &Ask, frame: &Frame<'_>) -> Result<Page<Listing>, Error> {
        listen::read_listings(ask, frame)
    }

    fn look_back(&self) -> i64 {
        90 * Millis::DAY - Millis::HOUR
    }

    fn missed(&self, listings: &[Listing], from: Millis, until: Millis) -> Vec<Ask> {
        listen::missed(listings, from, until)
    }

    fn go_on(&self, ask: &Ask, frame: &Frame<'_>) -> Result<Vec<Ask>, Error> {
        listen::go_on(ask, frame)
    }
}

fn row(frame: &Frame<'_>, place: &Place<'_>, row: &Row<'_>) -> Result<Option<Event>, Error> {
    let native_id = place.name("contract_code", row.contract)?;
    let (word, side) = place.side("direction", row.direction, "sell", "buy")?;
    let volume = place.positive("volume", row.volume)?;
    let price = place.positive("price", row.price)?;
    let timestamp = place.instant("created_at", row.created_at)?;
    let pair = text_of(row.pair).filter(|pair| pair.contains('-'));
    let market = match (&pair, frame.knows(&native_id)) {
        (Some(pair), false) => naming::dashed(pair),
        _ => frame.market(&native_id, naming::htx),
    };
    let quantity = if market.quote == "USD" || row.amount.is_none() {
        Size::Contracts(volume.value)
    } else {
        let amount = place.positive("amount", row.amount)?.value;
        match row.turnover {
            Some(_) => Size::Turnover(
                amount,
                place.positive("trade_turnover", row.turnover)?.value,
            ),
            None => Size::Base(amount),
        }
    };
    let dedupe_key = format!(
        "htx|{native_id}|{word}|{}|{}|{}",
        timestamp.0,
        volume.plain(),
        price.plain()
    );
    let seen = Sighting {
        native_id: &native_id,
        market,
        side,
        price: price.value,
        price_kind: PriceKind::Bankruptcy,
        size: quantity,
        timestamp: Some(timestamp),
        dedupe_key,
    };
    frame.event(place, seen).map(Some)
}
