//! Lists that are put together from all servers.

use crate::conversation::envelope::Id;
use crate::conversation::judge::Judge;
use crate::gateway::catalogue::{Listed, expose, exposed, shown, without_doubles};
use crate::gateway::named;
use crate::gateway::router::{Backend, BackendState, Router};
use crate::upstream::tools::{MAX_CURSOR, MAX_PAGES, MAX_TOOLS};
use bouncer_mcp::frame::FrameReader;
use bouncer_mcp::jsonrpc::INTERNAL_ERROR;
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// All items of one listing, in bytes.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// What can be listed, beside tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum List {
    Resources,
    Templates,
    Prompts,
}

impl List {
    /// The list that a method asks for.
    pub(crate) fn of_method(method: &str) -> Option<Self> {
        [Self::Resources, Self::Templates, Self::Prompts]
            .into_iter()
            .find(|list| list.method() == method)
    }

    const fn method(self) -> &'static str {
        match self {
            Self::Resources => "resources/list",
            Self::Templates => "resources/templates/list",
            Self::Prompts => "prompts/list",
        }
    }

    const fn member(self) -> &'static str {
        match self {
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }

    const fn capability(self) -> &'static str {
        match self {
            Self::Prompts => "prompts",
            _ => "resources",
        }
    }
}

