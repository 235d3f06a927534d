//! Parser for the shim's records: one file for each text that a program compiled with NVRTC.
//!
//! A record is a sequence of fields: a line "key length", the bytes, a line end. An empty file `.cubin` next to it
//! means that the program took machine code, and `.failed` that NVRTC rejected the text.

use std::path::{Path, PathBuf};

/// One compilation of a program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    pub source: String,
    /// The program's name for the text.
    pub name: Option<String>,
    /// Names and texts of headers that the program passed in memory.
    pub headers: Vec<(String, String)>,
    /// Requested template instances.
    pub expressions: Vec<String>,
    pub options: Vec<String>,
    /// Working directory of the program.
    pub folder: PathBuf,
    /// Version of the program's NVRTC: `13.5`.
    pub version: String,
    /// The program took machine code from NVRTC, not PTX.
    pub takes_cubin: bool,
    /// NVRTC rejected the text.
    pub failed: bool,
}

impl Record {
    /// Parses a record; `None` if it is malformed or not valid UTF-8.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut record = Self::default();
        let mut header_name = String::new();
        let mut has_source = false;
        let mut rest = bytes;
        while !rest.is_empty() {
            let end = rest.iter().position(|byte| *byte == b'\n')?;
            let (key, length) = std::str::from_utf8(&rest[..end]).ok()?.split_once(' ')?;
            let length: usize = length.parse().ok()?;
            let value = rest.get(end + 1..)?.get(..length)?;
            rest = rest.get(end + 1 + length..)?.strip_prefix(b"\n")?;
            let text = String::from_utf8(value.to_vec()).ok()?;
            match key {
                "source" => {
                    record.source = text;
                    has_source = true;
                }
                "name" => record.name = Some(text).filter(|name| !name.is_empty()),
                "header-name" => header_name = text,
                "header" => record.headers.push((std::mem::take(&mut header_name), text)),
                "expression" => record.expressions.push(text),
                "option" => record.options.push(text),
                "folder" => record.folder = PathBuf::from(text),
                "version" => record.version = text,
                // A field of a newer shim.
                _ => {}
            }
        }
        has_source.then_some(record)
    }
}

/// The records in a folder, by file name, and the number of unreadable ones.
pub fn read(folder: &Path) -> (Vec<Record>, usize) {
    let entries = fs_err::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "nvrtc"))
        .collect();
    paths.sort();
    let mut broken = 0;
    let mut records = Vec::new();
    for path in paths {
        match fs_err::read(&path).ok().and_then(|bytes| Record::parse(&bytes)) {
            Some(record) => records.push(Record {
                takes_cubin: path.with_extension("cubin").exists(),
                failed: path.with_extension("failed").exists(),
                ..record
            }),
            None => broken += 1,
        }
    }
    (records, broken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_by_their_length() {
        let text = "source 9\nint\na 1\n;\nname 4\nk.cu\nheader-name 1\nh\nheader 0\n\noption 3\n-G1\noption 2\n-G\n\
                    later 1\nx\nfolder 2\n/w\nversion 4\n13.5\n";
        let record = Record::parse(text.as_bytes()).unwrap();
        assert_eq!((record.source.as_str(), record.name.as_deref()), ("int\na 1\n;", Some("k.cu")));
        assert_eq!(record.headers, [("h".to_string(), String::new())]);
        assert_eq!(record.options, ["-G1", "-G"]);
        assert_eq!((record.folder.as_path(), record.version.as_str()), (Path::new("/w"), "13.5"));
    }

    #[test]
    fn broken_records_are_none() {
        for text in
            ["source 99\nx\n", "source\n", "source x\n\n", "name 1\na\n", "source 1\n\u{e9}\n", "source 1\nab\n"]
        {
            assert_eq!(Record::parse(text.as_bytes()), None, "{text}");
        }
        let folder = tempfile::tempdir().unwrap();
        fs_err::write(folder.path().join("a.nvrtc"), "source 1\nx\n").unwrap();
        fs_err::write(folder.path().join("a.cubin"), "").unwrap();
        fs_err::write(folder.path().join("b.nvrtc"), "source 2\nx\n").unwrap();
        let (records, broken) = read(folder.path());
        assert_eq!((records.len(), records[0].takes_cubin, records[0].failed, broken), (1, true, false, 1));
    }
}
