//! What was released to the agent and is not taken apart yet.
//!
//! Most results are never asked about, so each is put aside whole, and taken apart when a
//! decision first asks what was read: here, or on another thread, for which the decision waits.
//! Only results of which it is sure at a glance what kinds of things they say are put aside.
//! Until they are taken apart, every destination counts as read in them: no decision can rest
//! on a record that lags behind.

use super::labels::OutputLabels;
use super::record::Recorder;
use super::{Evidence, Origin, Provenance, Read, Source};
use serde_json::Value;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};

/// About what a value of JSON takes beside its text.
const NODE: usize = 32;

/// Results that wait, and the record while it is elsewhere.
#[derive(Default)]
pub(super) struct Unread {
    waiting: Vec<Waiting>,
    bytes: usize,
    away: Option<Receiver<Box<Provenance>>>,
    /// What the record had, in bytes, when it went.
    gone: usize,
    /// The record went elsewhere and did not come back.
    lost: bool,
}

struct Waiting {
    server: Option<Box<str>>,
    tool: Box<str>,
    call: u64,
    time: u64,
    said: Said,
}

enum Said {
    Result(OutputLabels, Arc<Value>),
    /// Below this field.
    Observed(Box<str>, Arc<Value>),
    /// Of tools, each below its name.
    Definitions(Vec<Arc<Value>>),
}

/// A record that is taken apart elsewhere. Comes back to where it belongs when it is done, or
/// dropped.
#[must_use = "decisions wait until it has been run"]
pub struct Settling {
    record: Option<Box<Provenance>>,
    back: Sender<Box<Provenance>>,
}

impl Settling {
    /// Takes everything apart that waits.
    pub fn run(mut self) {
        if let Some(mut record) = self.record.take() {
            record.settle();
            // Whoever asked may be gone.
            let _ = self.back.send(record);
        }
    }
}

impl Drop for Settling {
    fn drop(&mut self) {
        if let Some(record) = self.record.take() {
            let _ = self.back.send(record);
        }
    }
}

impl std::fmt::Debug for Settling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settling").finish_non_exhaustive()
    }
}

impl Unread {
    /// Whether everything that was read has been taken apart, and is here.
    pub(super) const fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.away.is_none() && !self.lost
    }

    /// About how many bytes wait, or are elsewhere.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes + self.gone
    }

    /// Whether what was read is not here.
    pub(super) const fn is_gone(&self) -> bool {
        self.away.is_some() || self.lost
    }

    #[cfg(test)]
    pub(super) const fn lose(&mut self) {
        self.lost = true;
    }

    fn put(&mut self, source: &Source<'_>, time: u64, said: Said) {
        self.bytes += match &said {
            Said::Result(_, value) | Said::Observed(_, value) => weight(value),
            Said::Definitions(tools) => tools.iter().map(|tool| weight(tool)).sum(),
        };
        self.waiting.push(Waiting {
            server: source.server.map(Into::into),
            tool: source.tool.into(),
            call: source.call,
            time,
            said,
        });
    }

    /// What holds of every destination as long as something waits.
    pub(super) fn suspects(&self) -> Evidence<'_> {
        let newest = self.waiting.last();
        Evidence {
            untrusted: Some(Origin {
                server: newest.and_then(|waiting| waiting.server.as_deref()),
                tool: newest.map_or("(not read yet)", |waiting| &waiting.tool),
                call: newest.map_or(0, |waiting| waiting.call),
                time: newest.map_or(0, |waiting| waiting.time),
                field: "",
                excerpt: "",
            }),
            incomplete: true,
            ..Evidence::default()
        }
    }
}

impl Provenance {
    /// As [`Self::record_result`], of something that others hold as well: where it is sure what
    /// it says, it is taken apart when that is asked about.
    pub fn record_shared(
        &mut self,
        source: &Source<'_>,
        labels: &OutputLabels,
        result: &Arc<Value>,
    ) -> Read {
        let plain = !labels.can_vouch() && !labels.any_private();
        if !plain || !says_something(result) {
            return self.record_result(source, labels, result);
        }
        self.put_aside(source, Said::Result(labels.clone(), Arc::clone(result)));
        Read {
            untrusted: true,
            private: false,
        }
    }

    /// As [`Self::record_observed`], of something that others hold as well.
    pub fn record_observed_shared(&mut self, source: &Source<'_>, field: &str, said: &Arc<Value>) {
        self.put_aside(source, Said::Observed(field.into(), Arc::clone(said)));
    }

