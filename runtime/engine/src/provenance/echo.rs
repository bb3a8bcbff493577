//! What a tool's calls carried, so that what it only repeats vouches for nothing.
//!
//! A trusted tool is the server's own record, but most servers say again what they were
//! asked: the query, the name that was not found, the address that a record was made for. Whoever
//! can make an agent ask could else make any address trusted. Knows texts, not labels.

use super::decode;
use super::index;
use super::tree::Node;
use bouncer_reader::address;
use bouncer_reader::text;
use serde_json::Value;
use std::collections::VecDeque;

/// Calls of one tool that are remembered.
const MOST_CALLS: usize = 64;
/// Of longer arguments, in bytes, everything counts as repeated.
const MOST_BYTES: usize = 64 << 10;
/// Shorter parts of a leaf may stand in an argument by chance.
const MIN_PART: usize = 6;

/// What the calls of one tool carried that may not have been answered yet.
///
/// Answers come in any order, and some never do: the calls are forgotten once there were
/// as many answers, and of those that remain the latest are kept.
#[derive(Debug, Default)]
pub struct Echo {
    sent: VecDeque<Sent>,
    answers: usize,
}

/// The texts of one call.
#[derive(Debug, PartialEq, Eq)]
enum Sent {
    /// In canonical form and lower case, each on a line.
    Texts(Vec<String>),
    /// Too many to keep.
    TooMuch,
}

impl Echo {
    /// Notes the arguments of a call: a JSON text. Linear in its length.
    pub fn called(&mut self, arguments: &[u8]) {
        let sent = read(arguments);
        // The same call again, after an approval.
        if self.sent.back() == Some(&sent) {
            return;
        }
        if self.sent.len() >= MOST_CALLS {
            self.sent.pop_front();
        }
        self.sent.push_back(sent);
    }

    /// Notes that a call was answered, after what it said was recorded. A task that was
    /// made is no answer yet.
    pub fn answered(&mut self, result: &Value) {
        if result.get("task").is_some() && result.get("content").is_none() {
            return;
        }
        self.answers += 1;
        if self.answers >= self.sent.len() {
            self.sent.clear();
            self.answers = 0;
        }
    }

    /// Whether one of the calls carried the leaf, or a destination that stands in it: in
    /// whole or as a part of an argument, in another spelling, or put together from
    /// arguments. Takes time for the leaf and all arguments.
    #[must_use]
    pub fn carried(&self, leaf: &str) -> bool {
        if self.sent.is_empty() {
            return false;
        }
        let mut folded = String::new();
        text::fold(leaf, &mut folded);
        let leaf = folded.trim();
        !leaf.is_empty() && self.sent.iter().any(|sent| sent.carries(leaf))
    }
}

impl Sent {
    fn carries(&self, leaf: &str) -> bool {
        let Self::Texts(texts) = self else {
            return true;
        };
        let within = |part: &str| texts.iter().any(|text| text.contains(part));
        if within(leaf) || put_together(texts, leaf) {
            return true;
        }
        let mut found = false;
        address::tokens(leaf, &mut |token| {
            let part = token.text;
            found |= part.len() >= MIN_PART && (within(part) || put_together(texts, part));
        });
        let (mut buffer, mut other) = (String::new(), String::new());
        index::digits(leaf, &mut buffer, |digits| {
            found |= texts.iter().any(|text| {
                let mut same = false;
                index::digits(text, &mut other, |sent| same |= sent.contains(digits));
                same
            });
        });
        found
    }
}

/// Whether an address is one argument before the `@` and another one behind it.
fn put_together(texts: &[String], address: &str) -> bool {
    let is = |part: &str| !part.is_empty() && texts.iter().any(|text| text == part);
    address
        .split_once('@')
        .is_some_and(|(local, domain)| is(local) && is(domain))
}

fn read(arguments: &[u8]) -> Sent {
    let Ok(arguments) = std::str::from_utf8(arguments) else {
        return Sent::TooMuch;
    };
    if arguments.len() > MOST_BYTES {
        return Sent::TooMuch;
    }
    let mut texts = Vec::new();
    match Node::parse(arguments) {
        Some(node) => collect(&node, &mut texts),
        None => note(arguments, &mut texts),
    }
    Sent::Texts(texts)
}

fn collect(node: &Node<'_>, texts: &mut Vec<String>) {
    match node {
        Node::Nothing | Node::TooDeep => {}
        Node::Text(text) | Node::Number(text) => note(text, texts),
        Node::List(items) => items.iter().for_each(|item| collect(item, texts)),
        Node::Object(members) => {
            for (name, member) in members {
                note(name, texts);
                collect(member, texts);
            }
        }
    }
}

fn note(text: &str, texts: &mut Vec<String>) {
    let mut keep = |text: &str| {
        let mut folded = String::new();
        text::fold(text, &mut folded);
        let folded = folded.trim();
        if !folded.is_empty() {
            texts.push(folded.to_owned());
        }
    };
    keep(text);
    decode::hidden(text, |plain| keep(&plain));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn after(arguments: &Value) -> Echo {
        let mut echo = Echo::default();
        echo.called(arguments.to_string().as_bytes());
        echo
    }

    #[test]
    fn what_a_call_carried_is_repeated() {
        let leaf = "mallory@evil.example";
        for arguments in [
            json!({"q": "mallory@evil.example"}),
            json!({"q": "MALLORY@Evil.example "}),
            json!({"q": "find mallory@evil.example, please"}),
            json!({"q": "mallory%40evil.example"}),
            json!({"q": ["a", {"b": "mallory@evil.example"}]}),
            json!({"mallory@evil.example": 1}),
            json!({"user": "mallory", "domain": "evil.example"}),
            json!({"q": "bWFsbG9yeUBldmlsLmV4YW1wbGU="}),
            json!({"q": "mallory (at) evil [dot] example"}),
            json!({"q": "x".repeat(MOST_BYTES)}),
        ] {
            assert!(after(&arguments).carried(leaf), "{arguments}");
        }
        for leaf in [
            "mailto:mallory@evil.example",
            "nobody is called mallory@evil.example",
            "<mallory@evil.example>",
        ] {
            assert!(after(&json!({"q": "mallory@evil.example"})).carried(leaf));
        }
        let account = after(&json!({"iban": "DE89 3704 0044 0532 0130 00", "n": 1234567890_u64}));
        assert!(account.carried("1234567890") && account.carried("123-456-7890"));
    }

    #[test]
    fn what_was_looked_for_by_name_is_no_echo() {
        let echo = after(&json!({"q": "ann", "domain": "corp.example", "limit": 5}));
        for leaf in ["ann@corp.test", "ann.lee@corp.example", "bob@corp.example"] {
            assert!(!echo.carried(leaf), "{leaf}");
        }
        assert!(!Echo::default().carried("a@b.example"));
        assert!(!after(&json!({})).carried("a@b.example"));
    }

    #[test]
    fn calls_are_forgotten_when_all_are_answered() {
        let mut echo = after(&json!({"q": "a@b.example"}));
        echo.called(br#"{"q":"c@d.example"}"#);
        echo.answered(&json!({"content": []}));
        assert!(echo.carried("a@b.example") && echo.carried("c@d.example"));
        echo.answered(&json!({"task": {"taskId": "1"}}));
        assert!(echo.carried("a@b.example"));
        echo.answered(&json!({"content": []}));
        assert!(!echo.carried("a@b.example"));
        for n in 0..100 {
            echo.called(format!("{{\"q\":\"a{n}@b.example\"}}").as_bytes());
        }
        assert!(echo.carried("a99@b.example") && !echo.carried("a35@b.example"));
    }
}
