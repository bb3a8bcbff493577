//! The tools that servers have listed, and which of them count as accepted.

use super::key::{split_key, tool_key};
use super::policy::Policy;
use super::tool::{self, Status, Tool};
use crate::effects::common_prefix;
use crate::tools::{Lock, ToolDefinition};
use bouncer_plan::Corrupt;
use std::collections::HashMap;

/// Tools that a gate remembers without having pinned them: a server must not be able to
/// fill the memory with ever more of them.
const MAX_UNPINNED: usize = 1000;
/// The longest definition that is remembered for such a tool, in bytes of JSON.
const MAX_DEFINITION: usize = 64 * 1024;

/// The pinned tools.
#[derive(Debug, Default)]
pub(super) struct Pins {
    tools: Vec<Tool>,
    /// From [`tool_key`] to an index into `tools`.
    names: HashMap<String, u32>,
    /// Whether any server's tools were ever pinned. Before that every tool that a call
    /// names counts as pinned: there is nothing to hold it against.
    listed: bool,
    /// What the names of a server's tools begin with, by [`tool_key`] of no tool.
    prefixes: HashMap<String, String>,
    /// The digests of all accepted forms, of tools that have several, by [`tool_key`].
    forms: HashMap<String, Vec<[u8; 32]>>,
    /// How servers listed their tools last, by [`tool_key`].
    definitions: HashMap<String, Listed>,
}

/// A tool as its server listed it last.
#[derive(Clone, Debug)]
struct Listed {
    server: Option<String>,
    /// `None`: it was listed in two ways at once.
    definition: Option<ToolDefinition>,
}

/// The digests of the accepted forms of a tool.
fn digests(lock: &Lock, server: Option<&str>, name: &str) -> Vec<[u8; 32]> {
    lock.forms(server, name).map(|form| form.digest).collect()
}

impl Pins {
    /// All of them, in an order that never changes; new ones come last.
    pub fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// Whether any server's tools were ever pinned.
    pub const fn any_listed(&self) -> bool {
        self.listed
    }

    /// The servers and names of the tools that were listed and stand in one way only.
    pub fn listed(&self) -> impl Iterator<Item = (Option<&str>, &str)> {
        self.definitions.values().filter_map(|listed| {
            let definition = listed.definition.as_ref()?;
            Some((listed.server.as_deref(), definition.name.as_str()))
        })
    }

    /// The tool with that key, and its place in [`Self::tools`].
    pub fn find(&self, key: &str) -> Result<Option<(usize, &Tool)>, Corrupt> {
        let Some(&index) = self.names.get(key) else {
            return Ok(None);
        };
        let index = index as usize;
        let tool = self.tools.get(index).ok_or(Corrupt)?;
        Ok(Some((index, tool)))
    }

    /// The tool of that name.
    pub fn get(&self, server: Option<&str>, name: &str) -> Option<&Tool> {
        let index = self.names.get(&tool_key(server, name))?;
        self.tools.get(*index as usize)
    }

    /// Pins the first listing of a server. See [`super::Gate::pin`].
    pub fn pin(
        &mut self,
        policy: &Policy,
        server: Option<&str>,
        tools: &[ToolDefinition],
        lock: Option<&Lock>,
    ) {
        self.listed = true;
        let shared = common_prefix(tools.iter().map(|tool| tool.name.as_str()));
        let prefix = tool_key(server, "");
        // The server's earlier pins go; a tool that comes back keeps its place, and with
        // it what conversations have counted.
        let earlier: HashMap<String, u32> = self
            .names
            .extract_if(|key, _| key.starts_with(&prefix))
            .collect();
        for definition in tools {
            let forms = lock.map(|lock| digests(lock, server, &definition.name));
            let status = match &forms {
                None => Status::Pinned,
                Some(forms) if forms.is_empty() => continue,
                Some(forms) if forms.contains(&definition.digest) => Status::Pinned,
                Some(_) => Status::Changed,
            };
            // A tool that does not link is left unpinned: it is asked about, then denied.
            let Ok(mut tool) = policy.link(server, definition, shared) else {
                continue;
            };
            tool.status = status;
            let key = tool_key(server, &definition.name);
            if let Some(forms) = forms {
                if let (Status::Changed, Some(first)) = (status, forms.first()) {
                    tool.digest = *first;
                }
                self.forms.insert(key.clone(), forms);
            }
            let place = earlier.get(&key).or_else(|| self.names.get(&key)).copied();
            let index = place.unwrap_or(self.tools.len() as u32);
            match self.tools.get_mut(index as usize) {
                Some(slot) => *slot = tool,
                None => self.tools.push(tool),
            }
            self.names.insert(key, index);
        }
        self.prefixes.insert(prefix, shared.to_owned());
        self.note_definitions(server, tools);
    }

