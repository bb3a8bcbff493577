//! Requests that are judged as calls are, though they call no tool: what they ask for, as
//! arguments under the method's name.
//!
//! The arguments are the parameters as they were sent, without `_meta` and without what only
//! says where a request stands, with what it is about at the top: `uri` of a resource, in
//! every way that a server may read it, and `name` of a prompt, as rules know it.

use super::call::{CallError, CallMessage};
use bouncer_mcp::frame::{FrameReader, text};
use bouncer_mcp::splice::{splice, whole_member};
use bouncer_plan::requests;
use bouncer_reader::uri;
use std::borrow::Cow;

/// Resources whose changes are asked for in one request of the version without introduction.
pub const LISTEN: &str = "subscriptions/listen";

/// The request that is judged, if it is one: its method, or what is asked by another.
#[must_use]
pub fn judged_as(method: &str) -> Option<&'static str> {
    if method == LISTEN {
        return Some(requests::SUBSCRIBE);
    }
    requests::ALL.into_iter().find(|judged| *judged == method)
}

impl<'a> CallMessage<'a> {
    /// A request that is judged, with the bytes that go on if it is permitted. `None`: it asks
    /// for nothing that is judged.
    ///
    /// # Errors
    /// If its parameters cannot be read in one way, or do not say what it is about.
    pub fn of_request(
        server: Option<&'a str>,
        method: &str,
        params: Option<&'a [u8]>,
        message: &'a [u8],
        reader: &mut FrameReader,
    ) -> Result<Option<Self>, CallError> {
        let Some(judged) = judged_as(method) else {
            return Ok(None);
        };
        let params = params.unwrap_or(b"{}");
        let Some(arguments) = arguments(server, method, params, reader)? else {
            return Ok(None);
        };
        Ok(Some(Self {
            server,
            tool: Cow::Borrowed(judged),
            arguments: Some(arguments),
            message,
            is_task: false,
        }))
    }

    /// Whether it calls no tool, but asks for something else that is judged.
    #[must_use]
    pub fn is_request(&self) -> bool {
        requests::is_request(self.tool())
    }
}

/// What a request asks for, as its parameters say it: the arguments that are judged. For
/// requests that nobody sends, such as those of tests.
///
/// # Errors
/// See [`CallMessage::of_request`].
pub fn request_arguments(
    server: Option<&str>,
    method: &str,
    params: &[u8],
) -> Result<Vec<u8>, CallError> {
    let mut reader = FrameReader::new(params.len().max(1));
    let arguments = arguments(server, method, params, &mut reader)?;
    Ok(arguments.map_or_else(|| b"{}".to_vec(), Cow::into_owned))
}

fn arguments<'a>(
    server: Option<&str>,
    method: &str,
    params: &'a [u8],
    reader: &mut FrameReader,
) -> Result<Option<Cow<'a, [u8]>>, CallError> {
    let wrong = |what: &str| CallError(format!("`params`: {what}"));
    let aside = ["_meta", "inputResponses", "requestState"];
    let told = reader.members(params, aside);
    let told = told.map_err(|why| wrong(&why.to_string()))?;
    let mut edits = Vec::new();
    for value in told.into_iter().flatten() {
        // Each goes with one comma: of neighbours, both may want the same.
        let member = whole_member(params, value).ok_or_else(|| wrong("cannot be read"))?;
        edits.push((member, Vec::new()));
    }
    let without = match edits.len() {
        0 => Cow::Borrowed(params),
        1 => Cow::Owned(splice(params, edits).ok_or_else(|| wrong("cannot be read"))?),
        _ => Cow::Owned(without_members(params, &aside).ok_or_else(|| wrong("cannot be read"))?),
    };
    let about = about(server, method, params, reader)?;
    let (value, about) = match about {
        About::Nothing => return Ok(None),
        About::Itself => return Ok(Some(without)),
        About::Is { place, value } => (place, value),
    };
    // What stands there already, and says the same, stays as it was sent.
    if let Some(place) = value {
        if place == about.value.as_bytes() {
            return Ok(Some(without));
        }
        return replaced(&without, about.key, &about.value, reader)
            .map(|arguments| Some(Cow::Owned(arguments)))
            .ok_or_else(|| wrong("cannot be read"));
    }
    let inner = without.trim_ascii().strip_prefix(b"{");
    let inner = inner.ok_or_else(|| wrong("is no object"))?;
    let comma = if inner.trim_ascii_start().starts_with(b"}") {
        ""
    } else {
        ","
    };
    let mut out = format!("{{\"{}\":{}{comma}", about.key, about.value).into_bytes();
    out.extend_from_slice(inner);
    Ok(Some(Cow::Owned(out)))
}

/// An object without these members, written anew.
fn without_members(params: &[u8], names: &[&str]) -> Option<Vec<u8>> {
    let mut all: std::collections::BTreeMap<String, &serde_json::value::RawValue> =
        serde_json::from_slice(params).ok()?;
    all.retain(|name, _| !names.contains(&name.as_str()));
    serde_json::to_vec(&all).ok()
}

/// An object with another value in the place of one of its members.
fn replaced(
    object: &[u8],
    key: &'static str,
    value: &str,
    reader: &mut FrameReader,
) -> Option<Vec<u8>> {
    let [old] = reader.members(object, [key]).ok()?;
    splice(object, vec![(old?, value.as_bytes().to_vec())])
}

/// What a request is about.
enum About<'a> {
    /// Nothing that is judged.
    Nothing,
    /// What its parameters say.
    Itself,
    /// One thing, which stands there already if `place` is some.
    Is {
        place: Option<&'a [u8]>,
        value: Named,
    },
}

