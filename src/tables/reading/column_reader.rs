//! Reads the columns of a table cell by cell, and collects the faults by row.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array};
use arrow_schema::{DataType, TimeUnit};
use rust_decimal::Decimal;

use crate::contract::decode::{exact_decimal, nearest_double};
use crate::model::{
    DecimalColumn, Labels, Millis, ShortDecimal, Side, Symbol, exchange_name, nearest_f64,
    own_name, read_span,
};
use crate::tables::amounts::AmountColumn;
use crate::tables::cells::{InputCell, InputCells};
use crate::tables::raw_table::RawTable;
use crate::tables::reading::times::{FURTHEST, IN_SECONDS, SecondsScan, instant};
use crate::tables::row_fault::{BLANK, RowFault};
use crate::tables::spreadsheet_text::plain_text;

/// Sides of positions of accounts with one position per contract.
const ONE_WAY: [&str; 3] = ["", "both", "net"];
/// Number of rows between two calls of `goes_on`.
const LOOK: usize = 1 << 14;
/// Fault reason of a cell that is not the side of a position.
const SIDE: &str = "not a side; allowed: \"LONG\" or \"SHORT\", the side of the position (an order that sells closes a long)";
/// Fault reason of a cell that is not the side of an order that closed a position.
const ORDER_SIDE: &str = "not the side of an order; allowed: \"BUY\" or \"SELL\"";
/// Exchanges of which the words for the side mean the position: `Buy` is a long.
const OF_POSITION: [&str; 3] = ["bybit", "bitget", "coinex"];
/// Fault reason of a word for the side that is that of the exchange or that of the order.
const UNCLEAR_SIDE: &str = "unclear: at bybit, bitget and coinex a Buy is a liquidated long, and an order that buys closes a \
                            short; give a column position_side with LONG or SHORT";
/// Fault reason of a cell that is not a bar length.
const NO_LENGTH: &str =
    "not a bar length (whole minutes: milliseconds, a timedelta, or such as \"5m\")";
/// Fault reason of a cell that is not a number.
const NO_NUMBER: &str = "not an exact decimal";
/// Fault reason of a number with too many digits.
const LONG_NUMBER: &str = "not an exact decimal of at most 28 digits";

/// The reader of one table.
pub(super) struct ColumnReader<'a> {
    pub(super) table: &'a RawTable,
    rows: usize,
    is_bad: Vec<bool>,
    faults: Vec<RowFault>,
    goes_on: &'a mut dyn FnMut() -> bool,
    /// Whether `goes_on` has returned false.
    is_stopped: bool,
}

impl<'a> ColumnReader<'a> {
    pub(super) fn new(table: &'a RawTable, goes_on: &'a mut dyn FnMut() -> bool) -> Self {
        let rows = table.rows();
        Self {
            table,
            rows,
            is_bad: vec![false; rows],
            faults: Vec::new(),
            goes_on,
            is_stopped: false,
        }
    }

    /// Returns the faults, and the indexes of the rows without a fault.
    ///
    /// `None` if reading was stopped.
    pub(super) fn end(self) -> Option<(Vec<RowFault>, Vec<usize>)> {
        if self.is_stopped {
            return None;
        }
        let good = self.is_bad.iter().enumerate();
        let good = good.filter_map(|(row, is_bad)| (!is_bad).then_some(row));
        Some((self.faults, good.collect()))
    }

    /// Adds a fault of a row. Only the first fault of each row is recorded.
    pub(super) fn fault(&mut self, fault: RowFault) {
        if let Some(is_bad) = self.is_bad.get_mut(fault.row)
            && !*is_bad
        {
            *is_bad = true;
            self.faults.push(fault);
        }
    }

    fn cell_fault(
        &mut self,
        column: &'static str,
        row: usize,
        cell: &InputCell<'_>,
        why: impl Into<std::borrow::Cow<'static, str>>,
    ) {
        let why = why.into();
        // NaN in a column of numbers is reported as a wrong number, not as a missing cell.
        let is_nan = matches!(cell, InputCell::Float(_) | InputCell::Single(_)) && why == NO_NUMBER;
        if cell.is_missing() && !is_nan {
            self.fault(RowFault::new(row, column, BLANK, ""));
        } else {
            self.fault(RowFault::new(row, column, why, cell.shown()));
        }
    }

