//! Writes server-sent events.

use std::fmt::Display;
use std::io::Write;

use serde::Serialize;

use crate::server::reject::Rejection;

/// Writes the line with the type of an event.
pub(crate) fn write_kind(events: &mut Vec<u8>, kind: &str) {
    write_line(events, "event", kind);
}

/// Writes the line with the id of an event.
pub(crate) fn write_id(events: &mut Vec<u8>, id: impl Display) {
    write_line(events, "id", id);
}

fn write_line(events: &mut Vec<u8>, name: &str, value: impl Display) {
    // Writing to a vector cannot fail.
    let _ = writeln!(events, "{name}: {value}");
}

/// Writes the data and the end of an event. The JSON text has no line breaks, so one data line is enough.
pub(crate) fn write_data<T: Serialize>(events: &mut Vec<u8>, data: &T) -> Result<(), Rejection> {
    events.extend_from_slice(b"data: ");
    serde_json::to_writer(&mut *events, data).map_err(|failure| {
        log::error!("an event could not be encoded: {failure}");
        Rejection::Defect
    })?;
    events.extend_from_slice(b"\n\n");
    Ok(())
}
