//! The audit log, page by page from its end. Trusts nothing that stands in it, and reads
//! only so much for one answer.

use super::{backwards, value};
use crate::cli::LogFilter;
use crate::cmd::audit::filter::Filter;
use crate::cmd::audit::lines::{self, Line};
use crate::cmd::audit::stats::Stats;
use crate::output::Failure;
use bouncer_proxy::PageResponse;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Lines of one page.
const MAX_LINES: usize = 200;
/// What is read for one page, in bytes; the page can ask for what is before.
const MAX_READ: u64 = 16 * 1024 * 1024;
/// What is counted, in bytes from the end.
const MAX_COUNTED: u64 = 32 * 1024 * 1024;
/// Arguments of one line that are sent, in bytes.
const MAX_ARGUMENTS: usize = 64 * 1024;

/// The audit log, as the page reads it.
#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    /// The chain is checked by one at a time.
    checking: Mutex<()>,
}

/// A line as the page wants it.
#[derive(Debug, Deserialize, Serialize)]
struct Shown {
    seq: Option<u64>,
    time: String,
    #[serde(default)]
    conversation: String,
    call: Option<u64>,
    server: Option<String>,
    tool: Option<String>,
    /// As a text: scripts would round its numbers.
    #[serde(default, serialize_with = "as_text")]
    arguments: Option<Box<RawValue>>,
    arguments_text: Option<String>,
    verdict: Option<String>,
    contract: Option<String>,
    code: Option<String>,
    #[serde(default)]
    reason: String,
    at: Option<String>,
    grounds: Option<Value>,
    forgotten: Option<u64>,
    read: Option<Value>,
    approval: Option<String>,
    outcome: Option<String>,
    plan: Option<String>,
    latency_us: Option<u64>,
    event: Option<String>,
}

fn as_text<S: serde::Serializer>(
    raw: &Option<Box<RawValue>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let text = raw.as_ref().map(|raw| {
        let text = raw.get();
        let mut end = text.len().min(MAX_ARGUMENTS);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.get(..end).unwrap_or_default()
    });
    text.serialize(serializer)
}

/// Where a page ends: behind the line that begins at this offset of the file with this
/// number. The file that is written to has the number that it will get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cursor {
    file: u64,
    offset: u64,
}

impl Cursor {
    fn parse(text: &str) -> Option<Self> {
        let (file, offset) = text.split_once('-')?;
        Some(Self {
            file: file.parse().ok()?,
            offset: offset.parse().ok()?,
        })
    }
}

impl Log {
    pub(super) const fn new(path: PathBuf) -> Self {
        Self {
            path,
            checking: Mutex::new(()),
        }
    }

    pub(super) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// The files with their numbers, oldest first.
    fn files(&self) -> io::Result<Vec<(u64, PathBuf)>> {
        let mut last = 0;
        let files = bouncer_audit::files(&self.path)?.into_iter().map(|file| {
            let number = if file == self.path {
                None
            } else {
                number(&file)
            };
            last = number.unwrap_or(last + 1);
            (last, file)
        });
        Ok(files.collect())
    }

    /// The newest lines that fit the filter, before `before`.
    pub(super) fn page(&self, query: &[(String, String)]) -> PageResponse {
        let wanted = match Wanted::new(query) {
            Ok(wanted) => wanted,
            Err(why) => return PageResponse::error(400, &why),
        };
        let before = value(query, "before").map(Cursor::parse);
        let Some(before) = before.map_or(Some(None), |cursor| cursor.map(Some)) else {
            return PageResponse::error(400, "that is no place in the log");
        };
        let limit = value(query, "limit").and_then(|limit| limit.parse().ok());
        let limit: usize = limit.unwrap_or(50).clamp(1, MAX_LINES);
        match self.find(&wanted, before, limit) {
            Ok(value) => PageResponse::json(200, &value),
            Err(error) => {
                PageResponse::error(503, &format!("the audit log cannot be read: {error}"))
            }
        }
    }