    /// Whether to continue.
    ///
    /// Calls `goes_on` once every [`LOOK`] rows.
    pub(super) fn look(&mut self, row: usize) -> bool {
        if row % LOOK == LOOK - 1 && !self.is_stopped {
            self.is_stopped = !(self.goes_on)();
        }
        !self.is_stopped
    }

    /// Reads texts. A text is blank if the column, or an optional cell, is missing.
    pub(super) fn names(&mut self, name: &'static str, optional: bool) -> Labels {
        self.texts(name, self.table.get(name), optional)
    }

    /// Reads symbols, from the column of pairs, else from the column of coins.
    ///
    /// If the table has neither, all rows get the symbol `otherwise`. A row of which another column names another coin is
    /// faulty.
    pub(super) fn symbols(&mut self, otherwise: Option<&str>) -> Labels {
        let symbols = match (self.table.symbols(), otherwise) {
            (None, Some(symbol)) => std::iter::repeat_n(symbol, self.rows).collect(),
            (cells, _) => self.texts("symbol", cells, false),
        };
        self.check_symbols(&symbols);
        symbols
    }

    /// Reads the coins of orders; blank where the symbol says more than the column.
    pub(super) fn coins(&mut self, symbols: &Labels) -> Labels {
        let coins = self.names("coin", true);
        let mut known: HashMap<(u32, u32), bool> = HashMap::new();
        let mut blank = |row: usize| {
            let (symbol, coin) = (symbols.codes().get(row)?, coins.codes().get(row)?);
            let is_blank = known.entry((*symbol, *coin)).or_insert_with(|| {
                let symbol = symbols.get(row).and_then(Symbol::read);
                let coin = coins.get(row).unwrap_or_default();
                symbol.is_some_and(|symbol| is_less_exact(&symbol, coin))
            });
            is_blank.then_some("")
        };
        let blanks: Vec<Option<&str>> = (0..coins.len()).map(&mut blank).collect();
        if blanks.iter().all(Option::is_none) {
            return coins;
        }
        let coins = coins.iter().zip(blanks);
        coins.map(|(coin, blank)| blank.unwrap_or(coin)).collect()
    }

    fn texts(
        &mut self,
        name: &'static str,
        cells: Option<&'a InputCells>,
        optional: bool,
    ) -> Labels {
        let Some(cells) = cells else {
            return std::iter::repeat_n("", self.rows).collect();
        };
        let mut names = Labels::with_capacity(self.rows);
        let texts = WholeTexts::of(cells);
        // The last text that is a name as it is.
        let mut last: Option<&str> = None;
        for row in 0..self.rows {
            if !self.look(row) {
                break;
            }
            if let Some(text) = texts.as_ref().map(|texts| texts.at(row)) {
                let is_repeated = last.is_some_and(|last| last == text);
                if is_repeated || !text.is_empty() && plain_text(text).len() == text.len() {
                    names.push(text);
                    last = Some(text);
                    continue;
                }
            }
            match cells.at(row) {
                cell if optional && cell.is_missing() => names.push(""),
                InputCell::Text(text) if !text.trim().is_empty() => names.push(plain_text(&text)),
                cell => {
                    names.push("");
                    self.cell_fault(name, row, &cell, "not a name");
                }
            }
        }
        names
    }

