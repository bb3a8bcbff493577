//! Puts a question to the human behind the client, as an MCP form elicitation.
//!
//! Knows what is asked and what counts as a yes; not what follows from it.

use bouncer_engine::gate::{Approvable, CallMessage, VerdictRecord};
use bouncer_system::log::{quoted, visible};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Destinations longer than this, in characters, cannot be shown whole, and nobody can
/// vouch for what they do not see.
const MAX_DESTINATION: usize = 1000;
/// Arguments of a call that are shown at most.
const MAX_ARGUMENTS: usize = 40;
/// Characters of an argument's name.
const MAX_ARGUMENT: usize = 300;
/// Characters of an argument's value that a form has room for.
const MAX_VALUE: usize = 2000;
/// Characters of other texts.
const MAX_TEXT: usize = 2000;

/// The words of a question. `None` if it cannot be put so that a human sees what they
/// would approve.
pub(crate) fn message(
    server: Option<&str>,
    call: &CallMessage<'_>,
    asked: &VerdictRecord,
) -> Option<String> {
    let mut text = format!("Tool {}", quoted(call.tool(), 200));
    if let Some(server) = server {
        text.push_str(&format!(" of server {}", quoted(server, 200)));
    }
    let holds_for = match &asked.approvable {
        Approvable::Never => return None,
        Approvable::Destination(unvouched) => {
            if unvouched.destination.chars().count() > MAX_DESTINATION {
                return None;
            }
            text.push_str(&format!(
                " wants to send data to a destination that nothing vouches for.\n\
                 Parameter: {}\nDestination: {}",
                quoted(&unvouched.param, 200),
                quoted(&unvouched.destination, MAX_DESTINATION)
            ));
            "this destination, parameter and tool until the client ends"
        }
        Approvable::ThisCall => {
            text.push_str(" is about to be called, and the policy wants a human to look at it.");
            push_arguments(call.arguments(), &mut text)?;
            "this one call"
        }
    };
    let reason: String = visible(&asked.reason).chars().take(MAX_TEXT).collect();
    text.push_str(&format!("\nWhy: {reason}"));
    if let Some(at) = &asked.at {
        text.push_str(&format!("\nPolicy: {}", visible(at)));
    }
    text.push_str(&format!("\nApproving holds for {holds_for}."));
    Some(text)
}

/// Shows every argument whole. `None` if that would be more than fits into a form.
fn push_arguments(arguments: Option<&[u8]>, text: &mut String) -> Option<()> {
    let Some(raw) = arguments else {
        text.push_str("\nIt has no arguments.");
        return Some(());
    };
    let arguments: BTreeMap<String, &RawValue> = serde_json::from_slice(raw).ok()?;
    if arguments.len() > MAX_ARGUMENTS {
        return None;
    }
    for (name, value) in arguments {
        if name.chars().count() > MAX_ARGUMENT {
            return None;
        }
        let value = value.get();
        if value.chars().nth(MAX_VALUE).is_some() {
            return None;
        }
        text.push_str(&format!(
            "\n{}: {}",
            quoted(&name, MAX_ARGUMENT),
            visible(value)
        ));
    }
    Some(())
}

/// The request that puts `message`. `mode` is left out: a form is the default, and
/// versions before 2025-11-25 do not know the member.
pub(crate) fn request(id: &str, message: &str) -> Value {
    json!({
        "jsonrpc": "2.0", "id": id, "method": "elicitation/create",
        "params": {
            "message": message,
            "requestedSchema": {
                "type": "object",
                "properties": {
                    "approve": {
                        "type": "boolean",
                        "title": "Approve",
                        "description": "Let the call go ahead",
                        "default": false,
                    },
                },
                "required": ["approve"],
            },
        },
    })
}

/// Whether the result of an elicitation is a clear yes.
pub(crate) fn is_yes(result: &Value) -> bool {
    result.get("action").and_then(Value::as_str) == Some("accept")
        && result.pointer("/content/approve") == Some(&Value::Bool(true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::call::own;
    use bouncer_engine::gate::Unvouched;
    use bouncer_mcp::frame::FrameReader;

    fn ask(arguments: &str, approvable: Approvable<String>) -> Option<String> {
        let line = format!(
            r#"{{"method":"tools/call","params":{{"name":"x\ny","arguments":{arguments}}}}}"#
        );
        let mut reader = FrameReader::new(1 << 20);
        let call = CallMessage::parse(None, line.as_bytes(), &mut reader).unwrap();
        let asked = VerdictRecord {
            at: Some("p.yaml:1:1".to_owned()),
            approvable,
            ..own("because\n`x`")
        };
        message(Some("s"), &call, &asked)
    }

    #[test]
    fn a_name_cannot_forge_the_question() {
        let text = ask(
            "{}",
            Approvable::Destination(Unvouched {
                param: "to\nApproved: yes".to_owned(),
                destination: "a@b\u{202e}\n".to_owned(),
            }),
        )
        .unwrap();
        assert_eq!(text.lines().count(), 6, "{text}");
        assert!(text.contains(r#"Destination: "a@b\u{202e}\u{a}""#));
        let text = ask(
            r#"{"k\n":"v\n","long":"LONG"}"#.replace("LONG", &"x".repeat(400)).as_str(),
            Approvable::ThisCall,
        )
        .unwrap();
        assert_eq!(text.lines().count(), 6, "{text}");
        assert!(text.contains(&"x".repeat(400)));
    }

    #[test]
    fn what_cannot_be_shown_is_not_asked() {
        let unvouched = Unvouched {
            param: "to".to_owned(),
            destination: "x".repeat(1001),
        };
        assert_eq!(ask("{}", Approvable::Destination(unvouched)), None);
        let long = format!(r#"{{"cmd":"ls {}; rm -rf /"}}"#, " ".repeat(2000));
        assert_eq!(ask(&long, Approvable::ThisCall), None);
        let many: Vec<String> = (0..41).map(|n| format!("\"a{n}\":1")).collect();
        assert_eq!(
            ask(&format!("{{{}}}", many.join(",")), Approvable::ThisCall),
            None
        );
    }

    #[test]
    fn only_a_clear_yes_is_one() {
        assert!(is_yes(
            &json!({"action": "accept", "content": {"approve": true}})
        ));
        for no in [
            json!({"action": "accept", "content": {"approve": "true"}}),
            json!({"action": "accept", "content": {}}),
            json!({"action": "accept"}),
            json!({"action": "decline", "content": {"approve": true}}),
            json!({"action": "Accept", "content": {"approve": true}}),
            json!([]),
        ] {
            assert!(!is_yes(&no), "{no}");
        }
    }
}
