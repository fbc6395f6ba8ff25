//! `BitMEX`: the table `liquidation`.
//!
//! A row is an order, not a fill, and only its insertion counts: partials repeat after a reconnect, updates and deletions
//! are the same order again. `Sell` closes a long. There is no timestamp, so the time of receipt stands in. Sizes are
//! contracts; what one holds is built in for XBTUSD (one USD) and has to be given for the others.

mod listen;

use super::frame::{Cell, Part, Place, Sighting, Size, cells, says};
use super::{
    Ask, Asked, Completeness, Error, Event, Frame, Heard, Heartbeat, Line, Listing, Page,
    PriceKind, Venue, naming,
};
use crate::model::Millis;

/// The venue `bitmex`.
#[derive(Debug)]
pub(super) struct Bitmex;

cells!(Row {
    order_id = "orderID",
    symbol = "symbol",
    side = "side",
    price = "price",
    leaves = "leavesQty",
});

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    table: Cell<'a>,
    #[serde(borrow)]
    action: Cell<'a>,
    #[serde(borrow)]
    data: Part<Row<'a>>,
    #[serde(borrow)]
    info: Cell<'a>,
    #[serde(borrow)]
    op: Cell<'a>,
    #[serde(borrow)]
    subscribe: Cell<'a>,
    #[serde(borrow)]
    success: Cell<'a>,
    #[serde(borrow)]
    error: Cell<'a>,
}

impl Venue for Bitmex {
    fn name(&self) -> &'static str {
        "bitmex"
    }

    fn completeness(&self) -> Completeness {
        Completeness::Complete
    }

    fn price_kinds(&self) -> &'static [PriceKind] {
        &[PriceKind::Order]
    }

    fn decode(&self, frame: &Frame<'_>) -> Result<Vec<Event>, Error> {
        let Part::Object(message) = frame.read::<Part<Message<'_>>>()? else {
            return Err(frame.unknown());
        };
        let spoken = [
            message.info,
            message.op,
            message.subscribe,
            message.success,
            message.error,
        ];
        if message.table.is_none() {
            return if spoken.iter().any(Option::is_some) {
                Ok(Vec::new())
            } else {
                Err(frame.unknown())
            };
        }
        if !says(message.table, "liquidation") || !says(message.action, "insert") {
            return Ok(Vec::new());
        }
        frame.rows(&Place::ROOT.member("data"), &message.data, row)
    }

    fn hosts(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("socket", "wss://ws.bitmex.com"),
            ("rest", "https://www.bitmex.com"),
        ]
    }

    fn lines(&self, _listings: &[Listing]) -> Vec<Line> {
        listen::lines()
    }

    fn subscription(&self, _number: usize, topics: &[String], _now: Millis) -> String {
        listen::subscription(topics)
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

    fn read_listings(&self, _ask: &Ask, frame: &Frame<'_>) -> Result<Page<Listing>, Error> {
        listen::read_listings(frame)
    }
}

fn row(frame: &Frame<'_>, place: &Place<'_>, row: &Row<'_>) -> Result<Option<Event>, Error> {
    let native_id = place.name("symbol", row.symbol)?;
    let order_id = place.name("orderID", row.order_id)?;
    let (_, side) = place.side("side", row.side, "Sell", "Buy")?;
    let seen = Sighting {
        native_id: &native_id,
        market: frame.market(&native_id, naming::bitmex),
        side,
        price: place.positive("price", row.price)?.value,
        price_kind: PriceKind::Order,
        size: Size::Contracts(place.positive("leavesQty", row.leaves)?.value),
        timestamp: None,
        dedupe_key: format!("bitmex|{order_id}"),
    };
    frame.event(place, seen).map(Some)
}
