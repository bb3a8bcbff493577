//! The tasks of one conversation: calls whose results are fetched later.
//!
//! Servers choose the ids of their tasks, so those of two may be the same, and a client may
//! know an id that is not its own. The client gets ids of the gateway's making, and only
//! those that it got lead to a server. Knows nothing of what tasks bring: that is recorded
//! before it comes here.
//!
//! Both kinds are kept here: those of 2025-11-25, which calls ask for, and those of the
//! extension of 2026-07-28, which servers make by themselves for clients that can take them.

use bouncer_system::random;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

/// Tasks that are known at once; the oldest goes first.
const MAX_TASKS: usize = 1024;
/// The longest id that a server may give.
const MAX_ID: usize = 1024;
/// How long a task is known at most, whatever its server says.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
/// Tasks on one page of a list.
const PAGE: usize = 100;
/// What a list says of a task, if it is short.
const LISTED: [&str; 5] = [
    "status",
    "createdAt",
    "lastUpdatedAt",
    "ttl",
    "pollInterval",
];
/// How short.
const MAX_LISTED: usize = 64;

/// What a request of the client has to do with tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tasked {
    /// Nothing.
    No,
    /// A call that asks for one.
    Wanted { tool: String },
    /// A call that may be answered by one of the extension.
    Able { tool: String },
    /// Asks how it is, or ends it: the answer describes it.
    Described { own: String },
    /// Asks for its result.
    Fetched,
    /// Tells it something, in the extension: the answer says nothing of it.
    Told { own: String },
}

/// A task, as a server made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Task {
    /// Counts the tasks of the conversation.
    number: u64,
    pub server: usize,
    /// The server's id.
    pub own: String,
    /// The client's.
    pub shown: String,
    tool: String,
    /// What was last heard of it.
    state: Map<String, Value>,
    /// What it asked for when it was last heard of, by the server's names.
    asked: BTreeSet<String>,
    since: Instant,
    until: Instant,
    /// The number of the call that made it, and its progress token: good as long as the task.
    token: Option<(u64, Box<[u8]>)>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    last: u64,
    all: BTreeMap<u64, Task>,
    shown: HashMap<String, u64>,
    own: HashMap<(usize, String), u64>,
    tokens: HashMap<u64, u64>,
}

