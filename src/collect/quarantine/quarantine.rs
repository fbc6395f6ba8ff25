//! Quarantine: orders that failed a check, by dedupe key, and the dead-letter file that stores them.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Mutex;

use serde::Deserialize;

use crate::collect::lock::locked;
use crate::collect::quarantine::dead_letter::{
    DEAD_LETTER_FILE, DeadLetter, DeadLetterFile, Written,
};
use crate::collect::quarantine::quarantined_order::{Figures, QuarantinedOrder, readmit};

/// The quarantine of an archive, shared by all exchanges. After a restart it is read from the dead-letter file.
#[derive(Debug)]
pub(crate) struct Quarantine {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    orders: QuarantinedOrders,
    file: DeadLetterFile,
}

impl Quarantine {
    /// Opens the quarantine of an archive, for at most `most` orders and a dead-letter file of at most `bytes` bytes.
    pub(crate) fn open(archive: &Path, most: usize, bytes: u64) -> Self {
        Self {
            state: Mutex::new(State {
                orders: QuarantinedOrders::read(archive, most),
                file: DeadLetterFile::new(archive, bytes),
            }),
        }
    }

    /// Whether an order is in quarantine and must stay there, given its new `figures`.
    pub(crate) fn contains(&self, key: &str, figures: &Figures) -> bool {
        locked(&self.state).orders.contains(key, figures)
    }

    /// Writes a dead letter. Also puts the order of the letter, if any, into quarantine.
    pub(crate) fn write(&self, letter: &DeadLetter<'_>) -> Written {
        let mut state = locked(&self.state);
        if let Some(order) = &letter.quarantined {
            state.orders.add(order.clone());
        }
        let written = match serde_json::to_string(letter) {
            Ok(line) => state.file.write(&line),
            Err(fault) => Written::Full(fault.to_string()),
        };
        drop(state);
        if let Written::Full(why) = &written {
            log::warn!(target: "liqdata::archive", "{why}");
        }
        written
    }
}

/// The orders in quarantine, by their dedupe keys.
#[derive(Debug)]
pub(crate) struct QuarantinedOrders {
    by_key: HashMap<String, Figures>,
    most: usize,
}

/// The only field of a dead letter that this module reads.
#[derive(Deserialize)]
struct Line {
    quarantined: Option<QuarantinedOrder>,
}

impl QuarantinedOrders {
    /// Reads the first `most` orders of an archive's dead-letter file.
    pub(crate) fn read(archive: &Path, most: usize) -> Self {
        let mut orders = Self {
            by_key: HashMap::new(),
            most,
        };
        let path = archive.join(DEAD_LETTER_FILE);
        // Only a plain file is opened: a link may point to another program's file, and opening a pipe blocks.
        if !std::fs::symlink_metadata(&path).is_ok_and(|file| file.is_file()) {
            return orders;
        }
        let mut damaged = 0_usize;
        let read = File::open(&path).and_then(|file| {
            for line in BufReader::new(file).split(b'\n') {
                let line = line?;
                match serde_json::from_slice::<Line>(&line) {
                    Ok(Line { quarantined }) => {
                        if let Some(order) = quarantined {
                            orders.add(order);
                        }
                    }
                    Err(_) => damaged += 1,
                }
            }
            Ok(())
        });
        if damaged > 0 {
            log::warn!(
                target: "liqdata::archive",
                "{DEAD_LETTER_FILE}: {damaged} lines cannot be read; quarantined orders in them may be checked and \
                 counted again"
            );
        }
        if let Err(fault) = read {
            log::warn!(
                target: "liqdata::archive",
                "{DEAD_LETTER_FILE} cannot be read ({fault}); quarantined orders may be checked and counted again"
            );
        }
        orders
    }

    fn add(&mut self, order: QuarantinedOrder) {
        if self.by_key.len() < self.most {
            self.by_key.insert(order.key, order.figures);
        }
    }

    /// Whether an order is in quarantine and must stay there, given its new `figures`.
    pub(crate) fn contains(&self, key: &str, figures: &Figures) -> bool {
        let known = self.by_key.get(key);
        known.is_some_and(|known| !readmit(known, figures))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::collect::quarantine::dead_letter::DeadLetterKind;
    use crate::collect::quarantine::quarantined_order::QuarantineReason;

    #[test]
    fn a_quarantined_order_survives_a_restart_with_its_reason() {
        let folder = std::env::temp_dir().join(format!("liqdata-again-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let figures = |price: i64| Figures::new(price.into(), Some(7.into()), None);
        let order = QuarantinedOrder {
            key: "gate|a".to_owned(),
            reason: QuarantineReason::Price,
            figures: figures(100),
        };
        let quarantine = Quarantine::open(&folder, 10, 10_000);
        let letter = DeadLetter::new(DeadLetterKind::Rejected, "");
        assert_eq!(quarantine.write(&letter), Written::Yes);
        let letter = DeadLetter {
            quarantined: Some(order),
            ..DeadLetter::new(DeadLetterKind::Quarantined, "quarantined: …")
        };
        assert_eq!(quarantine.write(&letter), Written::Yes);
        let path = folder.join(DEAD_LETTER_FILE);
        let mut lines = std::fs::read_to_string(&path).unwrap();
        assert!(lines.contains(r#""reason":"price""#), "{lines}");
        lines.push_str("{\"cut");
        std::fs::write(&path, lines).unwrap();
        let orders = QuarantinedOrders::read(&folder, 10);
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(orders.contains("gate|a", &figures(100)));
        assert!(!orders.contains("gate|a", &figures(10)));
        assert!(!orders.contains("gate|b", &figures(100)));
        assert!(!QuarantinedOrders::read(&folder, 10).contains("gate|a", &figures(100)));
    }
}