    /// What the names of a server's pinned tools begin with.
    fn shared_prefix(&self, server: Option<&str>) -> &str {
        let prefix = self.prefixes.get(&tool_key(server, ""));
        prefix.map_or("", String::as_str)
    }

    /// Notes a later listing of the same server. See [`super::Gate::observe`].
    pub fn observe(&mut self, policy: &Policy, server: Option<&str>, tools: &[ToolDefinition]) {
        self.note_definitions(server, tools);
        let shared = self.shared_prefix(server).to_owned();
        for definition in tools {
            let key = tool_key(server, &definition.name);
            let other_form = self
                .forms
                .get(&key)
                .is_some_and(|forms| forms.contains(&definition.digest));
            let index = self.names.get(&key);
            if let Some(tool) = index.and_then(|&index| self.tools.get_mut(index as usize))
                && tool.digest != definition.digest
            {
                if other_form
                    && tool.status == Status::Pinned
                    && let Ok(linked) = policy.link(server, definition, &shared)
                {
                    *tool = linked;
                    continue;
                }
                // Stays changed even if the server changes it back: what was shown in
                // between may have been acted on.
                tool.status = Status::Changed;
            }
        }
    }

    /// Links all tools to another policy. Either all are, or none.
    pub fn relink(&mut self, policy: &Policy) -> Result<(), Corrupt> {
        let mut linked = Vec::with_capacity(self.names.len());
        for (key, &index) in &self.names {
            let listed = self.definitions.get(key).ok_or(Corrupt)?;
            let old = self.tools.get(index as usize).ok_or(Corrupt)?;
            let server = listed.server.as_deref();
            let shared = self.shared_prefix(server);
            let mut tool = match &listed.definition {
                Some(definition) => policy.link(server, definition, shared)?,
                // It is not called before it is accepted.
                None => {
                    let (_, name) = split_key(key).ok_or(Corrupt)?;
                    policy.link(server, &tool::bare_definition(name)?, shared)?
                }
            };
            tool.status = old.status;
            tool.digest = old.digest;
            linked.push((index, tool));
        }
        for (index, tool) in linked {
            if let Some(slot) = self.tools.get_mut(index as usize) {
                *slot = tool;
            }
        }
        Ok(())
    }

    /// Holds the tools to another lock from now on. See [`super::Gate::accept`].
    pub fn accept(&mut self, policy: &Policy, lock: &Lock, before: Option<&Lock>) {
        let keys: Vec<String> = self.definitions.keys().cloned().collect();
        for key in keys {
            let Some(listed) = self.definitions.get(&key).cloned() else {
                continue;
            };
            let server = listed.server.as_deref();
            let Some(name) = split_key(&key).map(|(_, name)| name) else {
                continue;
            };
            let forms = digests(lock, server, name);
            let place = self.names.get(&key).copied();
            if before.is_some_and(|before| digests(before, server, name) == forms) {
                continue;
            }
            self.forms.insert(key.clone(), forms.clone());
            let Some(accepted) = forms.first().copied() else {
                if let Some(tool) = place.and_then(|index| self.tools.get_mut(index as usize)) {
                    tool.status = Status::Changed;
                }
                continue;
            };
            let same = listed
                .definition
                .as_ref()
                .filter(|definition| forms.contains(&definition.digest));
            let shared = self.shared_prefix(server);
            let linked = same.and_then(|definition| policy.link(server, definition, shared).ok());
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
    fn note_definitions(&mut self, server: Option<&str>, tools: &[ToolDefinition]) {
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
