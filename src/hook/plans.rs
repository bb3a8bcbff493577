//! The plan of a hook. Policies are compiled once and kept under their digest, because a
//! hook starts anew for every tool. Who can write there decides nothing: what is kept is
//! sealed.

use crate::cli::PolicySource;
use crate::clients::file;
use crate::output::Failure;
use crate::source;
use bouncer_compiler::{Input, Options, packs};
use bouncer_plan::format::ViewKind;
use bouncer_plan::{Plan, digest_of};
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
    let sources = digest(&texts, source);
    let named = directory.zip(
        sources
            .to_hex()
            .get(..32)
            .map(|name| format!("{name}.plan")),
    );
    let kept = named.map(|(directory, name)| directory.join(name));
    if let Some(plan) = kept.as_deref().and_then(|path| reuse(path, &sources)) {
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
        let _ = keep(kept, &sources, &bytes);
    }
    Plan::load(bytes)
        .map_err(|error| Failure::Message(format!("the compiled plan does not load: {error}")))
}

/// What stands in front of a plan that is kept: the sources' digest, and a seal.
const HEAD: usize = 64;

/// A file whose plan begins behind what stands in front.
struct Kept(Vec<u8>);

impl AsRef<[u8]> for Kept {
    fn as_ref(&self) -> &[u8] {
        self.0.get(HEAD..).unwrap_or_default()
    }
}

/// A name is no proof. A plan is only taken if it says that it was made from these sources,
/// if it was sealed with the key that lies beside it, and if nobody else can write either.
fn reuse(path: &Path, sources: &blake3::Hash) -> Option<Plan> {
    let key = key(path)?;
    let bytes = own_file(path)?;
    let (of, seal) = bytes.get(..HEAD)?.split_at_checked(32)?;
    if of != sources.as_bytes() {
        return None;
    }
    let seal = blake3::Hash::from_slice(seal).ok()?;
    let plan = Plan::load(Kept(bytes)).ok()?;
    // Compared in constant time.
    (seal == sealed(&key, sources, plan.digest())).then_some(plan)
}

fn keep(path: &Path, sources: &blake3::Hash, plan: &[u8]) -> std::io::Result<()> {
    if let Some(directory) = path.parent() {
        bouncer_system::private::private_directory(directory)?;
    }
    let key = match key(path) {
        Some(key) => key,
        None => {
            let key = fresh_key();
            file::write_private(&path.with_file_name(KEY), key)?;
            key
        }
    };
    let seal = sealed(&key, sources, &digest_of(plan));
    let parts: [&[u8]; 3] = [sources.as_bytes(), seal.as_bytes(), plan];
    file::write_private(path, parts.concat())
}

/// A plan is loaded only if its digest is that of its bytes, so sealing the digest seals all.
fn sealed(key: &[u8; 32], sources: &blake3::Hash, digest: &[u8; 32]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new_keyed(key);
    hasher.update(sources.as_bytes());
    hasher.update(digest);
    hasher.finalize()
}

/// The file beside the plans with which they are sealed.
const KEY: &str = "key";

fn key(plan: &Path) -> Option<[u8; 32]> {
    own_file(&plan.with_file_name(KEY))?.try_into().ok()
}

/// 256 bits from the 128 with which the system seeds each process's hash tables.
fn fresh_key() -> [u8; 32] {
    use std::hash::{BuildHasher, RandomState};
    let state = RandomState::new();
    let mut key = [0; 32];
    for (number, part) in key.chunks_exact_mut(8).enumerate() {
        part.copy_from_slice(&state.hash_one(number).to_le_bytes());
    }
    key
}

