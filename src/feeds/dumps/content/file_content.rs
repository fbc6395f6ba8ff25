//! The kind of content of a file, detected from its first bytes.

/// Number of bytes from which the content is detected.
pub(super) const SAMPLE: usize = 1024;

/// The kind of content of a file, independent of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileContent {
    /// Text in an 8-bit encoding such as UTF-8.
    Text,
    /// UTF-16 text, low byte first.
    Utf16Le,
    /// UTF-16 text, high byte first.
    Utf16Be,
    /// Data compressed with gzip.
    Gzip,
    /// Data compressed with zstd.
    Zstd,
    /// Data compressed with xz.
    Xz,
    /// Data compressed with bzip2.
    Bzip2,
    /// A zip archive.
    Zip,
    /// A Parquet file.
    Parquet,
    /// A Feather file of version 1.
    Feather,
    /// An Arrow IPC file, which includes Feather version 2.
    ArrowFile,
    /// An Arrow IPC stream.
    ArrowStream,
    /// Data compressed with lz4.
    Lz4,
    /// A 7z archive.
    SevenZip,
    /// A rar archive.
    Rar,
    /// A tar archive.
    Tar,
    /// An `SQLite` database.
    Sqlite,
    /// A Python pickle.
    Pickle,
    /// An HDF5 file.
    Hdf5,
    /// A numpy array file.
    Numpy,
    /// A Microsoft Office file in the format used before 2007.
    OldExcel,
    /// A PDF document.
    Pdf,
    /// An HTML page.
    Html,
    /// XML.
    Xml,
    /// A Git LFS pointer.
    LfsPointer,
    /// An `AppleDouble` file, in which macOS stores metadata of another file.
    AppleDouble,
    /// Other data that contains zero bytes.
    Binary,
}

/// Known first bytes of each kind of content.
const MAGIC: [(&[u8], FileContent); 26] = [
    (b"\x1f\x8b", FileContent::Gzip),
    (b"\x28\xb5\x2f\xfd", FileContent::Zstd),
    (b"\xfd7zXZ\0", FileContent::Xz),
    (b"PK\x03\x04", FileContent::Zip),
    (b"PK\x05\x06", FileContent::Zip),
    (b"PK\x07\x08", FileContent::Zip),
    (b"PAR1", FileContent::Parquet),
    (b"FEA1", FileContent::Feather),
    (b"ARROW1\0\0", FileContent::ArrowFile),
    (b"\xff\xff\xff\xff", FileContent::ArrowStream),
    (b"\x04\x22\x4d\x18", FileContent::Lz4),
    (b"\x02\x21\x4c\x18", FileContent::Lz4),
    (b"7z\xbc\xaf\x27\x1c", FileContent::SevenZip),
    (b"Rar!\x1a\x07", FileContent::Rar),
    (b"SQLite format 3\0", FileContent::Sqlite),
    (b"\x80\x02", FileContent::Pickle),
    (b"\x80\x03", FileContent::Pickle),
    (b"\x80\x04", FileContent::Pickle),
    (b"\x80\x05", FileContent::Pickle),
    (b"\x89HDF\r\n\x1a\n", FileContent::Hdf5),
    (b"\x93NUMPY", FileContent::Numpy),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", FileContent::OldExcel),
    (b"%PDF-", FileContent::Pdf),
    (b"\x00\x05\x16\x07", FileContent::AppleDouble),
    (b"\xff\xfe", FileContent::Utf16Le),
    (b"\xfe\xff", FileContent::Utf16Be),
];

impl FileContent {
    /// Detects the content of a file that begins with these bytes.
    #[must_use]
    pub fn of(head: &[u8]) -> Self {
        let head = head.get(..SAMPLE).unwrap_or(head);
        let known = MAGIC.iter().find(|(magic, _)| head.starts_with(magic));
        if let Some((_, content)) = known {
            return *content;
        }
        // The digit is the block size. It is followed by the digits of pi, or of its square root if the archive is
        // empty.
        if let Some([b'1'..=b'9', rest @ ..]) = head.strip_prefix(b"BZh")
            && (rest.starts_with(b"1AY&SY") || rest.starts_with(b"\x17\x72\x45\x38\x50\x90"))
        {
            return Self::Bzip2;
        }
        if let [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] = head {
            return Self::Zstd;
        }
        if head
            .get(257..)
            .is_some_and(|rest| rest.starts_with(b"ustar"))
        {
            return Self::Tar;
        }
        if head.contains(&0) {
            return with_zeros(head);
        }
        let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
        let begin = text.trim_ascii_start();
        let begin = begin.get(..64).unwrap_or(begin).to_ascii_lowercase();
        if begin.starts_with(b"<!doctype html") || begin.starts_with(b"<html") {
            return Self::Html;
        }
        // MetaTrader writes names of columns as `<DATE>`.
        let closed = begin.iter().position(|byte| *byte == b'>');
        let after = closed.and_then(|closed| begin.get(closed + 1));
        let is_column = after.is_some_and(|byte| b"\t,;".contains(byte));
        let is_tag = matches!(begin.as_slice(), [b'<', b'a'..=b'z' | b'!', ..]) && !is_column;
        if begin.starts_with(b"<?xml") || is_tag {
            return Self::Xml;
        }
        if begin.starts_with(b"version https://git-lfs") {
            return Self::LfsPointer;
        }
        Self::Text
    }

