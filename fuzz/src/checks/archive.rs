//! Files of an archive in which bytes have changed: the journal, its manifest with it, and the Parquet files.
//!
//! An input is a list of changes and not a file: which of the files, then five bytes for each change, four of them its
//! place and one what the byte there is changed by; the last byte, if one is left, cuts the file short.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use liqdata::archive::{Archive, ArchiveError, BarRow, Batch, Filter, OrderRow, Writer};
use liqdata::model::{Completeness, Millis, Order, PeriodLength, Side};

const START: i64 = 1_781_136_000_000;

/// A small archive, a day of it in files and the rest in the journal, and what it tells.
struct Whole {
    /// By their paths below the folder.
    files: Vec<(PathBuf, Vec<u8>)>,
    told: Vec<String>,
}

static WHOLE: LazyLock<Whole> = LazyLock::new(Whole::new);

/// A folder that is removed with this.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("liqdata-fuzz-{}-{number}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn batch(day: i64) -> Batch {
    let at = |place: i64| Millis(START + day * Millis::DAY + place * Millis::HOUR);
    let orders = (0..20).map(|place| OrderRow {
        order: Order {
            exchange: "okx".to_owned(),
            symbol: "BTCUSDT".to_owned(),
            side: if place % 2 == 0 {
                Side::Long
            } else {
                Side::Short
            },
            price: (60_000 + place).into(),
            qty: (1 + place).into(),
            value_usd: (60_000 + place).into(),
            timestamp: at(place),
        },
        coin: "BTC".to_owned(),
        price_kind: "bankruptcy".to_owned(),
        completeness: Completeness::Sampled,
        native_id: None,
        dedupe_key: format!("{day}-{place}"),
        received_at: at(place),
        raw: None,
        group_id: None,
    });
    let bars = (0..20).map(|place| BarRow {
        exchange: "okx".to_owned(),
        symbol: "BTC".to_owned(),
        timestamp: at(place),
        interval: Millis::HOUR,
        open: 100.into(),
        high: (101 + place).into(),
        low: 99.into(),
        close: 100.into(),
        volume: 2.into(),
        received_at: at(place + 1),
    });
    Batch {
        orders: orders.collect(),
        bars: bars.collect(),
        ..Batch::default()
    }
}

fn fill(folder: &Path) -> Result<(), ArchiveError> {
    let mut writer: Writer = Archive::create_or_open(folder)?;
    let run = writer.begin_session("okx", Completeness::Sampled, Millis(START))?;
    for day in 0..2 {
        writer.append(&Batch {
            seen: vec![(run, Millis(START + (day + 1) * Millis::DAY))],
            ..batch(day)
        })?;
    }
    writer.compact(Millis(START + Millis::DAY))?;
    Ok(())
}

/// Every row, sorted, and how much is damaged.
fn told(folder: &Path) -> Result<(Vec<String>, usize), ArchiveError> {
    let archive = Archive::read(folder)?;
    let all = Filter::default();
    let orders = archive.orders(&all)?.rows;
    let bars = archive.bars(&all, PeriodLength::Fixed(Millis::HOUR))?.rows;
    let runs = archive
        .coverage()
        .sessions(Millis(START), Millis(START + 3 * Millis::DAY))?;
    let mut told: Vec<String> = orders.iter().map(|row| format!("{row:?}")).collect();
    told.extend(bars.iter().map(|row| format!("{row:?}")));
    told.extend(runs.iter().map(|run| format!("{run:?}")));
    told.sort();
    Ok((told, archive.integrity().damage()?.len()))
}

fn below(folder: &Path, within: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(within).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            below(folder, &path, files);
        } else if let Ok(relative) = path.strip_prefix(folder) {
            files.push((relative.to_owned(), fs::read(&path).unwrap()));
        }
    }
}

impl Whole {
    fn new() -> Self {
        let folder = Folder::new();
        fill(&folder.0).unwrap();
        let (told, damage) = told(&folder.0).unwrap();
        assert_eq!(damage, 0);
        let mut files = Vec::new();
        below(&folder.0, &folder.0, &mut files);
        files.sort();
        assert!(
            files.len() >= 3 && told.len() > 80,
            "{} files, {} rows",
            files.len(),
            told.len()
        );
        Self { files, told }
    }
}

/// Changes of a file.
///
/// # Panics
///
/// Where an archive with that file tells a row that was never written.
pub fn check(input: &[u8]) {
    let Some((which, changes)) = input.split_first() else {
        return;
    };
    let whole = &*WHOLE;
    let chosen = usize::from(*which) % whole.files.len();
    let folder = Folder::new();
    for (place, (path, bytes)) in whole.files.iter().enumerate() {
        let path = folder.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut bytes = bytes.clone();
        if place == chosen {
            change(&mut bytes, changes);
        }
        fs::write(path, bytes).unwrap();
    }
    if let Ok((found, damage)) = told(&folder.0) {
        for row in &found {
            assert!(
                whole.told.binary_search(row).is_ok(),
                "{row} was never written"
            );
        }
        let missing = whole.told.len() - found.len();
        assert!(
            missing == 0 || damage > 0,
            "{missing} rows are missing, and nothing says so"
        );
    }
}

fn change(bytes: &mut Vec<u8>, changes: &[u8]) {
    let (changes, rest) = changes.as_chunks::<5>();
    for [a, b, c, d, by] in changes {
        let place = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
        let length = bytes.len().max(1);
        if let Some(byte) = bytes.get_mut(place % length) {
            *byte ^= by;
        }
    }
    if let Some(share) = rest.first() {
        bytes.truncate(bytes.len() * usize::from(*share) / 255);
    }
}
