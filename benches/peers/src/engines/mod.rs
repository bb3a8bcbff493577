//! The engines, each behind the same three ways in.

pub mod bouncer;
pub mod cedar;
pub mod cel;
pub mod loops;
pub mod regorus;

use crate::cases::{Call, Rule};
use crate::timing::{Work, now};
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;

/// An engine with its rules loaded.
pub struct Engine {
    pub name: &'static str,
    /// CPU time from the rules' text to an engine that can decide, in nanoseconds.
    pub load: f64,
    /// From the engine's own form of a call, made beforehand; none if it has no such form.
    pub prepared: Option<Box<dyn Work>>,
    /// From the tool's name and the bytes of the arguments.
    pub arguments: Box<dyn Work>,
    /// From the bytes of the whole message.
    pub message: Box<dyn Work>,
}

/// The calls, shared by all.
pub type Calls = Rc<Vec<Call>>;

/// What a gate reads of a message with serde.
#[derive(Deserialize)]
pub struct Message<'a> {
    #[serde(borrow)]
    pub method: Cow<'a, str>,
    #[serde(borrow)]
    pub params: Params<'a>,
}

/// See [`Message`].
#[derive(Deserialize)]
pub struct Params<'a> {
    #[serde(borrow)]
    pub name: Cow<'a, str>,
    pub arguments: Value,
}

/// Reads a message with serde.
pub fn read(message: &str) -> Params<'_> {
    let message: Message<'_> = serde_json::from_str(message).unwrap();
    assert_eq!(message.method, "tools/call");
    message.params
}

/// Reads arguments with serde.
pub fn value(arguments: &str) -> Value {
    serde_json::from_str(arguments).unwrap()
}

/// A text as JSON, which all the engines' languages read.
pub fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// The result of `make` and the CPU time it took.
pub fn timed<T>(make: impl FnOnce() -> T) -> (T, f64) {
    let start = now();
    let made = make();
    (made, now() - start)
}

/// The rules that apply to each tool or, for tools without rules of their own, server:
/// what a host does that slices the policy by tool. Of `n` rules `f` sees only those.
pub struct Sliced<T> {
    tools: HashMap<String, T>,
    servers: HashMap<String, T>,
}

impl<T> Sliced<T> {
    /// Makes the slices.
    pub fn new(rules: &[Rule], make: impl Fn(&[&Rule]) -> T) -> Self {
        let mut of_server: HashMap<&str, Vec<&Rule>> = HashMap::new();
        let mut of_tool: HashMap<&str, Vec<&Rule>> = HashMap::new();
        for rule in rules {
            match &rule.tool {
                Some(tool) => of_tool.entry(tool).or_default().push(rule),
                None => of_server.entry(&rule.server).or_default().push(rule),
            }
        }
        let tools = of_tool.iter().map(|(tool, own)| {
            let server = tool.split("__").next().unwrap_or_default();
            let shared = of_server.get(server).map_or(&[][..], Vec::as_slice);
            let all: Vec<&Rule> = own.iter().chain(shared).copied().collect();
            ((*tool).to_owned(), make(&all))
        });
        Self {
            tools: tools.collect(),
            servers: of_server
                .iter()
                .map(|(server, rules)| ((*server).to_owned(), make(rules)))
                .collect(),
        }
    }

    /// The slice for a tool.
    pub fn get(&self, tool: &str) -> Option<&T> {
        self.tools.get(tool).or_else(|| {
            let (server, _) = tool.split_once("__")?;
            self.servers.get(server)
        })
    }
}
