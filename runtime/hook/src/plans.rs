//! The plan of a hook. Policies are compiled once and kept under their digest, because a
//! hook starts anew for every tool. Who can write there decides nothing: what is kept is
//! sealed. Knows nothing of how a plan is made.

use bouncer_plan::format::ViewKind;
use bouncer_plan::{LoadError, Plan, digest_of};
use bouncer_system::replace::write_private;
use std::path::Path;

/// The plan that is kept in `directory` for these sources. If there is none that fits,
/// `make` makes one, and it is kept.
///
/// # Errors
/// What `make` says, or that what it made does not load.
pub fn load<E: From<LoadError>>(
    sources: &blake3::Hash,
    directory: Option<&Path>,
    make: impl FnOnce() -> Result<Vec<u8>, E>,
) -> Result<Plan, E> {
    let named = directory.zip(
        sources
            .to_hex()
            .get(..32)
            .map(|name| format!("{name}.plan")),
    );
    let kept = named.map(|(directory, name)| directory.join(name));
    if let Some(plan) = kept.as_deref().and_then(|path| reuse(path, sources)) {
        return Ok(plan);
    }
    let bytes = make()?;
    if let Some(kept) = &kept {
        // Without it the next hook makes the plan again.
        let _ = keep(kept, sources, &bytes);
    }
    Ok(Plan::load(bytes)?)
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
            write_private(&path.with_file_name(KEY), key)?;
            key
        }
    };
    let seal = sealed(&key, sources, &digest_of(plan));
    let parts: [&[u8]; 3] = [sources.as_bytes(), seal.as_bytes(), plan];
    write_private(path, parts.concat())
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

/// Whether a rule of the plan looks at where values came from: then no call can be
/// decided without all that was read.
#[must_use]
pub fn looks_at_provenance(plan: &Plan) -> bool {
    let mut dimensions = plan.tables().dimensions.iter();
    dimensions.any(|dimension| matches!(dimension.view, ViewKind::Provenance | ViewKind::Session))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bouncer_compiler::{Input, Options};

    /// A policy as a plan, without packs.
    fn compile(text: &str) -> Vec<u8> {
        let input = Input {
            name: "policy.yaml",
            text,
        };
        let options = Options {
            packs: false,
            heuristics: false,
        };
        let loaded = bouncer_compiler::load(&[input], &options).unwrap();
        bouncer_compiler::compile(&loaded.policy).unwrap()
    }

    /// The name of what is kept is known to everybody, so it proves nothing.
    #[test]
    fn a_plan_that_somebody_put_there_is_not_taken() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("plans");
        let sources = blake3::hash(b"the sources");
        let strict =
            || -> Result<_, LoadError> { Ok(compile("version: 1\ndefaults: {onUnknown: deny}\n")) };
        let first = load(&sources, Some(&directory), strict).unwrap();
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
        assert!(reuse(&kept, &sources).is_some());

        let lax = compile("version: 1\ndefaults: {onUnknown: allow}\n");
        let head = own.get(..HEAD).unwrap();
        for forged in [
            lax.clone(),
            [head, &lax].concat(),
            [sources.as_bytes().as_slice(), &lax].concat(),
        ] {
            std::fs::write(&kept, forged).unwrap();
            assert!(reuse(&kept, &sources).is_none());
            let loaded = load(&sources, Some(&directory), strict).unwrap();
            assert_eq!(loaded.short_digest(), first.short_digest());
            // And the right one is kept again.
            assert_eq!(std::fs::read(&kept).unwrap(), own);
        }
        // Not for other sources either.
        let other = blake3::hash(b"others");
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
