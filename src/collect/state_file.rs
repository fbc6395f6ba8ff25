//! Small state files for the next process, in the folder `state` of the archive: one line of JSON and its CRC-32.
//!
//! State files are optional: a file that is missing, damaged or of another format is ignored. They are first written
//! under a hidden name and then renamed, so links are never followed. State files are not synced to the disk.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The folder of the state files.
const FOLDER: &str = "state";
/// Maximum size of a state file, in bytes; the markets of an exchange take a few hundred thousand.
const MOST: u64 = 16 << 20;

/// Reads a state file; `None` if it is missing or damaged.
pub(crate) fn read<T: DeserializeOwned>(archive: &Path, name: &str) -> Option<T> {
    let path = archive.join(FOLDER).join(name);
    let found = fs::symlink_metadata(&path).ok()?;
    if !is_folder(archive) || !found.is_file() || found.len() > MOST {
        return None;
    }
    let mut text = String::new();
    let file = File::open(&path).ok()?;
    file.take(MOST).read_to_string(&mut text).ok()?;
    let (line, sum) = text.strip_suffix('\n')?.split_once('\n')?;
    if sum != sum_of(line) {
        return None;
    }
    serde_json::from_str(line).ok()
}

/// Writes a state file.
///
/// # Errors
///
/// An error of the file system, or if the folder is a link or a file.
pub(crate) fn write<T: Serialize>(archive: &Path, name: &str, state: &T) -> io::Result<()> {
    let line = serde_json::to_string(state)?;
    let folder = archive.join(FOLDER);
    match fs::create_dir(&folder) {
        Err(fault) if fault.kind() != io::ErrorKind::AlreadyExists => return Err(fault),
        _ if !is_folder(archive) => {
            return Err(io::Error::other(format!(
                "{FOLDER} is a link or not a folder"
            )));
        }
        _ => {}
    }
    let hidden = folder.join(format!(".{name}.tmp"));
    match fs::remove_file(&hidden) {
        Err(fault) if fault.kind() != io::ErrorKind::NotFound => return Err(fault),
        _ => {}
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&hidden)?;
    file.write_all(format!("{line}\n{}\n", sum_of(&line)).as_bytes())?;
    drop(file);
    fs::rename(&hidden, folder.join(name))
}

fn is_folder(archive: &Path) -> bool {
    fs::symlink_metadata(archive.join(FOLDER)).is_ok_and(|found| found.is_dir())
}

fn sum_of(line: &str) -> String {
    let mut sum = libdeflater::Crc::new();
    sum.update(line.as_bytes());
    format!("{:08x}", sum.sum())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::path::PathBuf;

    use crate::collect::state_file::*;

    fn folder(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("liqdata-state-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn numbers(archive: &Path) -> Option<Vec<u32>> {
        read(archive, "numbers.json")
    }

    #[test]
    fn what_was_written_is_read_and_nothing_of_what_is_damaged() {
        let archive = folder("whole");
        assert_eq!(numbers(&archive), None);
        write(&archive, "numbers.json", &[1, 2]).unwrap();
        write(&archive, "numbers.json", &[1, 2, 3]).unwrap();
        assert_eq!(numbers(&archive), Some(vec![1, 2, 3]));
        let path = archive.join(FOLDER).join("numbers.json");
        let whole = fs::read_to_string(&path).unwrap();
        for damaged in [
            whole.replace('2', "4"),
            whole.replace('\n', ""),
            whole.get(..whole.len() - 1).unwrap().to_owned(),
            String::new(),
        ] {
            fs::write(&path, &damaged).unwrap();
            assert_eq!(numbers(&archive), None, "{damaged:?}");
        }
        // A valid file with content of another type.
        write(&archive, "numbers.json", &"one").unwrap();
        assert_eq!(numbers(&archive), None);
        File::create(&path).unwrap().set_len(MOST + 1).unwrap();
        assert_eq!(numbers(&archive), None);
        let left = fs::read_dir(archive.join(FOLDER)).unwrap().count();
        assert_eq!(left, 1, "no hidden file stays");
        fs::remove_dir_all(&archive).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed() {
        use std::os::unix::fs::symlink;
        let (archive, other) = (folder("linked"), folder("other"));
        write(&other, "numbers.json", &[7]).unwrap();
        let theirs = other.join(FOLDER).join("numbers.json");
        let before = fs::read(&theirs).unwrap();
        fs::create_dir(archive.join(FOLDER)).unwrap();
        for name in ["numbers.json", ".numbers.json.tmp"] {
            symlink(&theirs, archive.join(FOLDER).join(name)).unwrap();
        }
        assert_eq!(numbers(&archive), None);
        write(&archive, "numbers.json", &[1]).unwrap();
        assert_eq!(numbers(&archive), Some(vec![1]));
        assert_eq!(fs::read(&theirs).unwrap(), before);
        fs::remove_dir_all(archive.join(FOLDER)).unwrap();
        symlink(other.join(FOLDER), archive.join(FOLDER)).unwrap();
        assert_eq!(numbers(&archive), None);
        let refused = write(&archive, "numbers.json", &[1]).unwrap_err();
        assert!(refused.to_string().contains("a link"), "{refused}");
        assert_eq!(fs::read(&theirs).unwrap(), before);
        for folder in [archive, other] {
            fs::remove_dir_all(folder).unwrap();
        }
    }
}
