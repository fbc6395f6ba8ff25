//! Warns before the disk of the archive is full.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::Instant;

use crate::archive::{Archive, DiskSpace};

/// Time between two looks at the disk.
const EACH: Duration = Duration::from_mins(1);
/// Time between two warnings.
const AGAIN: Duration = Duration::from_hours(1);

/// Logs a warning while the disk has little free space: once an hour, and at once when the space runs low.
pub(crate) async fn watch(archive: PathBuf) {
    let mut warned: Option<Instant> = None;
    loop {
        let folder = archive.clone();
        let looked = tokio::task::spawn_blocking(move || {
            DiskSpace::of(&folder).filter(|space| space.is_low())
        });
        match looked.await {
            Ok(Some(space)) => {
                if warned.is_none_or(|at| at.elapsed() >= AGAIN) {
                    warned = Some(Instant::now());
                    let folder = archive.clone();
                    let said = tokio::task::spawn_blocking(move || {
                        log::warn!(target: "liqdata::archive", "{}", warning(&folder, space));
                    });
                    let _ = said.await;
                }
            }
            _ => warned = None,
        }
        tokio::time::sleep(EACH).await;
    }
}

/// Says how much space is left, and what takes it.
fn warning(folder: &Path, space: DiskSpace) -> String {
    let mebibytes = |bytes: u64| bytes >> 20;
    let percent = space.free.saturating_mul(100) / space.size.max(1);
    let mut text = format!(
        "the disk of {} is nearly full: {} MiB of it are free ({percent} %)",
        folder.display(),
        mebibytes(space.free)
    );
    // An archive that cannot be read is reported elsewhere.
    if let Ok(parts) = Archive::read(folder).and_then(|archive| archive.catalog().bytes_by_part()) {
        let mut parts: Vec<(String, u64)> = parts.into_iter().collect();
        parts.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        let all: u64 = parts.iter().map(|(_, bytes)| bytes).sum();
        let _ = write!(text, "; the archive takes {} MiB", mebibytes(all));
        for (index, (name, bytes)) in parts.iter().take(3).enumerate() {
            let before = if index == 0 { ":" } else { "," };
            let _ = write!(text, "{before} {name} {} MiB", mebibytes(*bytes));
        }
    }
    text + "; keep fewer days, or free space"
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn the_warning_names_the_space_that_is_left_and_what_takes_it() {
        let folder = std::env::temp_dir().join(format!("liqdata-low-{}", std::process::id()));
        drop(Archive::create_or_open(&folder).unwrap());
        let space = DiskSpace {
            free: 3 << 20,
            size: 100 << 20,
        };
        let text = warning(&folder, space);
        assert!(
            text.contains("is nearly full: 3 MiB of it are free (3 %)"),
            "{text}"
        );
        assert!(
            text.contains("the archive takes 0 MiB: journal 0 MiB;"),
            "{text}"
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
