//! Puts bouncer before the servers of a client's configuration. Nothing is written here, and
//! no server is started.

use crate::Change;
use crate::LOCK;
use crate::clients::remote::{self, Remote};
use crate::clients::{Document, Entry, Kind, file};
use crate::error::SetupError;
use crate::gateway;
use crate::options::{absolute, push};
use crate::standing::standing;
use std::path::{Path, PathBuf};

/// How bouncer is put before servers.
pub struct Options<'o> {
    /// What the client is to start.
    pub program: &'o str,
    /// Only these servers, if there are any.
    pub servers: &'o [String],
    /// One gateway stands before all.
    pub gateway: bool,
    /// Tools are not written down beforehand.
    pub no_pin: bool,
    /// The policies that decide.
    pub policies: &'o [PathBuf],
    /// The plan that decides.
    pub plan: Option<&'o Path>,
    /// What decides where nothing is named.
    pub default_policy: &'o str,
    /// Why a server cannot be reached at its URL, if so.
    pub unreachable: &'o dyn Fn(&Remote) -> Option<String>,
}

/// What is to be done to one file.
#[derive(Debug)]
pub struct Plan {
    /// The file.
    pub change: Change,
    /// The entries that will be wrapped, or replaced by the gateway.
    pub wrapped: Vec<Entry>,
    /// What is said of each entry.
    pub notes: Vec<(String, String)>,
    /// Where the tools of its servers are written down.
    pub lock: PathBuf,
    /// The gateway's policy, and where it goes.
    pub policy: Option<(PathBuf, String)>,
}

impl Plan {
    /// Whether anything is to be done.
    #[must_use]
    pub const fn wraps(&self) -> bool {
        !self.wrapped.is_empty()
    }

    /// Makes the file anew without those entries' tools in the lock: held to a lock that lacks
    /// them, they would all be denied.
    ///
    /// # Errors
    /// If bouncer cannot be put there.
    pub fn leave_out(
        &mut self,
        options: &Options<'_>,
        unpinned: &[Entry],
    ) -> Result<(), SetupError> {
        let mut document = Document::parse(&self.change.read.path, &self.change.read.text)?;
        if options.gateway {
            self.policy = Some(gateway::replace(
                &mut document,
                &self.wrapped,
                options.program,
                &self.change.read.path,
                None,
                options.default_policy,
            )?);
        } else {
            for entry in &self.wrapped {
                let locked = options.pinnable(entry) && !unpinned.contains(entry);
                let lock = locked.then_some(self.lock.as_path());
                options.wrap(&mut document, entry, lock)?;
            }
        }
        self.change.new = document.text();
        Ok(())
    }
}

impl Options<'_> {
    /// Whether bouncer is put before an entry, and what is said of it.
    fn says(&self, entry: &Entry) -> (bool, String) {
        match &entry.kind {
            Kind::Plain(launch) => match self.gateway.then(|| gateway::servable(launch)) {
                Some(Err(why)) => (false, format!("stays as it is, not guarded: {why}")),
                Some(Ok(_)) => (true, "goes behind the gateway".to_owned()),
                None => (true, "will be guarded".to_owned()),
            },
            Kind::Remote(remote) if !self.gateway && remote.unreachable.is_none() => {
                if let Some(why) = (!remote.has_placeholders())
                    .then(|| (self.unreachable)(remote))
                    .flatten()
                {
                    (false, format!("not guarded: {why}"))
                } else if remote.has_credentials() {
                    (true, "will be guarded".to_owned())
                } else if self.no_pin || remote.has_placeholders() {
                    (
                        false,
                        "not guarded: nothing in it proves who asks, and whether the server wants a log-in, which bouncer does not do, \
                         is not known without asking it, which `init` only does without `--no-pin` and placeholders"
                            .to_owned(),
                    )
                } else {
                    (
                        true,
                        "will be guarded, if it answers without a log-in".to_owned(),
                    )
                }
            }
            other => (false, standing(other)),
        }
    }

    /// Whether the tools of an entry's server can be written down now.
    #[must_use]
    pub fn pinnable(&self, entry: &Entry) -> bool {
        let launched = entry
            .launch()
            .is_some_and(|launch| !launch.has_placeholders());
        let reached = entry
            .remote()
            .is_some_and(|remote| !remote.has_placeholders());
        !self.no_pin && (launched || reached)
    }

    /// Puts bouncer before an entry's server.
    fn wrap(
        &self,
        document: &mut Document,
        entry: &Entry,
        lock: Option<&Path>,
    ) -> Result<(), SetupError> {
        let mut options = self.run(&entry.name, lock)?;
        if entry.remote().is_none() {
            options.push("--".to_owned());
            document.wrap(entry, self.program, &options)?;
        } else {
            push(&mut options, remote::OPTION, remote::VARIABLE);
            document.front(entry, self.program, &options)?;
        }
        Ok(())
    }

    /// The arguments of bouncer before a server's own command.
    fn run(&self, name: &str, lock: Option<&Path>) -> Result<Vec<String>, SetupError> {
        let mut out = vec!["run".to_owned()];
        push(&mut out, "--server", name);
        for policy in self.policies {
            push(&mut out, "--policy", &absolute(policy)?);
        }
        if let Some(plan) = self.plan {
            push(&mut out, "--plan", &absolute(plan)?);
        }
        if let Some(lock) = lock {
            push(&mut out, "--tools", &absolute(lock)?);
        }
        Ok(out)
    }
}

