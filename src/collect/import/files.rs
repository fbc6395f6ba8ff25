//! Files of the past as they lie on disk: plain, gzip, or members of a zip.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use zip::ZipArchive;

use crate::feeds::dumps::FileName;

/// One file, or one member of one.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) name: FileName,
    path: PathBuf,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Plain,
    Gzip,
    /// The member of this number.
    Zip(usize),
}

/// Why a file could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("{}: {message}", path.display())]
pub struct Unopened {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub message: String,
}

fn unopened(path: &Path, why: &dyn std::fmt::Display) -> Unopened {
    Unopened {
        path: path.to_owned(),
        message: why.to_string(),
    }
}

/// What is to be read of the file at `path`.
pub(crate) fn sources(path: &Path) -> Result<Vec<Source>, Unopened> {
    let fault = |why: io::Error| unopened(path, &why);
    let mut file = File::open(path).map_err(fault)?;
    if !file.metadata().map_err(fault)?.is_file() {
        return Err(unopened(path, &"it is no plain file"));
    }
    let mut begin = [0; 4];
    let mut read = 0;
    while let Some(rest) = begin.get_mut(read..).filter(|rest| !rest.is_empty()) {
        match file.read(rest).map_err(fault)? {
            0 => break,
            more => read += more,
        }
    }
    let shown = path.to_string_lossy();
    let one = |kind| Source {
        name: FileName::new(&shown, None),
        path: path.to_owned(),
        kind,
    };
    if begin.starts_with(&[0x1f, 0x8b]) {
        return Ok(vec![one(Kind::Gzip)]);
    }
    if !begin.starts_with(b"PK") {
        return Ok(vec![one(Kind::Plain)]);
    }
    let archive = ZipArchive::new(BufReader::new(File::open(path).map_err(fault)?));
    let archive = archive.map_err(|why| unopened(path, &why))?;
    let mut members = Vec::new();
    for place in 0..archive.len() {
        let Some(member) = archive.name_for_index(place) else {
            continue;
        };
        let member = member.map_err(|why| unopened(path, &why))?;
        if !member.ends_with('/') {
            members.push(Source {
                name: FileName::new(&shown, Some(&member)),
                path: path.to_owned(),
                kind: Kind::Zip(place),
            });
        }
    }
    Ok(members)
}

impl Source {
    /// Whether it ends within a line, as what is cut short does; of what is packed its end tells that otherwise.
    pub(crate) fn ends_within_a_line(&self) -> bool {
        let last = || -> io::Result<u8> {
            let mut file = File::open(&self.path)?;
            file.seek(SeekFrom::End(-1))?;
            let mut byte = [0];
            file.read_exact(&mut byte)?;
            Ok(byte[0])
        };
        matches!(self.kind, Kind::Plain) && last().is_ok_and(|byte| byte != b'\n')
    }

    /// What `work` makes of its bytes.
    pub(crate) fn with<T>(
        &self,
        work: impl FnOnce(Box<dyn Read + '_>) -> T,
    ) -> Result<T, Unopened> {
        let fault = |why: io::Error| unopened(&self.path, &why);
        let file = File::open(&self.path).map_err(fault)?;
        Ok(match self.kind {
            Kind::Plain => work(Box::new(file)),
            Kind::Gzip => work(Box::new(MultiGzDecoder::new(BufReader::new(file)))),
            Kind::Zip(place) => {
                let mut archive = ZipArchive::new(BufReader::new(file))
                    .map_err(|why| unopened(&self.path, &why))?;
                let member = archive
                    .by_index(place)
                    .map_err(|why| unopened(&self.path, &why))?;
                work(Box::new(member))
            }
        })
    }
}
