//! What a server asks for before it answers: put to the client as requests of the server,
//! as older versions have them, and given to the server with the same request again.

use crate::conversation::related::Related;
use crate::upstream::adapter::compose::Extras;
use crate::upstream::adapter::{At, Interpreter};
use bouncer_mcp::frame::{FrameReader, text};
use bouncer_mcp::id::Key;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

/// How often one request may be answered with a question.
const MAX_ROUNDS: u32 = 16;
/// How often it may be answered with nothing but the wish to be asked again.
const MAX_EMPTY_ROUNDS: u32 = 7;
/// Questions of one round.
const MAX_QUESTIONS: usize = 32;
/// The longest name that a server may give a question, in bytes.
const MAX_NAME: usize = 256;
/// The pause before a request is made again for which nothing was asked; it doubles.
const PAUSE: Duration = Duration::from_millis(20);
/// The longest such pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// One round of questions.
#[derive(Debug, Default)]
pub(super) struct Round {
    /// The server's own state, raw: it is given back as it was spelled.
    state: Option<Vec<u8>>,
    /// Ids of questions that are open.
    open: BTreeSet<String>,
    got: Vec<(String, Vec<u8>)>,
}

/// One question: the server's name for it, its method, and its raw parameters.
type Question = (String, String, Option<Vec<u8>>);

impl Interpreter {
    /// Takes a result that asks for something first. Err: what the server does wrong.
    pub(super) fn on_input_required(
        self: &Rc<Self>,
        frames: &mut FrameReader,
        key: &Key,
        result: &[u8],
    ) -> Result<(), String> {
        let read = frames.members(result, ["inputRequests", "requestState"]);
        let [asked, state] = read.map_err(|why| format!("asks what cannot be read: {why}"))?;
        if state.is_some_and(|state| text(state).is_none()) {
            return Err("gives a `requestState` that is no text".to_owned());
        }
        if asked.is_none() && state.is_none() {
            return Err("asks for something, and does not say what".to_owned());
        }
        let line = {
            let mut requests = self.requests.borrow_mut();
            let request = requests.get_mut(key).ok_or("asks about nothing")?;
            let line = request.line.clone().ok_or_else(|| {
                format!(
                    "asks for something where it must not, or too much is under way to ask ({})",
                    request.method
                )
            })?;
            request.rounds += 1;
            if request.rounds > MAX_ROUNDS {
                return Err(format!("asks for something more than {MAX_ROUNDS} times"));
            }
            line
        };
        let questions = match asked {
            Some(asked) => {
                let capabilities = self.speaker.capabilities(frames, &line);
                read_questions(frames, asked, &capabilities)?
            }
            None => Vec::new(),
        };
        if questions.is_empty()
            && let Some(request) = self.requests.borrow_mut().get_mut(key)
        {
            request.empty_rounds += 1;
            if request.empty_rounds > MAX_EMPTY_ROUNDS {
                return Err(format!(
                    "wants the request again more than {MAX_EMPTY_ROUNDS} times, without asking for anything"
                ));
            }
        }
        let state = state.map(<[u8]>::to_vec);
        self.ask(key, questions, state);
        Ok(())
    }

