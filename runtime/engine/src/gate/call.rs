//! A call as it is judged.

use bouncer_reader::json::{Limits, Nested, Scratch, members_within};
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

/// A strictly read `tools/call` message: the call in it and the bytes it stands in.
#[derive(Clone, Debug)]
pub struct CallMessage<'a> {
    server: Option<&'a str>,
    tool: Cow<'a, str>,
    arguments: Option<&'a [u8]>,
    message: &'a [u8],
    is_task: bool,
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
        limits: &Limits,
        scratch: &mut Scratch,
    ) -> Result<Self, CallError> {
        let Nested { outer, inner } = members_within(
            message,
            ["method", "params"],
            1,
            Self::PARAMS,
            limits,
            scratch,
        )
        .map_err(|malformed| CallError(malformed.to_string()))?;
        let [method, _] = outer;
        if method.and_then(decode).as_deref() != Some("tools/call") {
            return Err(CallError("`method` is not `tools/call`".to_owned()));
        }
        Self::from_params(
            server,
            message,
            inner.map(|read| read.map_err(|e| e.to_string())),
        )
    }

    /// The members of `params` that [`CallMessage::from_params`] takes.
    pub const PARAMS: [&'static str; 3] = ["name", "arguments", "task"];

    /// A call of a `message` that is known to be a strictly read `tools/call`, from the members
    /// [`Self::PARAMS`] of its `params`, or why these could not be read; `None` if it has no
    /// `params`. The caller vouches for both. Where the bytes are at hand only as a whole,
    /// [`CallMessage::parse`] checks all of it.
    ///
    /// # Errors
    /// If `params` is missing, cannot be read, or has no string `name`.
    pub fn from_params(
        server: Option<&'a str>,
        message: &'a [u8],
        params: Option<Result<[Option<&'a [u8]>; 3], String>>,
    ) -> Result<Self, CallError> {
        let params = params.ok_or_else(|| CallError("`params` is missing".to_owned()))?;
        let [name, arguments, task] =
            params.map_err(|why| CallError(format!("`params`: {why}")))?;
        let tool = name
            .and_then(decode)
            .ok_or_else(|| CallError("`params.name` is not a string".to_owned()))?;
        Ok(Self {
            server,
            tool,
            arguments,
            message,
            is_task: task.is_some(),
        })
    }

    /// The call to judge.
    #[must_use]
    pub fn call(&self) -> Call<'_> {
        Call {
            server: self.server,
            tool: &self.tool,
            arguments: self.arguments,
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
    pub const fn arguments(&self) -> Option<&'a [u8]> {
        self.arguments
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
        let limits = Limits::default();
        CallMessage::parse(
            Some("s"),
            message.as_bytes(),
            &limits,
            &mut Scratch::new(&limits),
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
            r#"{"method":"tools/call","params":{"name":"x","Name":"y"}}"#,
            r#"{"method":"tools/call","params":{"name":"x","Arguments":{}}}"#,
            r#"{"method":"tools/call","params":{"name":"x","arguments":{"a":1,"a":2}}}"#,
            r#"{"method":"tools/call","Method":"ping","params":{"name":"x"}}"#,
        ] {
            assert!(parse(message).is_err(), "{message}");
        }
    }
}
