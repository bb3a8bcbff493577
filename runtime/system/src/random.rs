//! Names and secrets that nobody can guess.

/// An unguessable prefix for ids or names of this process: 32 hex digits. The
/// standard library's hash keys come from the system's source of randomness.
pub fn unguessable() -> String {
    use std::hash::{BuildHasher, Hasher, RandomState};
    let part = || RandomState::new().build_hasher().finish();
    // The keys of one thread are drawn once and then counted up, but the two hashes
    // stay unpredictable to whoever does not know the 128-bit key.
    format!("{:016x}{:016x}", part(), part())
}

/// A secret that only its bearer knows: 64 hex digits from the system's generator.
///
/// # Errors
/// If the system has no randomness to give.
pub fn secret() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Fills `bytes` from the system's generator.
///
/// # Errors
/// If the system has no randomness to give.
pub fn fill(bytes: &mut [u8]) -> Result<(), getrandom::Error> {
    getrandom::fill(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_differ() {
        assert_ne!(unguessable(), unguessable());
        assert_eq!(unguessable().len(), 32);
    }
}
