//! The hash of tool names: seeded at random, and quicker on short names than the
//! standard library's. A server that knows many names with one hash would have to know
//! the seed.

use bouncer_reader::json::hash_bytes;
use std::hash::{BuildHasher, Hasher, RandomState};

/// Makes hashers with one random seed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seeded(u64);

impl Default for Seeded {
    fn default() -> Self {
        Self(RandomState::new().hash_one(0_u8))
    }
}

impl BuildHasher for Seeded {
    type Hasher = NameHasher;

    fn build_hasher(&self) -> NameHasher {
        NameHasher(self.0)
    }
}

/// The hash so far.
#[derive(Debug)]
pub(super) struct NameHasher(u64);

impl Hasher for NameHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = hash_bytes(self.0, bytes);
    }

    fn write_u8(&mut self, _: u8) {
        // What ends a text: the length has been hashed already.
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
