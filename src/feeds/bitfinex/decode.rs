use crate::feeds::frame::{Place, Sighting, Size, shown, text_of};
use crate::feeds::members::{Cell, Part, Raw, members};
use crate::feeds::{Error, Event, Frame, PriceKind, naming};
use crate::model::Side;

members!(Message<'a> {
    event = "event",
});

const POSITION: usize = 1;
pub(super) const TIME: usize = 2;
const SYMBOL: usize = 4;
const AMOUNT: usize = 5;
const IS_MATCH: usize = 8;
const IS_MARKET_SOLD: usize = 9;
const PRICE_ACQUIRED: usize = 11;

/// The events of a frame or a body.
pub(super) fn decode(frame: &Frame<'_>) -> Result<Vec<Event>, Error> {
    let root = Place::ROOT;
    if let Part::Object(message) = frame.read_plainly::<Part<Message<'_>>>()? {
        return match message.event {
            Some(_) => Ok(Vec::new()),
            None => Err(frame.unknown()),
        };
    }
    let items = frame.read::<Vec<Raw<'_>>>()?;
    let mut events = Vec::new();
    match items.first().map(|first| first.text()) {
        None => {}
        Some("\"error\"") => {
            let said = items.get(2).copied().and_then(|said| text_of(Some(said)));
            return Err(frame.refused(root, &said.unwrap_or_default()));
        }
        // A body: every item is a list that holds one row.
        Some(first) if first.starts_with('[') => rows(frame, &root, &items, &mut events)?,
        // A frame: the number of a channel, then a row, a list of rows, or a word such as "hb".
        Some(channel) if channel.starts_with(|digit: char| digit.is_ascii_digit()) => {
            if let Some(&payload) = items.get(1) {
                part(frame, &root.item(1), payload, &mut events)?;
            }
        }
        Some(_) => return Err(frame.unknown()),
    }
    Ok(events)
}

/// A row or a list of rows; anything else belongs to another channel.
fn part(
    frame: &Frame<'_>,
    place: &Place<'_>,
    raw: Raw<'_>,
    events: &mut Vec<Event>,
) -> Result<(), Error> {
    let Ok(items) = serde_json::from_str::<Vec<Raw<'_>>>(raw.text()) else {
        return Ok(());
    };
    match items.first().map(|first| first.text()) {
        Some("\"pos\"") => {
            let position = frame.alone(position(frame, place, &items))?;
            events.extend(position.flatten());
            Ok(())
        }
        Some(first) if first.starts_with('[') => rows(frame, place, &items, events),
        _ => Ok(()),
    }
}

fn rows(
    frame: &Frame<'_>,
    place: &Place<'_>,
    items: &[Raw<'_>],
    events: &mut Vec<Event>,
) -> Result<(), Error> {
    items
        .iter()
        .enumerate()
        .try_for_each(|(index, &item)| part(frame, &place.item(index), item, events))
}

fn position(frame: &Frame<'_>, place: &Place<'_>, row: &[Raw<'_>]) -> Result<Option<Event>, Error> {
    let cell =
        |index: usize| -> Cell<'_> { row.get(index).copied().filter(|raw| raw.text() != "null") };
    // A cell is named by its index, so the names of members are left empty.
    let is_match = place.item(IS_MATCH).text("", cell(IS_MATCH))?;
    match &*is_match {
        "1" => {}
        "0" => return Ok(None),
        other => {
            let message = format!("{} is neither 0 (trigger) nor 1 (match)", shown(other));
            return Err(place.item(IS_MATCH).fault(message));
        }
    }
    let native_id = place.item(SYMBOL).name("", cell(SYMBOL))?;
    let position = place.item(POSITION).name("", cell(POSITION))?;
    let timestamp = place.item(TIME).instant("", cell(TIME))?;
    let amount = place.item(AMOUNT).number("", cell(AMOUNT))?.value;
    let sold = place.item(IS_MARKET_SOLD).text("", cell(IS_MARKET_SOLD))?;
    let price = place
        .item(PRICE_ACQUIRED)
        .positive("", cell(PRICE_ACQUIRED))?;
    if amount.is_zero() {
        return Err(place.item(AMOUNT).fault("is zero, so it tells no side"));
    }
    let seen = Sighting {
        native_id: &native_id,
        market: frame.market(&native_id, naming::bitfinex),
        side: if amount.is_sign_positive() {
            Side::Long
        } else {
            Side::Short
        },
        price: price.value,
        price_kind: PriceKind::Fill,
        size: Size::Base(amount.abs()),
        timestamp: Some(timestamp),
        dedupe_key: format!("bitfinex|{position}|{}|{is_match}|{sold}", timestamp.0),
    };
    frame.event(place, seen).map(Some)
}
