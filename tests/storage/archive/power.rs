//! Power cuts: every acknowledged row is on the disk; nothing else has to be.
//!
//! The writer runs with `power_cut.c` in place of the C library's syncs, which notes what was durable when. After a kill
//! the disk is restored from that alone, or from a mixture of it and of unsynced data; that is all a
//! file system promises. A file's content and a folder's names each are durable as they were when last synced.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use liqdata::archive::Archive;

use crate::archive::child::{Process, whole_batches};
use crate::archive::folder::Folder;
use crate::archive::rows::all_orders;

/// How often the power of one disk is cut.
const CUTS: u64 = 15;

/// A disk that a process writes to, and what of it is durable.
struct WatchedDisk {
    folder: Folder,
    shim: PathBuf,
}

/// What survives of what was not synced.
#[derive(Clone, Copy)]
enum Unsynced {
    Lost,
    /// Of each file and folder all or nothing, by chance.
    Mixed,
}

/// An entry of a folder: whether it is one itself, the inode, and the name.
type Entry = (bool, u64, OsString);

impl WatchedDisk {
    /// `None` where no C compiler is at hand; the reason is printed.
    fn new() -> Option<Self> {
        let folder = Folder::new();
        let shim = folder.path().join("power_cut.so");
        let source =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/storage/archive/power_cut.c");
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .args([&shim, &source])
            .output();
        match built {
            Ok(output) if output.status.success() => {}
            Ok(output) => panic!("{}", String::from_utf8_lossy(&output.stderr)),
            Err(fault) => {
                eprintln!("skipped: no C compiler: {fault}");
                return None;
            }
        }
        let disk = Self { folder, shim };
        disk.begin();
        Some(disk)
    }

    fn durable(&self) -> PathBuf {
        self.folder.path().join("durable")
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("disk")
    }

    fn archive(&self) -> PathBuf {
        self.root().join("archive")
    }

    /// Notes that all that is there is durable.
    fn begin(&self) {
        let _ = fs::remove_dir_all(self.durable());
        fs::create_dir_all(self.durable()).unwrap();
        fs::create_dir_all(self.root()).unwrap();
        self.record(&self.root());
    }

    fn record(&self, folder: &Path) {
        let mut lines = String::new();
        for (is_folder, inode, name) in entries(folder) {
            let kind = if is_folder { "folder" } else { "file" };
            writeln!(lines, "{kind} {inode} {}", name.to_str().unwrap()).unwrap();
            let path = folder.join(name);
            if is_folder {
                self.record(&path);
            } else {
                fs::copy(&path, self.durable().join(format!("file-{inode}"))).unwrap();
                fs::hard_link(&path, self.durable().join(format!("link-{inode}"))).unwrap();
            }
        }
        let inode = fs::metadata(folder).unwrap().ino();
        fs::write(self.durable().join(format!("folder-{inode}")), lines).unwrap();
    }

    /// A writer without end that begins with batch `first`; syncs of what the pattern `deaf` matches are not done.
    fn writer(&self, first: u64, deaf: &str) -> Process {
        self.process(&format!("write {first}"), deaf)
    }

    /// A process that plays `part` on the disk's archive, as deaf.
    fn process(&self, part: &str, deaf: &str) -> Process {
        let set = |name: &str, value: &Path| (name.to_owned(), value.as_os_str().to_owned());
        Process::start_in(
            &self.archive(),
            part,
            [
                set("LD_PRELOAD", &self.shim),
                set("POWER_CUT_DURABLE", &self.durable()),
                set("POWER_CUT_DEAF", Path::new(deaf)),
            ],
        )
    }

    /// Puts the disk together as it is after the power was cut.
    fn cut(&self, unsynced: Unsynced, random: &mut fastrand::Rng) {
        let mut there = BTreeMap::new();
        walk(&self.root(), &mut there);
        let after = self.folder.path().join("after");
        let inode = fs::metadata(self.root()).unwrap().ino();
        let mut survives = || matches!(unsynced, Unsynced::Mixed) && random.bool();
        self.restore(inode, &after, &there, &mut survives);
        fs::remove_dir_all(self.root()).unwrap();
        fs::rename(after, self.root()).unwrap();
        self.begin();
    }

    fn restore(
        &self,
        inode: u64,
        into: &Path,
        there: &BTreeMap<u64, PathBuf>,
        survives: &mut dyn FnMut() -> bool,
    ) {
        fs::create_dir(into).unwrap();
        let names = match there.get(&inode) {
            Some(folder) if survives() => entries(folder),
            _ => self.durable_entries(inode),
        };
        for (is_folder, inode, name) in names {
            let into = into.join(name);
            if is_folder {
                self.restore(inode, &into, there, survives);
                continue;
            }
            let file = self.durable().join(format!("file-{inode}"));
            match there.get(&inode) {
                Some(path) if survives() => drop(fs::copy(path, &into).unwrap()),
                _ if file.exists() => drop(fs::copy(&file, &into).unwrap()),
                // The name alone came through.
                _ => fs::write(&into, b"").unwrap(),
            }
        }
    }

    fn durable_entries(&self, inode: u64) -> Vec<Entry> {
        let lines = fs::read_to_string(self.durable().join(format!("folder-{inode}")));
        let entry = |line: &str| {
            let mut words = line.splitn(3, ' ');
            let mut word = || words.next().unwrap();
            let (kind, inode) = (word(), word().parse().unwrap());
            (kind == "folder", inode, word().into())
        };
        lines.unwrap_or_default().lines().map(entry).collect()
    }
}

