//! Another plan, or other accepted tools, while conversations go on.
//!
//! What a conversation has read and how often it called what stays. What humans vouched
//! for goes: they did so under another policy.

use super::budget::Attempts;
use super::conversation::Conversation;
use super::hidden;
use super::tool::{self, Status, Tool};
use super::{Gate, tool_key};
use crate::tools::{Lock, ToolDefinition};
use bouncer_plan::{Corrupt, Plan};
use std::collections::HashMap;

/// Tools that a gate remembers without having pinned them: a server must not be able to
/// fill the memory with ever more of them.
const MAX_UNPINNED: usize = 1000;
/// The longest definition that is remembered for such a tool, in bytes of JSON.
const MAX_DEFINITION: usize = 64 * 1024;

/// A tool as its server listed it last.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    pub server: Option<String>,
    /// `None`: it was listed in two ways at once.
    pub definition: Option<ToolDefinition>,
}

impl Gate {
    /// Judges by `plan` from now on. Pinned tools stay pinned, changed ones changed;
    /// conversations keep what they have read and counted.
    ///
    /// # Errors
    /// If the plan's tables contradict themselves. Everything is then as it was.
    pub fn reload(&mut self, plan: Plan) -> Result<(), Corrupt> {
        let heuristics = tool::heuristics(plan.tables())?;
        let rows = hidden::always(plan.tables())?;
        let mut linked = Vec::with_capacity(self.names.len());
        for (key, &index) in &self.names {
            let listed = self.definitions.get(key).ok_or(Corrupt)?;
            let old = self.tools.get(index as usize).ok_or(Corrupt)?;
            let bare;
            let definition = match &listed.definition {
                Some(definition) => definition,
                // It is not called before it is accepted.
                None => {
                    bare = bare_definition(key)?;
                    &bare
                }
            };
            let server = listed.server.as_deref();
            let mut tool = Tool::new(plan.tables(), heuristics.as_ref(), server, definition)?;
            tool.status = old.status;
            tool.digest = old.digest;
            linked.push((index, tool));
        }
        for (index, tool) in linked {
            if let Some(slot) = self.tools.get_mut(index as usize) {
                *slot = tool;
            }
        }
        self.plan = plan;
        self.heuristics = heuristics;
        self.rows_always = rows;
        self.generation += 1;
        Ok(())
    }

    /// Holds the tools to another lock from now on. A tool whose entry is the same as
    /// `before` stays as it is; one whose entry is new counts as pinned if the server's
    /// latest definition is the accepted one, and as changed if not; one without an
    /// entry any more counts as changed.
    pub fn accept(&mut self, lock: &Lock, before: Option<&Lock>) {
        let keys: Vec<String> = self.definitions.keys().cloned().collect();
        for key in keys {
            let Some(listed) = self.definitions.get(&key).cloned() else {
                continue;
            };
            let server = listed.server.as_deref();
            let Some(name) = split_key(&key).map(|(_, name)| name) else {
                continue;
            };
            let digest = |lock: &Lock| lock.find(server, name).map(|tool| tool.digest);
            let accepted = digest(lock);
            let place = self.names.get(&key).copied();
            if before.is_some_and(|before| digest(before) == accepted) {
                continue;
            }
            let Some(accepted) = accepted else {
                if let Some(tool) = place.and_then(|index| self.tools.get_mut(index as usize)) {
                    tool.status = Status::Changed;
                }
                continue;
            };
            let same = listed
                .definition
                .as_ref()
                .filter(|definition| definition.digest == accepted);
            let linked = same.and_then(|definition| self.link(server, definition).ok());
            match (linked, place) {
                (Some(tool), Some(index)) => {
                    if let Some(slot) = self.tools.get_mut(index as usize) {
                        *slot = tool;
                    }
                }
                (Some(tool), None) => {
                    self.names.insert(key, self.tools.len() as u32);
                    self.tools.push(tool);
                }
                (None, Some(index)) => {
                    if let Some(tool) = self.tools.get_mut(index as usize) {
                        tool.status = Status::Changed;
                        tool.digest = accepted;
                    }
                }
                // Still not what was accepted: it stays unknown.
                (None, None) => {}
            }
        }
    }

