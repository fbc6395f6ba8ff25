//! Conversion of JSON rows to records with the same columns.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;

use csv::ByteRecord;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
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
                    let members = NamedMembers(&self.names).of(element).map_err(wrong)?;
                    for raw in members {
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

/// Reads the members of a dict that have one of these names.
///
/// Of several members with one name, the last one is read.
#[derive(Clone, Copy)]
struct NamedMembers<'n>(&'n [String]);

impl NamedMembers<'_> {
    /// The members of a dict, in the order of the names.
    fn of(self, element: &[u8]) -> serde_json::Result<Vec<Option<&RawValue>>> {
        let mut text = serde_json::Deserializer::from_slice(element);
        let members = text.deserialize_map(self)?;
        text.end()?;
        Ok(members)
    }
}

impl<'a> Visitor<'a> for NamedMembers<'_> {
    type Value = Vec<Option<&'a RawValue>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut members: M) -> Result<Self::Value, M::Error> {
        let mut found = vec![None; self.0.len()];
        let mut next = 0;
        while let Some(place) = members.next_key_seed(NamePlace(self.0, next))? {
            let value = members.next_value()?;
            if let Some(place) = place
                && let Some(member) = found.get_mut(place)
            {
                *member = Some(value);
                next = place + 1;
            }
        }
        Ok(found)
    }
}

/// Finds the index of a name. Dicts usually have their members in the same order, so the next index is tried first.
struct NamePlace<'n>(&'n [String], usize);

impl<'a> DeserializeSeed<'a> for NamePlace<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'a>>(self, name: D) -> Result<Self::Value, D::Error> {
        name.deserialize_str(self)
    }
}

impl Visitor<'_> for NamePlace<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        let Self(names, next) = self;
        let is_next = names.get(next).is_some_and(|known| known == name);
        let place = || names.iter().position(|known| known == name);
        Ok(if is_next { Some(next) } else { place() })
    }
}

/// Returns the text of a cell: empty for null, and without quotation marks for a string.
fn cell(raw: &RawValue) -> Cow<'_, str> {
    match raw.get() {
        "null" => Cow::Borrowed(""),
        // A string without escapes is the text between its quotation marks.
        text if text.starts_with('"') && !text.contains('\\') => {
            Cow::Borrowed(text.trim_matches('"'))
        }
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
