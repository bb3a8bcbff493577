//! A client's configuration as a text whose entries can be changed: everything else
//! stays byte for byte.

use super::entry::{Entry, Kind};
use super::error::ConfigError;
use super::{json, toml};
use serde_json::Value;
use std::path::Path;

/// Keys under which clients keep their servers.
const SECTIONS: [&[&str]; 4] = [
    &["mcpServers"],
    &["servers"],
    &["context_servers"],
    &["mcp", "servers"],
];

/// A configuration file's contents.
#[derive(Debug)]
pub enum Document {
    /// JSON, with comments and trailing commas as far as the client takes them.
    Json(json::Json),
    /// TOML.
    Toml(Box<toml::Toml>),
}

impl Document {
    /// Reads a file's text; its name says which format it has.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            Ok(Self::Toml(Box::new(toml::Toml::parse(text)?)))
        } else {
            Ok(Self::Json(json::Json::parse(text)?))
        }
    }

    /// The text as it stands now.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Json(json) => json.text(),
            Self::Toml(toml) => toml.text(),
        }
    }

    /// All entries of servers, by name within each section.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        let (root, sections) = match self {
            Self::Json(json) => {
                let root = json.value();
                let sections = sections(&root);
                (root, sections)
            }
            Self::Toml(toml) => (toml.value(), vec![vec!["mcp_servers".to_owned()]]),
        };
        let mut out = Vec::new();
        for section in sections {
            let servers = section.iter().try_fold(&root, |at, key| at.get(key));
            for (name, value) in servers.and_then(Value::as_object).into_iter().flatten() {
                out.push(Entry::read(section.clone(), name.clone(), value));
            }
        }
        out
    }

    /// Puts `program` with `options` before the entry's own command. `options` ends
    /// in `--`.
    ///
    /// # Errors
    /// If the entry is not one that starts a server by itself.
    pub fn wrap(
        &mut self,
        entry: &Entry,
        program: &str,
        options: &[String],
    ) -> Result<(), ConfigError> {
        let Kind::Plain(launch) = &entry.kind else {
            return Err(ConfigError::StartsNothing(entry.place()));
        };
        let mut before = options.to_vec();
        before.push(launch.program.clone());
        match self {
            Self::Json(json) => json.start_with(entry, program, 0, &before),
            Self::Toml(toml) => toml.start_with(entry, program, 0, &before),
        }
    }

    /// Makes an entry that is reached at a URL start `program` with `options`, and keeps
    /// what it was in its environment.
    ///
    /// # Errors
    /// If the entry has no URL.
    pub fn front(
        &mut self,
        entry: &Entry,
        program: &str,
        options: &[String],
    ) -> Result<(), ConfigError> {
        let Kind::Remote(remote) = &entry.kind else {
            return Err(ConfigError::NoUrl(Some(entry.place())));
        };
        match self {
            Self::Json(json) => json.front(entry, program, options),
            Self::Toml(toml) => toml.front(entry, program, options, &remote.variables),
        }
    }

    /// Takes bouncer out of an entry again.
    ///
    /// # Errors
    /// If bouncer does not stand before it.
    pub fn unwrap_entry(&mut self, entry: &Entry) -> Result<(), ConfigError> {
        match (&entry.kind, self) {
            (Kind::Wrapped { launch, options }, Self::Json(json)) => {
                json.start_with(entry, &launch.program, options.len() + 1, &[])
            }
            (Kind::Wrapped { launch, options }, Self::Toml(toml)) => {
                toml.start_with(entry, &launch.program, options.len() + 1, &[])
            }
            (Kind::Stashed(_), Self::Json(json)) => json.restore_stash(entry),
            (Kind::Fronted { kept, .. }, Self::Json(json)) => json.unfront(entry, kept),
            (Kind::Fronted { kept, remote, .. }, Self::Toml(toml)) => {
                toml.unfront(entry, kept, &remote.variables)
            }
            _ => Err(ConfigError::NotWrapped(entry.place())),
        }
    }

    /// Removes an entry.
    ///
    /// # Errors
    /// If there is none.
    pub fn remove(&mut self, entry: &Entry) -> Result<(), ConfigError> {
        match self {
            Self::Json(json) => json.remove(entry),
            Self::Toml(toml) => toml.remove(entry),
        }
    }

    /// Adds an entry that starts `program`.
    ///
    /// # Errors
    /// If there is no such section.
    pub fn add(
        &mut self,
        section: &[String],
        name: &str,
        program: &str,
        args: &[String],
    ) -> Result<(), ConfigError> {
        match self {
            Self::Json(json) => json.add(section, name, program, args),
            Self::Toml(toml) => toml.add(section, name, program, args),
        }
    }
}

/// The sections that a JSON configuration has.
fn sections(root: &Value) -> Vec<Vec<String>> {
    let owned = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect();
    let mut out: Vec<Vec<String>> = Vec::new();
    for keys in SECTIONS {
        let servers = keys.iter().try_fold(root, |at, key| at.get(key));
        if servers.is_some_and(Value::is_object) {
            out.push(owned(keys));
        }
    }
    // opencode has its servers right below `mcp`, each with a `type`.
    let typed = |server: &Value| matches!(server.get("type"), Some(Value::String(_)));
    let below = root.get("mcp").and_then(Value::as_object);
    if below.is_some_and(|servers| !servers.is_empty() && servers.values().all(typed)) {
        out.push(owned(&["mcp"]));
    }
    // Claude Code keeps what a user added to one project in the user's file.
    let projects = root.get("projects").and_then(Value::as_object);
    for (project, settings) in projects.into_iter().flatten() {
        if settings.get("mcpServers").is_some_and(Value::is_object) {
            out.push(owned(&["projects", project, "mcpServers"]));
        }
    }
    out
}
