//! The user's stop: a file that says that all calls, or those of some servers, are denied.
//!
//! Whoever judges calls asks before each. The file is looked at each time and read where it
//! is another than before, so that a stop counts from the next call on in every process of
//! the user. What cannot be read is taken for a stop. Knows nothing of calls.

use crate::private;
use crate::replace;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Who is stopped, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stops {
    /// Why everything is stopped, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all: Option<String>,
    /// Why servers are, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub servers: BTreeMap<String, String>,
}

impl Stops {
    /// Whether nobody is stopped.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.all.is_none() && self.servers.is_empty()
    }

    /// Why calls of a server are stopped. `None`: they are not.
    #[must_use]
    pub fn reason(&self, server: Option<&str>) -> Option<&str> {
        let of_server = || server.and_then(|server| self.servers.get(server));
        self.all.as_ref().or_else(of_server).map(String::as_str)
    }
}

/// What is told of a file without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    len: u64,
    inode: u64,
}

/// The stop as one process looks at it.
#[derive(Debug)]
pub struct Halt {
    path: Option<PathBuf>,
    /// The file as it was read last, or that there was none. `None`: it has to be read, as
    /// after any error.
    seen: Option<Option<Stamp>>,
    stops: Stops,
}

impl Halt {
    /// The user's own: `~/.bouncer/halted`. Without a home directory nobody can stop anything.
    #[must_use]
    pub fn of_user() -> Self {
        Self::at(default_path())
    }

    /// The one in this file.
    #[must_use]
    pub fn at(path: Option<PathBuf>) -> Self {
        Self {
            path,
            seen: None,
            stops: Stops::default(),
        }
    }

    /// Why calls of a server are stopped now. `None`: they are not. One system call where
    /// nothing changed.
    pub fn reason(&mut self, server: Option<&str>) -> Option<&str> {
        if let Some(path) = &self.path {
            let stamp = match std::fs::metadata(path) {
                Ok(there) => Ok(Some(stamp(&there))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error),
            };
            match stamp {
                Ok(stamp) if self.seen == Some(stamp) => {}
                other => {
                    let stops = other.and_then(|stamp| Ok((read(path)?, stamp)));
                    self.seen = stops.as_ref().ok().map(|(_, stamp)| *stamp);
                    self.stops = match stops {
                        Ok((stops, _)) => stops,
                        Err(error) => unreadable(&error),
                    };
                }
            }
        }
        self.stops.reason(server)
    }
}

/// `~/.bouncer/halted`, if there is a home directory. Clients may start servers without
/// `HOME`: then the user database tells it.
#[must_use]
pub fn default_path() -> Option<PathBuf> {
    let home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty())?;
    Some(home.join(".bouncer").join("halted"))
}

/// What the file says; nothing where there is none.
///
/// # Errors
/// If it is there and cannot be read, or says something else.
pub fn read(path: &Path) -> io::Result<Stops> {
    match private::read(path) {
        Ok(text) => serde_json::from_slice(&text).map_err(io::Error::from),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Stops::default()),
        Err(error) => Err(error),
    }
}

/// Changes who is stopped, one process after the other: two that stop something at once both
/// count. `change` is given what the file says, or why it cannot be read.
///
/// # Errors
/// What `change` refuses with, or if the file cannot be locked or written; then it is as it was.
pub fn change<E: From<io::Error>>(
    path: &Path,
    change: impl FnOnce(io::Result<Stops>) -> Result<Stops, E>,
) -> Result<Stops, E> {
    if let Some(directory) = path.parent() {
        private::private_directory(directory)?;
    }
    // A file of its own: the other is replaced.
    let turn = std::fs::OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path.with_extension("lock"))?;
    turn.lock()?;
    let stops = change(read(path))?;
    write(path, &stops)?;
    Ok(stops)
}