/// What to do with one file. Names that were found are taken out of `named`.
///
/// # Errors
/// If the file cannot be used, or bouncer cannot be put there.
pub fn plan(
    options: &Options<'_>,
    path: &Path,
    named: &mut Vec<String>,
) -> Result<Plan, SetupError> {
    let read = file::read(path)?;
    let mut document = Document::parse(&read.path, &read.text)?;
    let lock = file::beside(&read.path, LOCK);
    let mut notes = Vec::new();
    let mut wrapped = Vec::new();
    for entry in document.entries() {
        if !options.servers.is_empty() {
            if !options.servers.contains(&entry.name) {
                continue;
            }
            named.retain(|name| *name != entry.name);
        }
        let (goes, says) = options.says(&entry);
        if goes {
            wrapped.push(entry.clone());
        }
        notes.push((entry.name, says));
    }
    let mut policy = None;
    if options.gateway {
        wrapped = gateway::one_section(wrapped, &mut notes);
        if !wrapped.is_empty() {
            policy = Some(gateway::replace(
                &mut document,
                &wrapped,
                options.program,
                &read.path,
                (!options.no_pin).then_some(&lock),
                options.default_policy,
            )?);
        }
    } else {
        for entry in &wrapped {
            let lock = options.pinnable(entry).then_some(lock.as_path());
            options.wrap(&mut document, entry, lock)?;
        }
    }
    Ok(Plan {
        change: Change {
            new: document.text(),
            read,
        },
        wrapped,
        notes,
        lock,
        policy,
    })
}

/// Whether a program lies where `npx`, `uvx` and `pipx run` keep what they fetched.
#[must_use]
pub fn is_cached(program: &Path) -> bool {
    let parts: Vec<&str> = program.iter().filter_map(|part| part.to_str()).collect();
    let of_uv = |pair: &[&str]| matches!(pair, ["uv", inner] if inner.starts_with("archive-v"));
    let of_pipx = |pair: &[&str]| matches!(pair, ["pipx", ".cache"] | [".cache", "pipx"]);
    parts.contains(&"_npx") || parts.windows(2).any(|pair| of_uv(pair) || of_pipx(pair))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_are_no_place_to_start_from() {
        for cached in [
            "/home/me/.npm/_npx/6f5d1c/node_modules/bouncer-gate/bin/bouncer",
            "/home/me/.cache/uv/archive-v0/Xq2/bin/bouncer",
            "/home/me/.local/pipx/.cache/1f/bin/bouncer",
        ] {
            assert!(is_cached(Path::new(cached)), "{cached}");
        }
        for kept in [
            "/usr/bin/bouncer",
            "/home/me/.local/share/uv/tools/bouncer-gate/bin/bouncer",
            "/home/me/.local/pipx/venvs/bouncer-gate/bin/bouncer",
            "/home/me/.cache/target/release/bouncer",
        ] {
            assert!(!is_cached(Path::new(kept)), "{kept}");
        }
    }
}
