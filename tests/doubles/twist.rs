//! Members that come and go, as a venue changes its messages without a word.

use serde_json::{Value, json};

use super::fault::Faults;

/// `text` with the members of its objects as the faults say.
pub fn twisted(text: String, faults: &Faults) -> String {
    if !faults.new_field && faults.removed_field.is_none() {
        return text;
    }
    let Ok(mut value) = serde_json::from_str::<Value>(&text) else {
        return text;
    };
    twist(&mut value, faults);
    value.to_string()
}

fn twist(value: &mut Value, faults: &Faults) {
    match value {
        Value::Object(members) => {
            members
                .values_mut()
                .for_each(|member| twist(member, faults));
            if let Some(name) = &faults.removed_field {
                members.remove(name);
            }
            if faults.new_field {
                members.insert("xNew".to_owned(), json!({"a": [1, "2", null], "b": true}));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| twist(item, faults)),
        _ => {}
    }
}