fn entries(folder: &Path) -> Vec<Entry> {
    let entry = |entry: std::io::Result<fs::DirEntry>| {
        let entry = entry.unwrap();
        let status = entry.metadata().unwrap();
        (status.is_dir(), status.ino(), entry.file_name())
    };
    fs::read_dir(folder).unwrap().map(entry).collect()
}

fn walk(folder: &Path, there: &mut BTreeMap<u64, PathBuf>) {
    there.insert(fs::metadata(folder).unwrap().ino(), folder.to_owned());
    for (is_folder, inode, name) in entries(folder) {
        let path = folder.join(name);
        if is_folder {
            walk(&path, there);
        } else {
            there.insert(inode, path);
        }
    }
}

/// What is wrong with the archive at `path` that was acknowledged up to batch `acknowledged`, or how many batches it has.
fn checked(path: &Path, acknowledged: Option<u64>) -> Result<u64, String> {
    let writer = Archive::create_or_open(path).map_err(|fault| fault.to_string())?;
    let verified = writer
        .archive()
        .integrity()
        .verify()
        .map_err(|fault| fault.to_string())?;
    if !verified.is_sound() {
        return Err(format!("{verified:?}"));
    }
    let next = whole_batches(&all_orders(writer.archive()))?;
    match acknowledged {
        Some(last) if last >= next => Err(format!("{last} was acknowledged, {next} are there")),
        _ => Ok(next),
    }
}

/// Lets a writer work on a new disk and cuts its power fifteen times; how many batches there are, or what is wrong.
fn cut_often(
    unsynced: Unsynced,
    deaf: &str,
    random: &mut fastrand::Rng,
) -> Option<Result<u64, String>> {
    let disk = WatchedDisk::new()?;
    let mut next = 0;
    for _ in 0..CUTS {
        let acknowledgements = random.usize(1..16);
        // In the middle of something.
        let time = Duration::from_micros(random.u64(0..20_000));
        let acknowledged = disk.writer(next, deaf).killed_after(acknowledgements, time);
        disk.cut(unsynced, random);
        match checked(&disk.archive(), acknowledged) {
            Ok(batches) => next = batches,
            Err(wrong) => return Some(Err(wrong)),
        }
        // What was put in order is on the disk, as after any other start.
        disk.begin();
    }
    Some(Ok(next))
}

fn outlives(unsynced: Unsynced) {
    let mut random = fastrand::Rng::with_seed(3);
    let disks = if std::env::var_os("LIQDATA_SOAK").is_some() {
        34
    } else {
        1
    };
    for _ in 0..disks {
        let Some(batches) = cut_often(unsynced, "", &mut random) else {
            return;
        };
        assert!(batches.unwrap() > CUTS);
    }
}

#[test]
fn acknowledged_rows_survive_a_power_cut_without_unsynced_data() {
    outlives(Unsynced::Lost);
}

#[test]
fn acknowledged_rows_survive_a_power_cut_with_some_unsynced_data() {
    outlives(Unsynced::Mixed);
}

/// The tests above would notice a sync that is missing: of the journal, of a file, of any folder.
#[test]
fn a_missing_sync_is_noticed() {
    for (deaf, loss) in [
        ("*-wal", "was acknowledged, 0 are there"),
        ("*/disk", "was acknowledged, 0 are there"),
        ("*/orders", "the file is missing"),
        ("*/date=????-??-??", "the file is missing"),
        ("*.tmp", "the file has 0 bytes"),
    ] {
        let mut random = fastrand::Rng::with_seed(3);
        let Some(found) = cut_often(Unsynced::Lost, deaf, &mut random) else {
            return;
        };
        let found = found.unwrap_err();
        assert!(found.contains(loss), "{deaf}: {found}");
    }
}

/// Files 70 days and cuts the power once as many files as `file` have come to `step`; how many orders are there then, or
/// what is wrong with the archive.
fn filed(step: &str, file: usize, deaf: &str, unsynced: Unsynced) -> Option<Result<usize, String>> {
    let mut random = fastrand::Rng::with_seed(5);
    let disk = WatchedDisk::new()?;
    let mut process = disk.process(&format!("file 70 {step} {file}"), deaf);
    assert!(process.read_report("reached").is_some(), "{step} {file}");
    process.kill();
    disk.cut(unsynced, &mut random);
    let sound = |writer: &Archive| {
        let verified = writer
            .integrity()
            .verify()
            .map_err(|fault| fault.to_string())?;
        let orders = verified.is_sound().then(|| all_orders(writer).len());
        orders.ok_or_else(|| format!("{verified:?}"))
    };
    let writer = Archive::create_or_open(disk.archive()).map_err(|fault| fault.to_string());
    Some(writer.and_then(|writer| sound(writer.archive())))
}

#[test]
fn an_import_of_many_days_survives_a_power_cut_whole_or_not() {
    for unsynced in [Unsynced::Lost, Unsynced::Mixed] {
        for (step, file, orders) in [
            ("Synced", 40, 0),
            ("Renamed", 40, 0),
            ("Written", 70, 0),
            ("Committed", 1, 70 * 30),
        ] {
            let Some(found) = filed(step, file, "", unsynced) else {
                return;
            };
            assert_eq!(found, Ok(orders), "{step} {file}");
        }
    }
}

/// The test above would notice a sync that is missing.
#[test]
fn a_missing_sync_of_an_import_is_noticed() {
    for (deaf, loss) in [
        ("*/orders", "the file is missing"),
        ("*/date=????-??-??", "the file is missing"),
        ("*.tmp", "the file has 0 bytes"),
    ] {
        let Some(found) = filed("Committed", 1, deaf, Unsynced::Lost) else {
            return;
        };
        let found = found.unwrap_err();
        assert!(found.contains(loss), "{deaf}: {found}");
    }
}