    /// Returns the name of the content.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Text | Self::Utf16Le | Self::Utf16Be => "text",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Xz => "xz",
            Self::Bzip2 => "bzip2",
            Self::Zip => "zip",
            Self::Parquet => "parquet",
            Self::Feather => "feather",
            Self::ArrowFile => "arrow",
            Self::ArrowStream => "arrow_stream",
            _ => "other",
        }
    }

    /// Returns why the content is not readable and what to do; `None` for text.
    #[must_use]
    pub fn unreadable(self) -> Option<&'static str> {
        Some(match self {
            Self::Text | Self::Utf16Le | Self::Utf16Be => return None,
            Self::Gzip | Self::Zstd => "it is packed more than three times; unpack it first",
            Self::Xz => "it is xz inside another file; unpack it first (xz -d)",
            Self::Bzip2 => "it is bzip2 inside another file; unpack it first (bunzip2)",
            Self::Zip => "it is a zip inside another file; unpack the outer one first",
            Self::Parquet => "it is a Parquet file inside another file; unpack it first",
            Self::Feather | Self::ArrowFile | Self::ArrowStream => {
                "it is a Feather or Arrow file inside another file; unpack it first"
            }
            Self::Lz4 => "it is compressed by lz4, which is not read; unpack it first (lz4 -d)",
            Self::SevenZip => "it is a 7z archive, which is not read; unpack it first (7z x)",
            Self::Rar => "it is a rar archive, which is not read; unpack it first (unrar x)",
            Self::Tar => "it is a tar archive, which is not read; unpack it first (tar -xf)",
            Self::Sqlite => {
                "it is an SQLite database, which is not read; read the table with pandas.read_sql and give it as orders=, bars= \
                 or open_interest="
            }
            Self::Pickle => {
                "it is a Python pickle, which can run code and is not read; write the table as Parquet or CSV"
            }
            Self::Hdf5 => {
                "it is an HDF5 file, which is not read; read it with pandas.read_hdf and write it as Parquet or CSV"
            }
            Self::Numpy => {
                "it is a numpy array without names of columns; write it as CSV or Parquet"
            }
            Self::OldExcel => "it is an old Excel or Office file; save it as CSV",
            Self::Pdf => "it is a PDF document, not a table",
            Self::Html => {
                "it is an HTML page, perhaps an error page in place of a download; download the file again"
            }
            Self::Xml => {
                "it is XML, perhaps an error message in place of a download; rows are read from CSV, JSON and Parquet"
            }
            Self::LfsPointer => {
                "it is a pointer of Git LFS in place of the file; fetch the file first (git lfs pull)"
            }
            Self::AppleDouble => "it is metadata that macOS writes next to a file, not the file",
            Self::Binary => "it is neither text nor a known kind of file",
        })
    }
}

/// Detects UTF-16: most characters have a zero byte, always on the same side.
fn with_zeros(head: &[u8]) -> FileContent {
    let (mut even, mut odd, mut pairs) = (0_usize, 0_usize, 0_usize);
    for pair in head.chunks_exact(2) {
        pairs += 1;
        even += usize::from(pair.first() == Some(&0));
        odd += usize::from(pair.last() == Some(&0));
    }
    match (even, odd) {
        (0, odd) if odd * 2 > pairs => FileContent::Utf16Le,
        (even, 0) if even * 2 > pairs => FileContent::Utf16Be,
        _ => FileContent::Binary,
    }
}

#[cfg(test)]
mod tests {
    use crate::feeds::dumps::content::file_content::*;

    #[test]
    fn first_bytes_name_the_content() {
        let utf16 = |text: &str| {
            text.encode_utf16()
                .flat_map(u16::to_le_bytes)
                .collect::<Vec<u8>>()
        };
        let mut tar = vec![b'x'; 257];
        tar.extend(b"ustar\x0000");
        for (head, content) in [
            (b"timestamp,price\n1,2\n".to_vec(), FileContent::Text),
            (b"\xef\xbb\xbftimestamp;price".to_vec(), FileContent::Text),
            (b"".to_vec(), FileContent::Text),
            (
                b"BZh is a name, not a packed file".to_vec(),
                FileContent::Text,
            ),
            (b"BZh91AY&SY\x01".to_vec(), FileContent::Bzip2),
            (b"\x5a\x2a\x4d\x18rest".to_vec(), FileContent::Zstd),
            (b"PAR1\x15\x04".to_vec(), FileContent::Parquet),
            (b"ARROW1\0\0\xff\xff".to_vec(), FileContent::ArrowFile),
            (b"\x80\x04\x95\x10\0".to_vec(), FileContent::Pickle),
            (b"SQLite format 3\0\x10\0".to_vec(), FileContent::Sqlite),
            (b" \n<!DOCTYPE HTML><head>".to_vec(), FileContent::Html),
            (b"<Error><Code>NoSuchKey</Code>".to_vec(), FileContent::Xml),
            (b"<5,1\n".to_vec(), FileContent::Text),
            (
                b"version https://git-lfs.github.com/spec/v1\n".to_vec(),
                FileContent::LfsPointer,
            ),
            (b"\x01\0\x02\0\0\0\x03\x04".to_vec(), FileContent::Binary),
            (utf16("timestamp,price"), FileContent::Utf16Le),
            (utf16("\u{feff}timestamp"), FileContent::Utf16Le),
            (tar, FileContent::Tar),
        ] {
            assert_eq!(
                FileContent::of(&head),
                content,
                "{:?}",
                String::from_utf8_lossy(&head)
            );
        }
    }
}