/// What stands in a plain file that nobody but the owner of its directory can write.
#[cfg(unix)]
fn own_file(path: &Path) -> Option<Vec<u8>> {
    use std::io::Read;
    use std::os::unix::fs::MetadataExt;
    let directory = std::fs::symlink_metadata(path.parent()?).ok()?;
    // A named pipe would keep it waiting.
    let mut file = bouncer_system::private::open(path).ok()?;
    let link = std::fs::symlink_metadata(path).ok()?;
    let opened = file.metadata().ok()?;
    let same = (link.dev(), link.ino()) == (opened.dev(), opened.ino());
    let private = |metadata: &std::fs::Metadata| {
        metadata.mode() & 0o022 == 0 && metadata.uid() == directory.uid()
    };
    if !(same && directory.is_dir() && opened.is_file() && private(&directory) && private(&opened))
    {
        return None;
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// What stands in a plain file.
#[cfg(not(unix))]
fn own_file(path: &Path) -> Option<Vec<u8>> {
    let plain = std::fs::symlink_metadata(path).ok()?.is_file();
    plain.then(|| std::fs::read(path).ok()).flatten()
}

/// Of all that the plan depends on.
fn digest(texts: &[(String, String)], source: &PolicySource) -> blake3::Hash {
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
    hasher.finalize()
}

/// Whether a rule of the plan looks at where values came from: then no call can be
/// decided without all that was read.
#[must_use]
pub fn looks_at_provenance(plan: &Plan) -> bool {
    let mut dimensions = plan.tables().dimensions.iter();
    dimensions.any(|dimension| dimension.view == ViewKind::Provenance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Layers;

    /// The name of what is kept is known to everybody, so it proves nothing.
    #[test]
    fn a_plan_that_somebody_put_there_is_not_taken() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("plans");
        let source = PolicySource {
            plan: None,
            map_plan: false,
            policy: Vec::new(),
            layers: Layers {
                no_packs: true,
                no_heuristics: true,
            },
        };
        let first = load(&source, Some(&directory)).unwrap();
        let find = || {
            let mut entries = std::fs::read_dir(&directory).unwrap();
            let plan = |entry: &std::fs::DirEntry| entry.path().extension().is_some();
            entries
                .find_map(|entry| entry.ok().filter(plan))
                .unwrap()
                .path()
        };
        let kept = find();
        let own = std::fs::read(&kept).unwrap();
        let texts = [("built-in:hook".to_owned(), BUILT_IN.to_owned())];
        let sources = digest(&texts, &source);
        assert!(reuse(&kept, &sources).is_some());

        let input = Input {
            name: "allow.yaml",
            text: "version: 1\ndefaults: {onUnknown: allow}\n",
        };
        let options = Options {
            packs: false,
            heuristics: false,
        };
        let lax = bouncer_compiler::load(&[input], &options).unwrap();
        let lax = bouncer_compiler::compile(&lax.policy).unwrap();
        let head = own.get(..HEAD).unwrap();
        for forged in [
            lax.clone(),
            [head, &lax].concat(),
            [sources.as_bytes().as_slice(), &lax].concat(),
        ] {
            std::fs::write(&kept, forged).unwrap();
            assert!(reuse(&kept, &sources).is_none());
            let loaded = load(&source, Some(&directory)).unwrap();
            assert_eq!(loaded.short_digest(), first.short_digest());
            // And the right one is kept again.
            assert_eq!(std::fs::read(&kept).unwrap(), own);
        }
        // Not for other sources either.
        let other = digest(&[("x".to_owned(), "y".to_owned())], &source);
        assert!(reuse(&kept, &other).is_none());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path, mode| {
                std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap()
            };
            for path in [&kept, &directory, &directory.join(KEY)] {
                let before = std::fs::metadata(path).unwrap().permissions().mode();
                mode(path, 0o777);
                assert!(reuse(&kept, &sources).is_none(), "{}", path.display());
                mode(path, before);
            }
            assert!(reuse(&kept, &sources).is_some());
            let link = directory.join("link.plan");
            std::os::unix::fs::symlink(&kept, &link).unwrap();
            assert!(reuse(&link, &sources).is_none());
        }
    }
}
