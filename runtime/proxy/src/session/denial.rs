//! What a client gets instead of a call that was blocked.

use bouncer_engine::gate::VerdictRecord;
use bouncer_mcp::jsonrpc::{answer, error};
use bouncer_plan::Verdict;
use serde_json::{Value, json};

/// Of the range that servers may define: the gate blocked it.
const BLOCKED: i32 = -32001;

/// A blocked call's answer.
#[derive(Debug)]
pub(crate) struct Denial<'a> {
    pub record: &'a VerdictRecord,
    /// The id under which a human can approve it.
    pub approval: Option<&'a str>,
}

impl Denial<'_> {
    fn verdict(&self) -> Value {
        let mut verdict = json!({
            // The call did not go out; where a human may still approve it, it says so.
            "verdict": match self.record.verdict {
                Verdict::Ask => Verdict::Ask.name(),
                _ => Verdict::Deny.name(),
            },
            "contract": self.record.stage.name(),
            "code": self.record.code,
            "at": self.record.at,
        });
        if let (Some(id), Some(members)) = (self.approval, verdict.as_object_mut()) {
            members.insert("approval".to_owned(), json!(id));
        }
        verdict
    }

    /// The answer to a blocked call: a tool result that says so, which every
    /// protocol version knows. Since 2026-07-28 clients take no result without
    /// `resultType`; to earlier ones it is one more member. `id` is raw JSON.
    pub(crate) fn tool_result(&self, id: &[u8]) -> Vec<u8> {
        let result = json!({
            "content": [{"type": "text", "text": format!("[bouncer blocked] {}", self.record.reason)}],
            "isError": true,
            "resultType": "complete",
            "_meta": {"bouncer/verdict": self.verdict()},
        });
        answer(id, "result", &result)
    }

    /// The answer to a blocked call that asked for a task: an error, because a tool
    /// result is not what such a call returns.
    pub(crate) fn error(&self, id: &[u8]) -> Vec<u8> {
        let message = format!("[bouncer blocked] {}", self.record.reason);
        let data = json!({"bouncer/verdict": self.verdict()});
        error(id, BLOCKED, &message, Some(data))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bouncer_plan::Stage;

    #[test]
    fn echoes_the_id_as_it_was_spelled() {
        let record = VerdictRecord {
            at: Some("a.yaml:1:2".to_owned()),
            ..VerdictRecord::denial(Stage::SinkGate, "sink_gate.x", "no\n\"one\"".to_owned())
        };
        let denial = Denial {
            record: &record,
            approval: None,
        };
        let line = denial.tool_result(br#""\u0061""#);
        assert!(line.starts_with(br#"{"jsonrpc":"2.0","id":"\u0061","result":{"#));
        assert!(!line.contains(&b'\n'));
        let value: Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(value["result"]["isError"], true);
        assert_eq!(value["result"]["resultType"], "complete");
        assert_eq!(
            value["result"]["content"][0]["text"],
            "[bouncer blocked] no\n\"one\""
        );
        let verdict = &value["result"]["_meta"]["bouncer/verdict"];
        assert_eq!(verdict["verdict"], "deny");
        assert_eq!(verdict["contract"], "sink_gate");
        assert_eq!(verdict["at"], "a.yaml:1:2");
    }
}
