//! The file that lines are appended to: locked while one is, chained, and another one
//! when it is full.
//!
//! What goes wrong is never passed over. Half a line that a crash left, lines that are
//! gone and files that were taken away are written down in the log itself, in a line of
//! their own that the chain goes through.

use super::chain::Link;
use super::head::{End, Head};
use super::scan::{Unchained, scan};
use super::sync::{Sync, Syncer};
use super::{Options, parts};
use bouncer_system::private::{private_directory, private_file};
use serde::Serialize;
use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Where lines are appended to.
#[derive(Debug)]
pub(super) enum Log {
    /// A regular file.
    Chained(Box<Chained>),
    /// A device or a pipe: lines are chained, but there is nothing to read back.
    Plain { file: File, last: Link },
}

#[derive(Debug)]
pub(super) struct Chained {
    path: PathBuf,
    file: File,
    id: (u64, u64),
    head: Head,
    rotate: Option<u64>,
    sync: Sync,
    syncer: Option<Syncer>,
    line: Vec<u8>,
}

/// What is written down about damage.
#[derive(Debug, Serialize)]
pub(super) struct Damage {
    pub event: &'static str,
    pub reason: String,
    /// What stands directly before this line and is none of the chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unchained: Option<Unchained>,
}

impl Log {
    /// Opens or creates the log at `path`, and the directory around it.
    pub(super) fn open(path: &Path, options: &Options) -> io::Result<Self> {
        if let Some(directory) = path.parent().filter(|d| !d.as_os_str().is_empty()) {
            private_directory(directory)?;
        }
        let file = private_file(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            let last = Link::START;
            return Ok(Self::Plain { file, last });
        }
        if options.sync != Sync::None {
            sync_directory(path)?;
        }
        let syncer = match options.sync {
            Sync::Second => Some(Syncer::start(&file)?),
            _ => None,
        };
        Ok(Self::Chained(Box::new(Chained {
            head: Head::open(path)?,
            path: path.to_owned(),
            id: id(&metadata),
            file,
            rotate: options.rotate,
            sync: options.sync,
            syncer,
            line: Vec::new(),
        })))
    }

    /// Appends one line: all of it, or an error. `body` is its members, with the closing
    /// brace; `damage` makes the body of a line about damage.
    pub(super) fn append(
        &mut self,
        body: &[u8],
        damage: impl Fn(&Damage) -> Vec<u8>,
    ) -> io::Result<()> {
        match self {
            Self::Plain { file, last } => {
                let mut line = Vec::new();
                let next = last.push_next(body, &mut line);
                file.write_all(&line)?;
                *last = next;
                Ok(())
            }
            Self::Chained(chained) => {
                chained.head.lock()?;
                let result = chained.append_locked(body, damage);
                chained.head.unlock();
                result
            }
        }
    }
}

impl Chained {
    fn append_locked(
        &mut self,
        body: &[u8],
        damage: impl Fn(&Damage) -> Vec<u8>,
    ) -> io::Result<()> {
        if let Some(syncer) = &self.syncer {
            syncer.check()?;
        }
        let mut end = self.settle(damage)?;
        let full = |limit: u64| end.bytes > 0 && end.bytes + body.len() as u64 + 100 > limit;
        if self.rotate.is_some_and(full) {
            end = self.rotate(end)?;
        }
        self.push(end, &[], body)
    }

    /// Writes one line behind `end`, and notes that it is there. What could only be done
    /// in part is undone.
    fn push(&mut self, end: End, before: &[u8], body: &[u8]) -> io::Result<()> {
        self.line.clear();
        self.line.extend_from_slice(before);
        let link = end.link.push_next(body, &mut self.line);
        let bytes = end.bytes + self.line.len() as u64;
        let written = self.push_bytes(End { link, bytes });
        if written.is_err() {
            // Should this fail too, whoever writes next finds what stands there.
            let _ = self.file.set_len(end.bytes);
        }
        written
    }

    fn push_bytes(&mut self, end: End) -> io::Result<()> {
        self.file.write_all(&self.line)?;
        match &self.syncer {
            Some(syncer) => syncer.note(),
            None if self.sync == Sync::Line => self.file.sync_data()?,
            None => {}
        }
        self.head.write(end)
    }

