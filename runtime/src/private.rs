//! Files and directories that only their owner may read.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::path::Path;

/// Makes a directory and its parents; what is new only its owner may enter.
///
/// # Errors
/// What the file system says.
#[cfg(unix)]
pub fn private_directory(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Makes a directory and its parents.
///
/// # Errors
/// What the file system says.
#[cfg(not(unix))]
pub fn private_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).create(path)
}

/// A file that is only appended to, made if it is missing; others lose the right to read it.
///
/// # Errors
/// What the file system says.
#[cfg(unix)]
pub fn private_file(path: &Path) -> io::Result<File> {
    use std::fs::Permissions;
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    let file = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)?;
    let metadata = file.metadata()?;
    // An older log may be readable by others. A device is left as it is.
    if metadata.is_file() && metadata.permissions().mode() & 0o077 != 0 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

/// A file that is only appended to, made if it is missing.
///
/// # Errors
/// What the file system says.
#[cfg(not(unix))]
pub fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path)
}

/// A file that is read and overwritten in place.
#[cfg(unix)]
pub(crate) fn private_file_in_place(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
}

#[cfg(not(unix))]
pub(crate) fn private_file_in_place(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
}