impl Tasks {
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Notes the task that a call of `tool` made, and gives the client's id for it. The
    /// server's name in there is for people.
    ///
    /// # Errors
    /// If it cannot be told from others.
    pub(crate) fn note(
        &mut self,
        (server, name): (usize, &str),
        tool: &str,
        task: &Value,
        token: Option<(u64, Box<[u8]>)>,
        now: Instant,
    ) -> Result<String, &'static str> {
        let own = task.get("taskId").and_then(Value::as_str);
        let own = own
            .filter(|own| (1..=MAX_ID).contains(&own.len()))
            .ok_or("the server's task has no id of sane length")?;
        self.drop_expired(now);
        if let Some(&number) = self.own.get(&(server, own.to_owned())) {
            let of_tool = self.all.get(&number).is_some_and(|task| task.tool == tool);
            let known = self.all.get(&number).map(|task| task.shown.clone());
            let Some(shown) = known.filter(|_| of_tool) else {
                self.remove(number);
                return Err("the server gave one id to tasks of two tools");
            };
            self.update(server, own, task, now);
            return Ok(shown);
        }
        while self.all.len() >= MAX_TASKS {
            let Some(&oldest) = self.all.keys().next() else {
                break;
            };
            self.remove(oldest);
        }
        self.last += 1;
        let number = self.last;
        let shown = format!("{name}__{}", random::unguessable());
        self.shown.insert(shown.clone(), number);
        self.own.insert((server, own.to_owned()), number);
        if let Some((call, _)) = &token {
            self.tokens.insert(*call, number);
        }
        let life = life(task.get("ttl").or_else(|| task.get("ttlMs")));
        let task = Task {
            number,
            server,
            own: own.to_owned(),
            shown: shown.clone(),
            tool: tool.to_owned(),
            state: listed(task),
            asked: BTreeSet::new(),
            since: now,
            until: now + life,
            token,
        };
        self.all.insert(number, task);
        Ok(shown)
    }

    /// The task that the client knows by that id.
    pub(crate) fn find(&self, shown: &str, now: Instant) -> Option<&Task> {
        let task = self.all.get(self.shown.get(shown)?)?;
        (task.until > now).then_some(task)
    }

    /// The client's id for a server's.
    pub(crate) fn shown(&self, server: usize, own: &str, now: Instant) -> Option<&str> {
        let number = self.own.get(&(server, own.to_owned()))?;
        let task = self.all.get(number)?;
        (task.until > now).then_some(task.shown.as_str())
    }

    /// The progress token of the call of that number, if its task is still known.
    pub(crate) fn token(&self, server: usize, call: u64, now: Instant) -> Option<Box<[u8]>> {
        let task = self.all.get(self.tokens.get(&call)?)?;
        let (_, token) = task.token.as_ref()?;
        (task.server == server && task.until > now).then(|| token.clone())
    }

    /// Whether the task asked for something of that name when it was last heard of.
    pub(crate) fn asks(&self, task: &Task, name: &str) -> bool {
        let known = self.all.get(&task.number);
        known.is_some_and(|task| task.asked.contains(name))
    }

    /// Something was heard of a task. Its time stays as it was, unless the server says
    /// another, as it may in the extension: counted from the beginning.
    pub(crate) fn update(&mut self, server: usize, own: &str, heard: &Value, now: Instant) {
        let number = self.own.get(&(server, own.to_owned()));
        let task = number.and_then(|number| self.all.get_mut(number));
        if let Some(task) = task.filter(|task| task.until > now) {
            task.state.extend(listed(heard));
            if let Some(ttl) = heard.get("ttlMs") {
                task.until = task.since + life(Some(ttl));
            }
            let asked = heard.get("inputRequests").and_then(Value::as_object);
            task.asked = asked
                .map(|asked| asked.keys().cloned().collect())
                .unwrap_or_default();
        }
    }

    /// A server does not run any more, and its tasks with it.
    pub(crate) fn forget(&mut self, server: usize) {
        self.remove_all(|task| task.server == server);
    }

    /// One page of all tasks, oldest first, and where the next begins. `None`: there is no
    /// such page.
    pub(crate) fn page(&mut self, cursor: Option<&str>, now: Instant) -> Option<Value> {
        self.drop_expired(now);
        let after: u64 = match cursor {
            None => 0,
            Some(cursor) => cursor.parse().ok()?,
        };
        let mut rest = self.all.range(after.checked_add(1)?..);
        let page: Vec<&Task> = rest.by_ref().take(PAGE).map(|(_, task)| task).collect();
        let tasks = page.iter().map(|task| {
            let mut told = task.state.clone();
            told.insert("taskId".to_owned(), json!(task.shown));
            Value::Object(told)
        });
        let mut answer = json!({"tasks": tasks.collect::<Vec<_>>()});
        if let (Some(last), Some(_), Some(members)) =
            (page.last(), rest.next(), answer.as_object_mut())
        {
            members.insert("nextCursor".to_owned(), json!(last.number.to_string()));
        }
        Some(answer)
    }

    fn drop_expired(&mut self, now: Instant) {
        self.remove_all(|task| task.until <= now);
    }

    fn remove_all(&mut self, goes: impl Fn(&Task) -> bool) {
        let of = |(&number, task): (&u64, &Task)| goes(task).then_some(number);
        let numbers: Vec<u64> = self.all.iter().filter_map(of).collect();
        for number in numbers {
            self.remove(number);
        }
    }

    fn remove(&mut self, number: u64) {
        if let Some(task) = self.all.remove(&number) {
            self.shown.remove(&task.shown);
            self.own.remove(&(task.server, task.own));
            if let Some((call, _)) = task.token {
                self.tokens.remove(&call);
            }
        }
    }
}

/// How long a task is known, from what its server says.
fn life(ttl: Option<&Value>) -> Duration {
    let given = ttl.and_then(Value::as_f64).map(|ttl| {
        // What is no time is none at all, or longer than any.
        Duration::try_from_secs_f64(ttl / 1000.0).unwrap_or(LONGEST)
    });
    given.unwrap_or(LONGEST).min(LONGEST)
}

