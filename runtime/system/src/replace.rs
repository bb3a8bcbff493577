//! Replaces a file whole or not at all: what is new is written beside it and takes its
//! place. A reader sees the old text or the new one, never a part.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Writes a file that only its owner may read.
///
/// # Errors
/// If it cannot be written; then it is as it was.
pub fn write_private(to: &Path, text: impl AsRef<[u8]>) -> io::Result<()> {
    // Temporary files are private from the start.
    let mut draft = draft(to)?;
    draft.write_all(text.as_ref())?;
    draft.persist(to).map_err(|error| error.error)?;
    Ok(())
}

/// Writes a file with the permissions of another, and waits until the disk has it.
///
/// # Errors
/// If it cannot be written; then it is as it was.
pub fn write_like(like: &Path, to: &Path, text: &str) -> io::Result<()> {
    let mut draft = draft(to)?;
    draft.write_all(text.as_bytes())?;
    let permissions = std::fs::metadata(like)?.permissions();
    draft.as_file().set_permissions(permissions)?;
    draft.as_file().sync_all()?;
    draft.persist(to).map_err(|error| error.error)?;
    Ok(())
}

fn draft(beside: &Path) -> io::Result<NamedTempFile> {
    let directory = beside.parent().filter(|d| !d.as_os_str().is_empty());
    tempfile::Builder::new()
        .prefix(".bouncer-")
        .tempfile_in(directory.unwrap_or_else(|| Path::new(".")))
}

/// Writes a file as any program would, with the user's usual permissions. A link is
/// followed; what is no regular file, such as a device, is written to and stays what it is.
///
/// # Errors
/// If that fails; then the file is as it was.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if std::fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        return std::fs::write(path, bytes);
    }
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut draft = target.as_os_str().to_owned();
    draft.push(format!(".{}.tmp", std::process::id()));
    let draft = PathBuf::from(draft);
    let written = std::fs::write(&draft, bytes).and_then(|()| std::fs::rename(&draft, &target));
    if written.is_err() {
        // It may not exist; the first error is the one to tell.
        let _ = std::fs::remove_file(&draft);
    }
    written
}
