//! The small file beside a log that says where its chain ends, and that is locked while
//! a line is written.
//!
//! The log itself cannot be the lock: it gets another name when it is full. What stands
//! here also shows when lines at the end of a log are gone.

use super::chain::{Link, from_hex, hex};
use bouncer_system::private::{self, private_file_in_place};
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The whole file: one JSON object, padded.
const SIZE: usize = 160;
/// How long a writer waits for others.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long it waits when the last wait was in vain: a process that was stopped while it
/// held the lock must not hold up everything for long, again and again.
const IMPATIENCE: Duration = Duration::from_millis(50);

/// Where a chain ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    /// The last line.
    pub link: Link,
    /// The length of the log's newest file.
    pub bytes: u64,
}

/// The file beside a log that says where its chain ends. Open as long as the log is.
#[derive(Debug)]
pub(super) struct Head {
    path: PathBuf,
    file: File,
    /// What the file held when it was last looked at.
    seen: Option<([u8; SIZE], End)>,
    waited_in_vain: bool,
}

/// Where the head of the log at `path` is kept.
pub(super) fn path_of(log: &Path) -> PathBuf {
    let mut name = log.file_name().unwrap_or_default().to_owned();
    name.push(".head");
    log.with_file_name(name)
}

impl Head {
    /// Opens or creates the head of the log at `log`.
    pub(super) fn open(log: &Path) -> io::Result<Self> {
        let path = path_of(log);
        // The log and its head are two files; it has to be clear which one it is.
        let file = private_file_in_place(&path).map_err(|error| {
            io::Error::new(
                error.kind(),
                format!("its head `{}`: {error}", path.display()),
            )
        })?;
        Ok(Self {
            path,
            file,
            seen: None,
            waited_in_vain: false,
        })
    }

    /// Keeps every other writer out until [`Head::unlock`].
    pub(super) fn lock(&mut self) -> io::Result<()> {
        loop {
            let patience = if self.waited_in_vain {
                IMPATIENCE
            } else {
                PATIENCE
            };
            self.waited_in_vain = true;
            lock(&self.file, &self.path, patience, File::try_lock)?;
            self.waited_in_vain = false;
            if self.is_there()? {
                return Ok(());
            }
            // Somebody removed it: others will lock the one that is there now.
            self.file = private_file_in_place(&self.path)?;
            self.seen = None;
        }
    }

    /// Whether the file that is open is still the one under its name.
    #[cfg(unix)]
    fn is_there(&self) -> io::Result<bool> {
        use std::os::unix::fs::MetadataExt;
        Ok(self.file.metadata()?.nlink() > 0)
    }

    #[cfg(not(unix))]
    fn is_there(&self) -> io::Result<bool> {
        Ok(true)
    }

    /// Lets others in.
    pub(super) fn unlock(&self) {
        // Closing the file would do the same; there is nothing to do about an error.
        let _ = self.file.unlock();
    }

    /// Where the chain ends; `None`: that is not known.
    pub(super) fn read(&mut self) -> io::Result<Option<End>> {
        let mut bytes = [0; SIZE];
        if read_at(&self.file, &mut bytes)? < SIZE {
            self.seen = None;
            return Ok(None);
        }
        if let Some((seen, end)) = &self.seen
            && *seen == bytes
        {
            return Ok(Some(*end));
        }
        self.seen = parse(&bytes).map(|end| (bytes, end));
        Ok(self.seen.map(|(_, end)| end))
    }

    /// Notes where the chain ends now.
    pub(super) fn write(&mut self, end: End) -> io::Result<()> {
        let bytes = text(end);
        write_at(&self.file, &bytes)?;
        self.seen = Some((bytes, end));
        Ok(())
    }
}

/// Holds the log still while `then` looks at it with the end that its head names. Gives
/// whether there is a head, and what `then` gave.
pub(super) fn look<T>(
    log: &Path,
    then: impl FnOnce(Option<End>) -> io::Result<T>,
) -> io::Result<(bool, T)> {
    let path = path_of(log);
    let file = match private::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((false, then(None)?)),
        Err(error) => return Err(error),
    };
    lock(&file, &path, PATIENCE, File::try_lock_shared)?;
    let mut bytes = [0; SIZE];
    let whole = read_at(&file, &mut bytes)? == SIZE;
    let end = if whole { parse(&bytes) } else { None };
    let result = then(end);
    let _ = file.unlock();
    Ok((end.is_some(), result?))
}

fn lock(
    file: &File,
    path: &Path,
    patience: Duration,
    attempt: impl Fn(&File) -> Result<(), TryLockError>,
) -> io::Result<()> {
    let mut began = None;
    let mut pause = Duration::from_micros(20);
    loop {
        match attempt(file) {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let began: &Instant = began.get_or_insert_with(Instant::now);
        if began.elapsed() > patience {
            let path = path.display();
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("another process has held `{path}` locked for too long"),
            ));
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(2));
    }
}

fn text(end: End) -> [u8; SIZE] {
    let mut bytes = [b' '; SIZE];
    let text = format!(
        "{{\"seq\":{},\"hash\":\"{}\",\"bytes\":{}}}",
        end.link.seq,
        hex(&end.link.hash),
        end.bytes
    );
    for (slot, byte) in bytes.iter_mut().zip(text.bytes()) {
        *slot = byte;
    }
    if let Some(last) = bytes.last_mut() {
        *last = b'\n';
    }
    bytes
}

fn parse(bytes: &[u8; SIZE]) -> Option<End> {
    let value: serde_json::Value = serde_json::from_slice(bytes).ok()?;
    Some(End {
        link: Link {
            seq: value.get("seq")?.as_u64()?,
            hash: from_hex(value.get("hash")?.as_str()?.as_bytes())?,
        },
        bytes: value.get("bytes")?.as_u64()?,
    })
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8]) -> io::Result<usize> {
    use std::os::unix::fs::FileExt;
    file.read_at(bytes, 0)
}

#[cfg(unix)]
fn write_at(file: &File, bytes: &[u8]) -> io::Result<()> {
    use std::os::unix::fs::FileExt;
    file.write_all_at(bytes, 0)
}

#[cfg(not(unix))]
fn read_at(mut file: &File, bytes: &mut [u8]) -> io::Result<usize> {
    use std::io::{Read, Seek, SeekFrom};
    file.seek(SeekFrom::Start(0))?;
    file.read(bytes)
}

#[cfg(not(unix))]
fn write_at(mut file: &File, bytes: &[u8]) -> io::Result<()> {
    use std::io::{Seek, SeekFrom, Write};
    file.seek(SeekFrom::Start(0))?;
    file.write_all(bytes)
}