/// What a list will say of a task. It was recorded when it came.
fn listed(task: &Value) -> Map<String, Value> {
    let of = |name: &&str| {
        let value = task.get(*name)?;
        let short = match value {
            Value::String(text) => text.len() <= MAX_LISTED,
            Value::Number(_) | Value::Null => true,
            _ => false,
        };
        short.then(|| ((*name).to_owned(), value.clone()))
    };
    LISTED.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(id: &str, ttl: Value) -> Value {
        json!({"taskId": id, "status": "working", "statusMessage": "x", "ttl": ttl})
    }

    fn note(tasks: &mut Tasks, server: usize, id: &str, now: Instant) -> String {
        let task = task(id, Value::Null);
        tasks.note((server, "s"), "t", &task, None, now).unwrap()
    }

    #[test]
    fn one_id_of_two_servers_is_two_tasks() {
        let (mut tasks, now) = (Tasks::default(), Instant::now());
        let (one, two) = (note(&mut tasks, 0, "1", now), note(&mut tasks, 1, "1", now));
        assert_ne!(one, two);
        assert!(one.starts_with("s__"));
        assert_eq!(tasks.find(&two, now).unwrap().server, 1);
        assert_eq!(tasks.shown(0, "1", now), Some(one.as_str()));
        assert_eq!(tasks.shown(2, "1", now), None);
        for unknown in ["1", "s__1", "", "s__"] {
            assert_eq!(tasks.find(unknown, now), None, "{unknown}");
        }
        tasks.forget(0);
        assert_eq!(tasks.find(&one, now), None);
        assert!(tasks.find(&two, now).is_some());
    }

    #[test]
    fn an_id_of_two_tools_is_nobodys() {
        let (mut tasks, now) = (Tasks::default(), Instant::now());
        let one = note(&mut tasks, 0, "1", now);
        assert_eq!(note(&mut tasks, 0, "1", now), one);
        let other = task("1", Value::Null);
        assert!(tasks.note((0, "s"), "u", &other, None, now).is_err());
        assert_eq!(tasks.find(&one, now), None);
        for bad in [json!({}), json!({"taskId": 1}), task("", Value::Null)] {
            assert!(tasks.note((0, "s"), "t", &bad, None, now).is_err());
        }
        let long = task(&"x".repeat(MAX_ID + 1), Value::Null);
        assert!(tasks.note((0, "s"), "t", &long, None, now).is_err());
    }

    #[test]
    fn tasks_are_forgotten() {
        let (mut tasks, now) = (Tasks::default(), Instant::now());
        let long = note(&mut tasks, 0, "day", now);
        for (id, ttl) in [("a", json!(1000)), ("b", json!(-5)), ("c", json!(1e300))] {
            let shown = tasks.note((0, "s"), "t", &task(id, ttl), None, now);
            let shown = shown.unwrap();
            let known = |seconds| {
                let then = now + Duration::from_secs(seconds);
                tasks.find(&shown, then).is_some()
            };
            assert!(known(0), "{id}");
            assert_eq!(known(2), id != "a", "{id}");
            assert!(!known(LONGEST.as_secs() + 1));
        }
        assert_eq!(tasks.find(&long, now + LONGEST), None);
        for number in 0..2 * MAX_TASKS {
            note(&mut tasks, 0, &number.to_string(), now);
        }
        assert_eq!(tasks.find(&long, now), None);
        let sizes = [tasks.all.len(), tasks.shown.len(), tasks.own.len()];
        assert_eq!(sizes, [MAX_TASKS; 3]);
    }

    #[test]
    fn tasks_of_the_extension_change_their_time_and_say_what_they_ask_for() {
        let (mut tasks, now) = (Tasks::default(), Instant::now());
        let made = json!({"resultType": "task", "taskId": "1", "ttlMs": 1000});
        let shown = tasks.note((0, "s"), "t", &made, None, now).unwrap();
        let later = now + Duration::from_secs(2);
        assert!(tasks.find(&shown, now).is_some());
        assert_eq!(tasks.find(&shown, later), None);
        let heard = json!({"taskId": "1", "ttlMs": 3000, "inputRequests": {"who": {}}});
        tasks.update(0, "1", &heard, now);
        let task = tasks.find(&shown, later).cloned().unwrap();
        assert!(tasks.asks(&task, "who") && !tasks.asks(&task, "what"));
        tasks.update(0, "1", &json!({"taskId": "1", "ttlMs": null}), now);
        assert!(tasks.find(&shown, now + LONGEST / 2).is_some());
        assert_eq!(tasks.find(&shown, now + LONGEST), None);
        assert!(!tasks.asks(&task, "who"));
    }

    #[test]
    fn lists_have_pages_and_say_what_was_heard() {
        let (mut tasks, now) = (Tasks::default(), Instant::now());
        for number in 0..PAGE + 1 {
            note(&mut tasks, 0, &number.to_string(), now);
        }
        let done = json!({"status": "completed", "more": "x", "ttl": "x".repeat(100)});
        tasks.update(0, "0", &done, now);
        let page = tasks.page(None, now).unwrap();
        assert_eq!(page["tasks"].as_array().unwrap().len(), PAGE);
        let first = page["tasks"][0].as_object().unwrap();
        assert_eq!(first["status"], "completed");
        assert_eq!(first["ttl"], Value::Null);
        assert_eq!(first.len(), 3, "{first:?}");
        let next = page["nextCursor"].as_str();
        let page = tasks.page(next, now).unwrap();
        assert_eq!(page["tasks"].as_array().unwrap().len(), 1);
        assert_eq!(page.get("nextCursor"), None);
        assert_eq!(tasks.page(Some("x"), now), None);
    }

    #[test]
    fn progress_lasts_as_long_as_the_task() {
        let (mut tasks, now) = (Tasks::default(), Instant::now());
        let token = Some((7, Box::from(&b"\"t\""[..])));
        let made = task("1", json!(1000));
        tasks.note((0, "s"), "t", &made, token, now).unwrap();
        assert_eq!(tasks.token(0, 7, now).as_deref(), Some(&b"\"t\""[..]));
        assert_eq!(tasks.token(1, 7, now), None);
        assert_eq!(tasks.token(0, 8, now), None);
        assert_eq!(tasks.token(0, 7, now + Duration::from_secs(1)), None);
    }
}
