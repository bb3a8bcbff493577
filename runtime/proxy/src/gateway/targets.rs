//! Requests that are about one prompt or one resource, and which server has it.
//!
//! Servers are told by what they list; what nobody has listed yet is asked for first. Knows
//! nothing of calls.

use crate::conversation::envelope::Id;
use crate::conversation::judge::Judge;
use crate::gateway::catalogue::Route;
use crate::gateway::lists::List;
use crate::gateway::router::{Backend, Router};
use crate::gateway::routes::Routed;
use crate::gateway::tasks::TaskRole;
use bouncer_mcp::frame::{FrameReader, Unreadable, text};
use bouncer_mcp::id::Key;
use bouncer_mcp::jsonrpc::{INTERNAL_ERROR, INVALID_PARAMS};
use bouncer_system::log::quoted;
use std::rc::Rc;

impl<J: Judge + 'static> Router<J> {
    /// Requests about one prompt or one resource.
    pub(crate) fn on_routed(
        self: &Rc<Self>,
        frames: &mut FrameReader,
        id: &Id<'_>,
        method: &str,
        params: Option<&[u8]>,
        line: &[u8],
    ) -> Result<(), (i32, String)> {
        let target = target(frames, method, params).map_err(|why| (INVALID_PARAMS, why))?;
        let owner = self.owner(&target);
        if let Some(route) = owner.map_err(|why| (INVALID_PARAMS, why))? {
            let failed = |why| (INTERNAL_ERROR, why);
            return self
                .forward_routed(frames, id, line, &target, &route)
                .map_err(failed);
        }
        // Nobody has listed it yet: ask, and look again.
        self.routes.borrow_mut().start_answering(&id.key);
        let (router, line) = (Rc::clone(self), line.to_vec());
        tokio::task::spawn_local(async move { router.route_later(&line).await });
        Ok(())
    }

    async fn route_later(self: &Rc<Self>, line: &[u8]) {
        // The line was read before; reading it again is simpler than owning its parts.
        let mut frames = FrameReader::new(self.settings.max_message);
        let Ok(frame) = frames.read(line) else { return };
        let (method, params) = (frame.method().and_then(text), frame.params());
        let (Some(raw), Some(method)) = (frame.id(), method) else {
            return;
        };
        let Some(key) = Key::parse(raw) else { return };
        let id = Id { raw, key };
        let Ok(target) = target(&mut frames, &method, params) else {
            return;
        };
        self.wait_for_start().await;
        for list in target.lists() {
            self.gather(*list).await;
        }
        let outcome = match self.owner(&target) {
            Ok(found) => found
                .or_else(|| self.only_server(&target))
                .ok_or_else(|| (INVALID_PARAMS, format!("no server has {}", target.shown()))),
            Err(why) => Err((INVALID_PARAMS, why)),
        };
        match outcome {
            Ok(route) => {
                if self.routes.borrow_mut().end_answering(&id.key)
                    && let Err(why) = self.forward_routed(&mut frames, &id, line, &target, &route)
                {
                    self.answer_error(id.raw, INTERNAL_ERROR, &why);
                }
                self.changed();
            }
            Err(error) => self.end_answering((id.raw, &id.key), Err(error)),
        }
    }

    /// The server that has what a request is about, and its own name for it. `None`: it
    /// is not known.
    fn owner(&self, target: &Target<'_>) -> Routed<Option<Route>> {
        let directory = self.directory.borrow();
        let routes: Vec<Route> = match target {
            Target::Prompt { name, .. } => {
                let owners = directory.of_prompt(name).iter();
                let route = |(server, own): &(usize, String)| Route {
                    server: *server,
                    name: own.clone(),
                };
                owners.map(route).collect()
            }
            Target::Resource { uri } => {
                let route = |server| Route {
                    server,
                    name: uri.clone(),
                };
                directory.of_uri(uri).into_iter().map(route).collect()
            }
        };
        match routes.as_slice() {
            [] => Ok(None),
            [route] => Ok(Some(route.clone())),
            more => {
                let names: Vec<String> = more
                    .iter()
                    .filter_map(|route| self.backends.get(route.server))
                    .map(|backend| quoted(&backend.name, 200))
                    .collect();
                let (what, servers) = (target.shown(), names.join(" and "));
                Err(format!(
                    "{what} is listed by the servers {servers}: there is no telling whose is meant"
                ))
            }
        }
    }

    /// The only server that has resources at all: it knows best what it has.
    fn only_server(&self, target: &Target<'_>) -> Option<Route> {
        let Target::Resource { uri } = target else {
            return None;
        };
        let has = |backend: &&Rc<Backend>| backend.is_up() && backend.offers("resources");
        let mut able = self.backends.iter().filter(has);
        let (first, second) = (able.next()?, able.next());
        second.is_none().then(|| Route {
            server: first.index,
            name: uri.clone(),
        })
    }

    fn forward_routed<'a>(
        &self,
        frames: &mut FrameReader,
        id: &Id<'a>,
        line: &'a [u8],
        target: &Target<'a>,
        route: &Route,
    ) -> Routed<()> {
        let read = |why: Unreadable| why.to_string();
        let params = frames
            .read(line)
            .map_err(read)?
            .params()
            .unwrap_or_default();
        let [meta] = frames.members(params, ["_meta"]).map_err(read)?;
        let mut edits = Vec::new();
        if let Target::Prompt { raw, .. } = target {
            let own = serde_json::to_vec(&route.name).map_err(|error| error.to_string())?;
            edits.push((*raw, own));
        }
        let backend = self.backend(route.server)?;
        self.forward(frames, id, (backend, TaskRole::No), line, meta, edits)
    }
}

/// What a request is about.
#[derive(Debug)]
enum Target<'a> {
    /// A prompt: its exposed name, and how it was spelled.
    Prompt { name: String, raw: &'a [u8] },
    /// A resource, or a template of resources.
    Resource { uri: String },
}

impl Target<'_> {
    fn shown(&self) -> String {
        match self {
            Self::Prompt { name, .. } => format!("the prompt {}", quoted(name, 200)),
            Self::Resource { uri } => format!("the resource {}", quoted(uri, 500)),
        }
    }

    /// The lists in which it would stand.
    const fn lists(&self) -> &'static [List] {
        match self {
            Self::Prompt { .. } => &[List::Prompts],
            Self::Resource { .. } => &[List::Resources, List::Templates],
        }
    }
}

/// What a request is about; or why it cannot be told.
fn target<'a>(
    frames: &mut FrameReader,
    method: &str,
    params: Option<&'a [u8]>,
) -> Result<Target<'a>, String> {
    let params = params.ok_or("`params` is missing")?;
    let mut part = |of: &'a [u8], key: &'static str| -> Result<&'a [u8], String> {
        let [value] = frames.members(of, [key]).map_err(|why| why.to_string())?;
        value.ok_or_else(|| format!("`{key}` is missing"))
    };
    let string =
        |raw: &[u8], key: &str| text(raw).ok_or_else(|| format!("`{key}` is not a string"));
    let (of, is_prompt) = match method {
        "prompts/get" => (params, true),
        "completion/complete" => {
            let of = part(params, "ref")?;
            let kind = string(part(of, "type")?, "type")?;
            (of, kind == "ref/prompt")
        }
        _ => (params, false),
    };
    if is_prompt {
        let raw = part(of, "name")?;
        let name = string(raw, "name")?;
        return Ok(Target::Prompt { name, raw });
    }
    let uri = string(part(of, "uri")?, "uri")?;
    Ok(Target::Resource { uri })
}
