//! Requests that are about one prompt or one resource, and which server has it.
//!
//! Servers are told by what they list; what nobody has listed yet is asked for first. Knows
//! nothing of calls.

use crate::conversation::envelope::{FromClient, Id, PassThrough, classify};
use crate::conversation::judge::Judge;
use crate::gateway::catalogue::Place;
use crate::gateway::lists::List;
use crate::gateway::router::{Front, Member};
use crate::gateway::routes::Whose;
use crate::gateway::tasks::Tasked;
use bouncer_mcp::frame::{FrameReader, Unreadable, text};
use bouncer_mcp::jsonrpc::{INTERNAL_ERROR, INVALID_PARAMS};
use bouncer_system::log::quoted;
use std::rc::Rc;

impl<J: Judge + 'static> Front<J> {
    /// Requests about one prompt or one resource.
    pub(crate) fn on_routed(
        self: &Rc<Self>,
        frames: &mut FrameReader,
        id: &Id<'_>,
        method: &str,
        params: Option<&[u8]>,
        pass: &PassThrough<'_>,
    ) -> Result<(), (i32, String)> {
        let subject = subject(frames, method, params).map_err(|why| (INVALID_PARAMS, why))?;
        let whose = self.whose(&subject);
        if let Some(place) = whose.map_err(|why| (INVALID_PARAMS, why))? {
            let failed = |why| (INTERNAL_ERROR, why);
            return self
                .forward_routed(frames, id, pass.bytes(), &subject, &place)
                .map_err(failed);
        }
        // Nobody has listed it yet: ask, and look again.
        self.routes.borrow_mut().start_answering(&id.key);
        let (front, line) = (Rc::clone(self), pass.bytes().to_vec());
        tokio::task::spawn_local(async move { front.route_later(&line).await });
        Ok(())
    }

    async fn route_later(self: &Rc<Self>, line: &[u8]) {
        // The line was read before; reading it again is simpler than owning its parts.
        let mut frames = FrameReader::new(self.settings.max_message);
        let FromClient::Request {
            id, method, params, ..
        } = classify(&mut frames, None, line)
        else {
            return;
        };
        let Ok(subject) = subject(&mut frames, &method, params) else {
            return;
        };
        self.wait_for_start().await;
        for list in subject.lists() {
            self.gather(*list).await;
        }
        let outcome = match self.whose(&subject) {
            Ok(found) => found
                .or_else(|| self.only_server(&subject))
                .ok_or_else(|| (INVALID_PARAMS, format!("no server has {}", subject.shown()))),
            Err(why) => Err((INVALID_PARAMS, why)),
        };
        match outcome {
            Ok(place) => {
                if self.routes.borrow_mut().end_answering(&id.key)
                    && let Err(why) = self.forward_routed(&mut frames, &id, line, &subject, &place)
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
    fn whose(&self, subject: &Subject<'_>) -> Whose<Option<Place>> {
        let directory = self.directory.borrow();
        let places: Vec<Place> = match subject {
            Subject::Prompt { name, .. } => {
                let owners = directory.of_prompt(name).iter();
                let place = |(server, own): &(usize, String)| Place {
                    server: *server,
                    name: own.clone(),
                };
                owners.map(place).collect()
            }
            Subject::Resource { uri } => {
                let place = |server| Place {
                    server,
                    name: uri.clone(),
                };
                directory.of_uri(uri).into_iter().map(place).collect()
            }
        };
        match places.as_slice() {
            [] => Ok(None),
            [place] => Ok(Some(place.clone())),
            more => {
                let names: Vec<String> = more
                    .iter()
                    .filter_map(|place| self.members.get(place.server))
                    .map(|member| quoted(&member.name, 200))
                    .collect();
                let (what, servers) = (subject.shown(), names.join(" and "));
                Err(format!(
                    "{what} is listed by the servers {servers}: there is no telling whose is meant"
                ))
            }
        }
    }

    /// The only server that has resources at all: it knows best what it has.
    fn only_server(&self, subject: &Subject<'_>) -> Option<Place> {
        let Subject::Resource { uri } = subject else {
            return None;
        };
        let has = |member: &&Rc<Member>| member.is_up() && member.offers("resources");
        let mut able = self.members.iter().filter(has);
        let (first, second) = (able.next()?, able.next());
        second.is_none().then(|| Place {
            server: first.index,
            name: uri.clone(),
        })
    }

    fn forward_routed<'a>(
        &self,
        frames: &mut FrameReader,
        id: &Id<'a>,
        line: &'a [u8],
        subject: &Subject<'a>,
        place: &Place,
    ) -> Whose<()> {
        let read = |why: Unreadable| why.to_string();
        let params = frames
            .read(line)
            .map_err(read)?
            .params()
            .unwrap_or_default();
        let [meta] = frames.members(params, ["_meta"]).map_err(read)?;
        let mut edits = Vec::new();
        if let Subject::Prompt { raw, .. } = subject {
            let own = serde_json::to_vec(&place.name).map_err(|error| error.to_string())?;
            edits.push((*raw, own));
        }
        let member = self.member(place.server)?;
        self.forward(frames, id, (member, Tasked::No), line, meta, edits)
    }
}

/// What a request is about.
#[derive(Debug)]
enum Subject<'a> {
    /// A prompt: its exposed name, and how it was spelled.
    Prompt { name: String, raw: &'a [u8] },
    /// A resource, or a template of resources.
    Resource { uri: String },
}

impl Subject<'_> {
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
fn subject<'a>(
    frames: &mut FrameReader,
    method: &str,
    params: Option<&'a [u8]>,
) -> Result<Subject<'a>, String> {
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
        return Ok(Subject::Prompt { name, raw });
    }
    let uri = string(part(of, "uri")?, "uri")?;
    Ok(Subject::Resource { uri })
}