    fn ask(self: &Rc<Self>, key: &Key, questions: Vec<Question>, state: Option<Vec<u8>>) {
        let of = questions.len();
        let mut round = Round {
            state,
            ..Round::default()
        };
        let mut lines = Vec::new();
        for (name, method, params) in questions {
            let id = format!("bouncer-{}-{}", self.prefix, self.next_number());
            let mut line = json!({"jsonrpc": "2.0", "id": id, "method": method}).to_string();
            if let Some(params) = params.and_then(|raw| String::from_utf8(raw).ok()) {
                line.pop();
                line.push_str(&format!(r#","params":{params}}}"#));
            }
            lines.push(line);
            round.open.insert(id.clone());
            let related = Related {
                request: key.clone(),
                name: name.clone(),
                of,
            };
            self.questions.borrow_mut().insert(id.clone(), related);
            self.asked.borrow_mut().insert(id, (key.clone(), name));
        }
        let waits = !round.open.is_empty();
        let rounds = {
            let mut requests = self.requests.borrow_mut();
            let Some(request) = requests.get_mut(key) else {
                return;
            };
            if let At::Server(number) = request.at {
                self.numbers.borrow_mut().remove(&number);
            }
            request.at = At::Client(round);
            request.rounds
        };
        for line in lines {
            self.down.push(line.as_bytes());
        }
        let key = key.clone();
        if waits {
            self.later(self.manner.pace.answers, move |this| {
                this.give_up(&key, rounds);
            });
        } else {
            let pause = PAUSE.saturating_mul(1 << rounds.min(16)).min(LONGEST_PAUSE);
            self.later(pause, move |this| this.make_again(&key));
        }
    }

    /// The client did not answer in time.
    fn give_up(&self, key: &Key, rounds: u32) {
        let waits =
            self.requests.borrow().get(key).is_some_and(|request| {
                request.rounds == rounds && matches!(request.at, At::Client(_))
            });
        if waits {
            self.fail(
                key,
                "the client did not give what the server asked for in time",
            );
        }
    }

    /// What the client says to a question. Without a result it cannot or will not.
    pub(super) fn take_response(
        self: &Rc<Self>,
        key: &Key,
        id: &str,
        name: String,
        result: Option<&[u8]>,
    ) {
        let is_object = |result: &&[u8]| result.starts_with(b"{");
        let result = result.filter(is_object);
        let all = {
            let mut requests = self.requests.borrow_mut();
            let Some(At::Client(round)) = requests.get_mut(key).map(|request| &mut request.at)
            else {
                return;
            };
            round.open.remove(id);
            round
                .got
                .extend(result.map(|result| (name, result.to_vec())));
            round.open.is_empty()
        };
        match result {
            None => self.fail(key, "the client does not give what the server asks for"),
            Some(_) if all => self.make_again(key),
            Some(_) => {}
        }
    }

    /// Makes a request again, with what was asked for.
    fn make_again(self: &Rc<Self>, key: &Key) {
        let (line, round) = {
            let mut requests = self.requests.borrow_mut();
            let Some(request) = requests.get_mut(key) else {
                return;
            };
            let At::Client(round) = std::mem::replace(&mut request.at, At::Pause) else {
                return;
            };
            (request.line.clone().unwrap_or_default(), round)
        };
        let number = self.next_number();
        let extras = Extras {
            responses: &round.got,
            state: round.state.as_deref(),
        };
        let mut frames = FrameReader::new(self.manner.max_message.saturating_mul(2));
        match self.speaker.compose(&mut frames, &line, number, &extras) {
            Ok(composed) => {
                if let Some(request) = self.requests.borrow_mut().get_mut(key) {
                    request.at = At::Server(number);
                    self.numbers.borrow_mut().insert(number, key.clone());
                }
                self.up.push(&composed);
            }
            Err(why) => self.fail(key, &format!("the request cannot be made again: {why}")),
        }
    }

    /// Takes open questions back.
    pub(super) fn withdraw(&self, round: &Round, why: &str) {
        for id in &round.open {
            self.asked.borrow_mut().remove(id);
            self.questions.borrow_mut().remove(id);
            let line = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": {"requestId": id, "reason": why}});
            self.down.push(line.to_string().as_bytes());
        }
    }
}

/// Reads what is asked for, and holds it against what the client can do.
pub(super) fn read_questions(
    frames: &mut FrameReader,
    asked: &[u8],
    capabilities: &Value,
) -> Result<Vec<Question>, String> {
    let asked: BTreeMap<String, &RawValue> = serde_json::from_slice(asked)
        .map_err(|_| "asks for something, and not as an object of requests")?;
    if asked.len() > MAX_QUESTIONS {
        return Err(format!("asks more than {MAX_QUESTIONS} things at once"));
    }
    let mut questions = Vec::new();
    for (name, request) in asked {
        if name.len() > MAX_NAME {
            return Err("gives a question a name that is too long".to_owned());
        }
        let read = frames.members(request.get().as_bytes(), ["method", "params"]);
        let [method, params] = read.map_err(|why| format!("asks what cannot be read: {why}"))?;
        let method = method.and_then(text).unwrap_or_default();
        let params = params.map(<[u8]>::to_vec);
        if params.as_ref().is_some_and(|raw| !raw.starts_with(b"{")) {
            return Err("asks something whose parameters are no object".to_owned());
        }
        let has = |path: &str| capabilities.pointer(path).is_some_and(Value::is_object);
        let can = match method.as_str() {
            "elicitation/create" => {
                let mode = params.as_deref().and_then(|raw| {
                    let [mode] = frames.members(raw, ["mode"]).ok()?;
                    text(mode?)
                });
                match mode.as_deref() {
                    // Empty means forms; `url` alone means no forms.
                    None | Some("form") => {
                        has("/elicitation")
                            && (has("/elicitation/form") || !has("/elicitation/url"))
                    }
                    Some("url") => has("/elicitation/url"),
                    Some(_) => false,
                }
            }
            "sampling/createMessage" => has("/sampling"),
            "roots/list" => has("/roots"),
            _ => return Err("asks for something that no client has".to_owned()),
        };
        if !can {
            return Err(format!("asks for `{method}`, which the client cannot do"));
        }
        questions.push((name, method, params));
    }
    Ok(questions)
}
