//! Where a subcommand's plan comes from: a plan file, or policies compiled on the fly.

use crate::cli::{Layers, PolicySource};
use crate::output::{ERROR, Failure, colour};
use crate::progress;
use bouncer_compiler::diagnostic::{self, Diagnostics};
use bouncer_compiler::policy::{Policy, Written};
use bouncer_compiler::{CompileError, Input, Loaded, Options};
use bouncer_engine::tools::{DefinitionError, Lock, ToolDefinition};
use bouncer_plan::Plan;
use bouncer_plan::format::{MAGIC, Meta, Str};
use bouncer_store::approvals::Lifetimes;
use bouncer_system::private;
use bouncer_verify::ListedTool;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What decides, over the packs, where no policy is named.
pub const DEFAULT: &str = include_str!("../examples/default.yaml");
/// Its name, where a file's would stand.
const DEFAULT_NAME: &str = "built-in:default";

/// Policies, compiled.
pub struct Compiled {
    /// The plan's bytes.
    pub bytes: Vec<u8>,
    /// The resolved policy.
    pub policy: Policy,
    /// What its author should look at.
    pub warnings: Diagnostics,
}

/// The text of a policy file.
pub fn read_policy(path: &Path) -> Result<String, Failure> {
    let mut start = [0; MAGIC.len()];
    let is_plan = path != Path::new("-")
        && private::open(path).is_ok_and(|mut file| file.read_exact(&mut start).is_ok())
        && start == MAGIC;
    if is_plan {
        return Err(Failure::Message(format!(
            "`{}` is a compiled plan, not a policy: name it with `--plan`",
            path.display()
        )));
    }
    read_text(path)
}

/// Reads policy files, and the layers below them. Without any, the default policy stands
/// over the packs.
pub fn load(policies: &[PathBuf], layers: &Layers) -> Result<Loaded, Box<CompileFailure>> {
    let mut texts: Vec<(String, String)> = policies
        .iter()
        .map(|path| read_policy(path).map(|text| (display_name(path), text)))
        .collect::<Result<_, _>>()
        .map_err(|failure| Box::new(CompileFailure::Other(failure)))?;
    if texts.is_empty() && !layers.no_packs {
        texts.push((DEFAULT_NAME.to_owned(), DEFAULT.to_owned()));
    }
    let inputs: Vec<Input<'_>> = texts
        .iter()
        .map(|(name, text)| Input { name, text })
        .collect();
    let options = Options {
        packs: !layers.no_packs,
        heuristics: !layers.no_heuristics,
    };
    bouncer_compiler::load(&inputs, &options).map_err(|d| Box::new(CompileFailure::Policy(d)))
}

/// What a plan was compiled from, read again out of the plan.
///
/// # Errors
/// If the plan keeps no texts, or if this version of bouncer makes another plan of them:
/// what they say here is then not what the plan decides.
pub fn decompile(plan: &Plan, name: &str) -> Result<Loaded, Failure> {
    let of_plan = |why: &str| {
        Failure::Message(format!(
            "`{name}` {why}: name the policy files that it was compiled from instead"
        ))
    };
    let kept = plan.tables().source;
    if kept.is_empty() {
        return Err(of_plan(
            "is a plan that keeps no policy texts (`compile --no-source`)",
        ));
    }
    let written = Written::from_json(kept)
        .ok_or_else(|| of_plan("keeps policy texts that cannot be read"))?;
    let inputs: Vec<Input<'_>> = written
        .files
        .iter()
        .map(|file| Input {
            name: &file.name,
            text: &file.text,
        })
        .collect();
    let options = Options {
        packs: written.packs,
        heuristics: written.heuristics,
    };
    let other = "was compiled by a version of bouncer that read its policies otherwise";
    let loaded = bouncer_compiler::load(&inputs, &options).map_err(|_| of_plan(other))?;
    match bouncer_compiler::compile(&loaded.policy) {
        Ok(bytes) if bytes == plan.bytes() => Ok(loaded),
        _ => Err(of_plan(other)),
    }
}

/// Compiles policy files.
pub fn compile(policies: &[PathBuf], layers: &Layers) -> Result<Compiled, Box<CompileFailure>> {
    compile_with(policies, layers, true)
}

/// Compiles policy files. `keep`: the plan keeps their texts.
pub fn compile_with(
    policies: &[PathBuf],
    layers: &Layers,
    keep: bool,
) -> Result<Compiled, Box<CompileFailure>> {
    let mut loaded = load(policies, layers)?;
    if !keep {
        loaded.policy.written = None;
    }
    let mut line = progress::Line::new("patterns");
    let compiled =
        bouncer_compiler::compile_with(&loaded.policy, &mut |progress| line.show(progress));
    drop(line);
    match compiled {
        Ok(bytes) => Ok(Compiled {
            bytes,
            policy: loaded.policy,
            warnings: loaded.warnings,
        }),
        Err(errors) => Err(Box::new(build_failure(&errors, &loaded))),
    }
}

