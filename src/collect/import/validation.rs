//! Rows of the past that are well formed and cannot be true: those of a time that is yet to come, and orders whose worth
//! contradicts their price and quantity.

use crate::archive::Tables;
use crate::collect::clock::machine;
use crate::collect::import::refused::{Refused, refuse};
use crate::model::Millis;

/// By how much the clock of who recorded them may be ahead of this machine's.
const AHEAD: i64 = 10 * Millis::MINUTE;
/// Rows between two looks whether to go on.
const LOOK: usize = 1 << 12;

/// Until when rows may be.
pub(crate) fn latest() -> Millis {
    machine().on(AHEAD)
}

/// Why a row of this table and time is none of the past, and what stands there.
pub(crate) fn of_the_future(table: &str, at: Millis, latest: Millis) -> Option<(String, String)> {
    (at > latest).then(|| {
        let reason = format!(
            "{table}: the time is yet to come, more than ten minutes ahead of this machine's clock"
        );
        (reason, at.to_string())
    })
}

/// Where rows stood in the tables that were given, as far as some are taken out.
#[derive(Debug, Default)]
pub(crate) struct Places {
    orders: Option<Vec<usize>>,
    bars: Option<Vec<usize>>,
    open_interest: Option<Vec<usize>>,
    positions: Option<Vec<usize>>,
}

impl Places {
    /// Where a row stood.
    pub(crate) fn of(&self, table: &str, row: usize) -> usize {
        let kept = match table {
            "orders" => &self.orders,
            "bars" => &self.bars,
            "positions" => &self.positions,
            _ => &self.open_interest,
        };
        let place = kept.as_ref().and_then(|kept| kept.get(row));
        place.copied().unwrap_or(row)
    }
}

/// Takes out of tables what cannot be true, and counts it; `None` where `goes_on`, which is asked now and then, says that it
/// is enough.
pub(crate) fn sift(
    tables: &mut Tables,
    latest: Millis,
    refused: &mut Vec<Refused>,
    goes_on: &mut dyn FnMut() -> bool,
) -> Option<Places> {
    let Tables {
        orders,
        bars,
        open_interest,
        positions,
    } = tables;
    let late = |table: &str, at: Option<Millis>| of_the_future(table, at?, latest);
    let of_orders = kept(refused, goes_on, ("orders", orders.len()), |row| {
        late("orders", orders.timestamp(row)).or_else(|| orders.contradiction(row))
    })
    .ok()?;
    if let Some(rows) = &of_orders {
        *orders = orders.take(rows);
    }
    let of_bars = kept(refused, goes_on, ("bars", bars.len()), |row| {
        late("bars", bars.closes_at(row))
    })
    .ok()?;
    if let Some(rows) = &of_bars {
        *bars = bars.take(rows);
    }
    let readings = open_interest.len();
    let of_interest = kept(refused, goes_on, ("open_interest", readings), |row| {
        late("open_interest", open_interest.timestamp.get(row).copied())
    })
    .ok()?;
    if let Some(rows) = &of_interest {
        *open_interest = open_interest.take(rows);
    }
    let of_positions = kept(refused, goes_on, ("positions", positions.len()), |row| {
        late("positions", positions.get(row).map(|row| row.timestamp))
    })
    .ok()?;
    if of_positions.is_some() {
        positions.retain(|row| row.timestamp <= latest);
    }
    Some(Places {
        orders: of_orders,
        bars: of_bars,
        open_interest: of_interest,
        positions: of_positions,
    })
}

/// It is not to go on.
struct Enough;

/// The rows that nothing speaks against, where something does against others; these are counted.
fn kept(
    refused: &mut Vec<Refused>,
    goes_on: &mut dyn FnMut() -> bool,
    (table, rows): (&str, usize),
    doubt: impl Fn(usize) -> Option<(String, String)>,
) -> Result<Option<Vec<usize>>, Enough> {
    let mut kept: Option<Vec<usize>> = None;
    for row in 0..rows {
        if row % LOOK == LOOK - 1 && !goes_on() {
            return Err(Enough);
        }
        if let Some((reason, shown)) = doubt(row) {
            kept.get_or_insert_with(|| (0..row).collect());
            refuse(refused, (&reason, &shown), &format!("{table}:{row}"));
        } else if let Some(kept) = &mut kept {
            kept.push(row);
        }
    }
    Ok(kept)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use rust_decimal::Decimal;

    use crate::archive::{GivenOrders, OrderTable};
    use crate::collect::import::validation::*;
    use crate::model::Side;

    #[test]
    fn rows_that_contradict_themselves_are_left_when_it_is_enough() {
        let rows = 5 * LOOK;
        let of = |number: u64| std::iter::repeat_n(Decimal::from(number), rows).collect();
        let at: Vec<Millis> = (0..).map(Millis).take(rows).collect();
        let given = GivenOrders {
            exchange: std::iter::repeat_n("okx", rows).collect(),
            symbol: std::iter::repeat_n("BTCUSDT", rows).collect(),
            side: vec![Side::Long; rows],
            price: of(100),
            qty: of(100),
            value_usd: of(1),
            timestamp: at.clone(),
            received_at: at,
            ..GivenOrders::default()
        };
        let mut tables = Tables {
            orders: OrderTable::of(given).unwrap(),
            ..Tables::default()
        };
        let (mut refused, mut asked) = (Vec::new(), 0);
        let mut goes_on = || {
            asked += 1;
            asked < 2
        };
        assert!(sift(&mut tables, latest(), &mut refused, &mut goes_on).is_none());
        assert_eq!(asked, 2);
        let count: u64 = refused.iter().map(|one| one.count).sum();
        assert_eq!(usize::try_from(count).unwrap(), 2 * LOOK - 1);
    }
}
