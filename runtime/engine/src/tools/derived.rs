//! What a tool's name and schema suggest, for tools that no contract names.
//!
//! Puts together what the patterns (`heuristics.rs`) find in the tool's name and in its
//! schema (`schema.rs`). It knows nothing of plans, calls or contracts.

use super::ToolDefinition;
use super::heuristics::Heuristics;
use super::schema::destinations;
use super::words::{any_word_matches, words};
use crate::effects::{classify, schema_arguments};
use bouncer_plan::Effects;

/// What the heuristics say about one tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Derived {
    /// Paths of destination-shaped properties, as object keys from the root of the
    /// arguments (arrays are transparent), sorted, none below another. Not empty: the
    /// tool counts as exfiltrating. An empty path stands for the whole arguments: the
    /// schema could not be read to its end.
    pub sinks: Vec<Vec<String>>,
    /// Attempts per conversation.
    pub max_calls: Option<u32>,
}

/// What a tool is guessed to do, by its name and its schema. `prefix` is what the names of all
/// tools of its server begin with. Nothing, where nothing could be told.
#[must_use]
pub fn guessed_effects(tool: &ToolDefinition, prefix: &str) -> Effects {
    let none = serde_json::Value::Null;
    let schema = tool.input_schema().unwrap_or(&none);
    classify(prefix, &tool.name, schema_arguments(schema)).effects
}

impl Heuristics {
    /// What the heuristics say about `tool`. Looks at its name and its `inputSchema`
    /// only, follows no reference out of the schema, and takes bounded time whatever
    /// the schema; where it gives up, the part it did not see counts as a destination.
    #[must_use]
    pub fn derive(&self, tool: &ToolDefinition) -> Derived {
        let sinks = tool
            .input_schema()
            .map(|schema| destinations(self, schema))
            .unwrap_or_default();
        let name = words(&tool.name);
        let destructive = any_word_matches(&self.destructive_words, &name);
        Derived {
            sinks,
            max_calls: self.destructive_max_calls.filter(|_| destructive),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::{AskedWords, LabelHeuristics};
    use bouncer_plan::Label;
    use serde_json::{Value, json};

    fn list(words: &str) -> Vec<String> {
        words.split_whitespace().map(str::to_owned).collect()
    }

    /// A small set in the spirit of the shipped one; that one is data.
    fn heuristics() -> Heuristics {
        Heuristics {
            sink_names: list("to target share_with chat_id *email *emails *url"),
            sink_words: list("recipient recipients cc bcc url uri webhook address channel"),
            sink_formats: list("email uri"),
            destructive_words: list("*delete* *remove* rm rmdir drop"),
            destructive_max_calls: Some(2),
            asked: AskedWords::default(),
            labels: LabelHeuristics {
                untrusted_words: list("body note subject"),
                observed_words: list("sender from"),
            },
        }
    }

    fn derive(name: &str, schema: &Value) -> Derived {
        let json = json!({"name": name, "inputSchema": schema});
        heuristics().derive(&ToolDefinition::from_json(json).unwrap())
    }

    fn sinks(schema: &Value) -> Vec<String> {
        let derived = derive("t", schema);
        derived.sinks.iter().map(|path| path.join(".")).collect()
    }

    /// Every property name that the predecessor flagged, and the ones it missed.
    #[test]
    fn property_names() {
        for name in [
            "to",
            "To",
            "TO",
            "tO",
            "cc",
            "BCC",
            "recipient",
            "recipients",
            "url",
            "email",
            "address",
            "channel",
            "share_with",
            "shareWith",
            "uri",
            "webhook",
            "target",
            "channel_id",
            "email_address",
            "emailAddress",
            "webhookUrl",
            "webhookurl",
            "customer_email",
            "userEmail",
            "useremail",
            "imageURL",
            "chatId",
            "CHAT-ID",
            "cc2",
            "to1",
            "emails",
        ] {
            let schema = json!({"type": "object", "properties": {name: {"type": "string"}}});
            assert_eq!(sinks(&schema), [name], "{name}");
        }
        for name in [
            "body",
            "Path",
            "path",
            "file_path",
            "dest",
            "destination",
            "x",
            "time_to",
            "token",
            "total",
            "accuracy",
            "email_body",
            "",
            "_",
        ] {
            let schema = json!({"type": "object", "properties": {name: {"type": "string"}}});
            assert_eq!(sinks(&schema), [""; 0], "{name}");
        }
    }

    /// The predecessor's answers, but for the names in which it found `rm` or `drop`
    /// inside another word.
    #[test]
    fn destructive_names() {
        for name in [
            "DROP_TABLE",
            "delete_all",
            "remove",
            "term_rm_x",
            "rmdir",
            "deleteFile",
            "bulkdelete",
            "removeUser",
            "fs.rm",
            "undelete",
        ] {
            assert_eq!(derive(name, &json!({})).max_calls, Some(2), "{name}");
        }
        for name in [
            "alarm",
            "confirm",
            "createDropdown",
            "farm_report",
            "format",
            "raindrop",
            "terminal",
            "warm_up",
            "computer",
            "create_thing",
            "editor",
            "fetch",
            "get_file",
            "output_data",
            "put_object",
            "rename_file",
            "save",
            "send_email",
            "SendMail",
            "share_file",
            "update_doc",
            "upload",
        ] {
            assert_eq!(derive(name, &json!({})).max_calls, None, "{name}");
        }
    }

    #[test]
    fn no_schema_no_sinks() {
        let tool = ToolDefinition::from_json(json!({"name": "x"})).unwrap();
        assert_eq!(heuristics().derive(&tool), Derived::default());
        for odd in [
            json!(null),
            json!([]),
            json!("x"),
            json!({"properties": []}),
        ] {
            assert_eq!(sinks(&odd), [""; 0], "{odd}");
        }
    }

    #[test]
    fn labels() {
        let labels = heuristics().labels;
        assert_eq!(labels.label_for("bodyText"), Some(Label::Untrusted));
        assert_eq!(labels.label_for("From"), Some(Label::Observed));
        assert_eq!(labels.label_for("sender_note"), Some(Label::Untrusted));
        assert_eq!(labels.label_for("fromage"), None);
        assert_eq!(labels.label_for(""), None);
    }
}
