//! `bouncer pin`: writes down the tools of a server as accepted.

use super::client_config::Upstream;
use super::endpoint::EndpointError;
use crate::cli::PinArgs;
use crate::output::{ERROR, Failure, Outcome};
use bouncer_compiler::builtin_heuristics;
use bouncer_compiler::diagnostic::escape;
use bouncer_engine::tools::{Change, Lock, LockedTool, MAX_FORMS, Weight, differences};
use bouncer_proxy::{Endpoint, inspect};
use bouncer_system::replace::write_whole;
use std::fmt::{self, Write as _};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What to pin, and where.
#[derive(Clone, Debug)]
pub struct PinOptions {
    /// How to reach the server.
    pub upstream: Upstream,
    /// The name to write into the lock; the configuration's if there is none.
    pub server: Option<String>,
    /// The lock file.
    pub output: PathBuf,
    /// Show changes only.
    pub diff: bool,
    /// Overwrite tools that differ from what the lock has.
    pub force: bool,
    /// Accept changes of these tools, or of all if none is named.
    pub accept: Option<Vec<String>>,
    /// How long the server may take to list its tools.
    pub timeout: Duration,
}

/// Runs the command.
pub fn command(args: PinArgs) -> Outcome {
    run(&PinOptions {
        upstream: Upstream::new(args.config, args.upstream_name, args.command),
        server: args.server,
        output: args.output,
        diff: args.diff,
        force: args.force,
        accept: args.accept,
        timeout: Duration::from_secs(args.timeout),
    })
}

/// Writes the lock file. Exit code 1 if it has other tools and `force` is off.
///
/// # Errors
/// If the tools cannot be read, or the lock cannot be read or written. The lock is
/// then as it was.
pub fn run(options: &PinOptions) -> Outcome {
    match pin(options).map_err(Failure::of)? {
        Pinned::Written(summary) => {
            writeln!(anstream::stdout(), "{summary}")?;
            Ok(0)
        }
        Pinned::Differs(summary) => {
            writeln!(anstream::stderr(), "{summary}")?;
            Ok(ERROR)
        }
    }
}

/// What became of the lock.
#[derive(Debug)]
pub enum Pinned {
    /// It has the tools now.
    Written(String),
    /// It has others, and was left as it is.
    Differs(String),
}

impl Pinned {
    /// The same in words.
    #[must_use]
    pub fn summary(&self) -> &str {
        match self {
            Self::Written(summary) | Self::Differs(summary) => summary,
        }
    }
}

/// Why a lock was not written.
#[derive(Debug)]
pub enum PinError {
    /// It is not known how to reach the server.
    Endpoint(EndpointError),
    /// The server did not list its tools: which server, and why.
    NoTools(String, String),
    /// The lock cannot be read.
    Read(PathBuf, io::Error),
    /// The lock's contents cannot be used.
    Lock(PathBuf, String),
    /// The lock cannot be written.
    Write(PathBuf, io::Error),
    /// A tool whose change was to be accepted did not change.
    Unchanged(String),
    /// A tool has been accepted in too many forms.
    TooManyForms(String),
}

impl fmt::Display for PinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Endpoint(error) => error.fmt(f),
            Self::NoTools(server, why) => write!(f, "{server}: {why}"),
            Self::Read(path, error) => write!(f, "cannot read `{}`: {error}", path.display()),
            Self::Lock(path, why) => write!(f, "`{}`: {why}", path.display()),
            Self::Write(path, error) => write!(f, "cannot write `{}`: {error}", path.display()),
            Self::TooManyForms(tool) => write!(
                f,
                "tool {tool:?} was accepted in {MAX_FORMS} forms already: write them anew with `--force`"
            ),
            Self::Unchanged(tool) => {
                write!(f, "tool {tool:?} did not change: nothing was accepted")
            }
        }
    }
}

impl std::error::Error for PinError {}

