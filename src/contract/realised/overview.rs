//! `/api/liquidations/overview`: liquidation totals of the last 1, 4, 12 and 24 hours.

use serde::de::{Error, MapAccess};
use serde::ser::SerializeStruct;
use serde_json::Value;

use crate::contract::decode::{Cursor, InstantPlace, fill};
use crate::contract::endpoint::endpoint;
use crate::contract::reply::{
    Candidate, Data, Datum, Field, Member, RowShape, reply, row, row_data, titled,
};
use crate::model::{Millis, TotalsByWindow, Vocabulary, Window, WindowTotals};

endpoint! {
    /// Asks for the liquidation totals of the last 1, 4, 12 and 24 hours.
    ///
    /// Each window has long, short and total USD and the number of orders.
    #[derive(Copy, Default)]
    Overview = "overview" at "/api/liquidations/overview", "liquidated USD over the last 1, 4, 12 and 24 hours";
    => enveloped TotalsByWindow
}

reply! {
    TotalsByWindow = "an object keyed by window", enveloped, repeats; {
        windows: Windows;
    }
}

/// The windows are members, named by their length; a service may omit some.
#[derive(Debug)]
pub struct Windows;

/// The meaning of each window, in the order of [`Window::ALL`].
const MEANINGS: [&str; 4] = [
    "long, short and total USD and the count of the last hour",
    "the same for four hours",
    "the same of twelve hours",
    "the same of a day",
];

impl Field<TotalsByWindow> for Windows {
    type Value = [Option<WindowTotals>; 4];
    type Slot = [Option<Option<WindowTotals>>; 4];

    fn describe(_: Member, to: &mut Vec<Member>) {
        fn schema() -> Value {
            titled("WindowTotals", row(RowShape::of::<WindowTotals>()))
        }
        let windows = Window::ALL.iter().zip(MEANINGS);
        to.extend(windows.map(|(window, meaning)| Member {
            kind: "object",
            optional: true,
            schema: Some(schema),
            ..Member::new((window.name(), window.name()), "", meaning, false)
        }));
    }

    fn fill<'de, A: MapAccess<'de>>(
        slot: &mut Self::Slot,
        key: Candidate<'_>,
        members: &mut A,
    ) -> Result<bool, A::Error> {
        let mut windows = Window::ALL.iter().zip(slot);
        let Some((_, slot)) = windows.find(|(window, _)| window.name() == key.key) else {
            return Ok(false);
        };
        fill(slot, key.key, members)?;
        Ok(true)
    }

    fn quick(_: &mut Self::Slot, _: Candidate<'_>, _: &mut Cursor<'_>) -> Option<bool> {
        None
    }

    fn settle<E: Error>(slot: &mut Self::Slot, _: &'static str) -> Result<Self::Value, E> {
        Ok(slot.map(Option::flatten))
    }

    fn write<S: SerializeStruct>(
        totals: &TotalsByWindow,
        _: &Self::Value,
        _: &'static str,
        object: &mut S,
    ) -> Result<(), S::Error> {
        for (window, totals) in totals.present() {
            object.serialize_field(window.name(), &totals)?;
        }
        Ok(())
    }

    fn data(
        reply: &mut TotalsByWindow,
        _: fn(&mut TotalsByWindow) -> &mut Self::Value,
        _: &Member,
        to: &mut Vec<Datum>,
    ) {
        to.extend(reply.present().map(|(window, totals)| {
            let declared = Member::new((window.name(), window.name()), "", "", false);
            Datum::of(&declared, Data::Object(row_data(&totals)))
        }));
    }

    fn instants(
        _: &mut Self::Value,
        _: &'static str,
        _: &mut dyn FnMut(InstantPlace, &mut Millis),
    ) {
    }
}
