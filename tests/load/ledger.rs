//! What each server got, what each agent was told, and what the log says: held against
//! each other.

use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Mutex;

/// What an agent was told about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// What the server said.
    Done,
    /// The gate denied it.
    Denied(String),
    /// An error of the protocol: the server was not there, or failed.
    Failed(String),
    /// The agent hung up, or took the call back, before it was told anything.
    Vanished,
}

/// One call, as its server got it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Got {
    pub server: usize,
    pub tool: String,
}

#[derive(Debug, Default)]
pub struct Ledger {
    got: Mutex<HashMap<u64, Vec<Got>>>,
    told: Mutex<HashMap<u64, Told>>,
}

/// Sums, for people.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    pub calls: usize,
    pub done: usize,
    pub denied: usize,
    pub failed: usize,
    pub vanished: usize,
    pub got: usize,
    pub lines: usize,
    pub forwarded: usize,
}

impl Ledger {
    pub fn get(&self, call: u64, server: usize, tool: &str) {
        let tool = tool.to_owned();
        let mut got = self.got.lock().unwrap();
        got.entry(call).or_default().push(Got { server, tool });
    }

    pub fn tell(&self, call: u64, told: Told) {
        let before = self.told.lock().unwrap().insert(call, told);
        assert!(before.is_none(), "call {call} was answered twice");
    }

    pub fn told(&self) -> HashMap<u64, Told> {
        self.told.lock().unwrap().clone()
    }

    /// Holds everything against the log. `calls` is how many were made; `failing` tells
    /// of a server whether it loses calls that it was sent.
    pub fn settle(&self, log: &Path, calls: u64, failing: impl Fn(usize) -> bool) -> Sums {
        let (got, told) = (self.got.lock().unwrap(), self.told.lock().unwrap());
        let missing: Vec<u64> = (1..=calls)
            .filter(|call| !told.contains_key(call))
            .collect();
        assert!(missing.is_empty(), "never answered: {missing:?}");
        let mut sums = Sums {
            calls: told.len(),
            got: got.len(),
            ..Sums::default()
        };
        for told in told.values() {
            match told {
                Told::Done => sums.done += 1,
                Told::Denied(_) => sums.denied += 1,
                Told::Failed(_) => sums.failed += 1,
                Told::Vanished => sums.vanished += 1,
            }
        }
        let (mut logged, mut forwarded) = (HashSet::new(), HashSet::new());
        // Calls that were refused because their server was gone by then.
        let mut gone = HashSet::new();
        for line in lines(log) {
            let Some(verdict) = line["verdict"].as_str() else {
                continue;
            };
            sums.lines += 1;
            let call = line["arguments"]["n"].as_u64().unwrap();
            assert!(logged.insert(call), "two lines about one call: {line}");
            let goes_out = line["outcome"] == "forwarded";
            assert_eq!(verdict == "allow", goes_out, "{line}");
            assert!(!goes_out || line["tool"] != "forbidden", "{line}");
            let reason = line["reason"].as_str().unwrap_or_default();
            if !goes_out && reason.contains("has ended") {
                gone.insert(call);
            }
            if goes_out {
                forwarded.insert(call);
                // A server that loses nothing got what was sent to it.
                let server = line["server"]
                    .as_str()
                    .and_then(|name| name.get(1..)?.parse().ok());
                let lost = !got.contains_key(&call);
                assert!(
                    !lost || server.is_none_or(&failing),
                    "never arrived: {line}"
                );
            }
        }
        sums.forwarded = forwarded.len();
        // Nothing reached a server without a permit, and nothing twice.
        for (call, times) in got.iter() {
            assert_eq!(times.len(), 1, "call {call} reached {times:?}");
            assert!(
                forwarded.contains(call),
                "call {call} had no permit: {times:?}"
            );
        }
        for (call, told) in told.iter() {
            let (reached, line) = (got.get(call), logged.contains(call));
            match told {
                Told::Done => assert!(reached.is_some(), "call {call} was done by nobody"),
                Told::Denied(_) => {
                    assert!(line && !forwarded.contains(call), "call {call}");
                }
                // Refused before anybody judged it, or lost with its server.
                Told::Failed(why) => {
                    let lost = forwarded.contains(call) || gone.contains(call);
                    let at = reached.map(|times| times[0].server);
                    assert!(
                        lost || !line,
                        "call {call} failed and was not forwarded: {why}"
                    );
                    assert!(at.is_none_or(&failing), "call {call} at {at:?}: {why}");
                }
                Told::Vanished => {}
            }
        }
        sums
    }
}

/// The lines of a log.
pub fn lines(log: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(log).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}
