//! Puts a question to the human behind the client, as an MCP form elicitation.
//!
//! Shows the whole call. A form cannot fold: what would be too long for one is shown by its
//! start and its length, with the name under which it can be read whole. Knows what is asked
//! and what counts as a yes; not what follows from it.

use bouncer_audit::redacted;
use bouncer_engine::gate::{Approvable, CallMessage, First, Unvouched, VerdictRecord};
use bouncer_system::log::{quoted, visible};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Destinations longer than this, in characters, cannot be shown whole, and nobody can
/// vouch for what they do not see.
const MAX_DESTINATION: usize = 1000;
/// Arguments of a call that are shown; of others there is their number.
const MAX_ARGUMENTS: usize = 40;
/// Characters of an argument's name.
const MAX_ARGUMENT: usize = 300;
/// Characters of an argument's value that a form has room for.
const MAX_VALUE: usize = 2000;
/// Characters of all values.
const MAX_VALUES: usize = 8000;
/// Characters of the start of a value that there is no room for.
const START: usize = 160;
/// Characters of other texts.
const MAX_TEXT: usize = 2000;

/// A question.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'a> {
    pub server: Option<&'a str>,
    pub call: &'a CallMessage<'a>,
    pub asked: &'a VerdictRecord,
    /// The client, as it calls itself.
    pub client: Option<&'a str>,
    pub conversation: &'a str,
    /// The request in the store, where the whole call can be read.
    pub filed: Option<&'a str>,
}

/// The words of a question.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Words {
    pub text: String,
    /// Everything is shown.
    pub whole: bool,
}

impl Question<'_> {
    /// The words. `None` if nothing can be approved, or a human cannot see what they would
    /// vouch for.
    pub(crate) fn words(&self) -> Option<Words> {
        let mut text = self.about();
        let mut first = None;
        match &self.asked.approvable {
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
                first = Some(unvouched.param.as_str());
            }
            Approvable::ThisCall => {
                text.push_str(", and the policy wants a human to look at it.");
            }
        }
        let whole = self.push_arguments(first, &mut text)?;
        let reason: String = visible(&self.asked.reason).chars().take(MAX_TEXT).collect();
        text.push_str(&format!("\nWhy: {reason}"));
        if let Some(at) = &self.asked.at {
            text.push_str(&format!("\nPolicy: {}", visible(at)));
        }
        let read = &self.asked.read;
        for (what, first) in [("untrusted", &read.untrusted), ("private", &read.private)] {
            if let Some(first) = first {
                text.push_str(&format!("\nRead before: {what} text, {}", place(first)));
            }
        }
        if let Some(client) = self.client {
            text.push_str(&format!("\nClient: {}", quoted(client, 200)));
        }
        text.push_str(&format!("\nConversation: {}", visible(self.conversation)));
        text.push_str("\nApproving holds for exactly this call, once.");
        Some(Words { text, whole })
    }

    /// What is about to happen.
    fn about(&self) -> String {
        let name = quoted(self.call.tool(), 200);
        let mut text = match (self.call.is_request(), self.call.tool()) {
            (false, _) => format!("Tool {name}"),
            (true, "sampling/createMessage" | "elicitation/create") => {
                format!("The request {name}")
            }
            (true, _) => format!("The request {name} to a server"),
        };
        if let Some(server) = self.server {
            text.push_str(&format!(" of server {}", quoted(server, 200)));
        }
        if !matches!(self.asked.approvable, Approvable::Destination(_)) {
            text.push_str(" is about to be made");
        }
        text
    }

    /// Shows the arguments, that of `first` before the others: each whole, or its start and how
    /// long it is. Whether all is shown; `None` if it cannot be.
    fn push_arguments(&self, first: Option<&str>, text: &mut String) -> Option<bool> {
        let Some(raw) = self.call.arguments() else {
            text.push_str("\nIt has no arguments.");
            return Some(true);
        };
        let (raw, redacted) = redacted(raw);
        let arguments: BTreeMap<String, &RawValue> = serde_json::from_slice(&raw).ok()?;
        let is_first = |name: &str| {
            first.is_some_and(|first| {
                let rest = first.strip_prefix(name);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
            })
        };
        let mut shown: Vec<(&str, String)> = arguments
            .iter()
            .map(|(name, value)| (name.as_str(), visible(value.get())))
            .collect();
        shown.sort_by_key(|(name, _)| !is_first(name));
        let mut room = MAX_VALUES;
        let mut whole = true;
        for (name, value) in shown.iter().take(MAX_ARGUMENTS) {
            let length = value.chars().count();
            text.push_str(&format!("\n{}: ", quoted(name, MAX_ARGUMENT)));
            whole &= name.chars().count() <= MAX_ARGUMENT;
            if length <= MAX_VALUE && length <= room {
                room -= length;
                text.push_str(value);
                continue;
            }
            whole = false;
            text.extend(value.chars().take(START));
            let left = length - START.min(length);
            text.push_str(&format!(" … and {left} more characters"));
        }
        if let Some(left) = shown
            .len()
            .checked_sub(MAX_ARGUMENTS)
            .filter(|left| *left > 0)
        {
            whole = false;
            text.push_str(&format!("\n… and {left} more arguments"));
        }
        if redacted {
            text.push_str("\nSecrets are not shown.");
        }
        if let (false, Some(id)) = (whole, self.filed) {
            text.push_str(&format!(
                "\nThere is more than a form can show. To read all of it: bouncer list {id} --save FILE, or the page."
            ));
        }
        Some(whole)
    }
}

