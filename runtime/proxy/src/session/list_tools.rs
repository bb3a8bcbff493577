//! Lists a server's tools, all pages, to pin them and to notice changes.
//!
//! The proxy asks by itself, before the first call is judged: what a client asks for
//! may be one page, late, or never.

use crate::conversation::judge::Judge;
use crate::session::mediator::Mediator;
use crate::session::open_requests::OwnAnswer;
use crate::upstream::proxy_message::ProxyMessage;
use crate::upstream::tools::{
    MAX_CURSOR, MAX_PAGES, MAX_TOOLS, read_tools, without_contradictions,
};
use bouncer_engine::tools::ToolDefinition;
use bouncer_system::log::{note, quoted};
use serde_json::Value;
use std::collections::HashSet;
use std::rc::Rc;
use std::time::Duration;

/// All definitions of one listing, in bytes of JSON.
const MAX_BYTES: usize = 64 * 1024 * 1024;
/// The longest wait for one page.
const PAGE_TIMEOUT: Duration = Duration::from_secs(60);

/// All tools of a listing that went through, and whether it did.
#[derive(Debug, Default)]
struct Found {
    tools: Vec<ToolDefinition>,
    answered: bool,
}

impl<J: Judge + 'static> Mediator<J> {
    /// Starts a listing; if one is under way it is repeated afterwards when `changed`.
    pub(crate) fn list_tools(self: &Rc<Self>, changed: bool) {
        if self.listing.running.replace(true) {
            if changed {
                self.listing.again.set(true);
            }
            return;
        }
        let mediator = Rc::clone(self);
        tokio::task::spawn_local(async move {
            loop {
                let found = mediator.all_pages().await;
                mediator.take_listing(found);
                if !mediator.listing.again.take() {
                    break;
                }
            }
            mediator.listing.running.set(false);
            mediator.listing.ended.send_modify(|count| *count += 1);
        });
    }

    fn take_listing(&self, found: Found) {
        if !found.answered {
            // Not one page: the next call tries again.
            return;
        }
        let mut judge = self.judge.borrow_mut();
        let names: Vec<String> = found.tools.iter().map(|tool| tool.name.clone()).collect();
        if self.listing.pinned.replace(true) {
            judge.observe(&found.tools);
        } else {
            judge.pin(&without_contradictions(found.tools));
            judge.observe(&self.listing.shown.take());
        }
        judge.tell_unmatched();
        drop(judge);
        self.tell_changes(&names);
    }

    /// Tells people of tools that are not as they were accepted: an agent is only told when it
    /// calls one.
    fn tell_changes(&self, names: &[String]) {
        let mut all = names.iter().map(String::as_str);
        let surveyed = self.judge.borrow().survey(&mut all);
        let mut told = self.listing.told.borrow_mut();
        let changed = surveyed.into_iter().filter(|tool| tool.pin == "changed");
        let changed: Vec<String> = changed
            .filter(|tool| told.len() < MAX_TOOLS && told.insert(tool.name.clone()))
            .map(|tool| quoted(&tool.name, 200))
            .collect();
        if changed.is_empty() {
            return;
        }
        note(format_args!(
            "server {} has changed {}: calls are denied; `bouncer pin --diff`, with its command, shows what changed, and `bouncer pin --accept` accepts it",
            quoted(self.server_name(), 200),
            changed.join(", ")
        ));
    }

    /// Notes the tools that a `tools/list` answer shows to the client.
    pub(crate) fn note_shown_tools(&self, result: &Value) {
        let tools = read_tools(result);
        if self.listing.pinned.get() {
            self.judge.borrow_mut().observe(&tools);
            let names: Vec<String> = tools.into_iter().map(|tool| tool.name).collect();
            self.tell_changes(&names);
            return;
        }
        let mut shown = self.listing.shown.borrow_mut();
        let room = MAX_TOOLS.saturating_sub(shown.len());
        shown.extend(tools.into_iter().take(room));
    }

    async fn all_pages(&self) -> Found {
        let mut found = Found::default();
        let mut cursor: Option<String> = None;
        let mut cursors = HashSet::new();
        let mut bytes = 0_usize;
        for _ in 0..MAX_PAGES {
            let Some(result) = self.page(cursor.as_deref()).await else {
                return found;
            };
            found.answered = true;
            for tool in read_tools(&result) {
                bytes += tool.json.to_string().len();
                if found.tools.len() >= MAX_TOOLS || bytes > MAX_BYTES {
                    note(format_args!(
                        "the server lists too many tools; the rest stays unknown"
                    ));
                    return found;
                }
                found.tools.push(tool);
            }
            let Some(next) = result.get("nextCursor").and_then(Value::as_str) else {
                return found;
            };
            if next.len() > MAX_CURSOR || !cursors.insert(next.to_owned()) {
                note(format_args!(
                    "the server's list of tools goes in circles; it ends here"
                ));
                return found;
            }
            cursor = Some(next.to_owned());
        }
        note(format_args!(
            "the server's list of tools has more than {MAX_PAGES} pages"
        ));
        found
    }

    async fn page(&self, cursor: Option<&str>) -> OwnAnswer {
        self.upstream.room().await;
        if self.upstream.is_closed() {
            return None;
        }
        let id = self.next_list_id();
        let (answer, meta) = {
            let mut requests = self.requests.borrow_mut();
            (
                requests.expect_upstream(&id),
                requests.client.request_meta.clone(),
            )
        };
        self.upstream
            .say(&ProxyMessage::list_tools(&id, cursor, meta.as_ref()));
        let answer = tokio::time::timeout(PAGE_TIMEOUT, answer).await;
        self.requests.borrow_mut().forget_upstream_id(&id);
        answer.ok()?.ok()?
    }
}
