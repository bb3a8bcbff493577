//! The server's resources, and the summary of the audit log.

use super::Server;
use bouncer_audit::Audit;
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};

const POLICIES: &str = "bouncer://policies/builtin";
const SUMMARY: &str = "bouncer://audit/summary";
/// Of a long log only the end is read.
const MAX_LOG: u64 = 64 << 20;
/// What of an entry is told. Its arguments are not: they are the user's, and whoever asks
/// here is an agent.
const TOLD: [&str; 10] = [
    "time",
    "conversation",
    "call",
    "server",
    "tool",
    "verdict",
    "contract",
    "code",
    "reason",
    "outcome",
];

pub(super) fn list() -> Value {
    json!([
        {
            "uri": POLICIES,
            "name": "builtin",
            "title": "Built-in policies",
            "description": "The built-in packs and the tools that they cover",
            "mimeType": "application/json",
        },
        {
            "uri": SUMMARY,
            "name": "summary",
            "title": "Audit summary",
            "description": "Figures about the audit log, and its newest entries",
            "mimeType": "application/json",
        },
    ])
}

impl Server {
    pub(super) fn resource(&self, uri: &str) -> Option<Result<Value, String>> {
        match uri {
            POLICIES => Some(self.active(None)),
            SUMMARY => Some(self.audit_summary(20)),
            _ => None,
        }
    }

    pub(super) fn audit_summary(&self, limit: usize) -> Result<Value, String> {
        let path = self.audit.clone().or_else(Audit::default_path);
        let mut verdicts = BTreeMap::from([("allow", 0_u64), ("ask", 0), ("deny", 0)]);
        let mut contracts: BTreeMap<String, u64> = BTreeMap::new();
        let mut recent: VecDeque<Value> = VecDeque::new();
        let mut total = 0_u64;
        let mut complete = true;
        let file = path.as_deref().map(bouncer_system::private::open);
        let mut file = match file {
            None => None,
            Some(Ok(file)) => Some(file),
            Some(Err(error)) if error.kind() == std::io::ErrorKind::NotFound => None,
            Some(Err(error)) => return Err(format!("the audit log cannot be read: {error}")),
        };
        if let Some(file) = &mut file {
            let failed = |error: std::io::Error| format!("the audit log cannot be read: {error}");
            let length = file.metadata().map_err(failed)?.len();
            if length > MAX_LOG {
                complete = false;
                file.seek(SeekFrom::End(-(MAX_LOG as i64)))
                    .map_err(failed)?;
            }
            let mut lines = BufReader::new(file.take(MAX_LOG));
            let mut line = Vec::new();
            while lines.read_until(b'\n', &mut line).map_err(failed)? > 0 {
                let entry = serde_json::from_slice::<Value>(&line);
                line.clear();
                // The first line of a part, or one that was torn.
                let Ok(entry) = entry else { continue };
                let text = |key: &str| entry.get(key).and_then(Value::as_str);
                let Some(count) = text("verdict").and_then(|verdict| verdicts.get_mut(verdict))
                else {
                    continue;
                };
                *count += 1;
                total += 1;
                if let Some(contract) = text("contract") {
                    *contracts.entry(contract.to_owned()).or_default() += 1;
                }
                let told = TOLD
                    .iter()
                    .filter_map(|key| Some(((*key).to_owned(), entry.get(*key)?.clone())));
                recent.push_back(Value::Object(told.collect()));
                if recent.len() > limit {
                    recent.pop_front();
                }
            }
        }
        let newest: Vec<Value> = recent.into_iter().rev().collect();
        Ok(json!({
            "log": path.map(|path| path.display().to_string()),
            "total": total,
            "complete": complete,
            "verdicts": verdicts,
            "contracts": contracts,
            "recent": newest,
        }))
    }
}