/// Writes who is stopped. Nobody: the file goes.
///
/// # Errors
/// If it cannot be written; then it is as it was.
pub fn write(path: &Path, stops: &Stops) -> io::Result<()> {
    if stops.is_nothing() {
        return match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
    }
    if let Some(directory) = path.parent() {
        private::private_directory(directory)?;
    }
    let text = serde_json::to_vec(stops).map_err(io::Error::from)?;
    replace::write_private(path, text)
}

fn unreadable(error: &io::Error) -> Stops {
    Stops {
        all: Some(format!("whether calls are halted cannot be read: {error}")),
        servers: BTreeMap::new(),
    }
}

fn stamp(there: &std::fs::Metadata) -> Stamp {
    Stamp {
        modified: there.modified().ok(),
        len: there.len(),
        inode: inode(there),
    }
}

#[cfg(unix)]
fn inode(there: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(there)
}

#[cfg(not(unix))]
const fn inode(_: &std::fs::Metadata) -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(reason: &str) -> Stops {
        Stops {
            all: Some(reason.to_owned()),
            servers: BTreeMap::new(),
        }
    }

    #[test]
    fn stops_at_once_all_count() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("halted");
        std::thread::scope(|scope| {
            for number in 0..16 {
                let path = &path;
                scope.spawn(move || {
                    for part in 0..4 {
                        change::<io::Error>(path, |stops| {
                            let mut stops = stops?;
                            stops
                                .servers
                                .insert(format!("{number}-{part}"), String::new());
                            Ok(stops)
                        })
                        .unwrap();
                    }
                });
            }
        });
        assert_eq!(read(&path).unwrap().servers.len(), 64);
        let refused = change::<io::Error>(&path, |_| Err(io::Error::other("no")));
        assert!(refused.is_err() && read(&path).unwrap().servers.len() == 64);
    }

    #[test]
    fn a_stop_counts_from_the_next_look_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("own").join("halted");
        let mut halt = Halt::at(Some(path.clone()));
        assert_eq!(halt.reason(None), None);
        write(&path, &all("fire")).unwrap();
        assert_eq!(halt.reason(Some("mail")), Some("fire"));
        write(&path, &all("rain")).unwrap();
        assert_eq!(halt.reason(None), Some("rain"));
        write(&path, &Stops::default()).unwrap();
        assert_eq!(halt.reason(None), None);
        let mail = Stops {
            all: None,
            servers: BTreeMap::from([("mail".to_owned(), "spam".to_owned())]),
        };
        write(&path, &mail).unwrap();
        assert_eq!(halt.reason(Some("mail")), Some("spam"));
        assert_eq!(halt.reason(Some("files")), None);
        assert_eq!(halt.reason(None), None);
    }

    #[test]
    fn what_cannot_be_read_is_a_stop() {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("half", "{\"all\": \"x"),
            ("other", "{\"every\": 1}"),
            ("empty", ""),
        ] {
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            assert!(Halt::at(Some(path)).reason(None).is_some(), "{name}");
        }
        let folder = Halt::at(Some(dir.path().to_owned())).reason(None).is_some();
        assert!(folder, "a folder in its place");
        let below = dir.path().join("half").join("halted");
        assert!(Halt::at(Some(below)).reason(None).is_some());
    }

    #[test]
    fn what_can_be_read_again_is_no_stop_any_more() {
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().join("own");
        std::fs::write(&own, "in the way").unwrap();
        let path = own.join("halted");
        let mut halt = Halt::at(Some(path.clone()));
        assert!(halt.reason(None).is_some());
        std::fs::remove_file(&own).unwrap();
        assert_eq!(halt.reason(None), None);
        std::fs::create_dir(&own).unwrap();
        std::fs::write(&path, "{").unwrap();
        assert!(halt.reason(None).is_some());
        assert!(halt.reason(None).is_some());
        write(&path, &Stops::default()).unwrap();
        assert_eq!(halt.reason(None), None);
    }
}
