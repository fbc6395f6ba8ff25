//! Projection of orders to the columns that aggregates need, without allocation per row.

use std::sync::Arc;

use ::parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::ChunkReader;
use arrow_array::cast::AsArray;
use arrow_array::{RecordBatch, StringArray};
use arrow_schema::{DataType, Fields, Schema, SchemaRef};
use rusqlite::Statement;
use rusqlite::types::ValueRef;
use rust_decimal::Decimal;

use crate::archive::rows::row::{Fault, unknown_word};
use crate::archive::segment::batch_columns::{absent, amounts, names_of, times};
use crate::archive::sql::table::not_readable;
use crate::model::{FixedPoint, Listings, Millis, OrderBrief, Side, Vocabulary};

/// Columns of a projected order ([`OrderBrief`]).
///
/// In a journal query they follow the row id.
const COLUMNS: [&str; 9] = [
    "exchange",
    "symbol",
    "coin",
    "side",
    "price",
    "qty",
    "value_usd",
    "timestamp",
    "received_at",
];

/// Column list for a `SELECT` from `orders` that [`show`] reads.
pub(crate) fn columns() -> String {
    format!("id, {}", COLUMNS.join(", "))
}

/// Number of columns in the list of [`columns`].
pub(crate) const COUNT: i32 = 10;

/// Runs a query for [`columns`] and passes every order to `sink`.
pub(crate) fn show(
    statement: &mut Statement<'_>,
    parameters: impl rusqlite::Params,
    sink: &mut dyn FnMut(OrderBrief<'_>),
) -> rusqlite::Result<()> {
    let mut names = Listings::default();
    let mut rows = statement.query(parameters)?;
    while let Some(row) = rows.next()? {
        let brief = brief(|column| row.get_ref(column), &mut names)?;
        // The numbers of names are valid only within this query, so they are not passed to `sink`.
        sink(OrderBrief {
            names: None,
            ..brief
        });
    }
    Ok(())
}

/// Decodes a result row of [`columns`]; interns the names in `names`.
pub(crate) fn brief<'a>(
    value: impl Fn(usize) -> rusqlite::Result<ValueRef<'a>>,
    names: &mut Listings,
) -> rusqlite::Result<OrderBrief<'_>> {
    let number = |column: usize| -> rusqlite::Result<Decimal> {
        let text = value(column)?.as_bytes()?;
        if let Some(value) = short(text) {
            return Ok(value);
        }
        Decimal::from_str_exact(text_of(column, text)?)
            .map_err(|source| not_readable(column, source))
    };
    let instant = |column: usize| Ok::<_, rusqlite::Error>(Millis(value(column)?.as_i64()?));
    let side = match value(4)?.as_bytes()? {
        b"LONG" => Side::Long,
        b"SHORT" => Side::Short,
        other => side_of(text_of(4, other)?).map_err(|source| not_readable(4, source))?,
    };
    let (price, qty, value_usd) = (number(5)?, number(6)?, number(7)?);
    let triple = [
        value(1)?.as_bytes()?,
        value(2)?.as_bytes()?,
        value(3)?.as_bytes()?,
    ];
    let known = if let Some(known) = names.known(triple) {
        known
    } else {
        let [exchange, symbol, coin] = triple;
        names.number([
            text_of(1, exchange)?,
            text_of(2, symbol)?,
            text_of(3, coin)?,
        ])
    };
    let [exchange, symbol, coin] = names.get(known).unwrap_or_default();
    Ok(OrderBrief {
        number: value(0)?.as_i64()?,
        exchange,
        symbol,
        coin,
        side,
        price,
        qty,
        value_usd,
        timestamp: instant(8)?,
        received_at: instant(9)?,
        names: Some(known),
    })
}

/// Converts the bytes of a column to text; fails if they are not UTF-8.
fn text_of(column: usize, bytes: &[u8]) -> rusqlite::Result<&str> {
    std::str::from_utf8(bytes).map_err(|source| not_readable(column, source))
}

/// Name of the column that identifies an order within its exchange.
const KEY: &str = "dedupe_key";
/// Columns with few distinct values, read as dictionaries.
const FEW: [&str; 4] = ["exchange", "symbol", "coin", "side"];

/// Names of the columns to read from a segment; `keyed` adds the dedupe key.
pub(crate) fn columns_of_files(keyed: bool) -> impl Iterator<Item = &'static str> {
    COLUMNS.into_iter().chain(keyed.then_some(KEY))
}

/// Opens a segment of orders; columns with few distinct values are read as dictionaries.
pub(crate) fn open<F: ChunkReader + 'static>(
    file: F,
) -> Result<ParquetRecordBatchReaderBuilder<F>, ParquetError> {
    let found = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())?;
    let options = ArrowReaderOptions::new().with_schema(numbered(found.schema()));
    let metadata = ArrowReaderMetadata::try_new(Arc::clone(found.metadata()), options)?;
    Ok(ParquetRecordBatchReaderBuilder::new_with_metadata(
        file, metadata,
    ))
}