    /// Reads the sides of positions.
    ///
    /// If `of_order`, the cells are the sides of the orders that closed the positions. A column `position_side` says the
    /// side whatever the column `side` means. A row in which they contradict is faulty, and so is an order of one of the
    /// `exchanges` that call the side of the position `Buy` or `Sell`, because the word may be its own.
    pub(super) fn sides(&mut self, of_order: bool, exchanges: Option<&Labels>) -> Vec<Side> {
        let (cells, positions) = (self.table.get("side"), self.table.get("position_side"));
        let mut sides = Vec::with_capacity(self.rows);
        let names = exchanges.map(Labels::names).unwrap_or_default().iter();
        let of_position: Vec<bool> = names
            .map(|name| OF_POSITION.contains(&exchange_name(name).as_str()))
            .collect();
        for row in 0..self.rows {
            if !self.look(row) {
                break;
            }
            let cell = cells.map_or(InputCell::Missing, |cells| cells.at(row));
            let word = match &cell {
                InputCell::Text(text) => text.trim(),
                _ => "",
            };
            let code = exchanges.and_then(|exchanges| exchanges.codes().get(row));
            let is_unclear = code
                .and_then(|code| of_position.get(*code as usize))
                .is_some_and(|is_of_position| *is_of_position && closed_by(word).is_some());
            let stated = side_of(word, of_order).filter(|_| !is_unclear);
            let position = positions.map_or(InputCell::Missing, |cells| cells.at(row));
            let side = match &position {
                // Accounts with one position per contract have no sides.
                InputCell::Text(text)
                    if !ONE_WAY.contains(&text.trim().to_lowercase().as_str()) =>
                {
                    let side = Side::read(text.trim());
                    let other = match &cell {
                        InputCell::Text(_) if is_unclear => side,
                        InputCell::Text(_) => stated.or_else(|| closed_by(word)),
                        _ => side,
                    };
                    if side.is_none() {
                        self.cell_fault("position_side", row, &position, SIDE);
                    } else if other.is_some() && other != side {
                        let shown = format!("{} (side {})", position.shown(), cell.shown());
                        let reason = "contradicts the column side";
                        self.fault(RowFault::new(row, "position_side", reason, shown));
                    } else if other.is_none() && !cell.is_missing() {
                        self.cell_fault("side", row, &cell, no_side(of_order));
                    }
                    side
                }
                _ => {
                    if stated.is_none() {
                        let is_unclear = is_unclear && of_order;
                        let reason = if is_unclear {
                            UNCLEAR_SIDE
                        } else {
                            no_side(of_order)
                        };
                        self.cell_fault("side", row, &cell, reason);
                    }
                    stated
                }
            };
            sides.push(side.unwrap_or(Side::Long));
        }
        self.check_sides(&sides);
        sides
    }

    /// Reads exact decimals. A double becomes the decimal of its shortest text.
    pub(super) fn decimals(&mut self, name: &'static str) -> DecimalColumn {
        self.some_decimals(name, false).0
    }

    /// Reads decimals as [`ColumnReader::decimals`] does, and returns the rows without a cell.
    ///
    /// If the column is `optional`, missing cells become zero. In the column `value_usd`, if the table has it, they are
    /// faults.
    pub(super) fn some_decimals(
        &mut self,
        name: &'static str,
        optional: bool,
    ) -> (DecimalColumn, Vec<usize>) {
        let mut decimals = DecimalColumn::with_capacity(self.rows);
        let mut missing = Vec::new();
        let Some(cells) = self.table.get(name) else {
            if optional {
                decimals.extend(std::iter::repeat_n(Decimal::ZERO, self.rows));
                missing.extend(0..self.rows);
            }
            return (decimals, missing);
        };
        let doubles = doubles(cells);
        for row in 0..self.rows {
            if !self.look(row) {
                break;
            }
            if let Some(value) = doubles.and_then(|doubles| doubles.values().get(row))
                && decimals.push_f64(*value)
            {
                continue;
            }
            let cell = cells.at(row);
            match exact(&cell) {
                Ok(value) => decimals.push(value),
                Err(_) if optional && cell.is_missing() && name != "value_usd" => {
                    decimals.push(Decimal::ZERO);
                    missing.push(row);
                }
                Err(why) => {
                    decimals.push(Decimal::ZERO);
                    self.cell_fault(name, row, &cell, why);
                }
            }
        }
        (decimals, missing)
    }

    /// Reads amounts or prices as exact decimals.
    ///
    /// Unless `needs_exact`, numbers that no decimal can represent are read as doubles.
    pub(super) fn amounts(&mut self, name: &'static str, needs_exact: bool) -> AmountColumn {
        if needs_exact {
            return self.decimals(name).into();
        }
        let mut amounts = AmountColumn::with_capacity(self.rows);
        let Some(cells) = self.table.get(name) else {
            return amounts;
        };
        if let Some(values) = doubles(cells)
            && values.values().iter().all(|value| value.is_finite())
        {
            return AmountColumn::Doubles(values.clone());
        }
        for row in 0..self.rows {
            if !self.look(row) {
                break;
            }
            let cell = cells.at(row);
            match (exact(&cell), &cell) {
                (Ok(value), _) => amounts.push(value),
                (Err(_), InputCell::Float(value)) if value.is_finite() => amounts.push_f64(*value),
                (Err(_), InputCell::Text(text))
                    if nearest_double(text.trim()).is_ok_and(f64::is_finite) =>
                {
                    amounts.push_f64(nearest_double(text.trim()).unwrap_or_default());
                }
                (Err(why), cell) => {
                    amounts.push(Decimal::ZERO);
                    self.cell_fault(name, row, cell, why);
                }
            }
        }
        amounts
    }

