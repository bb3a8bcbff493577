//! A call as it is judged.

use bouncer_mcp::frame::{Frame, FrameReader};
use bouncer_plan::requests;
use std::borrow::Cow;
use std::fmt;

/// A call to judge. Borrows the bytes that will be forwarded.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The server, where one is known.
    pub(crate) server: Option<&'a str>,
    /// The tool's name.
    pub(crate) tool: &'a str,
    /// Raw JSON of the arguments; `None` where the call has none.
    pub(crate) arguments: Option<&'a [u8]>,
    /// The whole message that is forwarded if the call is permitted.
    pub(crate) message: Option<&'a [u8]>,
}

impl<'a> Call<'a> {
    /// A call that is judged but can never be forwarded: its permit carries no message.
    #[must_use]
    pub const fn hypothetical(
        server: Option<&'a str>,
        tool: &'a str,
        arguments: Option<&'a [u8]>,
    ) -> Self {
        Self {
            server,
            tool,
            arguments,
            message: None,
        }
    }

    /// The server, if the call names one.
    #[must_use]
    pub const fn server(&self) -> Option<&'a str> {
        self.server
    }

    /// The tool's name.
    #[must_use]
    pub const fn tool(&self) -> &'a str {
        self.tool
    }

    /// Raw JSON of the arguments; `None` where the call has none.
    #[must_use]
    pub const fn arguments(&self) -> Option<&'a [u8]> {
        self.arguments
    }
}

/// The method that is judged.
const METHOD: &str = "tools/call";

/// A strictly read `tools/call` message: the call in it and the bytes it stands in.
#[derive(Clone, Debug)]
pub struct CallMessage<'a> {
    pub(super) server: Option<&'a str>,
    pub(super) tool: Cow<'a, str>,
    pub(super) arguments: Option<Cow<'a, [u8]>>,
    pub(super) message: &'a [u8],
    pub(super) is_task: bool,
}

impl<'a> CallMessage<'a> {
    /// Reads one JSON-RPC message whose method is `tools/call`. `_meta` and `task` are
    /// not looked into. Linear in the message's length.
    ///
    /// # Errors
    /// If the message is not one strictly read object with that method and with a
    /// string `params.name`.
    pub fn parse(
        server: Option<&'a str>,
        message: &'a [u8],
        reader: &mut FrameReader,
    ) -> Result<Self, CallError> {
        let frame = reader
            .read(message)
            .map_err(|unreadable| CallError(unreadable.to_string()))?;
        Self::of(server, &frame)
    }

    /// The call in a message that has been read. What is judged and what is forwarded both
    /// come from that one reading.
    ///
    /// # Errors
    /// If the method is not `tools/call`, or if `params` is missing, cannot be read, or has
    /// no string `name`.
    pub fn of(server: Option<&'a str>, frame: &Frame<'a>) -> Result<Self, CallError> {
        if frame.method().and_then(decode).as_deref() != Some(METHOD) {
            return Err(CallError(format!("`method` is not `{METHOD}`")));
        }
        let params = frame
            .call()
            .ok_or_else(|| CallError("`params` is missing".to_owned()))?
            .map_err(|why| CallError(format!("`params`: {why}")))?;
        let tool = params
            .name
            .and_then(decode)
            .ok_or_else(|| CallError("`params.name` is not a string".to_owned()))?;
        if requests::is_request(&tool) {
            let why = format!("`params.name`: no tool is called {tool:?}");
            return Err(CallError(why));
        }
        Ok(Self {
            server,
            tool,
            arguments: params.arguments.map(Cow::Borrowed),
            message: frame.line(),
            is_task: params.task.is_some(),
        })
    }

    /// The call to judge.
    #[must_use]
    pub fn call(&self) -> Call<'_> {
        Call {
            server: self.server,
            tool: &self.tool,
            arguments: self.arguments.as_deref(),
            message: Some(self.message),
        }
    }

    /// The tool's name, decoded.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Raw JSON of the arguments; `None` where the call has none.
    #[must_use]
    pub fn arguments(&self) -> Option<&[u8]> {
        self.arguments.as_deref()
    }

    /// The whole message.
    #[must_use]
    pub const fn message(&self) -> &'a [u8] {
        self.message
    }

    /// Whether the call asks for its result to be kept as a task.
    #[must_use]
    pub const fn is_task(&self) -> bool {
        self.is_task
    }
}

/// A raw JSON string without its escapes.
fn decode(raw: &[u8]) -> Option<Cow<'_, str>> {
    let text = std::str::from_utf8(raw).ok()?;
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        return serde_json::from_str(text).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(inner))
}

/// Why a message is not a call that can be judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallError(pub(crate) String);

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CallError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(message: &str) -> Result<CallMessage<'_>, CallError> {
        CallMessage::parse(
            Some("s"),
            message.as_bytes(),
            &mut FrameReader::new(1 << 20),
        )
    }

    #[test]
    fn borrows_the_very_bytes() {
        let message = r#"{"method":"tools\/call","params":{"name":"a\u0062","arguments":{ "x" : 1e400 },"_meta":{"name":1},"task":{}}}"#;
        let call = parse(message).unwrap();
        assert_eq!(call.tool(), "ab");
        assert_eq!(call.arguments(), Some(br#"{ "x" : 1e400 }"#.as_slice()));
        assert_eq!(call.call().message, Some(message.as_bytes()));
        assert!(call.is_task());
    }

    #[test]
    fn refuses_what_could_be_read_otherwise() {
        for message in [
            r#"{"method":"tools/call"}"#,
            r#"{"method":"tools/list","params":{"name":"x"}}"#,
            r#"{"method":"tools/call","params":[]}"#,
            r#"{"method":"tools/call","params":{"name":1}}"#,
            r#"{"method":"tools/call","params":{"name":"resources\/read"}}"#,
            r#"{"method":"tools/call","params":{"name":"x","Name":"y"}}"#,
            r#"{"method":"tools/call","params":{"name":"x","Arguments":{}}}"#,
            r#"{"method":"tools/call","params":{"name":"x","arguments":{"a":1,"a":2}}}"#,
            r#"{"method":"tools/call","Method":"ping","params":{"name":"x"}}"#,
        ] {
            assert!(parse(message).is_err(), "{message}");
        }
    }
}
