//! The plan of a hook. Policies are compiled once and kept under their digest, because a
//! hook starts anew for every tool.

use crate::cli::PolicySource;
use crate::clients::file;
use crate::output::Failure;
use crate::source;
use bouncer_compiler::{Input, Options, packs};
use bouncer_runtime::plan::Plan;
use bouncer_runtime::plan::format::VIEW_PROVENANCE;
use std::path::Path;

/// What decides where no policy is named.
const BUILT_IN: &str = include_str!("../../examples/hook.yaml");

/// Loads the plan, compiling it if nothing fitting is kept in `directory`.
///
/// # Errors
/// If the policy does not compile, or a file cannot be read.
pub fn load(source: &PolicySource, directory: Option<&Path>) -> Result<Plan, Failure> {
    if source.plan.is_some() {
        return source::plan(source);
    }
    let mut texts = Vec::new();
    for path in &source.policy {
        texts.push((source::display_name(path), source::read_policy(path)?));
    }
    if texts.is_empty() {
        texts.push(("built-in:hook".to_owned(), BUILT_IN.to_owned()));
    }
    let kept =
        directory.map(|directory| directory.join(format!("{}.plan", digest(&texts, source))));
    if let Some(plan) = kept.as_deref().and_then(reuse) {
        return Ok(plan);
    }
    let inputs: Vec<Input<'_>> = texts
        .iter()
        .map(|(name, text)| Input { name, text })
        .collect();
    let options = Options {
        packs: !source.layers.no_packs,
        heuristics: !source.layers.no_heuristics,
    };
    let refused = |diagnostics| {
        source::print_diagnostics(&diagnostics);
        Failure::Message("the policy does not compile".to_owned())
    };
    let loaded = bouncer_compiler::load(&inputs, &options).map_err(refused)?;
    let bytes = bouncer_compiler::compile(&loaded.policy).map_err(|_| {
        Failure::Message("the policy cannot be built; see `bouncer compile`".to_owned())
    })?;
    if let Some(kept) = &kept {
        // Without it the next hook compiles again.
        let _ = keep(kept, &bytes);
    }
    Plan::load(bytes)
        .map_err(|error| Failure::Message(format!("the compiled plan does not load: {error}")))
}

fn reuse(path: &Path) -> Option<Plan> {
    Plan::load(std::fs::read(path).ok()?).ok()
}

fn keep(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(directory) = path.parent() {
        bouncer_runtime::private::private_directory(directory)?;
    }
    file::write_private(path, bytes)
}

/// Of all that the plan depends on.
fn digest(texts: &[(String, String)], source: &PolicySource) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut add = |text: &str| {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    add(env!("CARGO_PKG_VERSION"));
    for (name, text) in texts {
        add(name);
        add(text);
    }
    for pack in packs::all().iter().chain(packs::heuristics().as_ref()) {
        add(pack.text);
    }
    add(&format!("{:?}", source.layers));
    hasher
        .finalize()
        .to_hex()
        .get(..32)
        .unwrap_or_default()
        .to_owned()
}

/// Whether a rule of the plan looks at where values came from: then no call can be
/// decided without all that was read.
#[must_use]
pub fn looks_at_provenance(plan: &Plan) -> bool {
    let mut dimensions = plan.tables().dimensions.iter();
    dimensions.any(|dimension| dimension.view.get() == VIEW_PROVENANCE)
}
