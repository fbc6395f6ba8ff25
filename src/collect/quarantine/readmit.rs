//! What was quarantined, by the file of what was set aside: told again in the same unit, after a restart, by a back-fill or
//! to a rebuild, it is neither judged nor counted anew.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use rust_decimal::Decimal;
use serde_json::{Value, json};

use crate::archive::OrderRow;
use crate::collect::quality::reference_price::are_apart;
use crate::collect::quarantine::dead_letter::ASIDE;
use crate::feeds::Event;

/// How many times the same the figures of an order may be, which two ways of one exchange tell a little differently. A unit
/// makes them ten times the same, and more.
const TIMES: Decimal = Decimal::TWO;
/// Under which name the figures stand in the file.
const QUARANTINED: &str = "quarantined";

/// What an order is doubted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Figures {
    price: Decimal,
    qty: Option<Decimal>,
    value_usd: Option<Decimal>,
}

impl Figures {
    /// Those of an event, as far as they are known.
    pub(crate) fn of(event: &Event) -> Self {
        Self {
            price: event.price,
            qty: event.qty,
            value_usd: event.value_usd,
        }
    }

    /// Those of a row.
    pub(crate) fn of_row(row: &OrderRow) -> Self {
        Self {
            price: row.order.price,
            qty: Some(row.order.qty),
            value_usd: Some(row.order.value_usd),
        }
    }

    /// Whether they are in the units of others.
    fn are_as(&self, others: &Self) -> bool {
        let are_as = |one: Option<Decimal>, other: Option<Decimal>| match (one, other) {
            (Some(one), Some(other)) => !are_apart(one, other, TIMES),
            (one, other) => one == other,
        };
        are_as(Some(self.price), Some(others.price))
            && are_as(self.qty, others.qty)
            && are_as(self.value_usd, others.value_usd)
    }
}

/// The orders that were quarantined, by their keys.
#[derive(Debug)]
pub(crate) struct Quarantined {
    by_key: HashMap<String, Figures>,
    most: usize,
}

impl Quarantined {
    /// Those that the file beside the journal has, and room for `most`.
    pub(crate) fn read(archive: &Path, most: usize) -> Self {
        let mut found = Self {
            by_key: HashMap::new(),
            most,
        };
        let path = archive.join(ASIDE);
        // Behind a link lies somebody else's file, and a pipe lets whoever opens it wait.
        if !std::fs::symlink_metadata(&path).is_ok_and(|file| file.is_file()) {
            return found;
        }
        let read = File::open(&path).and_then(|file| {
            for line in BufReader::new(file).split(b'\n') {
                let line = String::from_utf8_lossy(&line?).into_owned();
                // Within a frame its quotes are escaped.
                if !line.contains(&format!("\"{QUARANTINED}\":{{")) {
                    continue;
                }
                match quarantined_by(&line) {
                    Some((key, figures)) => found.add(&key, figures),
                    None => log::warn!(
                        target: "liqdata::archive",
                        "{ASIDE} has a line of an order that is quarantined and cannot be read: it may be judged and \
                         counted again"
                    ),
                }
            }
            Ok(())
        });
        if let Err(fault) = read {
            log::warn!(
                target: "liqdata::archive",
                "{ASIDE} cannot be read ({fault}): what it says is quarantined may be judged and counted again"
            );
        }
        found
    }

    /// Takes note of one.
    pub(crate) fn add(&mut self, key: &str, figures: Figures) {
        if self.by_key.len() < self.most {
            self.by_key.insert(key.to_owned(), figures);
        }
    }

    /// Whether an order was quarantined in the units in which it is told now.
    pub(crate) fn has(&self, key: &str, figures: &Figures) -> bool {
        let known = self.by_key.get(key);
        known.is_some_and(|known| known.are_as(figures))
    }
}

/// What a line of the file says of an order that is quarantined.
pub(crate) fn quarantine_line(line: &mut Value, key: &str, figures: &Figures) {
    let text = |figure: Option<Decimal>| figure.map(|figure| figure.normalize().to_string());
    let order = json!({
        "key": key,
        "price": text(Some(figures.price)),
        "qty": text(figures.qty),
        "value_usd": text(figures.value_usd),
    });
    if let Some(line) = line.as_object_mut() {
        line.insert(QUARANTINED.to_owned(), order);
    }
}

/// The order that a line says is quarantined; none where it says nothing of that, or is not whole.
fn quarantined_by(line: &str) -> Option<(String, Figures)> {
    let line: Value = serde_json::from_str(line).ok()?;
    let order = line.get(QUARANTINED)?;
    let figure = |name: &str| match order.get(name)? {
        Value::Null => Some(None),
        text => Some(Some(Decimal::from_str_exact(text.as_str()?).ok()?)),
    };
    let figures = Figures {
        price: figure("price")??,
        qty: figure("qty")?,
        value_usd: figure("value_usd")?,
    };
    Some((order.get("key")?.as_str()?.to_owned(), figures))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::collect::quarantine::readmit::*;

    fn figures(price: i64, qty: Option<i64>) -> Figures {
        Figures {
            price: price.into(),
            qty: qty.map(Decimal::from),
            value_usd: None,
        }
    }

    #[test]
    fn what_was_quarantined_is_known_again_unless_its_unit_is_another() {
        let folder = std::env::temp_dir().join(format!("liqdata-again-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut line = json!({"exchange": "gate", "reason": "quarantined: …"});
        quarantine_line(&mut line, "gate|a", &figures(100, Some(7)));
        let lines = format!("{{\"exchange\":\"okx\",\"reason\":\"\"}}\n{line}\n{{\"cut");
        std::fs::write(folder.join(ASIDE), lines).unwrap();
        let known = Quarantined::read(&folder, 10);
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(known.has("gate|a", &figures(100, Some(7))));
        assert!(known.has("gate|a", &figures(101, Some(7))));
        assert!(!known.has("gate|a", &figures(10, Some(7))));
        assert!(!known.has("gate|a", &figures(100, Some(70))));
        assert!(!known.has("gate|a", &figures(100, None)));
        assert!(!known.has("gate|b", &figures(100, Some(7))));
        assert!(!Quarantined::read(&folder, 10).has("gate|a", &figures(100, Some(7))));
    }
}