impl<J: Judge + 'static> Router<J> {
    /// Answers `tools/list`, once servers that are still starting had a moment.
    pub(crate) fn list_tools(self: &Rc<Self>, id: &Id<'_>) {
        self.routes.borrow_mut().start_answering(&id.key);
        let (router, raw, key) = (Rc::clone(self), id.raw.to_vec(), id.key.clone());
        tokio::task::spawn_local(async move {
            router.wait_for_start().await;
            let result = list("tools", router.catalogue.borrow().definitions());
            router.shown.set(true);
            router.end_answering((&raw, &key), Ok(&result));
        });
    }

    /// Waits for servers that are still starting, for a moment after the client came.
    pub(crate) async fn wait_for_start(&self) {
        let until = self.lists_until.get().unwrap_or_else(Instant::now);
        let starts = |backend: &Rc<Backend>| {
            matches!(
                backend.state.get(),
                BackendState::Starting | BackendState::Greeted
            )
        };
        self.wait(until, || !self.backends.iter().any(starts)).await;
    }

    /// Answers one of the other lists.
    pub(crate) fn list(self: &Rc<Self>, id: &Id<'_>, what: List) {
        self.routes.borrow_mut().start_answering(&id.key);
        let (router, raw, key) = (Rc::clone(self), id.raw.to_vec(), id.key.clone());
        tokio::task::spawn_local(async move {
            router.wait_for_start().await;
            let items = router.gather(what).await;
            router.shown_others.borrow_mut().insert(what.capability());
            let bytes: usize = items.iter().map(Vec::len).sum();
            if bytes > MAX_BYTES {
                let why = format!("the servers list too many {}", what.member());
                router.end_answering((&raw, &key), Err((INTERNAL_ERROR, why)));
            } else {
                let result = list(what.member(), &items);
                router.end_answering((&raw, &key), Ok(&result));
            }
        });
    }

    /// Asks all servers for a list, side by side, and notes whose what is. Who does not
    /// answer in time is left out.
    pub(crate) async fn gather(self: &Rc<Self>, what: List) -> Vec<Vec<u8>> {
        let asked: Vec<_> = self
            .backends
            .iter()
            .filter(|backend| backend.is_up() && backend.offers(what.capability()))
            .map(|backend| {
                let (router, backend) = (Rc::clone(self), Rc::clone(backend));
                tokio::task::spawn_local(async move {
                    let limit = router.timeouts.answers;
                    let pages = router.all_pages(&backend, what.method(), what.member(), limit);
                    match timeout(limit, pages).await {
                        Ok(Some(items)) => router.take(&backend, what, items),
                        _ => {
                            let method = what.method();
                            router.tell(&backend, format_args!("did not answer {method}"));
                            Vec::new()
                        }
                    }
                })
            })
            .collect();
        let mut all = Vec::new();
        for items in asked {
            all.extend(items.await.unwrap_or_default());
        }
        all
    }

    /// Notes whose the items of a list are; gives them as the client sees them.
    fn take(&self, backend: &Backend, what: List, items: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        let mut frames = FrameReader::new(self.settings.max_message);
        let server = backend.index;
        let mut directory = self.directory.borrow_mut();
        if what == List::Prompts {
            let items: Vec<Listed> = items
                .iter()
                .filter_map(|item| expose(&mut frames, item, |name| exposed(&backend.name, name)))
                .collect();
            let items = without_doubles(items);
            let names = items.iter().map(|item| item.name.clone());
            directory.set_prompts(
                server,
                names.map(|name| (exposed(&backend.name, &name), name)),
            );
            return items.into_iter().map(|item| item.definition).collect();
        }
        let key = if what == List::Resources {
            "uri"
        } else {
            "uriTemplate"
        };
        let uris = items.iter().filter_map(|item| {
            let [uri] = frames.members(item, [key]).ok()?;
            bouncer_mcp::frame::text(uri?)
        });
        if what == List::Resources {
            directory.set_resources(server, uris);
        } else {
            directory.set_templates(server, uris);
        }
        items
    }

    /// Lists the tools of a server anew; if that is under way it is repeated.
    pub(crate) async fn refresh_tools(&self, backend: &Rc<Backend>) {
        if backend.refreshing.replace(true) {
            backend.again.set(true);
            return;
        }
        loop {
            backend.again.set(false);
            let limit = self.timeouts.start;
            match self.all_pages(backend, "tools/list", "tools", limit).await {
                Some(items) => {
                    let mut frames = FrameReader::new(self.settings.max_message);
                    let count = items.len();
                    let tools: Vec<Listed> = items
                        .iter()
                        .filter_map(|item| {
                            let longest = self.settings.longest_name;
                            expose(&mut frames, item, |name| {
                                shown(&backend.name, name, longest)
                            })
                        })
                        .collect();
                    let tools = without_doubles(tools);
                    if tools.len() < count {
                        let missing = count - tools.len();
                        self.tell(
                            backend,
                            format_args!("lists tools twice or unreadably: {missing} left out"),
                        );
                    }
                    let named = items.iter().flat_map(|item| named::in_tool(item));
                    self.directory.borrow_mut().name(backend.index, named);
                    *backend.tools.borrow_mut() = tools;
                }
                None => self.tell(backend, format_args!("did not list its tools")),
            }
            if !backend.again.get() {
                break;
            }
        }
        backend.refreshing.set(false);
        if backend.is_up() {
            self.recatalogue();
        }
    }

    /// All pages of a list, item by item as they were spelled. `None`: not one page.
    async fn all_pages(
        &self,
        backend: &Backend,
        method: &str,
        items_of: &str,
        limit: Duration,
    ) -> Option<Vec<Vec<u8>>> {
        let mut all = Vec::new();
        let mut cursor: Option<String> = None;
        let mut cursors = HashSet::new();
        let mut bytes = 0_usize;
        for page in 0..MAX_PAGES {
            let params = cursor.as_ref().map(|cursor| json!({"cursor": cursor}));
            let reply = self.ask(backend, method, params, limit).await;
            let Some(Ok(result)) = reply else {
                return (page > 0).then_some(all);
            };
            let page: HashMap<String, &RawValue> = serde_json::from_slice(&result).ok()?;
            let items = page.get(items_of)?;
            let items: Vec<&RawValue> = serde_json::from_str(items.get()).ok()?;
            cursor = page
                .get("nextCursor")
                .and_then(|next| serde_json::from_str(next.get()).ok()?);
            for item in items {
                let item = item.get().as_bytes();
                bytes += item.len();
                if all.len() >= MAX_TOOLS || bytes > MAX_BYTES {
                    self.tell(
                        backend,
                        format_args!("lists too much in {method}; the rest is left out"),
                    );
                    return Some(all);
                }
                all.push(item.to_vec());
            }
            match &cursor {
                Some(next) if next.len() <= MAX_CURSOR && cursors.insert(next.clone()) => {}
                Some(_) => {
                    self.tell(
                        backend,
                        format_args!("goes in circles in {method}; the list ends here"),
                    );
                    return Some(all);
                }
                None => return Some(all),
            }
        }
        Some(all)
    }
}

/// The result that holds `items`.
fn list(member: &str, items: &[Vec<u8>]) -> Vec<u8> {
    // Member names are constants that need no escapes.
    let mut result = format!("{{\"{member}\":[").into_bytes();
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            result.push(b',');
        }
        result.extend_from_slice(item);
    }
    result.extend_from_slice(b"]}");
    result
}