/// Where something was read first.
fn place(first: &First) -> String {
    let mut text = format!("first in {}", quoted(&first.tool, 200));
    if let Some(server) = &first.server {
        text.push_str(&format!(" of server {}", quoted(server, 200)));
    }
    text.push_str(&format!(" (result {})", first.call));
    text
}

/// The request that puts `message`. `mode` is left out: a form is the default, and
/// versions before 2025-11-25 do not know the member. For a destination there is a second
/// choice, in its own words.
pub(crate) fn request(id: &str, message: &str, tool: &str, asked: &VerdictRecord) -> Value {
    let mut properties = json!({
        "approve": {
            "type": "boolean",
            "title": "Approve",
            "description": "Let exactly this call go ahead, once",
            "default": false,
        },
    });
    if let (Approvable::Destination(Unvouched { destination, .. }), Some(properties)) =
        (&asked.approvable, properties.as_object_mut())
    {
        let (tool, destination) = (quoted(tool, 200), quoted(destination, MAX_DESTINATION));
        let wide = format!(
            "If approved: also let {tool} send anything to {destination}, without asking, for the rest of this conversation"
        );
        properties.insert(
            "conversation".to_owned(),
            json!({
                "type": "boolean",
                "title": "Whatever is sent there",
                "description": wide,
                "default": false,
            }),
        );
    }
    json!({
        "jsonrpc": "2.0", "id": id, "method": "elicitation/create",
        "params": {
            "message": message,
            "requestedSchema": {
                "type": "object",
                "properties": properties,
                "required": ["approve"],
            },
        },
    })
}