    /// Makes sure that the file is the one under the log's name, and that the chain's
    /// end is known; what is wrong is written down.
    fn settle(&mut self, damage: impl Fn(&Damage) -> Vec<u8>) -> io::Result<End> {
        let known = self.head.read()?;
        let there = match std::fs::metadata(&self.path) {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let same = there.as_ref().filter(|there| id(there) == self.id);
        let bytes = match same {
            Some(there) => there.len(),
            None => self.reopen()?,
        };
        match known {
            Some(end) if end.bytes == bytes => Ok(end),
            _ => self.recover(known, bytes, damage),
        }
    }

    /// Opens the file that is under the log's name now; gives its length.
    fn reopen(&mut self) -> io::Result<u64> {
        let file = private_file(&self.path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::other("the log is no regular file any more"));
        }
        if let Some(syncer) = &self.syncer {
            syncer.replace(&file)?;
        }
        self.id = id(&metadata);
        self.file = file;
        Ok(metadata.len())
    }

    /// Finds the end of the chain in the log itself, and writes down what is wrong.
    fn recover(
        &mut self,
        known: Option<End>,
        bytes: u64,
        damage: impl Fn(&Damage) -> Vec<u8>,
    ) -> io::Result<End> {
        let mut scan = scan(&self.path)?;
        let mut found = scan.last;
        if found.is_none() {
            found = self.end_of_full_files()?;
        }
        let mut event = Damage {
            event: "recovered",
            reason: String::new(),
            unchained: None,
        };
        let link = match (known, found) {
            (Some(known), Some(found)) if found.seq >= known.link.seq => found,
            (Some(known), found) if known.link.seq > 0 => {
                let there = found.map_or(0, |found| found.seq);
                event.event = "lost";
                event.reason = format!(
                    "line {} was the last one, and the last one there is now is {there}",
                    known.link.seq
                );
                known.link
            }
            (None, Some(found)) => {
                event.reason = format!(
                    "it was not known where the log ended; it goes on behind line {}",
                    found.seq
                );
                found
            }
            (_, found) => found.unwrap_or(Link::START),
        };
        let mut before: &[u8] = &[];
        if scan.torn {
            before = b"\n";
            scan.rest.add(before);
        }
        event.unchained = scan.rest.finish();
        if event.unchained.is_some() {
            let more = if event.reason.is_empty() { "" } else { "; " };
            event.reason += more;
            event.reason += "what stands before this line is no line of the log";
        }
        let end = End { link, bytes };
        if event.reason.is_empty() {
            // Another process wrote lines and did not come to note that.
            return Ok(end);
        }
        self.push(end, before, &damage(&event))?;
        let end = self.head.read()?;
        end.ok_or_else(|| io::Error::other("the log's head cannot be read back"))
    }

    /// The last line of the newest file that was full: where the chain goes on if the
    /// process ended between giving it its name and starting another.
    fn end_of_full_files(&self) -> io::Result<Option<Link>> {
        match parts::numbers(&self.path)?.last() {
            Some(&number) => Ok(scan(&parts::numbered(&self.path, number))?.last),
            None => Ok(None),
        }
    }

    /// Gives the full file another name and starts an empty one.
    fn rotate(&mut self, end: End) -> io::Result<End> {
        if self.sync != Sync::None {
            self.file.sync_data()?;
        }
        let last = parts::numbers(&self.path)?.last().copied();
        let number = last.map_or(1, |last| last.saturating_add(1));
        let full = parts::numbered(&self.path, number);
        if full.exists() {
            return Err(io::Error::other(format!(
                "`{}` is there already",
                full.display()
            )));
        }
        std::fs::rename(&self.path, &full)?;
        let end = End { bytes: 0, ..end };
        self.head.write(end)?;
        self.reopen()?;
        if self.sync != Sync::None {
            sync_directory(&self.path)?;
        }
        Ok(end)
    }
}

/// Brings the names of files to the disk.
fn sync_directory(of: &Path) -> io::Result<()> {
    let directory = match of.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    File::open(directory)?.sync_all()
}

#[cfg(unix)]
fn id(metadata: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
fn id(_: &Metadata) -> (u64, u64) {
    (0, 0)
}