/// What is wrong with policies that load and do not build.
pub fn build_failure(errors: &[CompileError], loaded: &Loaded) -> CompileFailure {
    let sources = loaded.warnings.sources().clone();
    CompileFailure::Policy(diagnostic::of_compile_errors(errors, sources))
}

/// Why policies did not compile.
pub enum CompileFailure {
    /// Their authors have to change something.
    Policy(Diagnostics),
    /// A file could not be read.
    Other(Failure),
}

impl CompileFailure {
    /// Reports the failure on standard error.
    pub fn report(self) -> Failure {
        match self {
            Self::Policy(diagnostics) => {
                print_diagnostics(&diagnostics);
                Failure::Code(ERROR)
            }
            Self::Other(failure) => failure,
        }
    }
}

/// Prints diagnostics on standard error.
pub fn print_diagnostics(diagnostics: &Diagnostics) {
    if !diagnostics.is_empty() {
        // If standard error is gone there is nobody left to tell.
        let _ = write!(
            anstream::stderr(),
            "{}",
            diagnostic::human(diagnostics, colour())
        );
    }
}

/// The plan that `--plan` or `--policy` names. Without either: the default policy over the
/// packs and heuristics.
pub fn plan(source: &PolicySource) -> Result<Plan, Failure> {
    if let Some(path) = &source.plan {
        if source.map_plan {
            return mapped(path);
        }
        let bytes = private::read(path).map_err(|error| Failure::file("read", path, &error))?;
        return Plan::load(bytes).map_err(|error| Failure::file("load", path, &error));
    }
    let compiled = compile(&source.policy, &source.layers).map_err(|failure| failure.report())?;
    print_diagnostics(&compiled.warnings);
    Plan::load(compiled.bytes)
        .map_err(|error| Failure::Message(format!("the compiled plan does not load: {error}")))
}

/// A plan in the pages of its file, which all processes that map it share.
fn mapped(path: &Path) -> Result<Plan, Failure> {
    let fail = |error: std::io::Error| Failure::file("map", path, &error);
    let file = private::open(path).map_err(fail)?;
    #[cfg(unix)]
    {
        let metadata = file.metadata().map_err(fail)?;
        if let Some(why) = unsafe_to_map(&metadata, rustix::process::geteuid().as_raw()) {
            return Err(Failure::Message(format!(
                "`{}` is not mapped: {why}, or leave out --map-plan",
                path.display()
            )));
        }
    }
    #[expect(unsafe_code, reason = "a mapping is the only way to share the pages")]
    // SAFETY: sound as long as nobody writes to the file while it is mapped. `bouncer compile`
    // never does: it replaces plans whole, and the old file lives on in the mapping. Only
    // the owner of the file can, who is told not to by `--map-plan`.
    let map = unsafe { memmap2::Mmap::map(&file) }.map_err(fail)?;
    Plan::load(map).map_err(|error| Failure::file("load", path, &error))
}

/// Why a file is not to be mapped: others could change it under whoever judges by it.
#[cfg(unix)]
fn unsafe_to_map(metadata: &std::fs::Metadata, user: u32) -> Option<&'static str> {
    use std::os::unix::fs::MetadataExt as _;
    if !metadata.is_file() {
        return Some("it is no regular file: name one");
    }
    if metadata.uid() != user && metadata.uid() != 0 {
        return Some("it belongs to another user, who can change it at any time: copy it");
    }
    if metadata.mode() & 0o022 != 0 {
        return Some("others than its owner can write to it: `chmod go-w` it");
    }
    None
}

/// A file that the plan's policy names, seen from the directory of the plan or of the
/// first policy file.
pub fn beside(
    plan: &Plan,
    source: &PolicySource,
    which: impl Fn(&Meta) -> &Str,
) -> Option<PathBuf> {
    let tables = plan.tables();
    let path = tables.text(which(tables.meta().ok()?)).ok()?;
    let file = source.plan.as_ref().or_else(|| source.policy.first())?;
    let base = file.parent().unwrap_or_else(|| Path::new(""));
    (!path.is_empty()).then(|| base.join(path))
}

/// How long requests and approvals hold, as the policy wants it.
pub fn lifetimes(plan: &Plan) -> Lifetimes {
    let meta = plan.tables();
    let said = meta.meta().map_or(0, |meta| meta.approval_timeout_ms.get());
    let default = Lifetimes::default();
    Lifetimes {
        pending: match said {
            0 => default.pending,
            ms => Duration::from_millis(ms),
        },
        ..default
    }
}

