//! Frames of `!forceOrder@arr` and `<symbol>@forceOrder`.
//!
//! `st` stands at the top level or inside `o`. Keys differ by case alone.

use serde::de::IgnoredAny;

use crate::feeds::event::is_above_zero;
use crate::feeds::frame::{Place, Sighting, Size, says, shown, text_of};
use crate::feeds::members::{Part, members};
use crate::feeds::{Error, Event, Frame, PriceKind, naming};

members!(Order<'a> {
    symbol = "s",
    side = "S",
    _kind: IgnoredAny = "o",
    _time_in_force: IgnoredAny = "f",
    _asked_for: IgnoredAny = "q",
    price = "p",
    average = "ap",
    _status: IgnoredAny = "X",
    _filled_last: IgnoredAny = "l",
    filled = "z",
    time = "T",
    _pair: IgnoredAny = "ps",
    class = "st",
});

members!(
    /// An event, an envelope around one, or a reply to a request.
    Message<'a> {
    stream = "stream",
    data: Option<Box<Part<Message<'a>>>> = "data",
    e = "e",
    _sent: IgnoredAny = "E",
    o: Part<Order<'a>> = "o",
    st = "st",
    method = "method",
    id = "id",
});

/// The events of a frame of Binance's shape; Aster speaks it too.
pub(in crate::feeds) fn force_orders(frame: &Frame<'_>) -> Result<Vec<Event>, Error> {
    // A frame has one event, hardly ever more.
    let mut events = Vec::with_capacity(1);
    part(frame, &Place::ROOT, &frame.read_plainly()?, &mut events)?;
    Ok(events)
}

fn part(
    frame: &Frame<'_>,
    place: &Place<'_>,
    part: &Part<Message<'_>>,
    events: &mut Vec<Event>,
) -> Result<(), Error> {
    match part {
        Part::Object(one) => message(frame, place, one, events),
        Part::List(several) => several.iter().enumerate().try_for_each(|(index, item)| {
            let place = place.item(index);
            message(frame, &place, place.object(item)?, events)
        }),
        Part::Missing | Part::Other => Err(frame.unknown()),
    }
}

fn message(
    frame: &Frame<'_>,
    place: &Place<'_>,
    message: &Message<'_>,
    events: &mut Vec<Event>,
) -> Result<(), Error> {
    if says(message.e, "forceOrder") {
        events.push(force_order(frame, place, message)?);
        return Ok(());
    }
    if message.e.is_some() {
        return Ok(());
    }
    if let (Some(_), Some(data)) = (message.stream, &message.data) {
        return part(frame, &place.member("data"), data, events);
    }
    if message.method.or(message.id).is_some() {
        return Ok(());
    }
    Err(frame.unknown())
}

fn force_order(
    frame: &Frame<'_>,
    place: &Place<'_>,
    message: &Message<'_>,
) -> Result<Event, Error> {
    let place = place.member("o");
    let order = place.object(&message.o)?;
    let native_id = place.name("s", order.symbol)?;
    let (word, side) = place.side("S", order.side, "SELL", "BUY")?;
    let filled = place.positive("z", order.filled)?;
    let average = place.amount("ap", order.average)?;
    let timestamp = place.instant("T", order.time)?;
    let (price, price_kind) = if is_above_zero(average.value) {
        (average.value, PriceKind::AverageFill)
    } else {
        (place.positive("p", order.price)?.value, PriceKind::Order)
    };
    let coin_margined = match text_of(order.class.or(message.st)).as_deref() {
        Some("1") => false,
        Some("2") => true,
        Some(class) => {
            let message = format!(
                "{} is no class of contract; 1 or 2 is allowed",
                shown(class)
            );
            return Err(place.member("st").fault(message));
        }
        // Dated contracts of either kind carry an underscore; only coin-margined ones are quoted in plain USD.
        None => native_id
            .split_once('_')
            .is_some_and(|(pair, _)| pair.ends_with("USD")),
    };
    let amount = if coin_margined {
        Size::Contracts(filled.value)
    } else {
        Size::Base(filled.value)
    };
    let mut digits = itoa::Buffer::new();
    let when = digits.format(timestamp.0);
    let parts = [
        frame.name(),
        &native_id,
        &word,
        when,
        &filled.text,
        &average.text,
    ];
    let mut dedupe_key = String::with_capacity(parts.iter().map(|part| part.len() + 1).sum());
    for part in parts {
        if !dedupe_key.is_empty() {
            dedupe_key.push('|');
        }
        dedupe_key.push_str(part);
    }
    frame.event(
        &place,
        Sighting {
            native_id: &native_id,
            market: frame.market(&native_id, naming::binance),
            side,
            price,
            price_kind,
            size: amount,
            timestamp: Some(timestamp),
            dedupe_key,
        },
    )
}
