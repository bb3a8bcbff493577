//! Destinations that a human has vouched for in this conversation.

use std::collections::HashSet;
use std::fmt::Write as _;

/// Approved destinations, each for one tool and parameter.
#[derive(Debug, Default)]
pub(super) struct Approvals {
    keys: HashSet<Box<str>>,
    /// Those that were for one call. A server that says where it sent something does not taint
    /// that: the human is asked again.
    once: HashSet<Box<str>>,
}

impl Approvals {
    /// Remembers an approval; `false` if there was one.
    pub fn add(
        &mut self,
        server: Option<&str>,
        tool: &str,
        param: &str,
        destination: &str,
    ) -> bool {
        let mut key = String::new();
        write_key(server, tool, param, destination, &mut key);
        self.keys.insert(key.into_boxed_str())
    }

    /// Ends an approval that was for one call.
    pub fn remove(&mut self, server: Option<&str>, tool: &str, param: &str, destination: &str) {
        let mut key = String::new();
        write_key(server, tool, param, destination, &mut key);
        if let Some(key) = self.keys.take(key.as_str()) {
            self.once.insert(key);
        }
    }

    /// Whether a human approved exactly this for one call.
    pub fn held_once(
        &self,
        server: Option<&str>,
        tool: &str,
        param: &str,
        destination: &str,
        buffer: &mut String,
    ) -> bool {
        if self.once.is_empty() {
            return false;
        }
        write_key(server, tool, param, destination, buffer);
        self.once.contains(buffer.as_str())
    }

    /// Whether a human approved exactly this.
    pub fn holds(
        &self,
        server: Option<&str>,
        tool: &str,
        param: &str,
        destination: &str,
        buffer: &mut String,
    ) -> bool {
        if self.keys.is_empty() {
            return false;
        }
        write_key(server, tool, param, destination, buffer);
        self.keys.contains(buffer.as_str())
    }
}

/// Lengths in front keep one part from running into the next.
fn write_key(server: Option<&str>, tool: &str, param: &str, destination: &str, out: &mut String) {
    out.clear();
    let parts = [server.unwrap_or_default(), tool, param];
    for part in parts {
        // Writing to a string cannot fail.
        let _ = write!(out, "{}:", part.len());
    }
    out.push(if server.is_some() { 's' } else { '-' });
    for part in parts {
        out.push_str(part);
    }
    out.push_str(destination);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_approval_holds_for_exactly_what_was_approved() {
        let mut approvals = Approvals::default();
        approvals.add(Some("mail"), "send", "to", "a@b.example");
        let mut buffer = String::new();
        let mut holds = |server, tool, param, destination| {
            approvals.holds(server, tool, param, destination, &mut buffer)
        };
        assert!(holds(Some("mail"), "send", "to", "a@b.example"));
        for (server, tool, param, destination) in [
            (None, "send", "to", "a@b.example"),
            (Some("mai"), "lsend", "to", "a@b.example"),
            (Some("mail"), "send", "cc", "a@b.example"),
            (Some("mail"), "send", "t", "oa@b.example"),
            (Some("mail"), "send", "to", "A@b.example"),
        ] {
            assert!(
                !holds(server, tool, param, destination),
                "{server:?} {tool} {param} {destination}"
            );
        }
    }
}
