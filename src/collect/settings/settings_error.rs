//! Errors for settings with a wrong type or name, worded as in the settings file.

use std::fmt::Display;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// The name of a setting, and the error message.
pub(crate) type ShapeError = (String, String);

/// Deserializes settings.
///
/// # Errors
///
/// [`ShapeError`] for the first setting with a wrong type or name.
pub(crate) fn read<'de, T, D>(from: D) -> Result<T, ShapeError>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
    D::Error: Display,
{
    serde_path_to_error::deserialize(from)
        .map_err(|fault| shape_error(&fault.path().to_string(), &fault.inner().to_string()))
}

/// Refuses a list in place of a table: serde would read it as the values of the fields in order.
///
/// # Errors
///
/// [`ShapeError`] for the first list.
pub(crate) fn check_tables(all: &impl Serialize) -> Result<(), ShapeError> {
    // A value that JSON cannot represent is not a list, so it passes.
    let all = serde_json::to_value(all).unwrap_or_default();
    let tables = ["pace", "positions"].map(|name| (name, all.get(name)));
    for (setting, value) in [("settings", Some(&all))].into_iter().chain(tables) {
        if value.is_some_and(Value::is_array) {
            return Err(shape_error(
                setting,
                "invalid type: sequence, expected struct Settings",
            ));
        }
    }
    Ok(())
}

/// Translates a message of serde about the setting at `path`.
fn shape_error(path: &str, message: &str) -> ShapeError {
    let message = message.trim_end();
    let setting = if path == "." { "settings" } else { path };
    if let Some(unknown) = message.strip_prefix("unknown field ") {
        let mut names = unknown.split('`').skip(1).step_by(2);
        let name = names.next().unwrap_or_default();
        let allowed: Vec<&str> = names.collect();
        let setting = if path == "." { name } else { setting };
        let message = format!("is not a setting; allowed: {}", allowed.join(", "));
        return (setting.to_owned(), message);
    }
    let parts = message
        .strip_prefix("invalid type: ")
        .or_else(|| message.strip_prefix("invalid value: "))
        .and_then(|rest| rest.split_once(", expected "));
    let message = match parts {
        Some((value, wanted)) => {
            // Only the first line is used; the following lines are a hint of the parser.
            let wanted = wanted.lines().next().unwrap_or_default();
            format!(
                "{} is not allowed; allowed: {}",
                excerpt(value),
                allowed(wanted)
            )
        }
        None => message.to_owned(),
    };
    (setting.to_owned(), message)
}

/// A value as the settings file spells it.
fn excerpt(value: &str) -> String {
    let kinds = ["integer ", "floating point ", "boolean ", "string "];
    let plain = kinds.iter().find_map(|kind| value.strip_prefix(kind));
    match (plain, value) {
        (Some(plain), _) => plain.trim_matches('`').to_owned(),
        (None, "sequence") => "a list".to_owned(),
        (None, "map") => "a table".to_owned(),
        (None, "null" | "unit value" | "Option value") => "null".to_owned(),
        (None, other) => other.to_owned(),
    }
}

/// The allowed values in the terms of the settings file, from serde's name of the type.
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