    /// Reads instants.
    pub(super) fn instants(&mut self, name: &'static str) -> Vec<Millis> {
        let Some(cells) = self.table.get(name) else {
            return Vec::new();
        };
        self.check_unit(name, cells);
        if let Some(times) = whole_millis(cells) {
            return times;
        }
        let mut times = Vec::with_capacity(self.rows);
        for row in 0..self.rows {
            if !self.look(row) {
                break;
            }
            let cell = cells.at(row);
            let at = instant(&cell);
            if let Err(why) = at {
                self.cell_fault(name, row, &cell, why);
            }
            times.push(at.unwrap_or_default());
        }
        times
    }

    /// Reads instants. If the column or a cell is missing, the instant of the row in `otherwise` is used.
    pub(super) fn some_instants(
        &mut self,
        name: &'static str,
        otherwise: &[Millis],
    ) -> Vec<Millis> {
        let Some(cells) = self.table.get(name) else {
            return otherwise.to_vec();
        };
        self.check_unit(name, cells);
        if let Some(times) = whole_millis(cells) {
            return times;
        }
        let mut times = Vec::with_capacity(self.rows);
        for row in 0..self.rows {
            if !self.look(row) {
                break;
            }
            let cell = cells.at(row);
            if cell.is_missing() {
                times.push(otherwise.get(row).copied().unwrap_or_default());
                continue;
            }
            let at = instant(&cell);
            if let Err(why) = at {
                self.cell_fault(name, row, &cell, why);
            }
            times.push(at.unwrap_or_default());
        }
        times
    }

    /// Adds a fault for each whole number that is evidently in epoch seconds.
    pub(super) fn check_unit(&mut self, name: &'static str, cells: &InputCells) {
        let mut unit = SecondsScan::default();
        if let InputCells::Arrow(array) = cells
            && matches!(array.data_type(), DataType::Timestamp(..))
        {
            // A datetime has a unit, so it cannot be in seconds by mistake.
            return;
        }
        if let Some(times) = integers(cells) {
            for (row, at) in times.values().iter().enumerate() {
                unit.note_whole(row, *at);
            }
        } else {
            for row in 0..self.rows {
                if !self.look(row) {
                    return;
                }
                unit.note(row, &cells.at(row));
            }
        }
        if let Some((first, all)) = unit.seconds() {
            let reason = if all {
                "and all other cells of the column look like epoch seconds; give epoch milliseconds"
            } else {
                IN_SECONDS
            };
            for row in first..self.rows {
                let mut one = SecondsScan::default();
                let cell = cells.at(row);
                one.note(row, &cell);
                if one.seconds().is_some() {
                    self.fault(RowFault::new(row, name, reason, cell.shown()));
                }
            }
        }
    }