    /// As [`Self::record_observed_shared`], of definitions of tools, each below its name.
    pub fn record_definitions(&mut self, source: &Source<'_>, tools: Vec<Arc<Value>>) {
        if !tools.is_empty() {
            self.put_aside(source, Said::Definitions(tools));
        }
    }

    fn put_aside(&mut self, source: &Source<'_>, said: Said) {
        self.time = super::unix_ms();
        self.unread.put(source, self.time, said);
        // What waits is not counted against the limit, but takes memory.
        if self.unread.bytes > self.limit / 4 {
            self.settle();
        }
    }

    /// Takes everything apart that waits, so that [`Self::evidence`] knows it. Waits for
    /// another thread, if it is done there. Allocates.
    pub fn settle(&mut self) {
        if self.unread.is_empty() {
            return;
        }
        if let Some(away) = self.unread.away.take() {
            match away.recv() {
                Ok(record) => self.come_back(*record),
                Err(_) => self.unread.lost = true,
            }
        }
        let latest = self.time;
        self.unread.bytes = 0;
        for waiting in std::mem::take(&mut self.unread.waiting) {
            self.time = waiting.time;
            let name = self.names.id(waiting.server.as_deref(), &waiting.tool);
            let mut recorder = Recorder::new(self, name, waiting.call, None);
            match &waiting.said {
                Said::Result(labels, value) => recorder.result(labels, value),
                Said::Observed(field, value) => recorder.said(field, value),
                Said::Definitions(tools) => {
                    for tool in tools {
                        let name = tool.get("name").and_then(Value::as_str);
                        recorder.said(name.unwrap_or_default(), tool);
                    }
                }
            }
            self.tidy();
        }
        self.time = latest;
    }

    /// About how many bytes wait to be taken apart.
    #[must_use]
    pub const fn unread_bytes(&self) -> usize {
        self.unread.bytes
    }

    /// Hands the record over to be taken apart on another thread. What is recorded meanwhile
    /// waits here, and [`Self::settle`] waits for it. `None`: nothing waits, or it is elsewhere
    /// already.
    pub fn settle_elsewhere(&mut self) -> Option<Settling> {
        if self.unread.waiting.is_empty() || self.unread.away.is_some() || self.unread.lost {
            return None;
        }
        let (back, away) = channel();
        let gone = self.recorded_bytes();
        let mut record = Box::new(std::mem::replace(self, Self::new(self.limit)));
        // What the user typed is asked about without waiting; so is how much was forgotten.
        self.typed = std::mem::take(&mut record.typed);
        (self.time, self.dropped) = (record.time, record.dropped);
        (self.unread.away, self.unread.gone) = (Some(away), gone);
        Some(Settling {
            record: Some(record),
            back,
        })
    }

    /// Whether the record is still with another thread.
    pub fn is_elsewhere(&mut self) -> bool {
        let Some(away) = &self.unread.away else {
            return false;
        };
        match away.try_recv() {
            Ok(record) => self.come_back(*record),
            Err(TryRecvError::Empty) => return true,
            Err(TryRecvError::Disconnected) => {
                self.unread.away = None;
                self.unread.lost = true;
            }
        }
        false
    }

    /// Goes on with a record that was elsewhere. What came meanwhile waits behind what was not
    /// taken apart there.
    fn come_back(&mut self, mut record: Self) {
        record.typed = std::mem::take(&mut self.typed);
        record.time = self.time;
        let meanwhile = std::mem::take(&mut self.unread);
        record.unread.waiting.extend(meanwhile.waiting);
        record.unread.bytes += meanwhile.bytes;
        *self = record;
    }
}

/// About how much memory a value takes.
fn weight(value: &Value) -> usize {
    NODE + match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| 2 * NODE + name.len() + weight(member))
            .sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// Whether it is sure, at a glance, that a result says anything: its first content is text of
/// which, however it is read, something is recorded.
fn says_something(result: &Value) -> bool {
    let first = result.pointer("/content/0");
    let kind = first.and_then(|block| block.get("type"));
    let text = first.and_then(|block| block.get("text"));
    let (Some("text"), Some(Value::String(text))) = (kind.and_then(Value::as_str), text) else {
        return false;
    };
    let document = text.trim_start_matches('\u{feff}').trim_start();
    match document.starts_with(['{', '[']) {
        // Of JSON at least a name or a text, if the first one is not empty.
        true => {
            let first = text.split_once('"').map(|(_, rest)| rest);
            first.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('"'))
        }
        // Also where it is taken for records with names.
        false => document.starts_with(char::is_alphanumeric),
    }
}
