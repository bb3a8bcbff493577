//! Reads and replaces a client's file: at once, with the same permissions, through
//! symbolic links, and with a copy of what was there.
//!
//! The copy's name ends in a digest of what was written in its place. So a file is known
//! to be untouched since, and the copy that belongs to it is known, without a record
//! that could be lost.

use bouncer_system::private::read_to_string;
use bouncer_system::replace::write_like;
use std::io;
use std::path::{Path, PathBuf};

/// What stands in the name of a copy, after the file's own name.
const COPY: &str = ".bouncer-backup-";

/// A file that was read.
#[derive(Clone, Debug)]
pub struct Read {
    /// The file itself, with links followed.
    pub path: PathBuf,
    /// What stood in it.
    pub text: String,
}

/// Reads a file.
///
/// # Errors
/// If it cannot be read, or is not UTF-8.
pub fn read(path: &Path) -> io::Result<Read> {
    let path = path.canonicalize()?;
    let text = read_to_string(&path)?;
    Ok(Read { path, text })
}

/// Replaces what was read by `text`. With `keep`, a copy of what was there stays beside
/// it; its name is returned.
///
/// # Errors
/// If the file has changed since it was read, or cannot be written. It is then as it was.
pub fn replace(read: &Read, text: &str, keep: bool) -> io::Result<Option<PathBuf>> {
    if read_to_string(&read.path)? != read.text {
        return Err(io::Error::other("it was changed meanwhile"));
    }
    let copy = keep.then(|| copy_name(&read.path, text));
    if let Some(copy) = &copy {
        write_like(&read.path, copy, &read.text)?;
    }
    write_like(&read.path, &read.path, text)?;
    Ok(copy)
}

/// The copy that was made when this text was written, if it is there: its name, and the
/// text.
#[must_use]
pub fn original(path: &Path, text: &str) -> Option<(PathBuf, String)> {
    let copy = copy_name(path, text);
    let text = read_to_string(&copy).ok()?;
    Some((copy, text))
}

/// All copies of a file that lie beside it.
///
/// # Errors
/// If the directory cannot be read.
pub fn copies(path: &Path) -> io::Result<Vec<PathBuf>> {
    let start = beside(path, COPY);
    let start = start.file_name().unwrap_or_default().as_encoded_bytes();
    let directory = path.parent().filter(|d| !d.as_os_str().is_empty());
    let files = std::fs::read_dir(directory.unwrap_or_else(|| Path::new(".")))?;
    let mut found = Vec::new();
    for file in files {
        let file = file?;
        if file.file_name().as_encoded_bytes().starts_with(start) {
            found.push(file.path());
        }
    }
    Ok(found)
}

/// A name for a file that belongs to a configuration file and lies beside it.
#[must_use]
pub fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    path.with_file_name(name)
}

fn copy_name(path: &Path, written: &str) -> PathBuf {
    let digest = blake3::hash(written.as_bytes()).to_hex();
    let short = digest.get(..16).unwrap_or_default();
    beside(path, &format!("{COPY}{short}"))
}
