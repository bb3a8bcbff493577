//! Reads a log from its start to find where its chain ends: after a crash, and where the
//! head is gone.

use super::chain::{Link, hex};
use bouncer_system::private;
use serde::Serialize;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

/// Bytes of a log that are no lines of its chain, such as half a line that a crash left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
pub(super) struct Unchained {
    /// How many, with the newline at the end.
    pub bytes: u64,
    /// Their hash.
    pub blake3: String,
}

/// Gathers unchained bytes.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    bytes: u64,
    hasher: blake3::Hasher,
}

impl Gathered {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.hasher.update(bytes);
    }

    /// What was gathered, if anything was.
    pub(super) fn finish(&self) -> Option<Unchained> {
        (self.bytes > 0).then(|| Unchained {
            bytes: self.bytes,
            blake3: hex(self.hasher.finalize().as_bytes()),
        })
    }
}

/// What a file of a log holds.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// The last line of the chain.
    pub last: Option<Link>,
    /// What stands behind it.
    pub rest: Gathered,
    /// What stands behind it ends in the middle of a line.
    pub torn: bool,
}

/// Reads the file at `path`. Whether its lines hang together is not looked at: that is
/// for whoever verifies the log.
pub(super) fn scan(path: &Path) -> io::Result<Scan> {
    let mut reader = BufReader::with_capacity(64 * 1024, private::open(path)?);
    let mut scan = Scan::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            return Ok(scan);
        }
        let whole = line.strip_suffix(b"\n");
        match whole.and_then(Link::of) {
            Some((link, _)) => {
                scan.last = Some(link);
                scan.rest = Gathered::default();
            }
            None => scan.rest.add(&line),
        }
        scan.torn = whole.is_none();
    }
}
