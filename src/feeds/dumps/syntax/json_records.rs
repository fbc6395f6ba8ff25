//! Conversion of JSON rows to records with the same columns.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Read;

use csv::ByteRecord;
use serde_json::value::RawValue;

use crate::feeds::dumps::row_error::RowError;
use crate::feeds::dumps::syntax::json_elements::JsonElements;
use crate::feeds::dumps::syntax::json_shape::{JsonKind, JsonTableShape};

/// The members of a dict, by name.
type Members<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

/// Reads JSON rows as records.
pub(crate) struct JsonRecords<'a> {
    elements: JsonElements<'a>,
    kind: JsonKind,
    /// Names of the members that become the cells of a record; empty for lists.
    names: Vec<String>,
}

impl<'a> JsonRecords<'a> {
    /// Creates a reader for a text of this shape; `names` are the members to read from dicts.
    pub(crate) fn new(
        shape: JsonTableShape,
        names: Vec<String>,
        bytes: Box<dyn Read + 'a>,
    ) -> Self {
        Self {
            elements: JsonElements::new(shape.layout, bytes),
            kind: shape.kind,
            names,
        }
    }

    /// Reads up to `most` rows from the start of a text; returns the names of their members and their cells.
    ///
    /// Rows that are lists have no names.
    pub(crate) fn start(
        shape: JsonTableShape,
        text: &str,
        most: usize,
    ) -> (Vec<String>, Vec<Vec<String>>) {
        let mut names: Vec<String> = Vec::new();
        if shape.kind == JsonKind::Dicts {
            let mut elements = JsonElements::new(shape.layout, Box::new(text.as_bytes()));
            for _ in 0..most {
                let Some((_, Ok(element))) = elements.next() else {
                    break;
                };
                let members = serde_json::from_slice::<Members<'_>>(element).unwrap_or_default();
                for name in members.into_keys() {
                    if !names.iter().any(|known| *known == name) {
                        names.push(name.into_owned());
                    }
                }
            }
        }
        let mut records = JsonRecords::new(shape, names.clone(), Box::new(text.as_bytes()));
        let mut rows = Vec::new();
        let mut record = ByteRecord::new();
        while rows.len() < most
            && let Some((_, read)) = records.next(&mut record)
        {
            match read {
                Ok(()) => {
                    let cells = record.iter().map(String::from_utf8_lossy);
                    rows.push(cells.map(|cell| cell.trim().to_owned()).collect());
                }
                Err(fault) if fault.is_last => break,
                Err(_) => {}
            }
        }
        (names, rows)
    }

    /// Reads the next record; returns its number or line, and its error if it cannot be read.
    pub(crate) fn next(&mut self, record: &mut ByteRecord) -> Option<(u64, Result<(), RowError>)> {
        let (number, element) = self.elements.next()?;
        let read = element.and_then(|element| {
            record.clear();
            let wrong = |fault: serde_json::Error| {
                let said = fault.to_string();
                let said = said
                    .split(" at line ")
                    .next()
                    .unwrap_or_default()
                    .to_owned();
                let shown = element.get(..200).unwrap_or(element);
                RowError::new(
                    format!("the row is not JSON: {said}"),
                    &String::from_utf8_lossy(shown),
                )
            };
            match self.kind {
                JsonKind::Lists => {
                    let cells: Vec<&RawValue> = serde_json::from_slice(element).map_err(wrong)?;
                    for raw in cells {
                        record.push_field(cell(raw).as_bytes());
                    }
                }
                JsonKind::Dicts => {
                    let members: Members<'_> = serde_json::from_slice(element).map_err(wrong)?;
                    for name in &self.names {
                        let raw = members.get(name.as_str());
                        record
                            .push_field(raw.map_or(Cow::Borrowed(""), |raw| cell(raw)).as_bytes());
                    }
                }
            }
            Ok(())
        });
        Some((number, read))
    }
}

/// Returns the text of a cell: empty for null, and without quotation marks for a string.
fn cell(raw: &RawValue) -> Cow<'_, str> {
    match raw.get() {
        "null" => Cow::Borrowed(""),
        text if text.starts_with('"') => {
            serde_json::from_str::<String>(text).map_or(Cow::Borrowed(text), Cow::Owned)
        }
        text => Cow::Borrowed(text),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::feeds::dumps::syntax::json_records::*;

    #[test]
    fn dicts_give_their_members_and_null_is_blank() {
        let text = "[{\"a\": 1.50, \"b\": \"x\\u00e4\"}, {\"b\": null, \"c\": true}]";
        let shape = JsonTableShape::of(text).unwrap().unwrap();
        let (names, rows) = JsonRecords::start(shape, text, 10);
        assert_eq!(names, ["a", "b", "c"]);
        assert_eq!(rows, [["1.50", "xä", ""], ["", "", "true"]]);
    }

    #[test]
    fn a_row_that_is_no_dict_is_an_error_of_its_own() {
        let text = "{\"a\": 1}\nnonsense\n{\"a\": 2}\n";
        let shape = JsonTableShape::of(text).unwrap().unwrap();
        let mut records = JsonRecords::new(shape, vec!["a".to_owned()], Box::new(text.as_bytes()));
        let mut found = Vec::new();
        let mut record = ByteRecord::new();
        while let Some((line, read)) = records.next(&mut record) {
            found.push((line, read.map_err(|fault| fault.is_last)));
        }
        assert_eq!(found, [(1, Ok(())), (2, Err(false)), (3, Ok(()))]);
    }
}