    fn find(&self, wanted: &Wanted, before: Option<Cursor>, limit: usize) -> io::Result<Value> {
        let mut found: Vec<Shown> = Vec::new();
        let (mut unreadable, mut read) = (0_u64, 0_u64);
        let mut next = None;
        for (number, path) in self.files()?.into_iter().rev() {
            if before.is_some_and(|before| number > before.file) {
                continue;
            }
            let file = bouncer_system::private::open(&path)?;
            let length = file.metadata()?.len();
            let end = match before {
                Some(before) if before.file == number => before.offset.min(length),
                _ => length,
            };
            let mut stopped = false;
            let start = backwards::each(&file, end, &mut |begins, text| {
                match serde_json::from_slice::<Shown>(text) {
                    Ok(line) if wanted.matches(text) => found.push(line),
                    Ok(_) => {}
                    Err(_) => unreadable += u64::from(!text.is_empty()),
                }
                stopped = found.len() >= limit || read + (end - begins) >= MAX_READ;
                if stopped {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            })?;
            read += end - start;
            if stopped {
                next = Some(format!("{number}-{start}"));
                break;
            }
        }
        Ok(json!({ "lines": found, "next": next, "read": read, "unreadable": unreadable }))
    }

    /// Counts over the newest part of the log.
    pub(super) fn counts(&self, query: &[(String, String)]) -> PageResponse {
        let wanted = match Wanted::new(query) {
            Ok(wanted) => wanted,
            Err(why) => return PageResponse::error(400, &why),
        };
        match self.count(&wanted) {
            Ok(value) => PageResponse::json(200, &value),
            Err(why) => PageResponse::error(503, &format!("the audit log cannot be read: {why}")),
        }
    }

    fn count(&self, wanted: &Wanted) -> Result<Value, String> {
        let mut room = MAX_COUNTED;
        let mut parts = Vec::new();
        for (_, path) in self.files().map_err(|e| e.to_string())?.into_iter().rev() {
            let length = path.metadata().map_err(|e| e.to_string())?.len();
            let part = length.min(room);
            parts.push((path, length - part));
            room -= part;
            if room == 0 {
                break;
            }
        }
        let whole = room > 0;
        let mut stats = Stats::default();
        for (path, start) in parts.into_iter().rev() {
            // The line that the start is in the middle of does not parse.
            let each = &mut |text: &str| {
                if wanted.matches(text.as_bytes())
                    && let Some(line) = Line::parse(text)
                {
                    stats.add(&line);
                }
                Ok(())
            };
            lines::each_from(&path, start, each).map_err(|failure| match failure {
                Failure::Message(why) => why,
                _ => "it cannot be read".to_owned(),
            })?;
        }
        Ok(json!({ "counts": stats.value(), "whole": whole }))
    }

    /// Whether the log is as it was written.
    pub(super) fn chain(&self) -> PageResponse {
        let Ok(_one) = self.checking.try_lock() else {
            return PageResponse::error(503, "the chain is being checked already");
        };
        match bouncer_audit::verify(&self.path, &[]) {
            Ok(report) => {
                let value = serde_json::to_value(&report).unwrap_or_default();
                PageResponse::json(200, &value)
            }
            Err(error) => {
                PageResponse::error(503, &format!("the chain cannot be checked: {error}"))
            }
        }
    }
}

/// The number at the end of a file's name.
fn number(file: &Path) -> Option<u64> {
    file.extension()?.to_str()?.parse().ok()
}

/// Which lines.
struct Wanted {
    filter: Filter,
    /// Has to stand in the line, in lower case.
    text: Option<String>,
    approval: Option<String>,
}

impl Wanted {
    fn new(query: &[(String, String)]) -> Result<Self, String> {
        let own = |name: &str| value(query, name).map(str::to_owned);
        let said = LogFilter {
            since: own("since"),
            until: own("until"),
            tool: own("tool"),
            server: own("server"),
            verdict: own("verdict"),
            outcome: own("outcome"),
            conversation: own("conversation"),
            contract: own("contract"),
        };
        Ok(Self {
            filter: Filter::new(&said).map_err(|error| error.to_string())?,
            text: own("text").map(|text| text.to_lowercase()),
            approval: own("approval"),
        })
    }

    fn matches(&self, text: &[u8]) -> bool {
        let Ok(text) = std::str::from_utf8(text) else {
            return false;
        };
        let says = |wanted: &String| text.to_lowercase().contains(wanted);
        let rests = |wanted: &String| text.contains(&format!("\"approval\":\"{wanted}\""));
        self.text.as_ref().is_none_or(says)
            && self.approval.as_ref().is_none_or(rests)
            && Line::parse(text).is_some_and(|line| self.filter.matches(&line))
    }
}
