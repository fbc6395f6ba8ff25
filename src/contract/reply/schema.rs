//! JSON schemas of rows and objects.

use serde_json::{Map, Value, json};

use super::member::{Member, RowShape};
use crate::model::{Kind, Side, Vocabulary};

impl Member {
    /// The JSON schema of the value, with unit and meaning.
    pub(in crate::contract) fn described(&self) -> Value {
        let schema = self.schema.map_or_else(|| json!({}), |schema| schema());
        let schema = described(schema, self.unit, self.meaning);
        if self.extension {
            extension(schema)
        } else {
            schema
        }
    }
}

/// A JSON schema of a value that only some services send.
fn extension(mut schema: Value) -> Value {
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("x-extension".to_owned(), json!(true));
    }
    schema
}

/// A JSON schema with the name of its type.
pub(in crate::contract) fn titled(name: &str, mut schema: Value) -> Value {
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("title".to_owned(), json!(name));
    }
    schema
}

/// A JSON schema with unit and meaning.
pub(in crate::contract) fn described(mut schema: Value, unit: &str, meaning: &str) -> Value {
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("description".to_owned(), json!(meaning));
        if !unit.is_empty() {
            schema.insert("x-unit".to_owned(), json!(unit));
        }
    }
    schema
}

/// The JSON schema of an object that has exactly these members.
pub(in crate::contract) fn object<'a>(
    members: impl IntoIterator<Item = (&'a str, Value)>,
    needed: &[&str],
) -> Value {
    let members: Map<String, Value> = members
        .into_iter()
        .map(|(name, schema)| (name.to_owned(), schema))
        .collect();
    json!({
        "type": "object",
        "properties": members,
        "required": needed,
        "additionalProperties": false,
    })
}

/// The JSON schema of a row.
pub(in crate::contract) fn row(shape: RowShape) -> Value {
    let needed: Vec<&str> = shape
        .columns
        .iter()
        .filter(|column| !column.optional)
        .map(|column| column.name)
        .collect();
    let members = shape.columns.iter().map(|column| {
        // The contract sends the hours of the chart as text.
        let kind = match (column.name, column.kind) {
            ("hour", Kind::Time) => Kind::Decimal,
            (_, kind) => kind,
        };
        let mut schema = described(cell(kind), column.unit, column.meaning);
        if column.optional
            && let Some(kind) = schema.get("type").cloned()
            && let Some(schema) = schema.as_object_mut()
        {
            schema.remove("title");
            schema.insert("type".to_owned(), json!([kind, "null"]));
        }
        (column.name, schema)
    });
    let added = shape.added.iter().map(|column| {
        let schema = described(cell(column.kind), column.unit, column.meaning);
        (column.name, extension(schema))
    });
    object(members.chain(added), &needed)
}

fn cell(kind: Kind) -> Value {
    match kind {
        Kind::Text => json!({"type": "string"}),
        Kind::Side => {
            let names: Vec<&str> = Side::ALL.iter().map(|side| side.name()).collect();
            titled("Side", json!({"type": "string", "enum": names}))
        }
        Kind::Decimal => json!({"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?$"}),
        Kind::Float => json!({"type": "number"}),
        Kind::Int | Kind::Time => json!({"type": "integer"}),
        Kind::Bool => json!({"type": "boolean"}),
    }
}