    /// Reads the lengths of bars or periods that open at `opens`, in milliseconds.
    ///
    /// A length is stated in `interval`, or computed from `closes_at`. It is `None` if both cells are missing.
    pub(super) fn lengths(&mut self, opens: &[Millis]) -> Vec<Option<i64>> {
        let is_length = |span: &i64| *span > 0 && span % Millis::MINUTE == 0;
        if !self.table.has("closes_at")
            && let Some(spans) = self.table.get("interval").and_then(integers)
            && spans.values().iter().all(is_length)
        {
            return spans.values().iter().copied().map(Some).collect();
        }
        let mut lengths: Vec<Option<i64>> = vec![None; self.rows];
        let stated = self.table.get("interval");
        if let Some(cells) = self.table.get("closes_at") {
            for (row, length) in lengths.iter_mut().enumerate() {
                let cell = cells.at(row);
                if cell.is_missing() {
                    continue;
                }
                match instant(&cell) {
                    Ok(closes) => {
                        let open = opens.get(row).copied().unwrap_or_default();
                        let after = whole_length(closes.0.saturating_sub(open.0));
                        *length = Some(after);
                        let is_stated = stated.is_some_and(|cells| !cells.at(row).is_missing());
                        if !is_stated && (after <= 0 || after % Millis::MINUTE != 0) {
                            let reason = "a bar closes whole minutes after it opens, when the next one opens";
                            let shown = format!("{closes} is {after} ms after the open at {open}");
                            self.fault(RowFault::new(row, "closes_at", reason, shown));
                        }
                    }
                    Err(why) => self.cell_fault("closes_at", row, &cell, why),
                }
            }
        }
        let Some(cells) = stated else {
            return lengths;
        };
        for (row, length) in lengths.iter_mut().enumerate() {
            let cell = cells.at(row);
            if cell.is_missing() {
                continue;
            }
            match span(&cell) {
                Some(stated) if length.is_none_or(|closing| closing == stated) => {
                    *length = Some(stated);
                }
                Some(stated) => {
                    let open = opens.get(row).copied().unwrap_or_default();
                    let closes = open.on(length.unwrap_or_default()).to_string();
                    let reason = other_than(stated);
                    self.fault(RowFault::new(row, "closes_at", reason, closes));
                }
                None => self.cell_fault("interval", row, &cell, NO_LENGTH),
            }
        }
        lengths
    }
}

/// Conversion of single cells.
impl ColumnReader<'_> {
    /// The text of a cell, without surrounding blanks.
    pub(super) fn text(cell: &InputCell<'_>) -> Option<String> {
        match cell {
            InputCell::Text(text) if !text.trim().is_empty() => Some(plain_text(text).to_owned()),
            _ => None,
        }
    }

    /// The side of a position.
    pub(super) fn side(cell: &InputCell<'_>) -> Result<Side, String> {
        let text = Self::text(cell);
        let side = text.and_then(|text| Side::read(&text));
        side.ok_or_else(|| SIDE.to_owned())
    }

    /// The exact decimal of a cell.
    pub(super) fn exact(cell: &InputCell<'_>) -> Result<Decimal, String> {
        exact(cell)
    }

    /// The double of a cell.
    pub(super) fn double(cell: &InputCell<'_>) -> Result<f64, String> {
        match cell {
            InputCell::Float(value) => Ok(*value),
            InputCell::Single(value) => Ok(f64::from(*value)),
            InputCell::Text(text) => nearest_double(text.trim()),
            cell => exact(cell).map(nearest_f64),
        }
    }

    /// The instant of a cell.
    pub(super) fn instant(cell: &InputCell<'_>) -> Result<Millis, String> {
        instant(cell).map_err(str::to_owned)
    }
}

/// Whether a symbol is more exact than a coin: the coin is the currency in which the contract is quoted or settles, or it
/// lacks the namespace, as `TSLA` for `xyz:TSLA`.
pub(super) fn is_less_exact(symbol: &Symbol, coin: &str) -> bool {
    let coin = coin.to_uppercase();
    let base = symbol.coin().split_once(':').map(|(_, base)| base);
    base == Some(&coin) || symbol.quote().is_some_and(|quote| quote == own_name(&coin))
}

/// The length of a bar of which the last millisecond or second is given instead of the close.
fn whole_length(after: i64) -> i64 {
    [0, 1, 1000]
        .into_iter()
        .map(|rest| after.saturating_add(rest))
        .find(|length| length % Millis::MINUTE == 0)
        .unwrap_or(after)
}

/// The side of the position that a word names.
///
/// If `of_order`, the word is the side of the order that closed the position.
fn side_of(word: &str, of_order: bool) -> Option<Side> {
    if of_order {
        closed_by(word)
    } else {
        Side::read(word)
    }
}

fn no_side(of_order: bool) -> &'static str {
    if of_order { ORDER_SIDE } else { SIDE }
}

/// Fault reason of a bar that does not close `stated` milliseconds after its open.
fn other_than(stated: i64) -> String {
    format!("not {stated} ms (the interval) after the open")
}

/// The side of the position that an order closed. A SELL closes a long.
fn closed_by(word: &str) -> Option<Side> {
    if word.eq_ignore_ascii_case("SELL") {
        return Some(Side::Long);
    }
    word.eq_ignore_ascii_case("BUY").then_some(Side::Short)
}

/// The exact decimal of a cell, if it has one.
pub(crate) fn exact_cell(cell: &InputCell<'_>) -> Option<Decimal> {
    exact(cell).ok()
}