/// A member that says what a request is about.
struct Named {
    key: &'static str,
    /// As JSON.
    value: String,
}

fn about<'a>(
    server: Option<&str>,
    method: &str,
    params: &'a [u8],
    reader: &mut FrameReader,
) -> Result<About<'a>, CallError> {
    let wrong = |what: &str| CallError(format!("`params`: {what}"));
    let mut part = |of: &'a [u8], key: &'static str| {
        let found = reader.members(of, [key]);
        found.map_err(|why| wrong(&why.to_string())).map(|[v]| v)
    };
    let string = |raw: Option<&[u8]>, key: &str| {
        let text = raw.and_then(text);
        text.ok_or_else(|| wrong(&format!("`{key}` is not a string")))
    };
    let prompt = |name: &str| {
        let full = server.map(|server| format!("{server}__{name}"));
        Named {
            key: "name",
            value: serde_json::Value::from(full.as_deref().unwrap_or(name)).to_string(),
        }
    };
    let (place, value) = match method {
        requests::READ | requests::SUBSCRIBE => {
            let place = part(params, "uri")?;
            (place, resource(&[string(place, "uri")?]))
        }
        requests::PROMPT => {
            let place = part(params, "name")?;
            (place, prompt(&string(place, "name")?))
        }
        requests::COMPLETE => {
            let of = part(params, "ref")?.ok_or_else(|| wrong("`ref` is missing"))?;
            let kind = string(part(of, "type")?, "type")?;
            let named = match kind.as_str() {
                "ref/prompt" => prompt(&string(part(of, "name")?, "name")?),
                "ref/resource" => resource(&[string(part(of, "uri")?, "uri")?]),
                _ => return Err(wrong("`ref` is neither a prompt nor a resource")),
            };
            (None, named)
        }
        LISTEN => {
            let wanted = match part(params, "notifications")? {
                Some(filter) => part(filter, "resourceSubscriptions")?,
                None => None,
            };
            let Some(wanted) = wanted else {
                return Ok(About::Nothing);
            };
            let uris: Vec<String> = serde_json::from_slice(wanted)
                .map_err(|_| wrong("`resourceSubscriptions` is no list of strings"))?;
            if uris.is_empty() {
                return Ok(About::Nothing);
            }
            (None, resource(&uris))
        }
        _ => return Ok(About::Itself),
    };
    Ok(About::Is { place, value })
}

/// The URIs, and what else they may be read as.
fn resource(uris: &[String]) -> Named {
    let readings: Vec<String> = uris.iter().flat_map(|uri| uri::readings(uri)).collect();
    let value = match readings.as_slice() {
        [one] => serde_json::Value::from(one.as_str()),
        all => serde_json::Value::from(all),
    };
    Named {
        key: "uri",
        value: value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(method: &str, params: &str) -> String {
        let arguments = request_arguments(Some("s"), method, params.as_bytes()).unwrap();
        String::from_utf8(arguments).unwrap()
    }

    #[test]
    fn what_is_asked_for_stands_at_the_top() {
        let cases = [
            (requests::READ, r#"{"uri":"a://b"}"#, r#"{"uri":"a://b"}"#),
            (
                requests::READ,
                r#"{"_meta":{"uri":"x"},"uri":"a:\/\/b"}"#,
                r#"{"uri":"a://b"}"#,
            ),
            (
                requests::READ,
                r#"{"uri":"a://b/c/../d","_meta":{},"requestState":"x","inputResponses":{}}"#,
                r#"{"uri":["a://b/c/../d","a://b/d"]}"#,
            ),
            (
                requests::PROMPT,
                r#"{"name":"p","arguments":{"x":"1"}}"#,
                r#"{"name":"s__p","arguments":{"x":"1"}}"#,
            ),
            (
                requests::COMPLETE,
                r#"{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"x","value":"v"}}"#,
                r#"{"name":"s__p","ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"x","value":"v"}}"#,
            ),
            (
                LISTEN,
                r#"{"notifications":{"resourceSubscriptions":["a://1","a://2"]}}"#,
                r#"{"uri":["a://1","a://2"],"notifications":{"resourceSubscriptions":["a://1","a://2"]}}"#,
            ),
            (
                requests::SAMPLE,
                r#"{"messages":[],"_meta":{}}"#,
                r#"{"messages":[]}"#,
            ),
            (requests::ELICIT, "{}", "{}"),
        ];
        for (method, params, expected) in cases {
            assert_eq!(judged(method, params), expected, "{method} {params}");
        }
    }

    #[test]
    fn what_readers_take_differently_is_refused() {
        for (method, params) in [
            (requests::READ, "{}"),
            (requests::READ, "[]"),
            (requests::READ, r#"{"uri":["a://b"]}"#),
            (requests::READ, r#"{"uri":"a://b","uri":"a://c"}"#),
            (requests::PROMPT, r#"{"name":1}"#),
            (
                requests::COMPLETE,
                r#"{"ref":{"type":"ref/tool","uri":"a://b"}}"#,
            ),
            (
                LISTEN,
                r#"{"notifications":{"resourceSubscriptions":"a://b"}}"#,
            ),
        ] {
            let read = request_arguments(None, method, params.as_bytes());
            assert!(read.is_err(), "{method} {params}: {read:?}");
        }
        let mut reader = FrameReader::new(1000);
        let listens = CallMessage::of_request(None, LISTEN, Some(b"{}"), b"{}", &mut reader);
        assert!(matches!(listens, Ok(None)));
    }
}
