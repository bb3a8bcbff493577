//! Files and directories that only their owner may read.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

/// What a shell hands over: whoever names it knows that it is no regular file.
const HANDED_OVER: [&str; 4] = ["/dev/stdin", "/dev/fd", "/proc/self/fd", "/dev/null"];

/// Fails where something else stands under a file's name that one could wait for without end:
/// a named pipe blocks whoever opens it until somebody else does, and some devices never end.
fn check(metadata: &Metadata, wanted: bool) -> io::Result<()> {
    if wanted || metadata.is_file() {
        return Ok(());
    }
    let kind = match kind(metadata) {
        // The file system says it better.
        Kind::Directory => return Ok(()),
        Kind::Pipe => "a named pipe",
        Kind::Socket => "a socket",
        Kind::Device => "a device",
    };
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("it is {kind}, and has to be a regular file: remove it, or name another file"),
    ))
}

enum Kind {
    Directory,
    Pipe,
    Socket,
    Device,
}

#[cfg(unix)]
fn kind(metadata: &Metadata) -> Kind {
    use std::os::unix::fs::FileTypeExt;
    let kind = metadata.file_type();
    match (kind.is_dir(), kind.is_fifo(), kind.is_socket()) {
        (true, _, _) => Kind::Directory,
        (_, true, _) => Kind::Pipe,
        (_, _, true) => Kind::Socket,
        _ => Kind::Device,
    }
}

#[cfg(not(unix))]
fn kind(metadata: &Metadata) -> Kind {
    if metadata.is_dir() {
        Kind::Directory
    } else {
        Kind::Device
    }
}

/// Checks what is under that name, if anything is.
fn check_path(path: &Path, wanted: impl Fn(&Metadata) -> bool) -> io::Result<()> {
    match std::fs::metadata(path) {
        Ok(metadata) => check(&metadata, wanted(&metadata)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Opens a file for reading; not a named pipe or a device, which may keep one waiting for
/// ever, unless the shell handed it over (`/dev/stdin`, `<(...)`).
///
/// # Errors
/// What the file system says, or that it is no regular file.
pub fn open(path: &Path) -> io::Result<File> {
    let handed_over = HANDED_OVER.iter().any(|place| path.starts_with(place));
    check_path(path, |_| handed_over)?;
    File::open(path)
}

/// Reads a file whole; see [`open`].
///
/// # Errors
/// What the file system says, or that it is no regular file.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a text file whole; see [`open`].
///
/// # Errors
/// What the file system says, that it is no regular file, or that it is no text.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

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
/// It may be a device, as `/dev/null`.
///
/// # Errors
/// What the file system says, or that it is a named pipe.
#[cfg(unix)]
pub fn private_file(path: &Path) -> io::Result<File> {
    use std::fs::Permissions;
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    let handed_over = HANDED_OVER.iter().any(|place| path.starts_with(place));
    check_path(path, |metadata| {
        handed_over || matches!(kind(metadata), Kind::Device)
    })?;
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
pub fn private_file_in_place(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    check_path(path, |_| false)?;
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
}

#[cfg(not(unix))]
pub fn private_file_in_place(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn nobody_waits_for_a_pipe() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("pipe");
        assert!(
            Command::new("mkfifo")
                .arg(&path)
                .status()
                .unwrap()
                .success()
        );
        let errors = [
            open(&path).map(drop),
            read(&path).map(drop),
            read_to_string(&path).map(drop),
            private_file(&path).map(drop),
            private_file_in_place(&path).map(drop),
            open(Path::new("/dev/zero")).map(drop),
            private_file_in_place(Path::new("/dev/zero")).map(drop),
        ];
        for error in errors {
            let error = error.unwrap_err().to_string();
            assert!(error.contains("has to be a regular file"), "{error}");
        }
        assert_eq!(read(Path::new("/dev/null")).unwrap(), b"");
        assert!(private_file(Path::new("/dev/null")).is_ok());
        let file = place.path().join("file");
        assert!(private_file(&file).is_ok() && private_file_in_place(&file).is_ok());
        assert_eq!(read_to_string(&file).unwrap(), "");
        let missing = open(&place.path().join("missing")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
