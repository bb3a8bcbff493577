//! A mark on approvals that only this program makes.
//!
//! The key is in a file of its own beside the store. An entry that something else wrote
//! into the store carries no valid seal and approves nothing. This does not stop who
//! can read the key as well: an agent that may run commands as the same user can also
//! run `bouncer approve`.

use super::record::Key;
use bouncer_system::private::private_file;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// The key of the seals.
pub(super) struct Seal([u8; 32]);

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seal(..)")
    }
}

impl Seal {
    /// Reads the key at `path`, or makes one.
    pub fn open(path: &Path) -> io::Result<Self> {
        match Self::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => return other,
        }
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|error| io::Error::other(error.to_string()))?;
        // Of several processes that make one at once, the first one's counts: it is
        // complete when it gets its name, and a hard link never replaces a file.
        let mut name = [0; 8];
        getrandom::fill(&mut name).map_err(|error| io::Error::other(error.to_string()))?;
        let fresh = path.with_extension(format!("new-{:016x}", u64::from_le_bytes(name)));
        let mut file = private_file(&fresh)?;
        let linked = file
            .write_all(&key)
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::hard_link(&fresh, path));
        fs::remove_file(&fresh)?;
        match linked {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Self::read(path),
        }
    }

    fn read(path: &Path) -> io::Result<Self> {
        let bytes = bouncer_system::private::read(path)?;
        let key = <[u8; 32]>::try_from(bytes).map_err(|_| {
            io::Error::new(
                io::ErrorKind::InvalidData,
                "this is not a key: remove the file, and approvals that are not used yet lapse",
            )
        })?;
        Ok(Self(key))
    }

    /// The seal of an approval.
    pub fn of(&self, id: &str, key: &Key, decided_ms: i64, expires_ms: i64) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(&key.0);
        hasher.update(&decided_ms.to_le_bytes());
        hasher.update(&expires_ms.to_le_bytes());
        hasher.update(id.as_bytes());
        *hasher.finalize().as_bytes()
    }

    /// Whether `seal` is the one of these, in a time that says nothing about where they differ.
    pub fn is(&self, seal: &[u8], id: &str, key: &Key, decided_ms: i64, expires_ms: i64) -> bool {
        let own = blake3::Hash::from_bytes(self.of(id, key, decided_ms, expires_ms));
        <[u8; 32]>::try_from(seal).is_ok_and(|seal| own == blake3::Hash::from_bytes(seal))
    }
}