/// Warns where rules name a server and none is known: they could never match. `tool`: what
/// was named, which may hold the server's name.
pub fn warn_without_server(plan: &Plan, server: Option<&str>, tool: Option<&str>) {
    if server.is_some() || tool.is_some_and(|tool| tool.contains("__")) {
        return;
    }
    let tables = plan.tables();
    let patterns = tables
        .groups
        .iter()
        .filter_map(|group| tables.text(&group.pattern).ok());
    // `*__query` matches no bare name either, but says nothing about one server.
    let named: Vec<&str> = patterns
        .filter(|pattern| pattern.contains("__") && !pattern.starts_with('*'))
        .collect();
    if let Some(first) = named.first() {
        // If standard error is gone there is nobody left to tell.
        let _ = writeln!(
            anstream::stderr(),
            "\u{1b}[1;33mwarning\u{1b}[0m: no server name is given, so {} of the policy's tool patterns, such as \
             `{first}`, cannot match: give `--server NAME`",
            named.len()
        );
    }
}

/// Reads a text file; `-` is standard input.
pub fn read_text(path: &Path) -> Result<String, Failure> {
    let result = if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin()
            .lock()
            .read_to_string(&mut text)
            .map(|_| text)
    } else {
        private::read_to_string(path)
    };
    result.map_err(|error| Failure::file("read", path, &error))
}

/// Reads a lock file, or a saved answer to `tools/list`.
pub fn lock(path: &Path) -> Result<Lock, Failure> {
    let text = read_text(path)?;
    if let Some(tools) = listed(&text) {
        let tools = tools.map_err(|error| Failure::file("use", path, &error))?;
        let server = tools.first().and_then(|(server, _)| server.clone());
        let definitions = tools.into_iter().map(|(_, definition)| definition);
        return Ok(Lock::new(server.as_deref(), definitions.collect()));
    }
    Lock::parse(&text).map_err(|error| Failure::file("use", path, &error))
}

/// The tools of lock files, and of saved answers to `tools/list`.
pub fn tools(paths: &[PathBuf]) -> Result<Vec<ListedTool>, Failure> {
    let mut all = Vec::new();
    for path in paths {
        let text = read_text(path)?;
        let tools = match listed(&text) {
            Some(tools) => tools.map_err(|error| Failure::file("use", path, &error))?,
            None => {
                let lock =
                    Lock::parse(&text).map_err(|error| Failure::file("use", path, &error))?;
                let tools = lock.tools.into_iter();
                tools.map(|tool| (tool.server, tool.definition)).collect()
            }
        };
        all.extend(tools);
    }
    Ok(all)
}

/// The tools of an answer to `tools/list`: its `tools` hold definitions, not entries of a
/// lock. A member `server` beside them names the server.
fn listed(text: &str) -> Option<Result<Vec<ListedTool>, DefinitionError>> {
    let mut root: serde_json::Value = serde_json::from_str(text).ok()?;
    if let Some(result) = root.get_mut("result") {
        root = result.take();
    }
    let tools = root.get("tools").or(Some(&root))?.as_array()?;
    if root.get("version") == Some(&1.into())
        || tools.iter().any(|tool| tool.get("digest").is_some())
    {
        return None;
    }
    let server = root.get("server").and_then(serde_json::Value::as_str);
    let read = |tool: &serde_json::Value| {
        let definition = ToolDefinition::from_json(tool.clone())?;
        Ok((server.map(str::to_owned), definition))
    };
    Some(tools.iter().map(read).collect())
}

/// The name of a file in messages.
pub fn display_name(path: &Path) -> String {
    if path == Path::new("-") {
        "<stdin>".to_owned()
    } else {
        path.display().to_string()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    #[test]
    fn only_what_nobody_else_can_change_is_mapped() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("plan");
        std::fs::write(&path, "x").unwrap();
        let with = |mode: u32| {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            std::fs::metadata(&path).unwrap()
        };
        let own = with(0o644).uid();
        assert_eq!(unsafe_to_map(&with(0o644), own), None);
        for mode in [0o664, 0o646] {
            assert!(unsafe_to_map(&with(mode), own).is_some_and(|why| why.contains("chmod")));
        }
        let other = own.wrapping_add(1);
        // What belongs to root may be mapped by everybody.
        let foreign = unsafe_to_map(&with(0o600), other);
        assert_eq!(
            foreign.is_some_and(|why| why.contains("another user")),
            own != 0
        );
        let directory = std::fs::metadata(place.path()).unwrap();
        assert!(unsafe_to_map(&directory, own).is_some_and(|why| why.contains("regular")));
    }
}
