use std::borrow::Cow;

use rust_decimal::Decimal;

use crate::feeds::event::{product, quotient};
use crate::feeds::frame::{Number, Place, Sighting, Size, says, text_of};
use crate::feeds::members::{Part, members};
use crate::feeds::{Error, Event, Frame, PriceKind, naming};
use crate::model::{Millis, Side};

/// Digits behind the point that the venue prints: products are cut behind these.
const DIGITS: u32 = 12;
/// The finest amount the venue prints.
const FINEST: Decimal = Decimal::from_parts(1, 0, 0, false, DIGITS);

members!(Argument<'a> {
    topic = "topic",
});

members!(Row<'a> {
    symbol = "symbol",
    side = "side",
    price = "price",
    amount = "amount",
    ts = "ts",
});

members!(
    /// The body of a REST reply.
    Page<'a> {
    list: Part<Row<'a>> = "list",
    symbol = "symbol",
    side = "side",
    price = "price",
    amount = "amount",
    ts = "ts",
});

members!(Message<'a> {
    arg: Part<Argument<'a>> = "arg",
    event = "event",
    op = "op",
    action = "action",
    code = "code",
    msg = "msg",
    data: Part<Page<'a>> = "data",
});

/// The events of a frame or a body.
pub(super) fn decode(frame: &Frame<'_>) -> Result<Vec<Event>, Error> {
    let Part::Object(message) = frame.read_plainly::<Part<Message<'_>>>()? else {
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
        return frame.rows(&place, &message.data, |frame, place, row: &Page<'_>| {
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
        // The key counts in the quote coin with the digits of the socket, so that socket and REST agree on it.
        let keyed = match unit {
            Some(Unit::Base) => product(amount, self.price.value)
                .map(|worth| worth.trunc_with_scale(DIGITS).normalize()),
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

fn page(frame: &Frame<'_>, place: &Place<'_>, page: &Page<'_>) -> Result<Vec<Event>, Error> {
    let place = place.member("list");
    let mut rows = Vec::new();
    for (index, item) in place.list(&page.list)?.iter().enumerate() {
        let place = place.item(index);
        let row = frame.alone(place.object(item).and_then(|row| Read::new(&place, row)))?;
        rows.extend(row.map(|row| (index, row)));
    }
    let fits: Vec<_> = rows.iter().filter_map(|(_, row)| row.fits(frame)).collect();
    let body = if fits.contains(&(false, true)) && !fits.contains(&(true, false)) {
        Unit::Base
    } else {
        Unit::Quote
    };
    let mut events = Vec::with_capacity(rows.len());
    for (index, row) in rows {
        let unit = row.unit(frame, body);
        events.extend(frame.alone(row.event(frame, &place.item(index), unit))?);
    }
    Ok(events)
}