/// Whether the result of an elicitation is a clear yes: some, and whether for the whole
/// conversation.
pub(crate) fn yes(result: &Value) -> Option<bool> {
    let said = |what: &str| result.pointer(&format!("/content/{what}")) == Some(&Value::Bool(true));
    let accepted = result.get("action").and_then(Value::as_str) == Some("accept");
    (accepted && said("approve")).then(|| said("conversation"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::call::proxy_denial;
    use bouncer_engine::gate::ReadBefore;
    use bouncer_mcp::frame::FrameReader;

    fn ask(arguments: &str, approvable: Approvable<String>) -> Option<Words> {
        let line = format!(
            r#"{{"method":"tools/call","params":{{"name":"x\ny","arguments":{arguments}}}}}"#
        );
        let mut reader = FrameReader::new(1 << 20);
        let call = CallMessage::parse(None, line.as_bytes(), &mut reader).unwrap();
        let asked = VerdictRecord {
            at: Some("p.yaml:1:1".to_owned()),
            approvable,
            read: ReadBefore {
                untrusted: Some(First {
                    server: Some("web".to_owned()),
                    tool: "fetch\n".to_owned(),
                    call: 3,
                    time: 0,
                }),
                private: None,
            },
            ..proxy_denial("because\n`x`")
        };
        let question = Question {
            server: Some("s"),
            call: &call,
            asked: &asked,
            client: Some("c\n1"),
            conversation: "7f",
            filed: Some("req_1"),
        };
        question.words()
    }

    fn destination(destination: &str) -> Approvable<String> {
        Approvable::Destination(Unvouched {
            param: "to\nApproved: yes".to_owned(),
            destination: destination.to_owned(),
        })
    }

    #[test]
    fn a_name_cannot_forge_the_question() {
        let words = ask("{}", destination("a@b\u{202e}\n")).unwrap();
        assert_eq!(words.text.lines().count(), 9, "{}", words.text);
        assert!(words.text.contains(r#"Destination: "a@b\u{202e}\u{a}""#));
        let long = "x".repeat(400);
        let arguments = format!(r#"{{"k\n":"v\n","long":"{long}"}}"#);
        let words = ask(&arguments, Approvable::ThisCall).unwrap();
        assert_eq!(words.text.lines().count(), 9, "{}", words.text);
        assert!(words.whole && words.text.contains(&long));
    }

    #[test]
    fn everything_is_shown_or_named_with_its_length() {
        let words = ask(
            r#"{"body":"all of it","to":["a@b"],"password":"hunter2"}"#,
            destination("a@b"),
        )
        .unwrap();
        for said in [
            "all of it",
            "[redacted]",
            "Secrets are not shown",
            "result 3",
            "fetch",
        ] {
            assert!(words.text.contains(said), "{}", words.text);
        }
        assert!(words.whole && !words.text.contains("hunter2"));
        let long = format!(r#"{{"cmd":"ls {}; rm -rf /"}}"#, " ".repeat(2000));
        let words = ask(&long, Approvable::ThisCall).unwrap();
        assert!(
            !words.whole && words.text.contains("and 1855 more characters"),
            "{}",
            words.text
        );
        assert!(words.text.contains("bouncer list req_1"));
        let many: Vec<String> = (0..41).map(|n| format!("\"a{n}\":1")).collect();
        let words = ask(&format!("{{{}}}", many.join(",")), Approvable::ThisCall).unwrap();
        assert!(!words.whole && words.text.contains("and 1 more arguments"));
        assert_eq!(ask("{}", destination(&"x".repeat(1001))), None);
        assert_eq!(ask("{}", Approvable::Never), None);
    }

    #[test]
    fn what_a_destination_is_approved_for_is_a_choice_of_its_own() {
        let record = |approvable| VerdictRecord {
            approvable,
            ..proxy_denial("x")
        };
        let call = request("1", "m", "send", &record(Approvable::ThisCall));
        let to = request("1", "m", "send", &record(destination("a@b")));
        let wide = "/params/requestedSchema/properties/conversation/description";
        assert_eq!(call.pointer(wide), None);
        assert!(
            to.pointer(wide)
                .unwrap()
                .as_str()
                .unwrap()
                .contains("anything to \"a@b\"")
        );
    }

    #[test]
    fn only_a_clear_yes_is_one() {
        let accept = |content| json!({"action": "accept", "content": content});
        assert_eq!(yes(&accept(json!({"approve": true}))), Some(false));
        let wide = json!({"approve": true, "conversation": true});
        assert_eq!(yes(&accept(wide)), Some(true));
        for no in [
            accept(json!({"approve": "true"})),
            accept(json!({"conversation": true})),
            accept(json!({})),
            json!({"action": "accept"}),
            json!({"action": "decline", "content": {"approve": true}}),
            json!({"action": "Accept", "content": {"approve": true}}),
            json!([]),
        ] {
            assert_eq!(yes(&no), None, "{no}");
        }
    }
}
