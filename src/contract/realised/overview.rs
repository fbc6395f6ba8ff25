//! `/api/liquidations/overview`: liquidation totals of the last 1, 4, 12 and 24 hours.

use serde::de::{Error, MapAccess};
use serde::ser::SerializeStruct;
use serde_json::Value;

use crate::contract::decode::{Cursor, InstantPlace, fill};
use crate::contract::endpoint::endpoint;
use crate::contract::reply::{
    Candidate, Data, Datum, Field, Member, RowShape, reply, row, row_data, titled,
};
use crate::contract::time::Bound;
use crate::model::{Millis, TotalsByWindow, TotalsRange, Vocabulary, Window, WindowTotals};

endpoint! {
    /// Asks for the liquidation totals of the last 1, 4, 12 and 24 hours, and of a further time range.
    ///
    /// Each has long, short and total USD and the number of orders.
    #[derive(Copy, Default)]
    Overview = "overview" at "/api/liquidations/overview", "liquidated USD over the last 1, 4, 12 and 24 hours";
    [extension] range: Option<TotalsRange>, "a further range, named by its key: 3d, 7d, 1M, 3M, 6M or 1y; an extension of our server";
    [extension] start: Option<Bound>, "the key period has the orders at or after this instant; if absent, of the 24 hours before the end; an extension of our server";
    [extension] end: Option<Bound>, "the key period has the orders before this instant; if absent, up to and including now; an extension of our server";
    => enveloped TotalsByWindow
}

reply! {
    TotalsByWindow = "an object keyed by time range", enveloped, repeats; {
        windows: Windows;
    }
}

/// The totals are members, named by their time range; a service may omit some.
#[derive(Debug)]
pub struct Windows;

/// Number of the keys of a reply.
const KEYS: usize = TotalsRange::ALL.len() + 1;

/// The meaning of each key, in the order of [`TotalsByWindow::keys`].
const MEANINGS: [&str; KEYS] = [
    "long, short and total USD and the count of the last hour",
    "the same for four hours",
    "the same of twelve hours",
    "the same of a day",
    "the same of three days; only with range=3d",
    "the same of seven days; only with range=7d",
    "the same of thirty days; only with range=1M",
    "the same of ninety days; only with range=3M",
    "the same of 180 days; only with range=6M",
    "the same of 365 days; only with range=1y",
    "the same of the orders from start to end; only with one of them",
];

impl Field<TotalsByWindow> for Windows {
    type Value = [Option<WindowTotals>; KEYS];
    type Slot = [Option<Option<WindowTotals>>; KEYS];

    fn describe(_: Member, to: &mut Vec<Member>) {
        fn schema() -> Value {
            titled("WindowTotals", row(RowShape::of::<WindowTotals>()))
        }
        let keys = TotalsByWindow::keys().zip(MEANINGS);
        to.extend(keys.map(|(key, meaning)| Member {
            kind: "object",
            optional: true,
            schema: Some(schema),
            ..Member::new((key, key), "", meaning, Window::parse(key).is_none())
        }));
    }

    fn fill<'de, A: MapAccess<'de>>(
        slot: &mut Self::Slot,
        key: Candidate<'_>,
        members: &mut A,
    ) -> Result<bool, A::Error> {
        let mut slots = TotalsByWindow::keys().zip(slot);
        let Some((_, slot)) = slots.find(|(name, _)| *name == key.key) else {
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
        for (key, totals) in totals.present() {
            object.serialize_field(key, &totals)?;
        }
        Ok(())
    }

    fn data(
        reply: &mut TotalsByWindow,
        _: fn(&mut TotalsByWindow) -> &mut Self::Value,
        _: &Member,
        to: &mut Vec<Datum>,
    ) {
        to.extend(reply.present().map(|(key, totals)| {
            let declared = Member::new((key, key), "", "", false);
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