/// Changes the types of columns with few distinct values to dictionaries.
fn numbered(schema: &SchemaRef) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| {
        if FEW.contains(&field.name().as_str()) {
            let names = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
            Arc::new(field.as_ref().clone().with_data_type(names))
        } else {
            Arc::clone(field)
        }
    });
    Arc::new(Schema::new(fields.collect::<Fields>()))
}

/// Passes every order of a batch to `sink`, with its dedupe key.
///
/// The key is empty if its column was not read.
pub(crate) fn show_batch(
    batch: &RecordBatch,
    sink: &mut dyn FnMut(OrderBrief<'_>, &str),
) -> Result<(), Fault> {
    let [exchange, symbol, coin, side] = FEW.map(|name| names_of(batch, name));
    let (exchange, symbol, coin, side) = (exchange?, symbol?, coin?, side?);
    let [price, qty, value_usd] = ["price", "qty", "value_usd"].map(|name| amounts(batch, name));
    let (price, qty, value_usd) = (price?, qty?, value_usd?);
    let timestamp = times(batch, "timestamp")?;
    let received_at = times(batch, "received_at")?;
    let keys: Option<&StringArray> = match batch.column_by_name(KEY) {
        Some(keys) => Some(keys.as_string_opt().ok_or_else(|| absent(KEY))?),
        None => None,
    };
    for row in 0..batch.num_rows() {
        let decimal = |name: &'static str, values: &[i128]| {
            let value = values
                .get(row)
                .and_then(|units| FixedPoint(*units).decimal());
            value.ok_or_else(|| absent(name))
        };
        let instant = |name: &'static str, values: &[i64]| {
            let at = values.get(row).copied().map(Millis);
            at.ok_or_else(|| absent(name))
        };
        let brief = OrderBrief {
            number: 0,
            exchange: exchange.at(row).ok_or_else(|| absent("exchange"))?,
            symbol: symbol.at(row).ok_or_else(|| absent("symbol"))?,
            coin: coin.at(row).ok_or_else(|| absent("coin"))?,
            side: side_of(side.at(row).unwrap_or_default()).map_err(|fault| ("side", fault))?,
            price: decimal("price", price)?,
            qty: decimal("qty", qty)?,
            value_usd: decimal("value_usd", value_usd)?,
            timestamp: instant("timestamp", timestamp)?,
            received_at: instant("received_at", received_at)?,
            names: None,
        };
        sink(brief, keys.map_or("", |keys| keys.value(row)));
    }
    Ok(())
}

/// Parses a side.
pub(crate) fn side_of(name: &str) -> Result<Side, String> {
    match name {
        "LONG" => Ok(Side::Long),
        "SHORT" => Ok(Side::Short),
        other => Side::parse(other).ok_or_else(|| unknown_word(other)),
    }
}

/// Parses a nonnegative decimal of at most 18 digits.
///
/// Returns `None` for any other text, which the general parser must parse.
fn short(text: &[u8]) -> Option<Decimal> {
    const DIGITS: usize = 18;
    if text.len() > DIGITS + 1 {
        return None;
    }
    // A number of nineteen digits still fits into `u64`.
    let mut mantissa: u64 = 0;
    let mut scale = None;
    for &byte in text {
        match byte {
            b'0'..=b'9' => {
                mantissa = mantissa * 10 + u64::from(byte - b'0');
                scale = scale.map(|scale: u32| scale + 1);
            }
            b'.' if scale.is_none() => scale = Some(0),
            _ => return None,
        }
    }
    // A text with more than 18 digits or a trailing point is left to the general parser.
    let mantissa = i64::try_from(mantissa).ok()?;
    let short = text.len() <= DIGITS || scale.is_some();
    (short && scale != Some(0) && !text.is_empty())
        .then(|| Decimal::new(mantissa, scale.unwrap_or_default()))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::archive::segment::projection::*;

    #[test]
    fn a_name_that_is_no_text_is_not_readable() {
        let fault = text_of(1, b"\xFF").unwrap_err();
        assert!(fault.to_string().contains("utf-8"), "{fault}");
    }

    #[test]
    fn a_short_decimal_is_read_as_the_general_reader_reads_it() {
        for text in [
            "0",
            "1",
            "82651.9",
            "0.000000001",
            "999999999999999999",
            "0.12345678901234567",
            "99999999999999999.9",
            "123456789.123456789",
        ] {
            let value: Decimal = Decimal::from_str_exact(text).unwrap();
            assert_eq!(
                short(text.as_bytes()).unwrap().to_string(),
                value.to_string()
            );
        }
        for text in [
            "",
            ".",
            "-1",
            "1.",
            "1.2.3",
            "1e5",
            "9223372036854775808",
            "1000000000000000000",
            "123456789012345678.9x",
        ] {
            assert_eq!(short(text.as_bytes()), None, "{text}");
        }
    }
}