    /// Remembers how a server lists its tools now.
    pub(super) fn note_definitions(&mut self, server: Option<&str>, tools: &[ToolDefinition]) {
        let mut digests: HashMap<&str, [u8; 32]> = HashMap::new();
        for definition in tools {
            let key = tool_key(server, &definition.name);
            let first = *digests.entry(&definition.name).or_insert(definition.digest);
            let known = self.definitions.contains_key(&key);
            let pinned = self.names.contains_key(&key);
            let full = self.definitions.len() >= self.names.len() + MAX_UNPINNED;
            let too_long = || definition.json.to_string().len() > MAX_DEFINITION;
            if !pinned && (!known && full || too_long()) {
                // It can be pinned at the next start.
                self.definitions.remove(&key);
                continue;
            }
            let listed = Listed {
                server: server.map(str::to_owned),
                definition: (first == definition.digest).then(|| definition.clone()),
            };
            self.definitions.insert(key, listed);
        }
    }
}

impl Conversation {
    /// Goes on under another plan of the same gate.
    pub(super) fn follow(&mut self, gate: &Gate, now_ms: u64) {
        let fresh = Self::new(gate.plan.tables(), 0);
        self.scratch = fresh.scratch;
        self.approvals = fresh.approvals;
        for (attempts, tool) in self.attempts.iter_mut().zip(&gate.tools) {
            attempts.resize(tool.link.history, now_ms);
        }
        for (key, (tool, attempts)) in &mut self.unlisted {
            // One that cannot be linked keeps a link that leads nowhere: it is denied.
            let linked = split_key(key).and_then(|(server, _)| {
                let definition = bare_definition(key).ok()?;
                gate.link(server, &definition).ok()
            });
            if let Some(linked) = linked {
                *tool = linked;
            }
            attempts.resize(tool.link.history, now_ms);
        }
        self.generation = gate.generation;
    }
}

impl Attempts {
    /// Remembers the times of up to `history` attempts from now on. Times that were not
    /// kept count as now: too recent, never forgotten.
    pub(super) fn resize(&mut self, history: usize, now_ms: u64) {
        let known = self.times_kept();
        let wanted = usize::try_from(self.total()).map_or(history, |total| total.min(history));
        let fill = |age: usize| match self.newest_time(age) {
            Some(time) if wanted <= known => time,
            _ => now_ms.max(self.newest_time(0).unwrap_or(0)),
        };
        // Oldest first.
        let times: Vec<u64> = (0..wanted).rev().map(fill).collect();
        self.set_times(history, &times);
    }
}

/// A definition that says nothing but the name.
fn bare_definition(key: &str) -> Result<ToolDefinition, Corrupt> {
    let (_, name) = split_key(key).ok_or(Corrupt)?;
    ToolDefinition::from_json(serde_json::json!({ "name": name })).map_err(|_| Corrupt)
}

/// Takes a key of [`tool_key`] apart.
fn split_key(key: &str) -> Option<(Option<&str>, &str)> {
    if let Some(tool) = key.strip_prefix('/') {
        return Some((None, tool));
    }
    let (length, rest) = key.split_once(':')?;
    let (server, tool) = rest.split_at_checked(length.parse().ok()?)?;
    Some((Some(server), tool.strip_prefix('/')?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_taken_apart() {
        for (server, tool) in [
            (None, "a"),
            (None, "1:a/b"),
            (Some(""), "x"),
            (Some("a/b"), "c/d"),
            (Some("é:"), ""),
        ] {
            assert_eq!(split_key(&tool_key(server, tool)), Some((server, tool)));
        }
    }

    #[test]
    fn attempts_are_never_forgotten_by_a_longer_memory() {
        let mut attempts = Attempts::new(2);
        for time in [0, 10, 20, 5000] {
            attempts.note(time);
        }
        assert_eq!(attempts.within(1000, 5000), 1);
        attempts.resize(3, 6000);
        assert_eq!(attempts.total(), 4);
        assert_eq!(attempts.within(1000, 6000), 3);
        assert_eq!(attempts.within(1000, 7001), 0);
        // A shorter one keeps what is newest.
        let mut attempts = Attempts::new(4);
        for time in [0, 10, 20, 5000] {
            attempts.note(time);
        }
        attempts.resize(2, 6000);
        assert_eq!(attempts.within(1000, 5001), 1);
        assert_eq!(attempts.within(10_000, 5001), 2);
        attempts.note(5002);
        assert_eq!(attempts.within(1000, 5002), 2);
    }
}
