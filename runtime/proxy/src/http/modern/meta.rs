//! What a request of the protocol without sessions says about itself, in its headers and
//! in its body; the two have to agree.
//!
//! Who only reads the headers, as balancers and filters do, must not be told anything
//! else than who reads the body.

use crate::http::guard::only;
use crate::upstream::http::{Repeats, decoded};
use bouncer_mcp::frame::{FrameReader, text};
use bouncer_mcp::jsonrpc::INVALID_PARAMS;
use bouncer_mcp::version::{
    CAPABILITIES_META, CLIENT_META, HEADER_MISMATCH, LEVEL_META, MODERN, ROUNDS, TASK_ABLE,
    TASK_METHODS, UNSUPPORTED_VERSION, VERSION_META, has_tasks,
};
use hyper::header::{HeaderMap, HeaderName};
use serde_json::Value;

/// Where a client says which of its conversations a request belongs to.
const CONVERSATION_META: &str = "bouncer/conversation";

const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// The longest name of a conversation.
const MAX_CONVERSATION: usize = 128;
const LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

/// See the module.
#[derive(Debug)]
pub(in super::super) struct Facts {
    pub method: String,
    /// Of the client.
    pub capabilities: Value,
    pub client: Option<Value>,
    /// The least that the client wants to be told of.
    pub level: Option<String>,
    /// Which of the client's conversations it belongs to.
    pub conversation: String,
}

/// Why a request is turned away: the code, what to say, and the version that was asked
/// for, if that is why.
pub(in super::super) struct Wrong {
    pub code: i32,
    pub why: String,
    pub version: Option<String>,
}

fn wrong<T>(code: i32, why: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong {
        code,
        why: why.into(),
        version: None,
    })
}

/// The version that a message names in its `_meta`, if it does.
pub(in super::super) fn version(frames: &mut FrameReader, line: &[u8]) -> Option<String> {
    let params = frames.read(line).ok()?.params()?;
    let [meta] = frames.members(params, ["_meta"]).ok()?;
    let [version] = frames.members(meta?, [VERSION_META]).ok()?;
    text(version?)
}

impl Facts {
    /// Reads them; `line` holds a request of that method.
    pub(in super::super) fn read(
        frames: &mut FrameReader,
        headers: &HeaderMap,
        method: &str,
        params: Option<&[u8]>,
    ) -> Result<Self, Wrong> {
        let unread = |why: String| Wrong {
            code: INVALID_PARAMS,
            why,
            version: None,
        };
        let params = params.unwrap_or(b"{}");
        let [meta, name, uri, task] = frames
            .members(params, ["_meta", "name", "uri", "taskId"])
            .map_err(|why| unread(why.to_string()))?;
        let [version, capabilities, client, level, conversation] = frames
            .members(
                meta.unwrap_or(b"{}"),
                [
                    VERSION_META,
                    CAPABILITIES_META,
                    CLIENT_META,
                    LEVEL_META,
                    CONVERSATION_META,
                ],
            )
            .map_err(|why| unread(format!("`_meta`: {why}")))?;
        let version = version.and_then(text);
        if version.is_none() {
            // Said before the header's disagreement, which follows from it.
            let why = format!("`_meta` needs `{VERSION_META}`, a text");
            return wrong(INVALID_PARAMS, why);
        }
        agree(headers, &VERSION, version.as_deref(), false)?;
        if version.as_deref() != Some(MODERN) {
            return Err(Wrong {
                code: UNSUPPORTED_VERSION,
                why: "that version of the protocol is not spoken here".to_owned(),
                version,
            });
        }
        agree(headers, &METHOD, Some(method), false)?;
        match method {
            "tools/call" | "prompts/get" => {
                agree(headers, &NAME, name.and_then(text).as_deref(), true)?;
            }
            "resources/read" => agree(headers, &NAME, uri.and_then(text).as_deref(), true)?,
            method if TASK_METHODS.contains(&method) => {
                agree(headers, &NAME, task.and_then(text).as_deref(), true)?;
            }
            _ => {}
        }
        let json = |raw: Option<&[u8]>| raw.and_then(|raw| serde_json::from_slice(raw).ok());
        let capabilities: Option<Value> = json(capabilities);
        let Some(capabilities) = capabilities.filter(Value::is_object) else {
            let why = format!("`_meta` needs `{CAPABILITIES_META}`, an object");
            return wrong(INVALID_PARAMS, why);
        };
        let level = match level.map(text) {
            None => None,
            Some(Some(level)) if LEVELS.contains(&level.as_str()) => Some(level),
            Some(_) => return wrong(INVALID_PARAMS, format!("`{LEVEL_META}` is no level")),
        };
        let conversation = match conversation.map(text) {
            None => String::new(),
            Some(Some(name))
                if (1..=MAX_CONVERSATION).contains(&name.len())
                    && name.bytes().all(|byte| byte.is_ascii_graphic()) =>
            {
                name
            }
            Some(_) => {
                let why = format!(
                    "`{CONVERSATION_META}` is no name: write up to {MAX_CONVERSATION} visible ASCII characters"
                );
                return wrong(INVALID_PARAMS, why);
            }
        };
        Ok(Self {
            method: method.to_owned(),
            capabilities,
            client: json(client),
            level,
            conversation,
        })
    }

    /// Whether the client can be asked by that method.
    pub(super) fn answers(&self, method: &str) -> bool {
        let needed = match method {
            "elicitation/create" => "elicitation",
            "sampling/createMessage" => "sampling",
            "roots/list" => "roots",
            _ => return false,
        };
        self.takes_rounds() && self.capabilities.get(needed).is_some_and(Value::is_object)
    }

