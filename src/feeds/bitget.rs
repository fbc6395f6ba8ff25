//! Bitget v3: the topic `liquidation`, and the REST body of `/api/v3/market/liquidations`.
//!
//! `side` is the side of the position (`buy`: a long died). On the socket `amount` is in the quote coin. The REST body does
//! not say which coin its amounts are in, so the lots decide: an amount that is a whole number of lots only after division by
//! the price is in the quote, one that is so only as it stands is in the base. One body has one unit: rows that fit either way go
//! with those that do not, and count as quote where none decides. A row that fits neither way, or whose lot (the
//! instrument's contract size) is unknown, is held.

mod listen;

use std::borrow::Cow;

use rust_decimal::Decimal;

use super::event::{product, quotient};
use super::frame::{Cell, Number, Part, Place, Sighting, Size, cells, says, text_of};
use super::{
    Ask, Asked, Completeness, Error, Event, Frame, Heard, Heartbeat, Line, Listing, Page,
    PriceKind, Venue, naming,
};
use crate::model::{Millis, Side};

/// The venue `bitget`.
#[derive(Debug)]
pub(super) struct Bitget;

/// The finest amount the venue prints: products are cut behind twelve digits.
const FINEST: Decimal = Decimal::from_parts(1, 0, 0, false, 12);

cells!(Argument {
    topic = "topic",
});

cells!(Row {
    symbol = "symbol",
    side = "side",
    price = "price",
    amount = "amount",
    ts = "ts",
});

/// The body of a REST reply.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Body<'a> {
    // A row of a socket's frame has no such member.
    #[serde(borrow)]
    list: Part<Row<'a>>,
    #[serde(borrow)]
    symbol: Cell<'a>,
    #[serde(borrow)]
    side: Cell<'a>,
    #[serde(borrow)]
    price: Cell<'a>,
    #[serde(borrow)]
    amount: Cell<'a>,
    #[serde(borrow)]
    ts: Cell<'a>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    arg: Part<Argument<'a>>,
    #[serde(borrow)]
    event: Cell<'a>,
    #[serde(borrow)]
    op: Cell<'a>,
    #[serde(borrow)]
    action: Cell<'a>,
    #[serde(borrow)]
    code: Cell<'a>,
    #[serde(borrow)]
    msg: Cell<'a>,
    #[serde(borrow)]
    data: Part<Body<'a>>,
}

impl Venue for Bitget {
    fn name(&self) -> &'static str {
        "bitget"
    }

    fn completeness(&self) -> Completeness {
        Completeness::Sampled
    }

    fn price_kinds(&self) -> &'static [PriceKind] {
        &[PriceKind::Liquidation]
    }

    fn decode(&self, frame: &Frame<'_>) -> Result<Vec<Event>, Error> {
        let Part::Object(message) = frame.read::<Part<Message<'_>>>()? else {
            return Err(frame.unknown());
        };
        if message.event.or(message.op).is_some() {
            return Ok(Vec::new());
        }
        let root = Place::ROOT;
        let place = root.member("data");
        if let Part::Object(arg) = &message.arg {
            if !says(arg.topic, "liquidation") || message.action.is_none() {
                return Ok(Vec::new());
            }
            return frame.rows(&place, &message.data, |frame, place, row: &Body<'_>| {
                let row = Read::new(
                    place,
                    &Row {
                        symbol: row.symbol,
                        side: row.side,
                        price: row.price,
                        amount: row.amount,
                        ts: row.ts,
                    },
                )?;
                row.event(frame, place, Some(Unit::Quote)).map(Some)
            });
        }
        match text_of(message.code).as_deref() {
            Some("00000") => page(frame, &place, place.object(&message.data)?),
            Some(code) => {
                let said = text_of(message.msg).unwrap_or_default();
                Err(frame.refused(root.member("code"), &format!("{code} {said}")))
            }
            None => Err(frame.unknown()),
        }
    }

    fn hosts(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("socket", "wss://ws.bitget.com"),
            ("rest", "https://api.bitget.com"),
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

    fn look_back(&self) -> i64 {
        3 * Millis::DAY
    }

    fn missed(&self, _listings: &[Listing], from: Millis, until: Millis) -> Vec<Ask> {
        listen::missed(from, until)
    }

    fn go_on(&self, ask: &Ask, frame: &Frame<'_>) -> Result<Vec<Ask>, Error> {
        listen::go_on(ask, frame)
    }
}

