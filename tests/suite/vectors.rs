//! The predecessor's approval store and this one, operation by operation.

use crate::recorded::tally::{Tally, read};
use bouncer_store::approvals::{
    Around, Choice, Key, Lifetimes, Request, Store, StoreError, Subject,
};
use serde_json::{Value, json};
use std::path::PathBuf;

struct Desk {
    _directory: tempfile::TempDir,
    path: PathBuf,
    store: Option<Store>,
    /// Ids in the order of `create`, with the key that each stands for.
    asked: Vec<(String, Key)>,
}

impl Desk {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("approvals.db");
        Self {
            store: Store::open(&path, Lifetimes::default()).ok(),
            path,
            _directory: directory,
            asked: Vec::new(),
        }
    }

    /// What an operation answers, in the predecessor's terms.
    fn run(&mut self, operation: &Value) -> Result<Value, String> {
        if operation["op"] == "write" {
            self.store = None;
            std::fs::write(&self.path, operation["raw"].as_str().unwrap()).unwrap();
            let _ = std::fs::remove_file(self.path.with_extension("db-wal"));
            self.store = Store::open(&self.path, Lifetimes::default()).ok();
            return Ok(json!({}));
        }
        let store = self.store.as_ref().ok_or("the store is damaged")?;
        let text = |error: StoreError| error.to_string();
        let arguments = operation["args"].to_string();
        let request = Request {
            plan: "plan",
            conversation: "conversation",
            server: None,
            tool: operation["tool"].as_str().unwrap_or_default(),
            arguments: Some(arguments.as_bytes()),
            shown: &arguments,
            subject: Subject::Call,
            reason: "",
            at: None,
            grounds: None,
            around: &Around::default(),
        };
        let index = operation["i"].as_u64().unwrap_or_default() as usize;
        let asked = self.asked.get(index);
        let id = asked.map_or("req_none", |(id, _)| id.as_str());
        Ok(match operation["op"].as_str().unwrap() {
            "create" => {
                let id = store.ask(&request).map_err(text)?;
                let status = store.get(&id).map_err(text)?.unwrap().status;
                self.asked.push((id, request.key().map_err(text)?));
                json!({ "status": status.name() })
            }
            "find" => {
                let found = store
                    .approved(&request.key().map_err(text)?)
                    .map_err(text)?;
                let place = |id| self.asked.iter().position(|(known, _)| *known == id);
                json!({ "match": found.and_then(place) })
            }
            "consume" => {
                let (id, key) = asked.unwrap();
                store.take(id, key).map_err(text)?;
                json!({})
            }
            "count" => {
                let all = store.list(None, 1000).map_err(text)?;
                let counted = |status: &Value| status.is_null() || operation["status"] == *status;
                let count = match &operation["status"] {
                    Value::Null => all.len(),
                    _ => all
                        .iter()
                        .filter(|r| counted(&json!(r.status.name())))
                        .count(),
                };
                json!({ "n": count })
            }
            decision => {
                let choice = match decision {
                    "approve" => Choice::Approve,
                    "deny" => Choice::Deny,
                    other => panic!("{other}"),
                };
                let record = store
                    .decide(id, choice)
                    .map_err(|error| error.to_string())?;
                json!({ "status": record.status.name() })
            }
        })
    }
}

#[test]
fn approvals_hold_as_the_predecessors_or_less() {
    let mut tally = Tally::default();
    for case in read("rules-approvals.jsonl") {
        let mut desk = Desk::new();
        let operations = case["ops"].as_array().unwrap();
        let mut created = std::collections::HashSet::new();
        let mut repeated = false;
        for (operation, expected) in operations.iter().zip(case["expected"].as_array().unwrap()) {
            let call = json!([operation["tool"], operation["args"]]).to_string();
            repeated |= operation["op"] == "create" && !created.insert(call);
            match desk.run(operation) {
                Ok(ours) if ours == *expected => tally.count("same answer"),
                Err(_) if !expected["error"].is_null() => tally.count("same answer"),
                Err(_) if desk.store.is_none() => {
                    tally.count("stricter: a damaged store is an error, and approves nothing");
                }
                // Nothing found where the predecessor found something, or decided already.
                Ok(ours) if repeated && ours["match"].is_null() => {
                    tally.count("stricter: the same request waits once, and is used once");
                }
                Err(_) if repeated => {
                    tally.count("stricter: the same request waits once, and is used once");
                }
                Ok(ours) if operation["op"] == "deny" && ours["status"] == "denied" => {
                    tally.count("stricter: what was approved can still be denied until it is used");
                }
                ours => tally.unexplained(&format!("{operation} gave {ours:?}"), &case),
            }
        }
    }
    tally.check(
        "
        65  same answer
        7  stricter: a damaged store is an error, and approves nothing
        2  stricter: the same request waits once, and is used once
        1  stricter: what was approved can still be denied until it is used
        ",
    );
}
