//! Traces: recorded or written conversations, one JSON object a line.

use bouncer_compiler::nearest;
use bouncer_engine::gate::{Conversation, Gate};
use bouncer_engine::tools::{DefinitionError, ToolDefinition};
use bouncer_plan::Stage;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::fmt;

/// One line of a trace.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Line {
    /// Starts afresh: nothing pinned, read, approved or counted.
    Conversation {},
    /// The tools of a server, as it lists them.
    Tools {
        /// The server.
        server: Option<String>,
        /// Their definitions.
        tools: Vec<Value>,
    },
    /// A call to judge.
    Call {
        /// The server.
        server: Option<String>,
        /// The tool.
        tool: String,
        /// The arguments.
        arguments: Option<Value>,
        /// The arguments' exact text, for what JSON cannot say.
        arguments_raw: Option<String>,
        /// The verdict it should get.
        expect: Option<String>,
        /// The contract that should decide.
        expect_contract: Option<String>,
        /// Milliseconds since the start, for rates; else time stands still.
        at_ms: Option<u64>,
    },
    /// What a call returned.
    Result {
        /// The server.
        server: Option<String>,
        /// The tool.
        tool: String,
        /// Text, or an array of content blocks.
        content: Option<Value>,
        /// Structured content.
        structured: Option<Value>,
        /// An error instead.
        error: Option<Value>,
    },
    /// How a server introduced itself.
    Introduction {
        /// The server.
        server: Option<String>,
        /// The result of `initialize` or `server/discover`.
        result: Value,
    },
    /// Anything else that reached the agent: a resource, a prompt, a log message, a request
    /// of the server.
    Received {
        /// The server.
        server: Option<String>,
        /// What it answers, or is: `resources/read`, `prompts/get`, `notifications/message`.
        method: String,
        /// The result of such a request, or the message's own `params`.
        value: Value,
    },
    /// What the user typed.
    User {
        /// The message.
        content: String,
    },
    /// A human approves a destination.
    Approve {
        /// The server.
        server: Option<String>,
        /// The tool.
        tool: String,
        /// The parameter.
        param: String,
        /// The destination.
        destination: String,
    },
}

/// What is wrong with a line.
#[derive(Debug)]
pub enum TraceError {
    /// It is not one of the lines that there are.
    Json(serde_json::Error),
    /// It has its arguments twice.
    ArgumentsTwice,
    /// A tool's definition cannot be used.
    Tool(DefinitionError),
    /// It expects what is no verdict.
    NoVerdict(String),
    /// It expects what is no stage.
    NoStage(String),
    /// It asks for something in a way that is not forwarded.
    Unjudged(String),
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(error) => error.fmt(f),
            Self::ArgumentsTwice => {
                f.write_str("`arguments` and `arguments_raw` exclude each other")
            }
            Self::Tool(error) => error.fmt(f),
            Self::Unjudged(why) => f.write_str(why),
            Self::NoVerdict(found) => {
                write!(f, "`expect` is `{found}`; it can be allow, ask or deny")
            }
            Self::NoStage(found) => {
                let names = Stage::ALL.map(Stage::name);
                write!(f, "`expect_contract` is `{}`; ", found.escape_debug())?;
                match nearest(found, &names) {
                    Some(near) => write!(f, "did you mean `{near}`?"),
                    None => write!(f, "it can be {}", names.join(", ")),
                }
            }
        }
    }
}

impl std::error::Error for TraceError {}

impl From<serde_json::Error> for TraceError {
    fn from(error: serde_json::Error) -> Self {
        Self::Json(error)
    }
}

/// Reads one line. `arguments` keep their exact bytes, duplicate keys and number
/// spellings included.
///
/// # Errors
/// What is wrong with the line.
pub fn parse(text: &str) -> Result<(Line, Option<Box<RawValue>>), TraceError> {
    #[derive(Deserialize)]
    struct Arguments {
        arguments: Option<Box<RawValue>>,
    }
    let line: Line = serde_json::from_str(text)?;
    let raw = match &line {
        Line::Call {
            arguments: Some(_), ..
        } => serde_json::from_str::<Arguments>(text)?.arguments,
        _ => None,
    };
    if let Line::Call {
        arguments: Some(_),
        arguments_raw: Some(_),
        ..
    } = &line
    {
        return Err(TraceError::ArgumentsTwice);
    }
    Ok((line, raw))
}

impl Line {
    /// Pins, records and approves what the line says. Gives back lines that are for the caller:
    /// a call, or the start of another conversation.
    ///
    /// # Errors
    /// What is wrong with the line.
    pub fn hear(
        self,
        gate: &mut Gate,
        conversation: &mut Conversation,
    ) -> Result<Option<Self>, TraceError> {
        match self {
            Self::Conversation {} | Self::Call { .. } => return Ok(Some(self)),
            Self::Tools { server, tools } => {
                let definitions = definitions(tools)?;
                gate.pin(server.as_deref(), &definitions, None);
                gate.record_definitions(conversation, server.as_deref(), &definitions);
            }
            Self::Introduction { server, result } => {
                gate.record_introduction(conversation, server.as_deref(), &result);
            }
            Self::Received {
                server,
                method,
                value,
            } => gate.record_untrusted(conversation, server.as_deref(), &method, &value),
            Self::Result {
                server,
                tool,
                content,
                structured,
                error,
            } => {
                let result = result_value(content, structured, error);
                gate.record(conversation, server.as_deref(), &tool, &result);
            }
            Self::User { content } => gate.record_user(conversation, &content),
            Self::Approve {
                server,
                tool,
                param,
                destination,
            } => {
                conversation.approve(server.as_deref(), &tool, &param, &destination);
            }
        }
        Ok(None)
    }
}

/// The definitions of a line of tools.
///
/// # Errors
/// One of them is none.
pub fn definitions(tools: Vec<Value>) -> Result<Vec<ToolDefinition>, TraceError> {
    let definitions = tools.into_iter().map(ToolDefinition::from_json);
    definitions
        .collect::<Result<_, _>>()
        .map_err(TraceError::Tool)
}

/// The result of a call as an MCP server would send it.
pub fn result_value(
    content: Option<Value>,
    structured: Option<Value>,
    error: Option<Value>,
) -> Value {
    let mut result = serde_json::Map::new();
    match content {
        Some(Value::String(text)) => {
            result.insert(
                "content".to_owned(),
                serde_json::json!([{ "type": "text", "text": text }]),
            );
        }
        Some(blocks) => {
            result.insert("content".to_owned(), blocks);
        }
        None => {}
    }
    if let Some(structured) = structured {
        result.insert("structuredContent".to_owned(), structured);
    }
    if let Some(error) = error {
        result.insert("error".to_owned(), error);
    }
    Value::Object(result)
}
