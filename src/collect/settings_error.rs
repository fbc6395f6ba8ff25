//! Settings of a shape that no setting has, said in the words of the file: which setting, its value, and what is allowed.

use std::fmt::Display;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// A setting, and what is wrong with it.
pub(crate) type ShapeError = (String, String);

/// The value that `from` gives.
///
/// # Errors
///
/// [`ShapeError`] of the first setting that has another shape.
pub(crate) fn read<'de, T, D>(from: D) -> Result<T, ShapeError>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
    D::Error: Display,
{
    serde_path_to_error::deserialize(from)
        .map_err(|fault| told(&fault.path().to_string(), &fault.inner().to_string()))
}

/// Refuses a list in the place of a table of settings, which a reader would take for its values one after the other.
///
/// # Errors
///
/// [`ShapeError`] of the first one.
pub(crate) fn check_tables(all: &impl Serialize) -> Result<(), ShapeError> {
    // What cannot be told as JSON is no list.
    let all = serde_json::to_value(all).unwrap_or_default();
    let tables = ["pace", "positions"].map(|name| (name, all.get(name)));
    for (setting, value) in [("settings", Some(&all))].into_iter().chain(tables) {
        if value.is_some_and(Value::is_array) {
            return Err(told(
                setting,
                "invalid type: sequence, expected struct Settings",
            ));
        }
    }
    Ok(())
}

/// What the reader says of the setting at `path`.
fn told(path: &str, said: &str) -> ShapeError {
    let said = said.trim_end();
    let setting = if path == "." { "settings" } else { path };
    if let Some(unknown) = said.strip_prefix("unknown field ") {
        let mut names = unknown.split('`').skip(1).step_by(2);
        let name = names.next().unwrap_or_default();
        let allowed: Vec<&str> = names.collect();
        let setting = if path == "." { name } else { setting };
        let message = format!("is no setting; allowed: {}", allowed.join(", "));
        return (setting.to_owned(), message);
    }
    let parts = said
        .strip_prefix("invalid type: ")
        .or_else(|| said.strip_prefix("invalid value: "))
        .and_then(|rest| rest.split_once(", expected "));
    let message = match parts {
        Some((value, wanted)) => {
            // What else a reader says stands in lines behind.
            let wanted = wanted.lines().next().unwrap_or_default();
            format!("{} is not allowed; {} is", shown(value), allowed(wanted))
        }
        None => said.to_owned(),
    };
    (setting.to_owned(), message)
}

/// A value as a file has it.
fn shown(value: &str) -> String {
    let kinds = ["integer ", "floating point ", "boolean ", "string "];
    let plain = kinds.iter().find_map(|kind| value.strip_prefix(kind));
    match (plain, value) {
        (Some(plain), _) => plain.trim_matches('`').to_owned(),
        (None, "sequence") => "a list".to_owned(),
        (None, "map") => "a table".to_owned(),
        (None, "null" | "unit value" | "Option value") => "nothing at all".to_owned(),
        (None, other) => other.to_owned(),
    }
}

/// What a file may have in its place.
fn allowed(wanted: &str) -> String {
    if wanted.starts_with("struct ") {
        return "a table of settings".to_owned();
    }
    match wanted {
        "a map" => "a table".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a string" => "text".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "f64" => "a number".to_owned(),
        "u32" => format!("a whole number from 0 to {}", u32::MAX),
        "u64" | "usize" => "a whole number of at least 0".to_owned(),
        other => other.to_owned(),
    }
}