/// The exact decimal of a cell.
fn exact(cell: &InputCell<'_>) -> Result<Decimal, String> {
    let of_float = |value: f64, text: String| {
        if !value.is_finite() {
            return Err(NO_NUMBER.to_owned());
        }
        ShortDecimal::from_f64(value)
            .map(ShortDecimal::decimal)
            .map_or_else(
                || exact_decimal(&text).map_err(|_| LONG_NUMBER.to_owned()),
                Ok,
            )
    };
    match cell {
        InputCell::Text(text) if text.trim().is_empty() => Err(BLANK.to_owned()),
        InputCell::Text(text) => exact_decimal(text.trim()).map_err(|_| {
            let is_number = nearest_double(text.trim()).is_ok();
            if is_number { LONG_NUMBER } else { NO_NUMBER }.to_owned()
        }),
        InputCell::Exact(value) => Ok(*value),
        InputCell::Int(value) => Ok(Decimal::from(*value)),
        InputCell::Float(value) => of_float(*value, value.to_string()),
        InputCell::Single(value) if value.is_finite() => exact_decimal(&value.to_string()),
        _ => Err(NO_NUMBER.to_owned()),
    }
}

/// The bar length in a cell, in milliseconds: whole minutes above zero.
fn span(cell: &InputCell<'_>) -> Option<i64> {
    let millis = match cell {
        InputCell::Int(span) | InputCell::Span(span) => Some(*span),
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the value is a whole number of 53 bits"
        )]
        InputCell::Float(span) if span.fract() == 0.0 && span.abs() < 9e15 => Some(*span as i64),
        InputCell::Text(text) => {
            let text = text.trim();
            read_span(text).or_else(|| text.parse().ok())
        }
        _ => None,
    };
    millis.filter(|span| *span > 0 && span % Millis::MINUTE == 0)
}

/// The Arrow array of a column, if no cell is missing.
fn whole_array(cells: &InputCells) -> Option<&ArrayRef> {
    match cells {
        InputCells::Arrow(array) if array.null_count() == 0 => Some(array),
        _ => None,
    }
}

/// A text column without missing cells.
enum WholeTexts {
    Short(arrow_array::StringArray),
    Long(arrow_array::LargeStringArray),
    View(arrow_array::StringViewArray),
}

impl WholeTexts {
    fn of(cells: &InputCells) -> Option<Self> {
        let array = whole_array(cells)?;
        match array.data_type() {
            DataType::Utf8 => Some(Self::Short(array.as_string::<i32>().clone())),
            DataType::LargeUtf8 => Some(Self::Long(array.as_string::<i64>().clone())),
            DataType::Utf8View => Some(Self::View(array.as_string_view().clone())),
            _ => None,
        }
    }

    #[inline]
    fn at(&self, row: usize) -> &str {
        match self {
            Self::Short(array) => array.value(row),
            Self::Long(array) => array.value(row),
            Self::View(array) => array.value(row),
        }
    }
}

/// The values of a column, if all cells are doubles.
fn doubles(cells: &InputCells) -> Option<&Float64Array> {
    whole_array(cells)?.as_primitive_opt()
}

/// The values of a column, if all cells are 64-bit integers.
fn integers(cells: &InputCells) -> Option<&Int64Array> {
    whole_array(cells)?.as_primitive_opt()
}

/// The instants of a column of integers or datetimes, if all cells are instants.
fn whole_millis(cells: &InputCells) -> Option<Vec<Millis>> {
    fn of<const UNIT: i64>(times: &[i64]) -> Vec<Millis> {
        let times = times.iter().map(|at| Millis(at.div_euclid(UNIT)));
        times.collect()
    }
    let array = whole_array(cells)?;
    let times = match array.data_type() {
        DataType::Int64 => of::<1>(array.as_primitive::<Int64Type>().values()),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            of::<1>(array.as_primitive::<TimestampMillisecondType>().values())
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            of::<1000>(array.as_primitive::<TimestampMicrosecondType>().values())
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            of::<1_000_000>(array.as_primitive::<TimestampNanosecondType>().values())
        }
        _ => return None,
    };
    let is_instant = |at: &Millis| at.0.unsigned_abs() <= FURTHEST;
    times.iter().all(is_instant).then_some(times)
}
