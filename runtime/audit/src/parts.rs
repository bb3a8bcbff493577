//! The files of a log: the one that is written to, and those that were full, under the
//! same name with a number behind. A higher number is newer; a number is never used twice.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// The numbers of the files that were full, lowest first.
pub(super) fn numbers(log: &Path) -> io::Result<Vec<u64>> {
    let directory = match log.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut prefix = log.file_name().unwrap_or_default().to_owned();
    prefix.push(".");
    let mut numbers: Vec<u64> = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        numbers.extend(number(&prefix, &entry?.file_name()));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

fn number(prefix: &OsStr, name: &OsStr) -> Option<u64> {
    let rest = name
        .as_encoded_bytes()
        .strip_prefix(prefix.as_encoded_bytes())?;
    let number: u64 = std::str::from_utf8(rest).ok()?.parse().ok()?;
    // Not `+1` or `01`.
    (number.to_string().as_bytes() == rest).then_some(number)
}

/// The name of the full file with that number.
pub(super) fn numbered(log: &Path, number: u64) -> PathBuf {
    let mut name = log.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{number}"));
    log.with_file_name(name)
}

/// The files of the log at `log` that there are, oldest first.
///
/// # Errors
/// If its directory cannot be read.
pub fn files(log: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> = numbers(log)?
        .into_iter()
        .map(|number| numbered(log, number))
        .collect();
    if log.exists() {
        files.push(log.to_owned());
    }
    Ok(files)
}