    /// Whether the client knows tasks.
    pub(in super::super) fn knows_tasks(&self) -> bool {
        has_tasks(&self.capabilities)
    }

    /// Whether the answer may be a task.
    pub(super) fn takes_task(&self) -> bool {
        self.method == TASK_ABLE && self.knows_tasks()
    }

    /// Whether the answer may be a question.
    fn takes_rounds(&self) -> bool {
        ROUNDS.contains(&self.method.as_str())
    }

    /// Whether results may be kept by clients, and have to say how long.
    pub(super) fn is_cacheable(&self) -> bool {
        matches!(
            self.method.as_str(),
            "tools/list"
                | "prompts/list"
                | "resources/list"
                | "resources/templates/list"
                | "resources/read"
        )
    }
}

/// Holds the headers of a call against its arguments, as far as its tool is known.
pub(in super::super) fn repeats_agree(
    repeats: &Repeats,
    headers: &HeaderMap,
    name: Option<&[u8]>,
    arguments: Option<&[u8]>,
) -> Result<(), Wrong> {
    let tool = name.and_then(text).unwrap_or_default();
    let arguments: Option<Value> = match arguments.map(serde_json::from_slice) {
        None => None,
        Some(Ok(arguments)) => Some(arguments),
        Some(Err(_)) if !repeats.has(&tool) => return Ok(()),
        Some(Err(_)) => {
            let why = "the arguments cannot be held against their headers";
            return wrong(HEADER_MISMATCH, why);
        }
    };
    let checked = repeats.check(&tool, &arguments.unwrap_or_default(), headers);
    checked.or_else(|name| {
        let why = format!("the header `{name}` does not agree with the arguments");
        wrong(HEADER_MISMATCH, why)
    })
}

/// Holds a header against what the body says.
fn agree(
    headers: &HeaderMap,
    name: &HeaderName,
    body: Option<&str>,
    encoded: bool,
) -> Result<(), Wrong> {
    let Some(header) = only(headers, name) else {
        return wrong(
            HEADER_MISMATCH,
            format!(
                "the request needs one header `{name}`, and it has none, two, or one that is not plain text"
            ),
        );
    };
    let header = if encoded {
        decoded(header)
    } else {
        Some(header.to_owned())
    };
    if header.is_some() && header.as_deref() == body {
        return Ok(());
    }
    wrong(
        HEADER_MISMATCH,
        format!("the header `{name}` does not agree with the body"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    fn read(pairs: &[(&'static str, &str)], method: &str, params: &str) -> Result<Facts, i32> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            let value = HeaderValue::from_str(value).unwrap();
            headers.append(HeaderName::from_static(name), value);
        }
        let mut frames = FrameReader::new(1 << 20);
        Facts::read(&mut frames, &headers, method, Some(params.as_bytes()))
            .map_err(|wrong| wrong.code)
    }

    #[test]
    fn headers_have_to_agree_with_the_body() {
        let meta = format!(r#""_meta":{{"{VERSION_META}":"{MODERN}","{CAPABILITIES_META}":{{}}}}"#);
        let params = format!(r#"{{"name":"a b\u00e9",{meta}}}"#);
        let all = |version, method, name| {
            read(
                &[
                    ("mcp-protocol-version", version),
                    ("mcp-method", method),
                    ("mcp-name", name),
                ],
                "tools/call",
                &params,
            )
            .map(|_| ())
        };
        let coded = "=?base64?YSBiw6k=?=";
        assert_eq!(all(MODERN, "tools/call", coded), Ok(()));
        for (version, method, name) in [
            ("2025-06-18", "tools/call", coded),
            (MODERN, "tools/list", coded),
            (MODERN, "Tools/call", coded),
            (MODERN, "tools/call", "a b"),
            (MODERN, "tools/call", "=?base64?YSBi?="),
            (MODERN, "tools/call", "=?base64?YSBiw6k?="),
            (MODERN, "tools/call", "=?BASE64?YSBiw6k=?="),
            (MODERN, "tools/call", "YSBiw6k="),
        ] {
            assert_eq!(
                all(version, method, name),
                Err(HEADER_MISMATCH),
                "{method} {name}"
            );
        }
        let task = format!(r#"{{"taskId":"one__1",{meta}}}"#);
        for (name, fits) in [("one__1", true), ("one__2", false)] {
            let pairs = [
                ("mcp-protocol-version", MODERN),
                ("mcp-method", "tasks/get"),
                ("mcp-name", name),
            ];
            assert_eq!(read(&pairs, "tasks/get", &task).is_ok(), fits);
            assert!(read(&pairs[..2], "tasks/get", &task).is_err());
        }
        let list = format!("{{{meta}}}");
        let two = [
            ("mcp-protocol-version", MODERN),
            ("mcp-method", "tools/list"),
        ];
        assert!(read(&two, "tools/list", &list).is_ok());
        assert_eq!(
            read(&two[..1], "tools/list", &list).unwrap_err(),
            HEADER_MISMATCH
        );
        assert_eq!(
            read(&two, "tools/call", &params).unwrap_err(),
            HEADER_MISMATCH
        );
        let twice = [two[0], two[1], ("mcp-method", "tools/list")];
        assert_eq!(
            read(&twice, "tools/list", &list).unwrap_err(),
            HEADER_MISMATCH
        );
        let other = list.replace(MODERN, "2027-01-01");
        let newer = [("mcp-protocol-version", "2027-01-01"), two[1]];
        assert_eq!(
            read(&newer, "tools/list", &other).unwrap_err(),
            UNSUPPORTED_VERSION
        );
        let bare = list.replace(CAPABILITIES_META, "x");
        assert_eq!(read(&two, "tools/list", &bare).unwrap_err(), INVALID_PARAMS);
    }
}
