//! Calls that wait for a human, and what became of others. A fault here decides nothing.

use bouncer_proxy::Said;
use bouncer_store::approvals::{Choice, DecideError, Lifetimes, Record, Status, Store};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Requests that wait and are shown; the oldest come first.
const MAX_WAITING: usize = 200;
/// Approvals that hold and are shown.
const MAX_HOLDING: usize = 100;
/// What was decided lately.
const MAX_RECENT: usize = 30;
/// Arguments that are sent with the list, in bytes, all together; the page asks for others
/// one by one.
const MAX_SENT: usize = 2 * 1024 * 1024;

/// See the module.
#[derive(Debug)]
pub(super) struct Approvals {
    path: Option<PathBuf>,
    lifetimes: Lifetimes,
    store: Mutex<Option<Store>>,
    told: Mutex<Option<Told>>,
}

/// What was said last: that stays so until somebody writes to the store, or something in
/// it lapses.
#[derive(Clone, Debug)]
struct Told {
    version: (i64, i64),
    since_ms: i64,
    until_ms: i64,
    mark: String,
}

/// What the page wants done.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    id: String,
    choice: Chosen,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Chosen {
    Once,
    Conversation,
    Deny,
}

impl Approvals {
    pub(super) const fn new(path: Option<PathBuf>, lifetimes: Lifetimes) -> Self {
        Self {
            path,
            lifetimes,
            store: Mutex::new(None),
            told: Mutex::new(None),
        }
    }

    pub(super) fn name(&self) -> Option<String> {
        self.path.as_ref().map(|path| path.display().to_string())
    }

    /// Does something with the store; what cannot be opened or fails is opened anew the
    /// next time.
    fn with<T>(&self, work: impl FnOnce(&Store) -> Result<T, DecideError>) -> Result<T, Said> {
        let unusable = |why: &dyn std::fmt::Display| {
            Err(Said::error(
                503,
                &format!("the approvals cannot be used: {why}"),
            ))
        };
        let mut held = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        if held.is_none() {
            let Some(path) = &self.path else {
                return unusable(&"there is no file for them");
            };
            match Store::open(path, self.lifetimes) {
                Ok(store) => *held = Some(store),
                Err(error) => return unusable(&error),
            }
        }
        let Some(store) = &*held else {
            return unusable(&"there is no store");
        };
        match work(store) {
            Ok(done) => Ok(done),
            Err(DecideError::Store(error)) => {
                *held = None;
                unusable(&error)
            }
            Err(error @ DecideError::Unknown(_)) => Err(Said::error(404, &error.to_string())),
            Err(error @ DecideError::Already(..)) => Err(Said::error(409, &error.to_string())),
        }
    }

    /// All that waits or holds, and what was decided lately. `seen`: what the page was
    /// told last; if that is still so, there is nothing to say.
    pub(super) fn list(&self, seen: Option<&str>) -> Said {
        let now = now_ms();
        let version = match self.with(|store| Ok(store.version()?)) {
            Ok(version) => version,
            Err(said) => return said,
        };
        let told = self
            .told
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let holds = |told: &Told| {
            told.version == version
                && (told.since_ms..told.until_ms).contains(&now)
                && seen == Some(&*told.mark)
        };
        if told.as_ref().is_some_and(holds) {
            return same(now);
        }
        let lists = self.with(|store| {
            let mut waiting = store.list(Some(Status::Pending), usize::MAX)?;
            let more = waiting.len().saturating_sub(MAX_WAITING);
            waiting.reverse();
            waiting.truncate(MAX_WAITING);
            let holding = store.list(Some(Status::Approved), MAX_HOLDING)?;
            let mut recent = store.list(None, MAX_WAITING)?;
            recent.retain(|record| !matches!(record.status, Status::Pending | Status::Approved));
            recent.truncate(MAX_RECENT);
            Ok((waiting, more, holding, recent))
        });
        let (waiting, more, holding, recent) = match lists {
            Ok(lists) => lists,
            Err(said) => return said,
        };
        let open = waiting.iter().chain(&holding);
        let until_ms = open.map(|record| record.expires_ms).min();
        let mut room = MAX_SENT;
        let mut shown = |records: Vec<Record>| -> Vec<Value> {
            let shown = records.into_iter().map(|record| {
                let fits = record.arguments.len() <= room;
                room -= if fits { record.arguments.len() } else { 0 };
                show(record, fits)
            });
            shown.collect()
        };
        let mut value = json!({
            "waiting": shown(waiting), "more": more, "holding": shown(holding), "recent": shown(recent),
        });
        let mark = blake3::hash(value.to_string().as_bytes()).to_hex();
        let mark = mark.get(..32).unwrap_or_default().to_owned();
        // What was written meanwhile shows in the version of the next time.
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = Some(Told {
            version,
            since_ms: now,
            until_ms: until_ms.unwrap_or(i64::MAX),
            mark: mark.clone(),
        });
        if seen == Some(&*mark) {
            return same(now);
        }
        if let Some(object) = value.as_object_mut() {
            object.insert("seen".to_owned(), mark.into());
            object.insert("now_ms".to_owned(), now.into());
        }
        Said::json(200, &value)
    }

    /// One request, whole.
    pub(super) fn one(&self, id: &str) -> Said {
        match self.with(|store| Ok(store.get(id)?)) {
            Ok(Some(record)) => Said::json(200, &show(record, true)),
            Ok(None) => Said::error(404, "there is no such request"),
            Err(said) => said,
        }
    }

    /// Writes down what the human decided.
    pub(super) fn decide(&self, body: &[u8]) -> Said {
        let wanted: Wanted = match serde_json::from_slice(body) {
            Ok(wanted) => wanted,
            Err(_) => {
                let why = "the body has to be `{\"id\": …, \"choice\": \"once\" | \"conversation\" | \"deny\"}`";
                return Said::error(400, why);
            }
        };
        let choice = match wanted.choice {
            Chosen::Once => Choice::Approve,
            Chosen::Conversation => Choice::ApproveForConversation,
            Chosen::Deny => Choice::Deny,
        };
        match self.with(|store| store.decide(&wanted.id, choice)) {
            Ok(record) => Said::json(200, &show(record, true)),
            Err(said) => said,
        }
    }
}

/// A record for the page. Arguments are a text there: scripts would round their numbers.
fn show(record: Record, whole: bool) -> Value {
    let bytes = record.arguments.len();
    let mut value = serde_json::to_value(&record).unwrap_or_default();
    if let Some(object) = value.as_object_mut() {
        object.insert("arguments_bytes".to_owned(), bytes.into());
        if !whole {
            object.insert("arguments".to_owned(), Value::Null);
        }
    }
    value
}

fn same(now_ms: i64) -> Said {
    Said::json(200, &json!({ "same": true, "now_ms": now_ms }))
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |time| {
        i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
    })
}