/// What an amount is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Quote,
    Base,
}

/// A row with its numbers read.
struct Read<'a> {
    native_id: Cow<'a, str>,
    word: Cow<'a, str>,
    side: Side,
    price: Number<'a>,
    amount: Number<'a>,
    timestamp: Millis,
}

impl<'a> Read<'a> {
    fn new(place: &Place<'_>, row: &Row<'a>) -> Result<Self, Error> {
        let (word, side) = place.side("side", row.side, "buy", "sell")?;
        Ok(Self {
            native_id: place.name("symbol", row.symbol)?,
            word,
            side,
            price: place.positive("price", row.price)?,
            amount: place.positive("amount", row.amount)?,
            timestamp: place.instant("ts", row.ts)?,
        })
    }

    /// In which units the amount is a whole number of lots: (quote, base).
    fn fits(&self, frame: &Frame<'_>) -> Option<(bool, bool)> {
        let (_, lot) = frame.contract(&self.native_id)?;
        let quote = quotient(self.amount.value, self.price.value)
            .and_then(|qty| nearest_lot(qty, lot))
            .and_then(|qty| product(qty, self.price.value))
            .and_then(|worth| worth.checked_sub(self.amount.value))
            .is_some_and(|gap| gap.abs() <= FINEST);
        let base = nearest_lot(self.amount.value, lot) == Some(self.amount.value.normalize());
        Some((quote, base))
    }

    /// The unit of this row, where other rows of its body prefer `body`.
    fn unit(&self, frame: &Frame<'_>, body: Unit) -> Option<Unit> {
        match self.fits(frame)? {
            (true, true) => Some(body),
            (true, false) => Some(Unit::Quote),
            (false, true) => Some(Unit::Base),
            (false, false) => None,
        }
    }

    fn event(
        self,
        frame: &Frame<'_>,
        place: &Place<'_>,
        unit: Option<Unit>,
    ) -> Result<Event, Error> {
        let amount = self.amount.value;
        let size = match unit {
            Some(Unit::Quote) => Size::Quote(amount),
            Some(Unit::Base) => Size::Base(amount),
            None => Size::Unknown,
        };
        // The key counts in the quote coin, so that socket and REST agree on it.
        let keyed = match unit {
            Some(Unit::Base) => product(amount, self.price.value),
            _ => Some(self.amount.plain()),
        };
        let keyed = keyed.unwrap_or_else(|| self.amount.plain());
        let dedupe_key = format!(
            "bitget|{}|{}|{}|{keyed}|{}",
            self.native_id,
            self.word,
            self.timestamp.0,
            self.price.plain()
        );
        frame.event(
            place,
            Sighting {
                native_id: &self.native_id,
                market: frame.market(&self.native_id, naming::perpetual),
                side: self.side,
                price: self.price.value,
                price_kind: PriceKind::Liquidation,
                size,
                timestamp: Some(self.timestamp),
                dedupe_key,
            },
        )
    }
}

/// The whole number of lots nearest to `qty`, in base units.
fn nearest_lot(qty: Decimal, lot: Decimal) -> Option<Decimal> {
    let lots = qty.checked_div(lot)?.round();
    product(lots, lot).filter(|qty| !qty.is_zero())
}

fn page(frame: &Frame<'_>, place: &Place<'_>, page: &Body<'_>) -> Result<Vec<Event>, Error> {
    let place = place.member("list");
    let rows = place
        .list(&page.list)?
        .iter()
        .enumerate()
        .map(|(index, item)| {
            let place = place.item(index);
            Read::new(&place, place.object(item)?)
        })
        .collect::<Result<Vec<_>, _>>()?;
    let fits: Vec<_> = rows.iter().filter_map(|row| row.fits(frame)).collect();
    let body = if fits.contains(&(false, true)) && !fits.contains(&(true, false)) {
        Unit::Base
    } else {
        Unit::Quote
    };
    rows.into_iter()
        .enumerate()
        .map(|(index, row)| {
            let unit = row.unit(frame, body);
            row.event(frame, &place.item(index), unit)
        })
        .collect()
}
