//! The compiler from front to back. Its five stages are called here, in their order, and
//! nowhere else: read, resolve, lower, build, emit.

use crate::build::{self, Threads};
use crate::diagnostic::{Diagnostics, Sink, SourceMap, of_compile_errors};
use crate::emit;
use crate::lower::{self, CompileError};
use crate::packs::{self, Builtin};
use crate::policy::{Policy, Written, WrittenFile};
use crate::read::{self, Input, Options};
use crate::resolve::{self, Loaded};
use std::time::Duration;

/// A policy and its plan.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The plan's bytes.
    pub plan: Vec<u8>,
    /// The policy, and what its author should look at.
    pub loaded: Loaded,
}

/// Compiles policy files to a plan.
///
/// # Errors
/// All mistakes of all files, each with its place.
pub fn compile_files(
    inputs: &[Input<'_>],
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Result<Compiled, Diagnostics> {
    let read = read::read(inputs, options, packs::all(), packs::heuristics());
    let loaded = resolve::resolve(read, written(inputs, options))?;
    let policy = &loaded.policy;
    let at =
        |errors: Vec<CompileError>| of_compile_errors(&errors, loaded.warnings.sources().clone());
    let lowered = lower::lower(policy).map_err(at)?;
    let patterns = lower::pattern_lists(policy, &lowered);
    let automata = build::build(&patterns, Threads::available(), &mut |done, all| {
        progress(Progress { done, all });
    });
    let (plan, _) = emit::emit(policy, &lowered, automata).map_err(at)?;
    Ok(Compiled { plan, loaded })
}

/// The first two stages: reads the files and layers them over the packs and heuristics.
///
/// # Errors
/// All mistakes of all files, and the warnings, sorted by file and place.
///
/// Takes time and memory linear in the texts, for any text: a file has at most 8 MiB.
pub fn load(inputs: &[Input<'_>], options: &Options) -> Result<Loaded, Diagnostics> {
    load_with(inputs, options, packs::all(), packs::heuristics())
}

/// As [`load`], with other packs.
pub(crate) fn load_with(
    inputs: &[Input<'_>],
    options: &Options,
    builtin: &[Builtin],
    heuristics: Option<Builtin>,
) -> Result<Loaded, Diagnostics> {
    let read = read::read(inputs, options, builtin, heuristics);
    resolve::resolve(read, written(inputs, options))
}

/// The texts, as the plan keeps them.
fn written(inputs: &[Input<'_>], options: &Options) -> Written {
    Written {
        packs: options.packs,
        heuristics: options.heuristics,
        files: inputs
            .iter()
            .map(|input| WrittenFile {
                name: input.name.to_owned(),
                text: input.text.to_owned(),
            })
            .collect(),
    }
}

/// The built-in heuristics, whether or not a policy uses them.
#[must_use]
pub fn builtin_heuristics() -> Option<bouncer_engine::tools::Heuristics> {
    let file = packs::heuristics()?;
    let (mut sources, mut sink) = (SourceMap::default(), Sink::default());
    let index = sources.add(file.name, file.text);
    Some(read::heuristics_file(index, &sources, &mut sink))
}

/// How far long work is: a compilation, or a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Patterns that have an automaton; tools that are compared.
    pub done: usize,
    /// All of them.
    pub all: usize,
}

/// The last three stages: compiles a resolved policy to the bytes of a plan.
///
/// # Errors
/// Everything that is wrong with the policy at this stage: conditions that are too
/// large, patterns that do not build.
pub fn compile(policy: &Policy) -> Result<Vec<u8>, Vec<CompileError>> {
    compile_with(policy, &mut |_| {})
}

/// [`compile`], which tells how far it is now and then: building automata is what takes
/// time.
///
/// # Errors
/// As [`compile`].
pub fn compile_with(
    policy: &Policy,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<u8>, Vec<CompileError>> {
    compile_on(policy, Threads::available(), progress)
}

/// [`compile_with`] on at most so many threads (and eight). How many there are makes no
/// difference to the plan, nor to the errors.
///
/// # Errors
/// As [`compile`].
pub fn compile_on(
    policy: &Policy,
    threads: usize,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<u8>, Vec<CompileError>> {
    compile_timed(policy, threads, progress).map(|(plan, _)| plan)
}

/// [`compile_on`], with the time that the automata of each tool pattern took to build, as
/// far as none before it has the same.
///
/// # Errors
/// As [`compile`].
pub fn compile_timed(
    policy: &Policy,
    threads: usize,
    progress: &mut dyn FnMut(Progress),
) -> Result<(Vec<u8>, Vec<Duration>), Vec<CompileError>> {
    let lowered = lower::lower(policy)?;
    let patterns = lower::pattern_lists(policy, &lowered);
    let automata = build::build(&patterns, threads, &mut |done, all| {
        progress(Progress { done, all });
    });
    emit::emit(policy, &lowered, automata)
}
