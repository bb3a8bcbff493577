//! The lines of a log, one after the other, across its files.

use crate::output::Failure;
use serde::Deserialize;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often `tail -f` looks for new lines.
const GLANCE: Duration = Duration::from_millis(200);

/// What of a line readers want. Lines about calls have a verdict, others an event.
#[derive(Debug, Deserialize)]
pub(crate) struct Line {
    pub time: String,
    #[serde(default)]
    pub conversation: String,
    pub call: Option<u64>,
    pub server: Option<String>,
    pub tool: Option<String>,
    pub verdict: Option<String>,
    pub contract: Option<String>,
    pub code: Option<String>,
    #[serde(default)]
    pub reason: String,
    pub at: Option<String>,
    pub outcome: Option<String>,
    pub latency_us: Option<u64>,
    pub event: Option<String>,
}

impl Line {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// The number that a line has in the chain.
pub(crate) fn seq(text: &str) -> Option<u64> {
    let rest = text.strip_prefix("{\"seq\":")?;
    rest.get(..rest.find(',')?)?.parse().ok()
}

/// The log's files, oldest first.
pub(crate) fn files(log: &Path) -> Result<Vec<PathBuf>, Failure> {
    let files = bouncer_audit::files(log).map_err(|error| Failure::file("read", log, &error))?;
    if files.is_empty() {
        let why = format!("there is no audit log at `{}`", log.display());
        return Err(Failure::Message(why));
    }
    Ok(files)
}

/// Hands over every line of a file.
pub(crate) fn each(
    path: &Path,
    then: &mut dyn FnMut(&str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    each_from(path, 0, then).map(|_| ())
}

/// Hands over every whole line behind `offset`; gives the offset behind the last.
pub(crate) fn each_from(
    path: &Path,
    mut offset: u64,
    then: &mut dyn FnMut(&str) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    let failed = |error| Failure::file("read", path, &error);
    let mut file = bouncer_system::private::open(path).map_err(failed)?;
    file.seek(SeekFrom::Start(offset)).map_err(failed)?;
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = reader.read_until(b'\n', &mut line).map_err(failed)?;
        if read == 0 {
            return Ok(offset);
        }
        if line.ends_with(b"\n") {
            offset += read as u64;
        }
        let text = String::from_utf8_lossy(line.trim_ascii_end());
        if !text.is_empty() {
            then(&text)?;
        }
    }
}

/// Hands over every line behind number `seen`, as they come, for ever.
pub(crate) fn follow(
    log: &Path,
    mut seen: u64,
    then: &mut dyn FnMut(&str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let failed = |error| Failure::file("read", log, &error);
    let mut count = 0;
    let mut offset = 0;
    loop {
        let files = bouncer_audit::files(log).map_err(failed)?;
        let length = log.metadata().map_or(0, |metadata| metadata.len());
        let mut new = |text: &str| match seq(text) {
            Some(seq) if seq > seen && text.ends_with('}') => {
                seen = seq;
                then(text)
            }
            _ => Ok(()),
        };
        if files.len() != count || length < offset {
            // Another file was started: lines may stand in any of them.
            count = files.len();
            for file in &files {
                offset = each_from(file, 0, &mut new)?;
            }
        } else if length > offset {
            offset = each_from(log, offset, &mut new)?;
        }
        std::thread::sleep(GLANCE);
    }
}