/// Writes the lock file, unless it has other tools and `force` is off.
///
/// # Errors
/// If the tools cannot be read, or the lock cannot be read or written.
pub fn pin(options: &PinOptions) -> Result<Pinned, PinError> {
    let endpoint = options.upstream.endpoint().map_err(PinError::Endpoint)?;
    let server = options
        .server
        .as_deref()
        .or_else(|| options.upstream.name());
    let older = match options.output.exists().then(|| read_lock(&options.output)) {
        // With `--force` a damaged lock is replaced like any other.
        Some(Err(_)) if options.force => None,
        Some(lock) => Some(lock?),
        None => None,
    };
    let tools = inspect(&endpoint, options.timeout).map_err(|error| {
        let server = match &endpoint {
            Endpoint::Command(command) => format!("`{}`", command.program.display()),
            // Not the URL: it may hold a secret.
            Endpoint::Url(_) => {
                let name = options.upstream.name().unwrap_or("upstream");
                format!("server `{}`", escape(name))
            }
        };
        PinError::NoTools(server, error.to_string())
    })?;
    let mut lock = Lock::new(server, tools);
    let shown = options.output.display();
    let count = lock.tools.len();
    let Some(older) = older else {
        if options.diff {
            let summary = format!("there is no lock `{shown}`: all {count} tools are new");
            return Ok(Pinned::Differs(summary));
        }
        write(&options.output, &lock)?;
        let summary = format!("pinned {count} tools in `{shown}`");
        return Ok(Pinned::Written(summary));
    };
    // Other servers' tools stay.
    let is_ours = |tool: &&LockedTool| tool.server.as_deref() == server;
    let is_new = !older.tools.iter().any(|tool| is_ours(&tool));
    let others = older.tools.iter().filter(|tool| !is_ours(tool));
    lock.tools.extend(others.cloned());
    let changes = lock.changes(&older);
    if changes.is_empty() {
        let summary = format!("`{shown}` is up to date: {count} tools");
        return Ok(Pinned::Written(summary));
    }
    let mut summary = String::new();
    for (change, tool) in &changes {
        describe(&mut summary, *change, tool, &older);
    }
    if options.diff {
        let tools = changes.iter().map(|(_, tool)| &tool.definition.name);
        let tools: Vec<String> = tools.map(|name| accepting(name)).collect();
        let _ = write!(
            summary,
            "accept with `--accept`, or some with `--accept {}`",
            tools.join(" ")
        );
        return Ok(Pinned::Differs(summary));
    }
    if options.force || is_new {
        write(&options.output, &lock)?;
        let _ = write!(summary, "pinned {count} tools in `{shown}`");
        return Ok(Pinned::Written(summary));
    }
    let Some(wanted) = &options.accept else {
        let _ = write!(
            summary,
            "`{shown}` has other tools and was left as it is; look at the changes and accept them with `--accept`, or some with `--accept TOOL`"
        );
        return Ok(Pinned::Differs(summary));
    };
    let is_wanted = |tool: &LockedTool| wanted.is_empty() || wanted.contains(&tool.definition.name);
    if let Some(name) = wanted.iter().find(|name| {
        !changes
            .iter()
            .any(|(_, tool)| tool.definition.name == **name)
    }) {
        return Err(PinError::Unchanged(name.clone()));
    }
    let (accepted, left): (Vec<_>, Vec<_>) = changes.iter().partition(|(_, tool)| is_wanted(tool));
    let is_same = |a: &LockedTool, b: &LockedTool| {
        a.server == b.server && a.definition.name == b.definition.name
    };
    let mut next = older.clone();
    for (change, tool) in &accepted {
        match change {
            Change::Removed => next.tools.retain(|other| !is_same(other, tool)),
            // What was accepted before stays so: some servers go to and fro.
            Change::Added | Change::Changed if next.add((*tool).clone()) => {}
            Change::Added | Change::Changed => {
                return Err(PinError::TooManyForms(tool.definition.name.clone()));
            }
        }
    }
    write(&options.output, &next)?;
    let _ = write!(
        summary,
        "accepted {} of {} changes in `{shown}`",
        accepted.len(),
        changes.len()
    );
    Ok(if left.is_empty() {
        Pinned::Written(summary)
    } else {
        Pinned::Differs(summary)
    })
}

/// Says how a tool differs from what was accepted.
fn describe(out: &mut String, change: Change, tool: &LockedTool, older: &Lock) {
    let word = match change {
        Change::Added => "added",
        Change::Removed => "removed",
        Change::Changed => "changed",
    };
    // Names are the server's: escaped, so that they cannot forge this text.
    let _ = write!(out, "{word:8} {:?}", tool.definition.name);
    if let Some(server) = &tool.server {
        let _ = write!(out, " of {server:?}");
    }
    out.push('\n');
    if change != Change::Changed {
        return;
    }
    let same = |other: &&LockedTool| {
        other.server == tool.server && other.definition.name == tool.definition.name
    };
    let heuristics = builtin_heuristics();
    let told = |before: &LockedTool| {
        differences(&before.definition, &tool.definition, heuristics.as_ref())
    };
    // Against the form that is most like it.
    let forms = older.tools.iter().filter(same).map(told);
    for difference in forms.min_by_key(Vec::len).unwrap_or_default() {
        let (colour, mark) = match difference.weight {
            Weight::Suspicious => ("31", "suspicious"),
            Weight::Notable => ("33", "notable"),
            Weight::Harmless => ("2", "harmless"),
        };
        let _ = writeln!(
            out,
            "    \u{1b}[{colour}m{mark:10}\u{1b}[0m  {}",
            difference.what
        );
    }
}

/// A tool's name, as a shell takes it.
fn accepting(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    match name.chars().all(plain) && !name.is_empty() {
        true => name.to_owned(),
        false => format!("'{}'", escape(name).replace('\'', "'\\''")),
    }
}

fn read_lock(path: &Path) -> Result<Lock, PinError> {
    let text = bouncer_system::private::read_to_string(path)
        .map_err(|error| PinError::Read(path.to_owned(), error))?;
    Lock::parse(&text).map_err(|error| PinError::Lock(path.to_owned(), error.to_string()))
}

/// Replaces the file at once, so that nobody reads half a lock.
fn write(path: &Path, lock: &Lock) -> Result<(), PinError> {
    write_whole(path, lock.to_text().as_bytes())
        .map_err(|error| PinError::Write(path.to_owned(), error))
}
