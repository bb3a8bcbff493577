//! Leaves tools that are always denied out of the server's answers to `tools/list`.
//!
//! Only for the eye: a call of such a tool is judged, and denied, like any other.

use crate::upstream::tools::MAX_TOOLS;
use bouncer_mcp::frame::{FrameReader, text};
use bouncer_mcp::splice::splice;
use serde_json::value::RawValue;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

/// What the client was shown.
#[derive(Debug, Default)]
pub(crate) struct Hiding {
    /// Whether answers are looked at; behind a gateway that is the gateway's work.
    pub on: Cell<bool>,
    /// The tools that were listed to the client, and whether they were hidden.
    listed: RefCell<HashMap<String, bool>>,
}

impl Hiding {
    /// The answer without the tools that are hidden; `None`: it goes on as it is.
    pub(crate) fn without_hidden(
        &self,
        frames: &mut FrameReader,
        line: &[u8],
        result: &[u8],
        hides: impl Fn(&str) -> bool,
    ) -> Option<Vec<u8>> {
        if !self.on.get() {
            return None;
        }
        let [tools] = frames.members(result, ["tools"]).ok()?;
        let tools = tools?;
        let items: Vec<&RawValue> = serde_json::from_slice(tools).ok()?;
        let mut listed = self.listed.borrow_mut();
        let mut kept: Vec<&[u8]> = Vec::with_capacity(items.len());
        for item in &items {
            let item = item.get().as_bytes();
            let name = frames.members(item, ["name"]).ok();
            let name = name.and_then(|[name]| text(name?));
            let hidden = name.as_ref().is_some_and(|name| hides(name));
            if let Some(name) = name.filter(|_| listed.len() < MAX_TOOLS) {
                listed.insert(name, hidden);
            }
            if !hidden {
                kept.push(item);
            }
        }
        if kept.len() == items.len() {
            return None;
        }
        let mut new = b"[".to_vec();
        new.extend_from_slice(&kept.join(&b','));
        new.push(b']');
        splice(line, vec![(tools, new)])
    }

    /// Whether the client would see other tools than it was shown, now that the policy changed.
    pub(crate) fn differs(&self, hides: impl Fn(&str) -> bool) -> bool {
        let listed = self.listed.borrow();
        listed.iter().any(|(name, hidden)| hides(name) != *hidden)
    }
}
